//! Answers that are large, cut, false or no HTTP: an error each, and never less than was sent as if it were all.

use gristmill_egress::SendError;
use http::Request;
use http_body_util::{BodyExt as _, Empty};

use crate::server::{Server, ok};
use crate::world::{World, grants};

const LIMIT: usize = 8 * 1024 * 1024;

fn granted(server: &Server) -> World {
    grants().http(&server.origin()).start()
}

/// Answers one request with these bytes and closes.
fn once(answer: impl Into<Vec<u8>>) -> Server {
    let answer = answer.into();
    Server::start(move |arrived| {
        arrived.request();
        arrived.write(&answer);
    })
}

async fn error_of(server: &Server) -> SendError {
    granted(server).ask(&server.origin()).await.unwrap_err()
}

#[tokio::test]
async fn an_answer_may_have_eight_mebibytes_and_not_one_byte_more() {
    let body = vec![b'x'; LIMIT];
    let known = [format!("HTTP/1.1 200 OK\r\ncontent-length: {LIMIT}\r\n\r\n").into_bytes(), body.clone()].concat();
    let unknown = [b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), body].concat();
    for answer in [&known, &unknown] {
        let server = once(answer.clone());
        assert_eq!(granted(&server).ask(&server.origin()).await.unwrap().body.len(), LIMIT);
    }
    let server = once([unknown, vec![b'x']].concat());
    let error = error_of(&server).await;
    assert!(matches!(error, SendError::ResponseTooLarge(limit) if limit == LIMIT as u64), "{error:?}");
}

#[tokio::test]
async fn an_answer_that_says_it_is_too_large_is_refused_before_it_is_read() {
    let server = Server::start(|arrived| {
        arrived.request();
        arrived.write(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", LIMIT + 1).as_bytes());
        arrived.wait_for_end();
    });
    let error = granted(&server).begin(&server.origin()).await.unwrap_err();
    assert!(matches!(error, SendError::ResponseTooLarge(_)), "{error:?}");
    server.wait_for_closed(1);
}

#[tokio::test]
async fn an_answer_without_end_is_closed_at_its_limit() {
    for head in ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"] {
        let is_chunked = head.contains("chunked");
        let server = Server::start(move |arrived| {
            arrived.request();
            arrived.write(head.as_bytes());
            let piece = if is_chunked { b"1000\r\n".to_vec() } else { Vec::new() };
            let piece = [piece, vec![b'x'; 4096], if is_chunked { b"\r\n".to_vec() } else { Vec::new() }].concat();
            while arrived.write(&piece) {}
        });
        let error = error_of(&server).await;
        assert!(matches!(error, SendError::ResponseTooLarge(_)), "{error:?}");
        server.wait_for_closed(1);
    }
}

#[tokio::test]
async fn an_answer_that_is_cut_is_an_error_and_not_a_shorter_answer() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\ncontent-len",
        "HTTP/1.1 200 OK\r\n",
        "",
    ] {
        let error = error_of(&once(answer)).await;
        assert!(matches!(error, SendError::Closed), "{answer:?}: {error:?}");
    }
}

#[tokio::test]
async fn what_is_no_http_is_an_error_of_its_own() {
    for answer in [
        "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/3.0 200 OK\r\n\r\n",
        "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nx : y\r\n\r\n",
        "HTTP/1.1 200 OK\r\nx: a\r\n b\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nhello",
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
        "hello",
    ] {
        let error = error_of(&once(answer)).await;
        assert!(matches!(error, SendError::Protocol(_)), "{answer:?}: {error:?}");
    }
}

#[tokio::test]
async fn headers_that_are_too_large_or_too_many_are_an_error_of_their_own() {
    let large = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "x".repeat(33 * 1024));
    let many: String = (0..200).map(|n| format!("x{n}: y\r\n")).collect();
    let endless = format!("HTTP/1.1 200 OK\r\nx: {}", "x".repeat(1024 * 1024));
    // The reader of HTTP calls it the same, and so do we.
    let length = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\nhello", u64::MAX);
    for answer in [large, format!("HTTP/1.1 200 OK\r\n{many}\r\n"), endless, length] {
        let error = error_of(&once(answer)).await;
        assert!(matches!(error, SendError::ResponseHeadersTooLarge(32_768)), "{error:?}");
        let words = "more than 32768 bytes, more than 128 of them, or a content-length that no body has";
        assert!(error.to_string().ends_with(words), "{error}");
    }
}

/// Bytes behind an answer's end are no answer to the next request.
#[tokio::test]
async fn what_a_server_sends_behind_its_answer_answers_nothing() {
    let forged = "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged";
    let server = Server::start(move |arrived| {
        let mut number = 0;
        while arrived.request().is_some() {
            number += 1;
            arrived.write(&[ok(if number == 1 { "honest" } else { "again" }), forged.as_bytes().to_vec()].concat());
        }
    });
    let world = granted(&server);
    for _ in 0..5 {
        assert_eq!(world.ask(&server.origin()).await.unwrap().body, "honest");
    }
    assert_eq!(server.connections(), 5, "such a connection is not used again");
}

#[tokio::test]
async fn answers_without_a_body_are_whole_at_once() {
    for (method, answer) in [
        ("HEAD", "HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n"),
        ("GET", "HTTP/1.1 204 No Content\r\n\r\n"),
        ("GET", "HTTP/1.1 304 Not Modified\r\n\r\n"),
        ("GET", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
    ] {
        let server = Server::answering(answer);
        let world = granted(&server);
        let request = Request::builder().method(method).uri(server.origin()).body(Empty::new()).unwrap();
        let response = world.send(request).await.unwrap();
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes().len(), 0, "{method} {answer}");
    }
}

#[tokio::test]
async fn a_guest_sees_retry_after_and_nothing_of_the_connection() {
    let server = Server::answering(
        "HTTP/1.1 503 Later\r\nretry-after: 7\r\nkeep-alive: timeout=5\r\nconnection: x-hop\r\nx-hop: 1\r\n\
         proxy-authenticate: Basic\r\ncontent-length: 0\r\n\r\n",
    );
    let response = granted(&server).begin(&server.origin()).await.unwrap();
    assert_eq!((response.status().as_u16(), response.headers()["retry-after"].as_bytes()), (503, &b"7"[..]));
    let names: Vec<&str> = response.headers().keys().map(http::HeaderName::as_str).collect();
    assert_eq!(names, ["retry-after", "content-length"]);
}
