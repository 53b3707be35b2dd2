//! TCP connections and name look-ups of a guest: those that are granted work, and nothing else does.

use std::net::{TcpListener, UdpSocket};

use gristmill_guest::Grants;
use gristmill_guest::egress::address::parse_range;
use gristmill_guest::egress::destination::TcpDestination;

use crate::caller::{caller, grants};
use crate::journal;
use crate::server::Server;

fn to(destinations: &[String]) -> Grants {
    let mut granted = grants();
    granted.rules.addresses = vec![parse_range("127.0.0.0/8").unwrap(), parse_range("::1").unwrap()];
    granted.rules.tcp = destinations.iter().map(|text| TcpDestination::parse(text).unwrap()).collect();
    granted
}

#[test]
fn a_granted_name_is_looked_up_and_connected_to() {
    let server = Server::answering("pong");
    let mut mill = caller(to(&[format!("localhost:{}", server.port)]));
    assert_eq!(mill.call(&format!("talk localhost:{}", server.port), "ping\n"), "reached: pong");
    assert_eq!(server.heard(), ["ping\n"]);
}

#[test]
fn a_granted_address_is_connected_to() {
    let server = Server::answering("pong");
    let mut mill = caller(to(&[format!("127.0.0.1:{}", server.port)]));
    assert_eq!(mill.call(&format!("talk 127.0.0.1:{}", server.port), "ping\n"), "reached: pong");
}

#[test]
fn other_ports_and_other_addresses_of_the_same_machine_are_refused() {
    journal::listen();
    let (granted, other) = (Server::answering("pong"), Server::answering("pong"));
    let mut mill = caller(to(&[format!("localhost:{}", granted.port)]));
    for address in [format!("localhost:{}", other.port), format!("127.0.0.1:{}", granted.port)] {
        let told = mill.call(&format!("talk {address}"), "ping\n");
        assert!(told.starts_with("refused"), "{address}: {told}");
    }
    assert_eq!((other.heard(), granted.heard()), (Vec::new(), Vec::new()), "a connection arrived");
    let event = journal::event_with(&format!("127.0.0.1:{}", granted.port), "plugin was denied");
    assert!(event.contains(&format!("plugin.grants.tcp = [\"127.0.0.1:{}\"]", granted.port)), "{event}");
}

#[test]
fn a_name_that_is_not_granted_is_not_looked_up() {
    let mut mill = caller(to(&["db.invalid:5432".to_owned()]));
    for name in ["localhost", "other.invalid"] {
        let told = mill.call(&format!("look-up {name}"), "");
        assert!(told.starts_with("refused"), "{name}: {told}");
    }
    let server = Server::answering("pong");
    let told = caller(to(&[format!("localhost:{}", server.port)])).call("look-up localhost", "");
    assert!(told.starts_with("reached: ") && told.contains("127.0.0.1"), "{told}");
}

/// Grants for requests make no sockets.
#[test]
fn where_no_connection_is_granted_there_is_no_socket_and_one_line_says_what_to_add() {
    journal::listen();
    let server = Server::answering("pong");
    let mut mill = caller(grants());
    for _ in 0..3 {
        let told = mill.call(&format!("talk 127.0.0.1:{}", server.port), "ping\n");
        assert!(told.starts_with("refused: Permission denied"), "{told}");
    }
    assert_eq!(server.heard(), [""; 0], "a connection arrived");
    let event = journal::event_with("a TCP connection is not granted", "plugin was denied");
    assert!(event.contains("add plugin.grants.tcp = [") && event.contains("plugin.grants.addresses"), "{event}");
}

/// No line can grant one, so none is told.
#[test]
fn an_address_with_a_zone_is_refused_and_told_as_what_nothing_grants() {
    journal::listen();
    let told = caller(to(&["db.invalid:5432".to_owned()])).call("talk [fe80::1%3]:5432", "ping\n");
    assert!(told.starts_with("refused"), "{told}");
    let event = journal::event_with("a zone chooses the interface", "plugin was denied");
    assert!(event.contains("nothing grants it") && !event.contains("plugin.grants"), "{event}");
}

/// B21: each side door by itself, with nothing granted and with something granted.
#[test]
fn nobody_listens_and_nobody_sends_datagrams_whatever_is_granted() {
    journal::listen();
    let heard = UdpSocket::bind("127.0.0.1:0").unwrap();
    heard.set_nonblocking(true).unwrap();
    let port = heard.local_addr().unwrap().port();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for granted in [grants(), to(&[format!("127.0.0.1:{port}"), format!("localhost:{port}")])] {
        let mut mill = caller(granted);
        for key in [format!("listen 127.0.0.1:{free}"), "listen 0.0.0.0:0".to_owned(), format!("udp 127.0.0.1:{port}")]
        {
            let told = mill.call(&key, "knock");
            assert!(told.starts_with("refused"), "{key}: {told}");
        }
    }
    journal::event_with("a UDP socket: plugins have no UDP; nothing grants it", "plugin was denied");
    journal::event_with("plugins connect and never listen; nothing grants it", "plugin was denied");
    assert_eq!(heard.recv(&mut [0; 8]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "a datagram arrived");
}
