//! What a guest writes stays where it belongs: the bytes that arrive are compared whole.

use bytes::Bytes;
use gristmill_egress::SendError;
use http::{HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::{Empty, Full};

use crate::server::{Server, ok};
use crate::world::{World, grants, read};

fn granted(server: &Server) -> World {
    grants().http_with(&server.origin(), &[("authorization", "Bearer t")]).start()
}

/// What arrives for one request.
async fn arrived(request: impl Fn(&str) -> Request<Full<Bytes>>) -> String {
    let server = Server::answering(ok(""));
    read(granted(&server).send(request(&server.origin())).await.unwrap()).await.unwrap();
    assert_eq!(server.requests().len(), 1);
    server.requests().remove(0).replace(&server.address.to_string(), "SERVER")
}

#[tokio::test]
async fn a_request_arrives_as_this_and_nothing_else() {
    let get = arrived(|origin| {
        Request::get(format!("{origin}/a//b/../c?d=e&f=%0d%0a")).header("Accept", "*/*").body(Full::default()).unwrap()
    });
    assert_eq!(
        get.await,
        "GET /a//b/../c?d=e&f=%0d%0a HTTP/1.1\r\naccept: */*\r\nauthorization: Bearer t\r\nhost: SERVER\r\n\r\n"
    );
    let post = arrived(|origin| {
        Request::post(origin).version(http::Version::HTTP_10).body("GET / HTTP/1.1\r\n\r\n".into()).unwrap()
    });
    assert_eq!(
        post.await,
        "POST / HTTP/1.1\r\nauthorization: Bearer t\r\nhost: SERVER\r\ncontent-length: 18\r\n\r\nGET / HTTP/1.1\r\n\r\n"
    );
    let odd_method =
        arrived(|origin| Request::builder().method("PURGE").uri(format!("{origin}?x")).body(Full::default()).unwrap());
    assert!(odd_method.await.starts_with("PURGE /?x HTTP/1.1\r\nauthorization: Bearer t\r\nhost: SERVER\r\n"));
}

#[tokio::test]
async fn headers_that_belong_to_the_host_are_refused_and_nothing_arrives() {
    let server = Server::silent();
    let world = granted(&server);
    for (name, value) in [
        ("host", "evil.example"),
        ("connection", "close"),
        ("connection", "authorization"),
        ("transfer-encoding", "chunked"),
        ("transfer-encoding", "identity"),
        ("transfer-encoding", "\u{b}chunked"),
        ("te", "trailers"),
        ("trailer", "x"),
        ("upgrade", "h2c"),
        ("http2-settings", "AAMAAABkAAQAAP__"),
        ("keep-alive", "timeout=1000"),
        ("expect", "100-continue"),
        ("proxy-authorization", "Basic x"),
        ("proxy-connection", "keep-alive"),
        ("authorization", "Bearer mine"),
        ("cookie", "a=b"),
        ("content-length", "+5"),
        ("content-length", "5, 6"),
    ] {
        let Ok(value) = HeaderValue::from_str(value) else { continue };
        let request = Request::post(server.origin()).header(name, value).body(Full::<Bytes>::from("hello")).unwrap();
        let error = world.send(request).await.unwrap_err();
        assert!(matches!(error, SendError::Header(_)), "{name}: {error:?}");
    }
    let twice = Request::post(server.origin()).header("content-length", "5").header("content-length", "5");
    let error = world.send(twice.body(Full::<Bytes>::from("hello")).unwrap()).await.unwrap_err();
    assert!(matches!(error, SendError::Header(_)), "{error:?}");
    world.book.saw_nothing();
    server.saw_nothing();
}

#[test]
fn line_breaks_and_spaces_are_no_part_of_a_header_or_method() {
    for name in ["x y", "x ", " x", "x:", "x\r\ny", "transfer-encoding ", "", "x\0", "\u{fc}"] {
        assert!(HeaderName::from_bytes(name.as_bytes()).is_err(), "{name:?}");
    }
    for value in ["a\r\nx: y", "a\nb", "a\rb", "a\0b", "a\u{7f}b", "\u{b}chunked"] {
        assert!(HeaderValue::from_str(value).is_err(), "{value:?}");
    }
    for method in ["GET /", "GET\r\n", "", "G:T", "\u{fc}"] {
        assert!(Method::from_bytes(method.as_bytes()).is_err(), "{method:?}");
    }
}

/// Each of these is either no URI to begin with, or refused; nothing is looked up, dialled or sent.
#[tokio::test]
async fn what_is_not_a_plain_authority_and_path_is_refused_and_nothing_arrives() {
    let server = Server::silent();
    let (world, at) = (granted(&server), server.address);
    let attempts = [
        format!("http://user@{at}/"),
        format!("http://user:pw@{at}/"),
        format!("http://{at}@evil.example/"),
        format!("http://evil.example@{at}/"),
        format!("http://{at}\\@evil.example/"),
        format!("http://{at} /"),
        format!("http://{at}/a b"),
        format!("http://{at}/a\r\nx: y"),
        format!("http://{at}/a\tb"),
        format!("http://{at}/\u{fc}"),
        format!("http://{at}/\u{7f}"),
        format!("http://{at}%00/"),
        format!("http://{at}:80/"),
        format!("http://[{at}]/"),
        format!("ftp://{at}/"),
        format!("//{at}/"),
        format!("{at}"),
        "/".to_owned(),
        "*".to_owned(),
        "http://".to_owned(),
        "http:///".to_owned(),
    ];
    for attempt in attempts {
        let Ok(uri) = attempt.parse::<Uri>() else { continue };
        let request = Request::builder().uri(uri).body(Empty::<Bytes>::new()).unwrap();
        let error = world.send(request).await.unwrap_err();
        let refused = matches!(error, SendError::Target(_) | SendError::Path(_) | SendError::Denied(_));
        assert!(refused, "{attempt:?}: {error:?}");
    }
    world.book.saw_nothing();
    server.saw_nothing();
}

#[tokio::test]
async fn targets_of_proxies_and_of_the_server_as_a_whole_are_refused() {
    let server = Server::silent();
    let world = granted(&server);
    let path = |path: &str| {
        let uri = Uri::builder().scheme("http").authority(server.address.to_string()).path_and_query(path);
        uri.build().ok().map(|uri| Request::options(uri).body(Empty::<Bytes>::new()).unwrap())
    };
    for path in ["*", "http://evil.example/", "evil", "evil.example:80"].into_iter().filter_map(path) {
        let error = world.send(path).await.unwrap_err();
        assert!(matches!(error, SendError::Path(_)), "{error:?}");
    }
    let long = format!("{}/{}", server.origin(), "x".repeat(16 * 1024));
    assert!(matches!(world.begin(&long).await, Err(SendError::Path(_))));
    world.book.saw_nothing();
    server.saw_nothing();
}

#[tokio::test]
async fn no_tunnel_is_made_and_no_server_is_asked_to_send_the_credentials_back() {
    let server = Server::silent();
    let world = granted(&server);
    for method in ["CONNECT", "TRACE", "TRACK", "trace", "Track", "connect", "X".repeat(33).as_str()] {
        let request = Request::builder().method(method).uri(server.origin()).body(Empty::<Bytes>::new()).unwrap();
        let error = world.send(request).await.unwrap_err();
        assert!(matches!(error, SendError::Method(_)), "{method}: {error:?}");
    }
    world.book.saw_nothing();
    server.saw_nothing();
}
