//! What is granted arrives; what is not is refused before anything is asked of the network.

use std::process::Command;

use gristmill_egress::address::parse_range;
use gristmill_egress::destination::HttpOrigin;
use gristmill_egress::{Egress, HttpGrant, Rules, SystemNetwork};
use http::Request;
use http_body_util::Full;

use crate::server::{Server, ok};
use crate::world::{Answer, World, denied, grants};

#[tokio::test]
async fn a_granted_request_arrives_and_its_answer_comes_back() {
    let server = Server::answering(ok("hello"));
    let world = grants().http(&format!("http://api.example.com:{}", server.port()));
    let world = world.name("api.example.com", &[&["127.0.0.1"]]).start();
    let answer = world.ask(&format!("http://API.example.com.:{}/v1?a=b", server.port())).await.unwrap();
    assert_eq!(answer, Answer { status: 200, body: "hello".to_owned() });
    assert_eq!(world.book.resolved(), ["api.example.com"]);
    assert_eq!(world.book.dialled(), [server.address]);
}

/// B129: the denial names scheme, host and port, and the line to add.
#[tokio::test]
async fn what_nothing_grants_is_refused_before_its_name_is_looked_up() {
    let server = Server::silent();
    let port = server.port();
    let world = grants().http("https://api.example.com").http(&format!("http://*.example.org:{port}")).start();
    for (url, asked, line) in [
        ("http://api.example.com", "http://api.example.com:80", "http://api.example.com"),
        ("https://api.example.com:8443", "https://api.example.com:8443", "https://api.example.com:8443"),
        ("https://example.com/api.example.com", "https://example.com:443", "https://example.com"),
        ("https://x.api.example.com", "https://x.api.example.com:443", "https://x.api.example.com"),
        ("http://localhost:8000", "http://localhost:8000", "http://localhost:8000"),
    ] {
        let text = denied(world.ask(url).await);
        assert_eq!(text, format!("{asked} is not granted: add plugin.grants.http = [\"{line}\"]"));
    }
    assert_eq!(
        denied(world.ask("http://169.254.169.254/latest").await),
        "http://169.254.169.254:80 is not granted: add plugin.grants.http = [\"http://169.254.169.254\"], and \
         plugin.grants.addresses = [\"169.254.169.254/32\"]"
    );
    let own = format!("http://127.0.0.1:{port}");
    for url in [own, format!("http://example.org:{port}"), format!("http://aexample.org:{port}")] {
        assert!(denied(world.ask(&url).await).contains("is not granted"), "{url}");
    }
    world.book.saw_nothing();
    server.saw_nothing();
}

#[tokio::test]
async fn odd_spellings_of_an_address_are_judged_as_the_address() {
    let server = Server::silent();
    let port = server.port();
    let world = grants().http("http://*.example.org").http("https://api.example.com").start();
    for spelling in ["2130706433", "0x7f.1", "0177.0.0.1", "127.1", "127.0.0.1.", "0x7f000001", "017700000001"] {
        let text = denied(world.ask(&format!("http://{spelling}:{port}/")).await);
        assert!(text.starts_with(&format!("http://127.0.0.1:{port} is not granted")), "{spelling}: {text}");
    }
    world.book.saw_nothing();
    server.saw_nothing();
}

#[tokio::test]
async fn an_odd_spelling_of_a_granted_address_is_sent_as_that_address() {
    let server = Server::answering(ok("hello"));
    let world = grants().http(&server.origin()).start();
    world.ask(&format!("http://2130706433:{}/", server.port())).await.unwrap();
    assert!(server.requests()[0].contains(&format!("host: {}\r\n", server.address)), "{:?}", server.requests());
}

/// B20: nobody follows a redirect, wherever it leads.
#[tokio::test]
async fn redirects_are_answers_and_are_not_followed() {
    let elsewhere = Server::silent();
    let places = [format!("{}/stolen", elsewhere.origin()), "http://169.254.169.254/latest/meta-data".to_owned()];
    for (status, place) in
        [301, 302, 303, 307, 308].into_iter().flat_map(|status| places.iter().map(move |place| (status, place)))
    {
        let server =
            Server::answering(format!("HTTP/1.1 {status} Moved\r\nlocation: {place}\r\ncontent-length: 0\r\n\r\n"));
        let world = grants().http(&server.origin()).start();
        let response = world.begin(&server.origin()).await.unwrap();
        assert_eq!(
            (response.status().as_u16(), response.headers()["location"].to_str().unwrap()),
            (status, place.as_str())
        );
        assert_eq!(world.book.dialled(), [server.address]);
    }
    elsewhere.saw_nothing();
}

#[tokio::test]
async fn the_narrowest_grant_adds_its_headers_and_only_to_its_own_origin() {
    let server = Server::answering(ok("hello"));
    let port = server.port();
    let world = grants()
        .http_with(&format!("http://*.example.org:{port}"), &[("authorization", "Bearer wide")])
        .http_with(&format!("http://api.example.org:{port}"), &[("authorization", "Bearer narrow"), ("x-key", "k")])
        .http(&format!("http://plain.example.com:{port}"))
        .name("api.example.org", &[&["127.0.0.1"]])
        .name("other.example.org", &[&["127.0.0.1"]])
        .name("plain.example.com", &[&["127.0.0.1"]])
        .start();
    for host in ["api.example.org", "other.example.org", "plain.example.com"] {
        world.ask(&format!("http://{host}:{port}/")).await.unwrap();
    }
    let requests = server.requests();
    assert!(requests[0].contains("\r\nauthorization: Bearer narrow\r\n") && requests[0].contains("\r\nx-key: k\r\n"));
    assert!(requests[1].contains("\r\nauthorization: Bearer wide\r\n") && !requests[1].contains("x-key"));
    assert!(!requests[2].contains("authorization"), "{}", requests[2]);
}

#[tokio::test]
async fn a_guest_cannot_write_a_header_that_the_grant_adds_and_no_error_shows_its_value() {
    let server = Server::silent();
    let world = grants().http_with(&server.origin(), &[("x-key", "hunter2")]).start();
    let request = Request::post(server.origin()).header("X-Key", "mine").body(Full::<bytes::Bytes>::default()).unwrap();
    let error = world.send(request).await.unwrap_err();
    let text = format!("{error} {error:?} {:?}", world.egress);
    assert!(text.contains("the header x-key holds a credential") && !text.contains("hunter2"), "{text}");
    server.saw_nothing();
}

/// B22: `localhost` stands in the machine's own list of hosts, so that nobody is asked.
#[tokio::test]
async fn the_systems_own_network_is_judged_alike() {
    let server = Server::answering(ok("hello"));
    let url = format!("http://localhost:{}", server.port());
    let started = |addresses: &[&str]| {
        let grant = HttpGrant::new(HttpOrigin::parse(&url).unwrap(), []).unwrap();
        let addresses = addresses.iter().map(|range| parse_range(range).unwrap()).collect();
        let rules = Rules { http: vec![grant], addresses, ..Rules::default() };
        World { egress: Egress::start(rules, SystemNetwork).unwrap(), ..grants().start() }
    };
    let text = denied(started(&[]).ask(&url).await);
    assert!(text.contains("which is loopback: add plugin.grants.addresses = ["), "{text}");
    assert_eq!(server.connections(), 0);
    assert_eq!(started(&["127.0.0.0/8", "::1"]).ask(&url).await.unwrap().body, "hello");
}

/// Runs the first test in a process whose environment names proxies.
#[test]
fn no_proxy_of_the_environment_is_asked() {
    let proxy = Server::silent();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "granted::a_granted_request_arrives_and_its_answer_comes_back"]);
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        child.env(name, proxy.origin());
    }
    child.env_remove("NO_PROXY").env_remove("no_proxy");
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    proxy.saw_nothing();
}
