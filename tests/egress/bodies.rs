//! What a guest sends as a body: bounded, and as long as it promised, or not a request at all.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use gristmill_egress::SendError;
use http::{HeaderMap, Request};
use http_body::{Body, Frame};
use http_body_util::{BodyExt as _, Full};

use crate::server::{Server, ok};
use crate::world::{World, grants, read};

const LIMIT: usize = 8 * 1024 * 1024;

/// A body whose length nobody knows beforehand.
struct Streamed(std::vec::IntoIter<io::Result<Frame<Bytes>>>);

impl Body for Streamed {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        Poll::Ready(self.0.next())
    }
}

fn streamed(pieces: impl IntoIterator<Item = io::Result<Frame<Bytes>>>) -> Streamed {
    Streamed(pieces.into_iter().collect::<Vec<_>>().into_iter())
}

fn data(text: impl Into<Bytes>) -> io::Result<Frame<Bytes>> {
    Ok(Frame::data(text.into()))
}

fn granted(server: &Server) -> World {
    grants().http(&server.origin()).start()
}

#[tokio::test]
async fn a_body_of_known_length_is_sent_with_it_and_one_without_in_chunks() {
    let server = Server::answering(ok(""));
    let world = granted(&server);
    world.post(&server.origin(), "hello").await.unwrap();
    let request = Request::post(server.origin()).body(streamed([data("hel"), data("lo")])).unwrap();
    read(world.send(request).await.unwrap()).await.unwrap();
    let requests = server.requests();
    assert!(requests[0].ends_with("\r\ncontent-length: 5\r\n\r\nhello"), "{}", requests[0]);
    assert!(
        requests[1].ends_with("\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"),
        "{}",
        requests[1]
    );
}

#[tokio::test]
async fn a_promised_length_is_sent_and_kept() {
    let server = Server::answering(ok(""));
    let world = granted(&server);
    for method in ["POST", "GET", "DELETE"] {
        let request = Request::builder().method(method).uri(server.origin()).header("content-length", "5");
        let request = request.body(streamed([data("hel"), data("lo")])).unwrap();
        read(world.send(request).await.unwrap()).await.unwrap();
        let last = server.requests().pop().unwrap();
        assert!(last.ends_with("\r\n\r\nhello") && last.contains("\r\ncontent-length: 5\r\n"), "{last}");
        assert!(!last.contains("transfer-encoding"), "{last}");
    }
}

/// A server would take such a body for the next request if it does not expect one.
#[tokio::test]
async fn a_get_sends_a_body_only_where_it_promised_a_length() {
    let server = Server::answering(ok(""));
    let world = granted(&server);
    for method in ["GET", "HEAD"] {
        let request = Request::builder().method(method).uri(server.origin()).body(streamed([data("hello")])).unwrap();
        read(world.send(request).await.unwrap()).await.unwrap();
        assert_eq!(
            server.requests().pop().unwrap(),
            format!("{method} / HTTP/1.1\r\nhost: {}\r\n\r\n", server.address)
        );
    }
}

#[tokio::test]
async fn a_body_that_is_not_as_long_as_promised_is_never_a_whole_request() {
    let server = Server::answering(ok(""));
    let world = granted(&server);
    for pieces in [vec![data("four")], vec![data("five5"), data("6")], vec![data("sixsix")], vec![]] {
        let request = Request::post(server.origin()).header("content-length", "5").body(streamed(pieces)).unwrap();
        let error = world.send(request).await.unwrap_err();
        assert!(matches!(error, SendError::RequestLength(5)), "{error:?}");
    }
    let known =
        Request::post(server.origin()).header("content-length", "5").body(Full::new(Bytes::from("four"))).unwrap();
    assert!(matches!(world.send(known).await, Err(SendError::RequestLength(5))));
    // Whatever was begun is over: a request of the test's own is the first whole one.
    world.post(&server.origin(), "hello").await.unwrap();
    assert_eq!(server.requests().len(), 1, "{:?}", server.requests());
}

#[tokio::test]
async fn a_request_body_may_have_eight_mebibytes_and_not_one_byte_more() {
    let server = Server::answering(ok(""));
    let world = granted(&server);
    let piece = Bytes::from(vec![b'x'; LIMIT / 8]);
    let whole = || (0..8).map(|_| data(piece.clone()));
    for body in
        [streamed(whole()).boxed_unsync(), Full::new(vec![b'x'; LIMIT].into()).map_err(|e| match e {}).boxed_unsync()]
    {
        let answer = read(world.send(Request::post(server.origin()).body(body).unwrap()).await.unwrap()).await.unwrap();
        assert_eq!(answer.status, 200);
    }
    assert_eq!(server.requests().len(), 2);
    let larger = streamed(whole().chain([data("x")]));
    let error = world.send(Request::post(server.origin()).body(larger).unwrap()).await.unwrap_err();
    assert!(matches!(error, SendError::RequestTooLarge(limit) if limit == LIMIT as u64), "{error:?}");
    let known = Request::post(server.origin()).body(Full::new(Bytes::from(vec![b'x'; LIMIT + 1]))).unwrap();
    assert!(matches!(world.send(known).await, Err(SendError::RequestTooLarge(_))));
    let promised = Request::post(server.origin()).header("content-length", LIMIT + 1).body(streamed([])).unwrap();
    assert!(matches!(world.send(promised).await, Err(SendError::RequestTooLarge(_))));
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn a_body_that_breaks_off_is_never_a_whole_request() {
    let server = Server::answering(ok(""));
    let world = granted(&server);
    let broken = streamed([data("hel"), Err(io::Error::other("the guest is gone"))]);
    let error = world.send(Request::post(server.origin()).body(broken).unwrap()).await.unwrap_err();
    assert_eq!(error.to_string(), "the request's body broke off: the guest is gone");
    world.post(&server.origin(), "hello").await.unwrap();
    assert_eq!(server.requests().len(), 1, "{:?}", server.requests());
}

#[tokio::test]
async fn trailers_are_refused_since_they_are_headers_that_nobody_judged() {
    let server = Server::answering(ok(""));
    let world = granted(&server);
    let trailers: HeaderMap = [("authorization".parse().unwrap(), "x".parse().unwrap())].into_iter().collect();
    let body = streamed([data("hello"), Ok(Frame::trailers(trailers))]);
    let error = world.send(Request::post(server.origin()).body(body).unwrap()).await.unwrap_err();
    assert_eq!(error.to_string(), "the request's body broke off: trailers are not sent");
    assert_eq!(server.requests(), [""; 0]);
}
