//! Peers that take their time: every wait has an end, and an error of its own.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use gristmill_egress::{LookUpFailed, SendError};
use http::Request;
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use tokio::time::timeout;

use crate::server::{PATIENCE, Server, ok};
use crate::world::{World, grants};

const SHORT: Duration = Duration::from_millis(300);
/// Longer than the short bounds here, shorter than the usual ones, so that it shows which of the two counted.
const NOT_LONG: Duration = Duration::from_millis(1900);

/// A body of which nothing ever comes.
struct Endless;

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }
}

fn granted(server: &Server) -> World {
    grants().http(&server.origin()).start()
}

/// B19: a server that accepts and never answers.
#[tokio::test]
async fn a_server_that_never_answers_is_given_up_at_the_first_byte_bound() {
    let server = Server::silent();
    let mut world = granted(&server);
    world.limits.first_byte = SHORT;
    let begun = Instant::now();
    let error = world.ask(&server.origin()).await.unwrap_err();
    assert!(matches!(error, SendError::FirstByteTimeout), "{error:?}");
    assert!((SHORT..NOT_LONG).contains(&begun.elapsed()), "{:?}", begun.elapsed());
    server.wait_for_closed(1);
}

/// B19: nothing outlasts the batch.
#[tokio::test]
async fn a_server_that_never_answers_is_given_up_at_the_deadline_where_that_comes_first() {
    let server = Server::silent();
    let mut world = granted(&server);
    world.time = SHORT;
    let begun = Instant::now();
    let error = world.ask(&server.origin()).await.unwrap_err();
    assert!(matches!(error, SendError::Deadline), "{error:?}");
    assert!((SHORT..NOT_LONG).contains(&begun.elapsed()), "{:?}", begun.elapsed());
    server.wait_for_closed(1);
}

#[tokio::test]
async fn the_bounds_are_two_seconds_for_the_way_and_five_for_the_first_byte() {
    let limits = gristmill_egress::Limits::default();
    assert_eq!((limits.connect, limits.first_byte), (Duration::from_secs(2), Duration::from_secs(5)));
    let server = Server::silent();
    let https = format!("https://127.0.0.1:{}", server.port());
    let world = grants().http(&https).start();
    let begun = Instant::now();
    let error = world.ask(&https).await.unwrap_err();
    assert!(matches!(error, SendError::ConnectTimeout(_)), "{error:?}");
    assert!((limits.connect..limits.first_byte).contains(&begun.elapsed()), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn headers_that_come_a_byte_at_a_time_do_not_stretch_the_bound() {
    let server = Server::start(|arrived| {
        arrived.request();
        arrived.drip(&[b"HTTP/1.1 200 OK\r\nx: ".to_vec(), vec![b'x'; 5000]].concat(), Duration::from_millis(20));
    });
    let mut world = granted(&server);
    world.limits.first_byte = SHORT;
    let begun = Instant::now();
    let error = world.ask(&server.origin()).await.unwrap_err();
    assert!(matches!(error, SendError::FirstByteTimeout), "{error:?}");
    assert!(begun.elapsed() < NOT_LONG, "{:?}", begun.elapsed());
    server.wait_for_closed(1);
}

#[tokio::test]
async fn interim_answers_without_end_do_not_stretch_the_bound() {
    let server = Server::start(|arrived| {
        arrived.request();
        arrived.drip(&b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n".repeat(500), Duration::from_millis(1));
    });
    let mut world = granted(&server);
    world.limits.first_byte = SHORT;
    let error = world.ask(&server.origin()).await.unwrap_err();
    assert!(matches!(error, SendError::FirstByteTimeout), "{error:?}");
    server.wait_for_closed(1);
}

#[tokio::test]
async fn a_body_that_comes_a_byte_at_a_time_ends_with_an_error_at_the_deadline() {
    let server = Server::start(|arrived| {
        arrived.request();
        arrived.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n");
        arrived.drip(&[b'x'; 5000], Duration::from_millis(20));
    });
    let mut world = granted(&server);
    world.time = 2 * SHORT;
    let begun = Instant::now();
    let error = world.ask(&server.origin()).await.unwrap_err();
    assert!(matches!(error, SendError::Deadline), "{error:?}");
    assert!(begun.elapsed() < NOT_LONG, "{:?}", begun.elapsed());
    server.wait_for_closed(1);
}

#[tokio::test]
async fn a_body_without_length_that_the_deadline_cuts_is_no_whole_body() {
    let server = Server::start(|arrived| {
        arrived.request();
        arrived.write(b"HTTP/1.1 200 OK\r\n\r\nhalf of it");
        arrived.wait_for_end();
    });
    let mut world = granted(&server);
    world.time = SHORT;
    let error = world.ask(&server.origin()).await.unwrap_err();
    assert!(matches!(error, SendError::Deadline), "{error:?}");
}

#[tokio::test]
async fn a_handshake_that_never_ends_is_given_up_with_the_connection() {
    for server in [Server::silent(), Server::start(|arrived| arrived.drip(&[0x16; 5000], Duration::from_millis(20)))] {
        let https = format!("https://127.0.0.1:{}", server.port());
        let mut world = grants().http(&https).start();
        world.limits.connect = SHORT;
        let begun = Instant::now();
        let error = world.ask(&https).await.unwrap_err();
        assert!(matches!(error, SendError::ConnectTimeout(_) | SendError::Tls { .. }), "{error:?}");
        assert!(begun.elapsed() < NOT_LONG, "{:?}", begun.elapsed());
        server.wait_for_closed(1);
        assert_eq!(server.requests(), [""; 0]);
    }
}

#[tokio::test]
async fn an_address_that_does_not_answer_is_given_up_in_time() {
    let mut world = grants().http("http://127.0.0.1:9").start();
    world.book.silence("127.0.0.1");
    world.limits.connect = SHORT;
    let begun = Instant::now();
    let error = world.ask("http://127.0.0.1:9").await.unwrap_err();
    assert!(matches!(error, SendError::ConnectTimeout(_)), "{error:?}");
    assert!((SHORT..NOT_LONG).contains(&begun.elapsed()), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn an_address_that_does_not_answer_leaves_time_for_the_next() {
    let server = Server::answering(ok("hello"));
    let url = format!("http://two.example:{}", server.port());
    let world = grants().addresses("127.0.0.2").http(&url).name("two.example", &[&["127.0.0.2", "127.0.0.1"]]).start();
    world.book.silence("127.0.0.2");
    assert_eq!(world.ask(&url).await.unwrap().body, "hello");
}

#[tokio::test]
async fn a_resolver_that_does_not_answer_is_given_up_in_time() {
    let mut world = grants().http("http://hangs.example").start();
    world.limits.connect = SHORT;
    let begun = Instant::now();
    let error = world.ask("http://hangs.example").await.unwrap_err();
    assert!(matches!(error, SendError::LookUp(LookUpFailed::Timeout(_))), "{error:?}");
    assert!((SHORT..NOT_LONG).contains(&begun.elapsed()), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn look_ups_that_the_resolver_does_not_answer_do_not_pile_up() {
    let mut world = grants().http("http://hangs.example").start();
    world.limits.connect = Duration::from_millis(50);
    for _ in 0..12 {
        let error = world.ask("http://hangs.example").await.unwrap_err();
        assert!(matches!(error, SendError::LookUp(LookUpFailed::Timeout(_))), "{error:?}");
    }
    assert_eq!(world.book.resolved().len(), 8, "the ninth and later do not reach the resolver");
}

#[tokio::test]
async fn a_guests_body_that_never_comes_ends_at_the_deadline_and_the_connection_with_it() {
    let server = Server::silent();
    let mut world = granted(&server);
    world.time = SHORT;
    let error = world.send(Request::post(server.origin()).body(Endless).unwrap()).await.unwrap_err();
    assert!(matches!(error, SendError::Deadline), "{error:?}");
    server.wait_for_closed(1);
}

/// The server answers before it has the request, and the guest neither sends nor reads on.
#[tokio::test]
async fn a_connection_whose_request_never_ends_is_closed_though_its_answer_is_whole() {
    let server = Server::start(|arrived| {
        arrived.beginning();
        arrived.write(&ok("early"));
        arrived.wait_for_end();
    });
    let world = granted(&server);
    let response = world.send(Request::post(server.origin()).body(Endless).unwrap()).await.unwrap();
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "early");
    server.wait_for_closed(1);
}

#[tokio::test]
async fn an_answer_that_nobody_reads_is_closed_at_the_deadline() {
    let server = Server::start(|arrived| {
        arrived.request();
        arrived.write(b"HTTP/1.1 200 OK\r\n\r\n");
        while arrived.write(&[b'x'; 16 * 1024]) {}
    });
    let mut world = granted(&server);
    world.time = SHORT;
    let response = world.begin(&server.origin()).await.unwrap();
    server.wait_for_closed(1);
    let mut body = response.into_body();
    let last = loop {
        match body.frame().await {
            Some(Ok(_)) => {}
            end => break end,
        }
    };
    assert!(matches!(last, Some(Err(SendError::Deadline))), "{last:?}");
    assert!(body.frame().await.is_none(), "nothing comes behind an error");
}

#[tokio::test]
async fn a_request_that_is_given_up_takes_its_connection_with_it() {
    let server = Server::silent();
    let world = granted(&server);
    assert!(timeout(SHORT, world.ask(&server.origin())).await.is_err());
    server.wait_for_closed(1);
}

#[tokio::test]
async fn requests_that_are_given_up_leave_nothing_behind() {
    let server = Server::silent();
    let world = granted(&server);
    for n in 1..=300 {
        let asked = tokio::spawn({
            let (world, url) = (world.clone(), server.origin());
            async move { world.ask(&url).await }
        });
        while server.connections() < n {
            tokio::task::yield_now().await;
        }
        asked.abort();
        assert!(asked.await.unwrap_err().is_cancelled());
    }
    server.wait_for_closed(300);
    assert_eq!(server.connections(), 300);
}

#[tokio::test]
async fn an_answer_that_is_dropped_takes_its_connection_with_it() {
    let server = Server::start(|arrived| {
        arrived.request();
        arrived.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf");
        arrived.wait_for_end();
    });
    let world = granted(&server);
    drop(world.begin(&server.origin()).await.unwrap());
    server.wait_for_closed(1);
}

#[tokio::test]
async fn a_deadline_that_is_over_ends_a_request_before_it_is_sent() {
    let server = Server::silent();
    let mut world = granted(&server);
    world.time = Duration::ZERO;
    let begun = Instant::now();
    let error = world.ask(&server.origin()).await.unwrap_err();
    assert!(matches!(error, SendError::Deadline), "{error:?}");
    assert!(begun.elapsed() < PATIENCE / 4);
    assert_eq!(server.requests(), [""; 0]);
}
