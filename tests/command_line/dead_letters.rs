//! `dead-letters`: what lies in a dead-letter topic is listed, shown and replayed; each way of asking wrongly has its words.

mod replays;

use std::process::Command;

use gristmill_kafka::{MockCluster, MockRecord};
use gristmill_tests::TemporaryFolder;
use serde_json::{Value, json};

use crate::process::{Ended, Run, binary, configuration};

const FAILED_MS: i64 = 1_700_000_000_000;

/// What one dead letter tells, as the headers of the native style.
pub(crate) struct Told<'t> {
    topic: &'t str,
    offset: &'t str,
    class: &'t str,
    fault: Option<&'t str>,
    reason: &'t str,
    plugin: &'t str,
    at_ms: i64,
    pointer: bool,
    replays: Option<&'t str>,
    /// Whether it failed again, somewhere else.
    again: bool,
}

const REJECTED: Told<'_> = Told {
    topic: "orders",
    offset: "7",
    class: "rejected",
    fault: None,
    reason: "no such currency: GBP",
    plugin: "sha256:aa11",
    at_ms: FAILED_MS,
    pointer: false,
    replays: None,
    again: false,
};

/// What failed twice, the second time somewhere else.
pub(crate) const TWICE: Told<'_> = Told { again: true, ..REJECTED };

/// The headers of a first failure that was a fault.
const FIRST: [&str; 3] = ["gristmill.failure.fault", "gristmill.failure.detail", "gristmill.failure.halving"];

/// The headers of a latest failure.
const LAST: [&str; 11] = [
    "gristmill.last.class",
    "gristmill.last.reason",
    "gristmill.last.topic",
    "gristmill.last.plugin",
    "gristmill.last.fault",
    "gristmill.last.detail",
    "gristmill.last.halving",
    "gristmill.last.partition",
    "gristmill.last.offset",
    "gristmill.last.attempts",
    "gristmill.last.at",
];

/// Puts a dead letter of `orders`, partition 1, into partition 0 of `orders.dead`.
pub(crate) fn put(cluster: &MockCluster, key: &[u8], value: &[u8], told: &Told<'_>) {
    let at = told.at_ms.to_string();
    let mut headers: Vec<(&[u8], Option<&[u8]>)> = vec![(b"own", Some(b"1")), (b"own", None)];
    for (name, value) in [
        ("gristmill.origin.topic", told.topic),
        ("gristmill.origin.partition", "1"),
        ("gristmill.origin.offset", told.offset),
        ("gristmill.origin.timestamp", "1600000000000"),
        ("gristmill.origin.timestamp.type", "create"),
        ("gristmill.failure.class", told.class),
        ("gristmill.failure.reason", told.reason),
        ("gristmill.failure.attempts", "1"),
        ("gristmill.failure.plugin", told.plugin),
        ("gristmill.failure.at", &at),
        ("gristmill.failures", if told.again { "2" } else { "1" }),
    ] {
        headers.push((name.as_bytes(), Some(value.as_bytes())));
    }
    if let Some(fault) = told.fault {
        let values = [fault, "panicked at 'no'", "2 > 1"];
        headers.extend(FIRST.iter().zip(values).map(|(name, value)| (name.as_bytes(), Some(value.as_bytes()))));
    }
    headers.extend(told.replays.map(|replays| (b"gristmill.replays".as_slice(), Some(replays.as_bytes()))));
    if told.pointer {
        for (name, value) in [("topic", "orders"), ("partition", "1"), ("offset", told.offset), ("bytes", "2000000")] {
            let name = match name {
                "topic" => b"gristmill.pointer.topic".as_slice(),
                "partition" => b"gristmill.pointer.partition",
                "offset" => b"gristmill.pointer.offset",
                _ => b"gristmill.pointer.bytes",
            };
            headers.push((name, Some(value.as_bytes())));
        }
    }
    if told.again {
        // A text may be a number too.
        headers.extend(LAST.iter().map(|name| (name.as_bytes(), Some(b"1".as_slice()))));
    }
    let value = Some(value).filter(|_| !told.pointer);
    let record = MockRecord { key: Some(key), value, headers: &headers, ..MockRecord::default() };
    cluster.produce("orders.dead", record).unwrap();
    cluster.flush().unwrap();
}

/// A cluster with `orders` of three partitions, and five records in `orders.dead`: a rejected one, a fault, one of another topic's
/// user, one that only points to its original, one that was replayed before.
pub(crate) fn cluster() -> MockCluster {
    let cluster = MockCluster::start(1).unwrap();
    cluster.create_topic("orders", 3).unwrap();
    cluster.create_topic("orders.dead", 2).unwrap();
    put(&cluster, b"a", b"{\"currency\":\"GBP\"}", &REJECTED);
    let fault = Told { offset: "8", class: "fault", fault: Some("trap"), reason: "it broke\u{1b}[2J", ..REJECTED };
    put(&cluster, b"b", b"\xff", &Told { plugin: "sha256:bb22", at_ms: FAILED_MS + 60_000, ..fault });
    cluster.produce("orders.dead", MockRecord { value: Some(b"mine"), ..MockRecord::default() }).unwrap();
    cluster.flush().unwrap();
    put(&cluster, b"c", b"", &Told { offset: "9", class: "too-large", reason: "too large", pointer: true, ..REJECTED });
    put(&cluster, b"d", b"4", &Told { offset: "10", replays: Some("2"), ..REJECTED });
    cluster
}

fn text(cluster: &MockCluster, package: &str, more: &str) -> String {
    let text = configuration(package, &format!("{more}\n[dead_letter]\ntopic = \"orders.dead\"\n"));
    text.replace("127.0.0.1:1", &cluster.bootstrap_servers())
}

pub(crate) fn run(cluster: &MockCluster, arguments: &[&str]) -> Ended {
    let run = Run::new().file("g.toml", text(cluster, "gristmill-echo", ""));
    run.with(&[&["dead-letters"], arguments].concat())
}

/// The offsets of what is listed.
fn listed(cluster: &MockCluster, arguments: &[&str]) -> Vec<i64> {
    let ended = run(cluster, &[&["list", "g.toml", "--output", "json"], arguments].concat());
    let mut lines = ended.good().json();
    assert!(lines.pop().unwrap()["summary"].is_object(), "{ended:#?}");
    lines.iter().map(|line| line["offset"].as_i64().unwrap()).collect()
}

/// What `orders` holds now, as partition, key, value and headers.
fn replayed(cluster: &MockCluster, topic: &str) -> Vec<gristmill_tests::Found> {
    let mut found = gristmill_tests::read_topic(&cluster.bootstrap_servers(), topic);
    found.sort_by_key(|record| (record.partition, record.offset));
    found
}

#[test]
fn each_dead_letter_is_a_line_and_everything_that_was_read_is_counted() {
    let ended = run(&cluster(), &["list", "g.toml"]);
    let lines: Vec<&str> = ended.good().stdout.lines().collect();
    assert_eq!(lines.len(), 6, "{ended:#?}");
    assert!(lines[0].starts_with("at ") && lines[0].ends_with("reason"), "{}", lines[0]);
    assert_eq!(
        lines[1].split_whitespace().collect::<Vec<_>>().join(" "),
        "0:0 2023-11-14T22:13:20Z rejected orders/1@7 1 1 aa11 no such currency: GBP"
    );
    assert!(lines[2].contains(" fault/trap ") && lines[2].ends_with("it broke\\u{1b}[2J"), "{}", lines[2]);
    assert_eq!(
        lines[5],
        "4 dead letters: 1 fault/trap, 2 rejected, 1 too-large; 1 record without the story of a failure"
    );
}

#[test]
fn each_wish_chooses_by_itself_and_all_of_them_together() {
    let cluster = cluster();
    for (wishes, wanted) in [
        (&[][..], &[0, 1, 3, 4][..]),
        (&["--class", "fault"], &[1]),
        (&["--class", "fault/trap", "--class", "too-large"], &[1, 3]),
        (&["--plugin", "bb"], &[1]),
        (&["--reason", "currency"], &[0, 4]),
        (&["--origin", "orders:1"], &[0, 1, 3, 4]),
        (&["--origin", "orders:0", "--origin", "others"], &[]),
        (&["--since", "2023-11-14T22:13:21Z"], &[1]),
        (&["--until", "2023-11-14T22:13:21Z"], &[0, 3, 4]),
        (&["--since", "1h"], &[]),
        (&["--at", "0:3", "--at", "0:0"], &[0, 3]),
        (&["--from", "0:3"], &[3, 4]),
        (&["--limit", "2"], &[0, 1]),
        (&["--class", "rejected", "--from", "0:1"], &[4]),
    ] {
        assert_eq!(listed(&cluster, wishes), wanted, "{wishes:?}");
    }
}

#[test]
fn the_summary_for_machines_is_the_last_line() {
    let ended = run(&cluster(), &["list", "--config", "g.toml", "--class", "rejected", "--output", "json"]);
    let lines = ended.good().json();
    assert_eq!(lines[0]["first"]["reason"], "no such currency: GBP");
    assert_eq!(lines[1]["replays"], 2);
    let wanted = json!({ "dead_letters": 2, "classes": { "rejected": 2 }, "not_matched": 2, "no_dead_letters": 1 });
    assert_eq!(lines[2]["summary"], wanted);
}

#[test]
fn all_of_one_is_shown() {
    let cluster = cluster();
    let ended = run(&cluster, &["show", "g.toml", "--at", "0:1"]);
    for words in [
        "0:1\n",
        "\n  origin    orders/1@8, made at 2020-",
        "  reason    it broke\\u{1b}[2J\n",
        "  key       b\n",
        "  value     \u{fffd}\n",
        "  header    own: 1\n  header    own: null\n",
    ] {
        assert!(ended.good().stdout.contains(words), "{words:?}: {ended:#?}");
    }
    assert!(!ended.stdout.contains("header    gristmill."), "the story is told once: {ended:#?}");
    let ended = run(&cluster, &["show", "g.toml", "--at", "0:1", "--output", "json"]);
    let record = &ended.good().json()[0]["record"];
    assert_eq!(
        (&record["topic"], &record["offset"], &record["value_b64"]),
        (&"orders".into(), &8.into(), &"/w==".into())
    );
    let ended = run(&cluster, &["show", "g.toml", "--class", "too-large"]);
    assert!(
        ended.good().stdout.contains("left out  what was too large for the topic lies at orders/1@9, 2000000 bytes")
    );
}

#[test]
fn where_nothing_lies_that_was_asked_for_it_is_said() {
    let cluster = cluster();
    run(&cluster, &["show", "g.toml", "--at", "0:2"]).refused(1, &["at 0:2 of orders.dead lies no dead letter"]);
    run(&cluster, &["list", "g.toml", "--at", "0:0", "--at", "9:1"]).refused(1, &["at 9:1 of orders.dead"]);
    run(&cluster, &["show", "g.toml", "--class", "skipped"])
        .refused(1, &["0 dead letters; 4 not matched", "orders.dead"]);
    run(&cluster, &["list", "g.toml", "--topic", "gone"]).refused(78, &["the brokers know no topic gone"]);
    assert!(run(&cluster, &["list", "g.toml", "--topic", "orders"]).good().stdout.contains("0 dead letters"));
}

#[test]
fn a_reader_that_went_away_ends_it() {
    let cluster = cluster();
    for _ in 0..200 {
        let record =
            MockRecord { headers: &[(b"gristmill.failure.class", Some(b"rejected"))], ..MockRecord::default() };
        cluster.produce("orders.dead", record).unwrap();
    }
    cluster.flush().unwrap();
    let folder = TemporaryFolder::new();
    folder.write("g.toml", &text(&cluster, "gristmill-echo", ""));
    let line = format!("'{}' dead-letters list g.toml | head -n 1", binary().display());
    let output = Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn what_is_written_wrongly_is_refused_before_any_broker_is_asked() {
    let config = configuration("gristmill-echo", "[dead_letter]\ntopic = \"orders.dead\"\n");
    for (flag, value, words) in [
        ("--class", "faults", "there is no such class; known are rejected"),
        ("--at", "7", "write PARTITION:OFFSET"),
        ("--from", "0:-1", "write PARTITION:OFFSET"),
        ("--origin", ":1", "write a topic, or TOPIC:PARTITION"),
        ("--since", "yesterday", "write one such as 2026-01-31T12:00:00Z"),
        ("--wait", "long", "this is no time"),
        ("--limit", "few", "invalid digit"),
    ] {
        let ended = Run::new().file("g.toml", &config).with(&["dead-letters", "list", "g.toml", flag, value]);
        assert_eq!(ended.code, 2, "{ended:#?}");
        assert!(ended.stderr.contains(words) && ended.stderr.contains(flag), "{flag}: {ended:#?}");
    }
    let list = |arguments: &[&str]| {
        let run = Run::new().file("g.toml", configuration("gristmill-echo", ""));
        run.with(&[&["dead-letters", "list", "g.toml"], arguments].concat())
    };
    list(&[]).refused(78, &["no [dead_letter]", "--topic"]);
    list(&["--topic", "a/b"]).refused(2, &["--topic \"a/b\""]);
    list(&["--topic", "^a.*"]).refused(2, &["--topic \"^a.*\"", "name one topic"]);
    list(&["--topic", "t", "--wait", "300ms"]).refused(69, &["127.0.0.1:1", "check kafka.bootstrap_servers"]);
    let ended = Run::new().with(&["dead-letters"]);
    assert!(ended.code == 2 && ended.stderr.contains("replay"), "{ended:#?}");
}

#[test]
fn what_kafka_connect_wrote_is_understood() {
    let cluster = cluster();
    cluster.create_topic("connect", 1).unwrap();
    let headers: [(&[u8], Option<&[u8]>); 5] = [
        (b"__connect.errors.topic", Some(b"orders")),
        (b"__connect.errors.partition", Some(b"2")),
        (b"__connect.errors.offset", Some(b"5")),
        (b"__connect.errors.exception.class.name", Some(b"org.apache.kafka.connect.errors.DataException")),
        (b"__connect.errors.exception.message", Some(b"no magic byte")),
    ];
    cluster.produce("connect", MockRecord { key: Some(b"k"), headers: &headers, ..MockRecord::default() }).unwrap();
    cluster.flush().unwrap();
    let class = "org.apache.kafka.connect.errors.DataException";
    let ended = run(&cluster, &["list", "g.toml", "--topic", "connect", "--class", class, "--output", "json"]);
    let line: &Value = &ended.good().json()[0];
    assert_eq!((&line["first"]["reason"], &line["first"]["attempts"]), (&"no magic byte".into(), &Value::Null));
    run(&cluster, &["replay", "g.toml", "--topic", "connect", "--at", "0:0", "--to", "origin"]).good();
    let found = replayed(&cluster, "orders");
    assert_eq!((found[0].partition, found[0].key.as_deref()), (2, Some(&b"k"[..])));
}
