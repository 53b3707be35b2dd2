//! Connections that are kept, how many requests a guest has at once, and the end of it all.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use gristmill_egress::{InFlight, Network, Pending, SendError};
use http_body_util::BodyExt as _;
use tokio::net::TcpStream;

use crate::server::{Server, ok, wait_until};
use crate::world::{World, grants};

/// A network that keeps every socket that it dialled, to see what has arrived there.
#[derive(Clone, Default)]
struct Sockets(Arc<Mutex<Vec<std::net::TcpStream>>>);

impl Network for Sockets {
    fn resolve(&self, name: &str) -> Pending<Vec<IpAddr>> {
        panic!("{name} is looked up")
    }

    fn dial(&self, address: SocketAddr) -> Pending<TcpStream> {
        let sockets = Arc::clone(&self.0);
        Box::pin(async move {
            let stream = TcpStream::connect(address).await?;
            sockets.lock().unwrap().push(stream.as_fd().try_clone_to_owned()?.into());
            Ok(stream)
        })
    }
}

impl Sockets {
    /// Waits until the other sides have closed that many.
    fn wait_for_closed(&self, count: usize) {
        let is_closed = |socket: &std::net::TcpStream| matches!(socket.peek(&mut [0]), Ok(0));
        wait_until("the close has arrived", || {
            self.0.lock().unwrap().iter().filter(|socket| is_closed(socket)).count() >= count
        });
    }
}

fn granted(server: &Server) -> World {
    grants().http(&server.origin()).start()
}

#[tokio::test]
async fn requests_one_after_the_other_share_a_connection() {
    let server = Server::answering(ok("hello"));
    let world = granted(&server);
    for n in 0..50 {
        match n % 3 {
            0 => assert_eq!(world.ask(&server.origin()).await.unwrap().body, "hello"),
            1 => assert_eq!(world.post(&server.origin(), "x").await.unwrap().body, "hello"),
            _ => assert_eq!(
                world.begin(&server.origin()).await.unwrap().into_body().collect().await.unwrap().to_bytes(),
                "hello"
            ),
        }
    }
    assert_eq!((server.requests().len(), server.connections()), (50, 1));
}

/// Between batches no guest's runtime runs, and the next batch may be another worker's.
#[test]
fn a_connection_outlives_the_runtime_that_asked_for_it_and_serves_another_thread() {
    let server = Server::answering(ok("hello"));
    let world = granted(&server);
    for _ in 0..5 {
        let (world, url) = (world.clone(), server.origin());
        let worker = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(world.ask(&url)).unwrap()
        });
        assert_eq!(worker.join().unwrap().body, "hello");
    }
    assert_eq!((server.requests().len(), server.connections()), (5, 1));
}

#[tokio::test]
async fn a_connection_that_the_server_closed_meanwhile_costs_no_request() {
    let server = Server::start(|arrived| {
        arrived.request();
        arrived.write(&ok("hello"));
    });
    let sockets = Sockets::default();
    let world = grants().http(&server.origin()).start_on(sockets.clone());
    for n in 1..=5 {
        assert_eq!(world.post(&server.origin(), "x").await.unwrap().body, "hello");
        // No task of the host runs meanwhile: the close has arrived, and nobody has read it.
        sockets.wait_for_closed(n);
    }
    assert_eq!((server.requests().len(), server.connections()), (5, 5));
}

#[tokio::test]
async fn a_guest_has_eight_requests_at_once_and_the_ninth_is_refused() {
    let server = Server::start(|arrived| {
        arrived.request();
        arrived.write(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf");
        arrived.wait_for_end();
    });
    let world = granted(&server);
    let mut open = Vec::new();
    for _ in 0..8 {
        open.push(world.begin(&server.origin()).await.unwrap());
    }
    let error = world.begin(&server.origin()).await.unwrap_err();
    assert!(matches!(error, SendError::TooManyAtOnce(8)), "{error:?}");
    assert_eq!(server.connections(), 8);
    let neighbour = World { guest: InFlight::default(), ..world.clone() };
    neighbour.begin(&server.origin()).await.unwrap();
    open.pop();
    assert!(world.begin(&server.origin()).await.is_ok(), "a dropped answer leaves its place");
}

#[tokio::test]
async fn an_answer_that_was_read_leaves_its_place_though_it_is_held() {
    let server = Server::answering(ok("hello"));
    let world = World { guest: InFlight::new(1), ..granted(&server) };
    let mut body = world.begin(&server.origin()).await.unwrap().into_body();
    assert!(matches!(world.begin(&server.origin()).await, Err(SendError::TooManyAtOnce(1))));
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "hello");
    assert!(world.begin(&server.origin()).await.is_ok());
}

#[tokio::test]
async fn a_request_that_fails_leaves_its_place() {
    let server = Server::start(|arrived| {
        arrived.request();
    });
    let world = World { guest: InFlight::new(1), ..granted(&server) };
    for _ in 0..5 {
        let error = world.ask(&server.origin()).await.unwrap_err();
        assert!(matches!(error, SendError::Closed), "{error:?}");
    }
}

#[tokio::test]
async fn requests_at_the_same_time_have_a_connection_each_and_all_are_answered() {
    let server = Server::answering(ok("hello"));
    let world = granted(&server);
    let asked: Vec<_> = (0..8)
        .map(|_| {
            let (world, url) = (world.clone(), server.origin());
            tokio::spawn(async move { world.ask(&url).await.unwrap().body })
        })
        .collect();
    for one in asked {
        assert_eq!(one.await.unwrap(), "hello");
    }
    assert_eq!(server.requests().len(), 8);
    assert!(server.connections() <= 8, "{}", server.connections());
}

#[tokio::test]
async fn the_last_clone_takes_the_connections_with_it() {
    let server = Server::answering(ok("hello"));
    let world = granted(&server);
    let clone = world.clone();
    world.ask(&server.origin()).await.unwrap();
    drop(world);
    assert_eq!(clone.ask(&server.origin()).await.unwrap().body, "hello");
    drop(clone);
    server.wait_for_closed(1);
    assert_eq!(server.connections(), 1);
}

/// An answer keeps the thread that drives its connection.
#[tokio::test]
async fn an_answer_is_whole_though_nobody_else_holds_the_way_out_any_more() {
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let server = Server::start(move |arrived| {
        arrived.request();
        arrived.write(b"HTTP/1.1 200 OK\r\n\r\nfirst half, ");
        wait.lock().unwrap().recv().unwrap();
        arrived.write(b"second half");
    });
    let world = granted(&server);
    let answer = world.begin(&server.origin()).await.unwrap();
    drop(world);
    let mut body = answer.into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "first half, ");
    go.send(()).unwrap();
    assert_eq!(body.collect().await.unwrap().to_bytes(), "second half");
    server.wait_for_closed(1);
}
