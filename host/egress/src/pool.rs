//! Connections that are kept open between requests, and the lease of one during a request.
//!
//! A connection is in one of three places: here and idle, in a lease, or closed. It knows no names: a connection stays with the address it
//! was opened to, whatever its name resolves to by now.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::client::conn::http1::SendRequest;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::body::{Ended, OutgoingBody, Why};
use crate::destination::HttpTarget;

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
}

impl Connection {
    pub(crate) fn new(sender: SendRequest<OutgoingBody>, task: AbortHandle) -> Self {
        Self { sender, task }
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

/// The idle connections.
#[derive(Default)]
pub(crate) struct Pool {
    idle: Mutex<HashMap<HttpTarget, Vec<Idle>>>,
}

impl Pool {
    /// The connection that was used last, if one is still open.
    pub(crate) fn take(&self, target: &HttpTarget) -> Option<Connection> {
        let mut all = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = all.get_mut(target)?;
        while let Some(Idle { connection, since }) = idle.pop() {
            if !connection.sender.is_closed() && since.elapsed() < IDLE_MAX {
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
            idle.retain(|idle| !idle.connection.sender.is_closed() && idle.since.elapsed() < IDLE_MAX);
            !idle.is_empty()
        });
    }
}

/// A connection during one request. It is closed at the deadline, and when it is dropped before it was given back.
pub(crate) struct Lease {
    connection: Option<Connection>,
    target: HttpTarget,
    pool: Arc<Pool>,
    runtime: Handle,
    watch: AbortHandle,
}

impl Lease {
    /// Leases a connection until the deadline. To close it then and nothing less is what ends a guest's body that is never whole, a server
    /// that takes nothing, and an answer that nobody reads.
    pub(crate) fn new(
        connection: Connection,
        target: HttpTarget,
        pool: Arc<Pool>,
        runtime: Handle,
        deadline: Instant,
        ended: Ended,
    ) -> Self {
        let task = connection.task.clone();
        let watch = runtime.spawn(async move {
            tokio::time::sleep_until(deadline.into()).await;
            ended.set(Why::Deadline);
            task.abort();
        });
        Self { connection: Some(connection), target, pool, runtime, watch: watch.abort_handle() }
    }

    pub(crate) fn sender(&mut self) -> Option<&mut SendRequest<OutgoingBody>> {
        self.connection.as_mut().map(|connection| &mut connection.sender)
    }

    /// Gives the connection back once it could take another request: when the answer is whole and the request was sent to its end.
    pub(crate) fn give_back(mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        let (pool, target) = (Arc::clone(&self.pool), self.target.clone());
        self.runtime.spawn(async move {
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
