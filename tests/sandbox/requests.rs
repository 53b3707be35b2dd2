//! HTTP requests of a guest: what is granted arrives with what the host adds, and nothing else does.

use std::time::{Duration, Instant};

use gristmill_core::outcome::{Answer, FaultClass};
use gristmill_guest::egress::HttpGrant;
use gristmill_guest::egress::address::parse_range;
use gristmill_guest::egress::destination::HttpOrigin;
use gristmill_guest::{Grants, Limits, LoadError, Plugin, PluginSettings, Refusal};

use crate::caller::{caller, caller_with, grants};
use crate::journal;
use crate::mill::{Batch, Mill, Record, engine, guest_bytes, reason};
use crate::server::{Seen, Server};

/// Grants requests to these servers by the name `localhost`, and the addresses that this is.
fn to(servers: &[&Server]) -> Grants {
    let mut granted = grants();
    granted.rules.addresses = vec![parse_range("127.0.0.0/8").unwrap(), parse_range("::1").unwrap()];
    for server in servers {
        let origin = HttpOrigin::parse(&format!("http://localhost:{}", server.port)).unwrap();
        granted.rules.http.push(HttpGrant::new(origin, [("authorization", "Bearer hunter2")]).unwrap());
    }
    granted
}

fn with_header(key: &str, name: &str, value: &str) -> Batch {
    let header = (name.as_bytes().to_vec(), Some(value.as_bytes().to_vec()));
    Batch(vec![Record { key: Some(key.into()), headers: vec![header], ..Record::at(0) }])
}

const UNAVAILABLE: &str = "HTTP/1.1 503 Service Unavailable\r\nretry-after: 7\r\ncontent-length: 5\r\n\r\nlater";

#[test]
fn a_granted_request_arrives_with_what_the_host_adds_and_the_guest_sees_the_answer() {
    let server = Server::answering(UNAVAILABLE);
    let mut mill = caller(to(&[&server]));
    let told = mill.call(&format!("request POST http://localhost:{}/scan?all=1", server.port), "[1, 2]");
    assert_eq!(told, "503 retry-after=7 later");
    let [heard] = &server.heard()[..] else { panic!("{:?}", server.heard()) };
    let head = heard.split("\r\n\r\n").next().unwrap().to_ascii_lowercase();
    assert!(head.starts_with("post /scan?all=1 http/1.1\r\n"), "{heard}");
    for wanted in [format!("host: localhost:{}", server.port), "authorization: bearer hunter2".to_owned()] {
        assert_eq!(head.matches(&wanted).count(), 1, "{wanted}: {heard}");
    }
    let trace = head.lines().find_map(|line| line.strip_prefix("traceparent: ")).unwrap();
    assert!(trace.starts_with("00-") && trace.ends_with("-00") && trace.len() == 55, "{trace}");
    assert!(heard.contains("[1, 2]"), "{heard}");
}

#[test]
fn a_header_that_the_host_injects_is_not_the_guest_s_to_write() {
    let server = Server::answering(UNAVAILABLE);
    let mut mill = caller(to(&[&server]));
    let key = format!("request GET http://localhost:{}/", server.port);
    for name in ["authorization", "Authorization", "host", "transfer-encoding", "proxy-authorization"] {
        let told = reason(mill.run(with_header(&key, name, "mine")).answer);
        assert!(told.starts_with("error"), "{name}: {told}");
    }
    assert_eq!(server.heard(), [""; 0], "something arrived");
    let told = reason(mill.run(with_header(&key, "x-own", "mine")).answer);
    assert!(told.starts_with("503") && server.heard()[0].contains("x-own: mine"), "{told}");
}

/// B129: an ordinary error for the guest, and one line with the exact line to add.
#[test]
fn a_request_that_is_not_granted_arrives_nowhere_and_is_told_once() {
    journal::listen();
    let (granted, other) = (Server::answering(UNAVAILABLE), Server::answering(UNAVAILABLE));
    let mut mill = caller(to(&[&granted]));
    for _ in 0..3 {
        let told = mill.call(&format!("request GET http://localhost:{}/", other.port), "");
        assert_eq!(told, "error: ErrorCode::HttpRequestDenied");
    }
    assert_eq!(other.heard(), [""; 0], "a connection arrived");
    let line = format!("plugin.grants.http = [\"http://localhost:{}\"]", other.port);
    let told = journal::events_with(&line);
    assert!(matches!(&told[..], [one] if one.contains("plugin was denied")), "{told:?}");
}

/// B129: neither is anything that a grant could open.
#[test]
fn another_scheme_and_the_methods_of_nobody_arrive_nowhere_and_are_told() {
    journal::listen();
    let server = Server::answering(UNAVAILABLE);
    let mut mill = caller(to(&[&server]));
    let told = mill.call(&format!("request GET ftp://localhost:{}/", server.port), "");
    assert_eq!(told, "error: ErrorCode::HttpProtocolError");
    let event = journal::event_with("a request by ftp", "plugin was denied");
    assert!(event.contains("nothing grants another"), "{event}");
    for method in ["CONNECT", "TRACE", "TRACK", "track"] {
        let told = mill.call(&format!("request {method} http://localhost:{}/", server.port), "");
        assert_eq!(told, "error: ErrorCode::HttpRequestMethodInvalid", "{method}");
        let event = journal::event_with(&format!("a request with the method {method}:"), "plugin was denied");
        assert!(event.contains("nothing grants it"), "{event}");
    }
    assert_eq!(server.heard(), [""; 0], "a connection arrived");
}

/// B20: the address that a granted server names gets no connection.
#[test]
fn a_redirect_is_an_answer_and_is_not_followed() {
    let other = Server::answering(UNAVAILABLE);
    let location =
        format!("HTTP/1.1 302 Found\r\nlocation: http://localhost:{}/\r\ncontent-length: 0\r\n\r\n", other.port);
    let redirecting = Server::answering(location.leak());
    let mut mill = caller(to(&[&redirecting, &other]));
    let told = mill.call(&format!("request GET http://localhost:{}/", redirecting.port), "");
    assert!(told.starts_with("302 location=http://localhost:"), "{told}");
    assert_eq!(other.heard(), [""; 0], "the redirect was followed");
}

/// B22: the name is granted and the address that it has is not.
#[test]
fn a_granted_name_with_a_private_address_is_refused_after_it_was_looked_up() {
    journal::listen();
    let server = Server::answering(UNAVAILABLE);
    let mut granted = to(&[&server]);
    granted.rules.addresses.clear();
    let told = caller(granted).call(&format!("request GET http://localhost:{}/private", server.port), "");
    assert_eq!(told, "error: ErrorCode::HttpRequestDenied");
    assert_eq!(server.heard(), [""; 0], "a connection arrived");
    let event = journal::event_with(&format!("http://localhost:{}", server.port), "plugin was denied");
    assert!(event.contains("plugin.grants.addresses = [\"") && event.contains("loopback"), "{event}");
}

/// B19: the batch's time bounds a server that accepts and never answers.
#[test]
fn a_server_that_never_answers_costs_no_more_than_the_batch_s_time() {
    let silent = Server::answering("");
    let limits = Limits { time: Duration::from_millis(1_500), ..Limits::STRICT };
    let mut mill = caller_with(PluginSettings { grants: to(&[&silent]), limits, ..PluginSettings::default() });
    let began = Instant::now();
    let answer = mill.call_raw(&format!("request GET http://localhost:{}/", silent.port), "").answer;
    let took = began.elapsed();
    assert!(took < Duration::from_millis(4_500), "{took:?}");
    // Whether the guest still hears of it, or is ended first, is a matter of some milliseconds.
    match answer {
        Answer::Fault(fault) => assert_eq!(fault.class, FaultClass::Timeout, "{}", fault.detail),
        other => assert!(reason(other).starts_with("error")),
    }
}

/// What a guest has under way ends with the guest. Left to itself it would end with the next batch, or when the answer has not begun
/// after 5 s.
#[test]
fn a_request_of_a_cancelled_batch_is_given_up_without_a_further_batch() {
    let silent = Server::answering("");
    let limits = Limits { time: Duration::from_secs(25), cancel_grace: Duration::ZERO, ..Limits::STRICT };
    let mut mill = caller_with(PluginSettings { grants: to(&[&silent]), limits, ..PluginSettings::default() });
    let key = format!("request GET http://localhost:{}/", silent.port);
    let delivery = mill.deliver(Batch(vec![Record { key: Some(key.into()), ..Record::at(0) }]));
    assert_eq!(silent.next(Duration::from_secs(20)), Some(Seen::Request));
    mill.worker.cancel(delivery);
    assert_eq!(mill.next_answer().answer, Answer::Cancelled);
    assert_eq!(silent.next(Duration::from_secs(3)), Some(Seen::Gone), "the connection is still open");
}

#[test]
fn a_guest_has_eight_requests_at_once_and_no_more() {
    let server = Server::answering(UNAVAILABLE);
    let told = caller(to(&[&server])).call(&format!("hold-open 12 GET http://localhost:{}/", server.port), "");
    assert_eq!(told, "8 answered, 4 not: ErrorCode::ConnectionLimitReached");
}

#[test]
fn without_any_grant_a_plugin_that_makes_requests_is_refused_at_load() {
    let error =
        Plugin::load(engine(), "caller", &guest_bytes("gristmill_caller"), &PluginSettings::default()).err().unwrap();
    let LoadError::Refused { refusal: Refusal::NotGranted { import, line, .. }, .. } = &error else {
        panic!("{error}")
    };
    assert!(import.starts_with("wasi:http/") && *line == "plugin.grants.http = [\"https://api.example.com\"]");
    assert!(error.to_string().contains(line), "{error}");
}

#[test]
fn what_a_guest_keeps_is_only_its_own_connection() {
    let server = Server::answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    let mut mill: Mill = caller(to(&[&server]));
    let key = format!("request-twice GET http://localhost:{}/", server.port);
    assert_eq!(mill.call(&key, ""), "200 ok then 200 ok");
}
