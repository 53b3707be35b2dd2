//! `check --online`: brokers and topics, each failure with its own exit code.

use std::net::TcpListener;

use gristmill_kafka::MockCluster;

use crate::process::{Run, configuration};

#[test]
fn brokers_that_nobody_is_are_unreachable() {
    // A port that was free a moment ago, and that nobody listens on.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let servers = format!("127.0.0.1:{port}");
    let text = configuration("gristmill-echo", "").replace("127.0.0.1:1", &servers);
    let ended = Run::new().file("g.toml", text).with(&["check", "g.toml", "--online", "--wait", "1s"]);
    ended.refused(69, &[&servers, "check kafka.bootstrap_servers"]);
}

#[test]
fn topics_are_found_with_their_partitions() {
    let cluster = MockCluster::start(1).unwrap();
    cluster.create_topic("orders", 3).unwrap();
    let text = configuration("gristmill-echo", "").replace("127.0.0.1:1", &cluster.bootstrap_servers());
    let ended = Run::new().file("g.toml", text).with(&["check", "g.toml", "--online"]);
    assert!(ended.good().stdout.ends_with("topic orders: 3 partitions\n"), "{}", ended.stdout);
}

#[test]
fn a_topic_that_is_not_there_is_named() {
    let cluster = MockCluster::start(1).unwrap();
    cluster.create_topic("others", 1).unwrap();
    let text = configuration("gristmill-echo", "").replace("127.0.0.1:1", &cluster.bootstrap_servers());
    let text = text.replace("[\"orders\"]", "[\"others\", \"missing\"]");
    let ended = Run::new().file("g.toml", text).with(&["check", "g.toml", "--online"]);
    ended.refused(78, &["the brokers know no topic missing", "create it, or correct kafka.topics"]);
}
