//! Connections that are kept open between requests, and the lease of one during a request.
//!
//! A connection is in one of three places: here and idle, in a lease, or closed. It knows no names: a connection stays with the address it
//! was opened to, whatever its name resolves to by now.

use std::collections::HashMap;
use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use hyper::client::conn::http1::SendRequest;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::body::{Ended, OutgoingBody, Why};
use crate::destination::HttpTarget;
use crate::egress::Shared;

/// Idle connections are closed after this long; most servers close them after longer.
const IDLE_MAX: Duration = Duration::from_secs(30);
/// Idle connections to one target. One more is closed.
const IDLE_EACH_MAX: usize = 8;
/// Idle connections in all. One more is closed.
const IDLE_ALL_MAX: usize = 64;
/// How long the rest of a request may take to be sent, when its answer is whole.
const REST_MAX: Duration = Duration::from_secs(1);

/// An open connection and the task that drives it. Dropping it closes it.
pub(crate) struct Connection {
    pub(crate) sender: SendRequest<OutgoingBody>,
    task: AbortHandle,
    /// The socket once more, to be asked. It is the task's, so that the end of the task closes the connection.
    socket: Weak<TcpStream>,
}

impl Connection {
    pub(crate) fn new(sender: SendRequest<OutgoingBody>, task: AbortHandle, socket: Weak<TcpStream>) -> Self {
        Self { sender, task, socket }
    }

    /// Whether the other side has neither closed it nor said what nobody asked for.
    ///
    /// The socket is asked and not only the task, which may not have run since the close arrived: what is sent on a closed connection
    /// fails, and a guest cannot know whether the server acted on it.
    fn is_open(&self) -> bool {
        let has_nothing = |socket: Arc<TcpStream>| {
            socket.peek(&mut [0]).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
        };
        !self.sender.is_closed() && self.socket.upgrade().is_some_and(has_nothing)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Idle {
    connection: Connection,
    since: Instant,
}

/// The socket of a stream once more. It does not block either.
///
/// # Errors
///
/// Where the process has no descriptor left.
pub(crate) fn same_socket(stream: &tokio::net::TcpStream) -> io::Result<Arc<TcpStream>> {
    stream.as_fd().try_clone_to_owned().map(|socket| Arc::new(socket.into()))
}

/// The idle connections.
pub(crate) struct Pool {
    idle: Mutex<HashMap<HttpTarget, Vec<Idle>>>,
    idle_max: Duration,
}

impl Default for Pool {
    fn default() -> Self {
        Self { idle: Mutex::default(), idle_max: IDLE_MAX }
    }
}

impl Pool {
    /// The connection that was used last, if one is still open.
    pub(crate) fn take(&self, target: &HttpTarget) -> Option<Connection> {
        let mut all = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = all.get_mut(target)?;
        while let Some(Idle { connection, since }) = idle.pop() {
            if connection.is_open() && since.elapsed() < self.idle_max {
                return Some(connection);
            }
        }
        all.remove(target);
        None
    }

    fn put(&self, target: HttpTarget, connection: Connection) {
        let mut all = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let count: usize = all.values().map(Vec::len).sum();
        let idle = all.entry(target).or_default();
        if count < IDLE_ALL_MAX && idle.len() < IDLE_EACH_MAX {
            idle.push(Idle { connection, since: Instant::now() });
        }
    }

    /// Closes what was idle for long or was closed by the other side.
    pub(crate) fn tidy(&self) {
        let mut all = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, idle| {
            idle.retain(|idle| idle.connection.is_open() && idle.since.elapsed() < self.idle_max);
            !idle.is_empty()
        });
    }
}

/// A connection during one request. It is closed at the deadline, and when it is dropped before it was given back.
pub(crate) struct Lease {
    connection: Option<Connection>,
    target: HttpTarget,
    /// What drives the connection, for as long as somebody reads from it.
    shared: Arc<Shared>,
    watch: AbortHandle,
}

impl Lease {
    /// Leases a connection until the deadline. To close it then and nothing less is what ends a guest's body that is never whole, a server
    /// that takes nothing, and an answer that nobody reads.
    pub(crate) fn new(
        connection: Connection,
        target: HttpTarget,
        shared: Arc<Shared>,
        deadline: Instant,
        ended: Ended,
    ) -> Self {
        let task = connection.task.clone();
        let watch = shared.runtime.spawn(async move {
            tokio::time::sleep_until(deadline.into()).await;
            ended.set(Why::Deadline);
            task.abort();
        });
        Self { connection: Some(connection), target, shared, watch: watch.abort_handle() }
    }

    pub(crate) fn sender(&mut self) -> Option<&mut SendRequest<OutgoingBody>> {
        self.connection.as_mut().map(|connection| &mut connection.sender)
    }

    /// Gives the connection back once it could take another request: when the answer is whole and the request was sent to its end.
    pub(crate) fn give_back(mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        let (pool, target) = (Arc::clone(&self.shared.pool), self.target.clone());
        self.shared.runtime.spawn(async move {
            if let Ok(Ok(())) = timeout(REST_MAX, connection.sender.ready()).await {
                pool.put(target, connection);
            }
        });
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

#[cfg(test)]
mod tests {
    use hyper::client::conn::http1;
    use hyper_util::rt::TokioIo;
    use tokio::io::AsyncReadExt as _;
    use tokio::net;

    use super::*;

    /// A connection, and its other end.
    async fn connection() -> (Connection, net::TcpStream) {
        let listener = net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let near = net::TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (far, _) = listener.accept().await.unwrap();
        let socket = same_socket(&near).unwrap();
        let asked = Arc::downgrade(&socket);
        let (mut sender, connection) = http1::handshake(TokioIo::new(near)).await.unwrap();
        let task = tokio::spawn(async move {
            _ = connection.await;
            drop(socket);
        });
        sender.ready().await.unwrap();
        (Connection::new(sender, task.abort_handle(), asked), far)
    }

    fn target(port: u16) -> HttpTarget {
        HttpTarget::parse("http", &format!("127.0.0.1:{port}")).unwrap()
    }

    async fn is_closed(mut far: net::TcpStream) -> bool {
        timeout(Duration::from_secs(20), far.read(&mut [0])).await.unwrap().unwrap() == 0
    }

    #[tokio::test]
    async fn a_connection_is_kept_for_its_target_and_used_once_at_a_time() {
        let pool = Pool::default();
        let (idle, _far) = connection().await;
        pool.put(target(1), idle);
        assert!(pool.take(&target(2)).is_none());
        let taken = pool.take(&target(1));
        assert!(taken.is_some() && pool.take(&target(1)).is_none());
    }

    #[tokio::test]
    async fn a_connection_that_was_idle_for_long_is_closed_and_not_used() {
        let pool = Pool { idle_max: Duration::ZERO, ..Pool::default() };
        let (idle, far) = connection().await;
        pool.put(target(1), idle);
        assert!(pool.take(&target(1)).is_none());
        assert!(is_closed(far).await);
        let (idle, far) = connection().await;
        pool.put(target(1), idle);
        pool.tidy();
        assert!(is_closed(far).await);
    }

    #[tokio::test]
    async fn a_connection_that_the_other_side_closed_is_not_used() {
        let pool = Pool::default();
        let (idle, far) = connection().await;
        let task = idle.task.clone();
        pool.put(target(1), idle);
        drop(far);
        while !task.is_finished() {
            tokio::task::yield_now().await;
        }
        assert!(pool.take(&target(1)).is_none());
    }

    /// No task runs between the close and the next request.
    #[tokio::test]
    async fn a_connection_whose_close_nobody_has_read_yet_is_not_used() {
        let pool = Pool::default();
        let (idle, far) = connection().await;
        let (task, socket) = (idle.task.clone(), idle.socket.upgrade().unwrap());
        pool.put(target(1), idle);
        drop(far);
        while socket.peek(&mut [0]).is_err() {
            std::thread::yield_now();
        }
        assert!(pool.take(&target(1)).is_none());
        assert!(!task.is_finished(), "its task has not run");
    }

    #[tokio::test]
    async fn a_connection_on_which_something_came_unasked_is_not_used() {
        let pool = Pool::default();
        let (idle, mut far) = connection().await;
        let socket = idle.socket.upgrade().unwrap();
        pool.put(target(1), idle);
        tokio::io::AsyncWriteExt::write_all(&mut far, b"HTTP/1.1 200 OK\r\n").await.unwrap();
        while socket.peek(&mut [0]).is_err() {
            std::thread::yield_now();
        }
        assert!(pool.take(&target(1)).is_none());
    }

    #[tokio::test]
    async fn of_idle_connections_there_are_so_many_and_one_more_is_closed() {
        let pool = Pool::default();
        let mut others = Vec::new();
        for n in 0..=IDLE_ALL_MAX {
            let (idle, far) = connection().await;
            pool.put(target((n / IDLE_EACH_MAX) as u16 + 1), idle);
            others.push(far);
        }
        assert!(is_closed(others.pop().unwrap()).await, "one more in all");
        while pool.take(&target(1)).is_some() {}
        let mut last = None;
        for _ in 0..=IDLE_EACH_MAX {
            let (idle, far) = connection().await;
            pool.put(target(99), idle);
            last = Some(far);
        }
        assert!(is_closed(last.unwrap()).await, "one more to one target");
    }
}
