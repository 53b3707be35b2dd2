//! A guest reaches what it was granted, and nothing else.

use std::net::TcpListener;

use crate::mill::{Mill, with_settings};

#[test]
fn the_environment_holds_the_settings_and_nothing_else() {
    assert_eq!(
        Mill::with(&with_settings(&[("table", "orders"), ("zone", "")])).ask("environment"),
        r"table=orders\nzone="
    );
    assert_eq!(Mill::strict().ask("environment"), "");
}

#[test]
fn there_are_no_arguments_and_no_input() {
    let mut mill = Mill::strict();
    assert_eq!(mill.ask("arguments"), "");
    assert_eq!(mill.ask("stdin"), "reached: 0");
}

#[test]
fn no_file_is_within_reach() {
    let mut mill = Mill::strict();
    for path in ["/etc/passwd", "Cargo.toml", "../../../etc/passwd", "/dev/stdin"] {
        let told = mill.ask(&format!("open:{path}"));
        assert!(told.starts_with("refused"), "{path}: {told}");
    }
}

#[test]
fn no_connection_arrives_and_no_name_is_looked_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let mut mill = Mill::strict();
    let told = mill.ask(&format!("connect:{}", listener.local_addr().unwrap()));
    assert!(told.starts_with("refused"), "{told}");
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "a connection arrived");
    let told = mill.ask("resolve:localhost");
    assert!(told.starts_with("refused"), "{told}");
}
