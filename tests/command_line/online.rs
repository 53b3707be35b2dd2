//! `check --online`: brokers and topics, each failure with its own exit code.

use gristmill_kafka::MockCluster;

use crate::process::{Run, configuration};

#[test]
fn brokers_that_nobody_is_are_unreachable() {
    let text = configuration("gristmill-echo", "");
    let ended = Run::new().file("g.toml", text).with(&["check", "g.toml", "--online", "--wait", "1s"]);
    ended.refused(69, &["127.0.0.1:1", "check kafka.bootstrap_servers"]);
}

/// A configuration whose brokers nobody is, by a name that may stand for several addresses.
fn nobody(wait: &str) -> String {
    let text = configuration("gristmill-echo", &format!("[start]\nwait = \"{wait}\"\n"));
    text.replace("127.0.0.1:1", "localhost:1")
}

#[test]
fn an_online_check_waits_as_long_as_a_start_and_says_the_cause_once() {
    let ended = Run::new().file("g.toml", nobody("1s")).with(&["check", "g.toml", "--online"]);
    ended.refused(69, &["within 1s (_TRANSPORT): localhost:", "Connection refused; check kafka.bootstrap_servers"]);
    assert_eq!(ended.stderr.matches("Connection refused").count(), 1, "{}", ended.stderr);
    let ended = Run::new().file("g.toml", nobody("1h")).with(&["check", "g.toml", "--online", "--wait", "300ms"]);
    ended.refused(69, &["within 300ms"]);
}

#[test]
fn a_run_without_brokers_logs_the_cause_once_and_ends_with_it() {
    let ended = Run::new().file("g.toml", nobody("2s")).with(&["run", "g.toml"]);
    ended.refused(69, &["within 2s (localhost:", "Connection refused); check kafka.bootstrap_servers"]);
    let said: Vec<&str> = ended.stderr.lines().filter(|line| line.contains("Connection refused")).collect();
    let [logged, _] = said[..] else { panic!("{said:#?}") };
    assert!(logged.contains(" WARN ") && logged.contains("code=\"_TRANSPORT\""), "{logged}");
    for word in ["_ALL_BROKERS_DOWN", "librdkafka"] {
        assert!(!ended.stderr.contains(word), "{word} is the same cause again: {}", ended.stderr);
    }
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
fn every_topic_that_is_not_there_is_named() {
    let cluster = MockCluster::start(1).unwrap();
    cluster.create_topic("others", 1).unwrap();
    let text = configuration("gristmill-echo", "").replace("127.0.0.1:1", &cluster.bootstrap_servers());
    let text = text.replace("[\"orders\"]", "[\"gone\", \"others\", \"missing\"]");
    let ended = Run::new().file("g.toml", text).with(&["check", "g.toml", "--online"]);
    ended.refused(78, &["the brokers know no topic gone, missing", "create it, or correct kafka.topics"]);
}

#[test]
fn the_topics_that_are_written_to_are_asked_for_too() {
    let cluster = MockCluster::start(1).unwrap();
    cluster.create_topic("orders", 3).unwrap();
    let text = configuration("gristmill-echo", "[dead_letter]\ntopic = \"orders.dead\"\n[sinks.a]\ntopic = \"out\"\n");
    let text = text.replace("127.0.0.1:1", &cluster.bootstrap_servers());
    let check = || Run::new().file("g.toml", text.clone()).with(&["check", "g.toml", "--online"]);
    let wanted =
        "the brokers know no topic orders.dead, out; create it, or correct dead_letter.topic and sinks.a.topic";
    check().refused(78, &[wanted]);
    cluster.create_topic("orders.dead", 1).unwrap();
    check().refused(78, &["the brokers know no topic out; create it, or correct sinks.a.topic"]);
    cluster.create_topic("out", 1).unwrap();
    let ended = check();
    assert!(ended.good().stdout.ends_with("topic orders.dead: 1 partition\ntopic out: 1 partition\n"), "{ended:#?}");
}

/// A registry that nobody is, and one that is no registry: the brokers are there.
#[test]
fn a_schema_registry_that_does_not_answer_as_one_is_named() {
    let cluster = MockCluster::start(1).unwrap();
    cluster.create_topic("orders", 1).unwrap();
    let check = |url: &str| {
        let more = format!("[topics.orders]\nvalue_format = \"avro\"\n[schema_registry]\nurl = \"{url}\"\n");
        let text = configuration("gristmill-echo", &more)
            .replace("127.0.0.1:1\"", &format!("{}\"", cluster.bootstrap_servers()));
        Run::new().file("g.toml", text).with(&["check", "g.toml", "--online"])
    };
    check("http://127.0.0.1:2").refused(
        69,
        &[
            "schema_registry: the registry at http://127.0.0.1:2 cannot be reached: connection refused",
            "correct schema_registry",
        ],
    );
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answering = std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 64];
        let _ = stream.read(&mut head).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello").unwrap();
    });
    check(&url).refused(69, &[&format!("what answers at {url} is no schema registry")]);
    answering.join().unwrap();
}
