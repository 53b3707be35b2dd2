//! `dead-letters`: what lies in a dead-letter topic is listed, shown and replayed; each way of asking wrongly has its words.

use std::process::Command;

use gristmill_kafka::{MockCluster, MockRecord, RequestKind};
use gristmill_tests::TemporaryFolder;
use serde_json::{Value, json};

use crate::process::{Ended, Run, binary, configuration, plugin};

const FAILED_MS: i64 = 1_700_000_000_000;

/// What one dead letter tells, as the headers of the native style.
struct Told<'t> {
    offset: &'t str,
    class: &'t str,
    fault: Option<&'t str>,
    reason: &'t str,
    plugin: &'t str,
    at_ms: i64,
    pointer: bool,
    replays: Option<&'t str>,
}

const REJECTED: Told<'_> = Told {
    offset: "7",
    class: "rejected",
    fault: None,
    reason: "no such currency: GBP",
    plugin: "sha256:aa11",
    at_ms: FAILED_MS,
    pointer: false,
    replays: None,
};

/// Puts a dead letter of `orders`, partition 1, into partition 0 of `orders.dead`.
fn put(cluster: &MockCluster, key: &[u8], value: &[u8], told: &Told<'_>) {
    let at = told.at_ms.to_string();
    let mut headers: Vec<(&[u8], Option<&[u8]>)> = vec![(b"own", Some(b"1")), (b"own", None)];
    for (name, value) in [
        ("gristmill.origin.topic", "orders"),
        ("gristmill.origin.partition", "1"),
        ("gristmill.origin.offset", told.offset),
        ("gristmill.origin.timestamp", "1600000000000"),
        ("gristmill.origin.timestamp.type", "create"),
        ("gristmill.failure.class", told.class),
        ("gristmill.failure.reason", told.reason),
        ("gristmill.failure.attempts", "1"),
        ("gristmill.failure.plugin", told.plugin),
        ("gristmill.failure.at", &at),
        ("gristmill.failures", "1"),
    ] {
        headers.push((name.as_bytes(), Some(value.as_bytes())));
    }
    headers.extend(told.fault.map(|fault| (b"gristmill.failure.fault".as_slice(), Some(fault.as_bytes()))));
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
    let value = Some(value).filter(|_| !told.pointer);
    let record = MockRecord { key: Some(key), value, headers: &headers, ..MockRecord::default() };
    cluster.produce("orders.dead", record).unwrap();
    cluster.flush().unwrap();
}

/// A cluster with `orders` of three partitions, and five records in `orders.dead`: a rejected one, a fault, one of another topic's
/// user, one that only points to its original, one that was replayed before.
fn cluster() -> MockCluster {
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

fn run(cluster: &MockCluster, arguments: &[&str]) -> Ended {
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
fn what_is_replayed_comes_with_its_bytes_its_story_and_the_count() {
    let cluster = cluster();
    let ended = run(&cluster, &["replay", "g.toml", "--class", "rejected", "--class", "fault", "--to", "origin"]);
    let said = "replayed 3 to where they came from (3 to orders); 3 dead letters: 1 fault/trap, 2 rejected; 1 not matched; 1 record \
                without the story of a failure\n";
    assert_eq!(ended.good().stdout, said);
    let found = replayed(&cluster, "orders");
    let keys: Vec<_> = found.iter().map(|record| record.key.clone().unwrap()).collect();
    assert_eq!(keys, [b"a", b"b", b"d"], "in their order, in the partition they came from");
    assert!(found.iter().all(|record| record.partition == 1), "{found:?}");
    assert_eq!(found[1].value.as_deref(), Some(&b"\xff"[..]));
    assert_eq!(found[0].headers[..2], [("own".to_owned(), Some(b"1".to_vec())), ("own".to_owned(), None)]);
    assert_eq!(found[0].header("gristmill.origin.offset").as_deref(), Some("7"));
    assert_eq!(found[0].header("gristmill.replays").as_deref(), Some("1"));
    assert_eq!(found[2].header("gristmill.replays").as_deref(), Some("3"));
    assert_eq!(listed(&cluster, &[]), [0, 1, 3, 4], "the dead letters stay");
    assert_eq!(cluster.committed("orders-to-nowhere", "orders.dead", 0).unwrap(), None);
}

#[test]
fn a_pointer_is_named_and_the_rest_is_replayed() {
    let cluster = cluster();
    cluster.create_topic("again", 1).unwrap();
    let ended = run(&cluster, &["replay", "g.toml", "--all", "--to", "again", "--output", "json"]);
    ended.refused(1, &["1 of 4 were not replayed, for the reasons in the lines above"]);
    assert!(
        ended.stderr.starts_with("0:3 is not replayed: it only points to its original, which lies at orders/1@9"),
        "{ended:#?}"
    );
    let line = &ended.json()[0];
    assert_eq!((&line["replayed"], &line["refused"], &line["topics"]), (&3.into(), &1.into(), &json!({ "again": 3 })));
    assert_eq!(line["next"], json!(["0:5"]));
    assert_eq!(replayed(&cluster, "again").len(), 3);
}

#[test]
fn a_dry_run_says_what_would_be_and_does_nothing() {
    let cluster = cluster();
    let ended = run(&cluster, &["replay", "g.toml", "--reason", "currency", "--to", "origin", "--dry-run"]);
    let lines: Vec<&str> = ended.good().stdout.lines().collect();
    assert_eq!(lines[..2], ["0:0 would be replayed to orders", "0:4 would be replayed to orders"]);
    assert!(lines[2].starts_with("would replay 2 to where they came from; 2 dead letters: 2 rejected"), "{lines:?}");
    assert!(replayed(&cluster, "orders").is_empty());
}

#[test]
fn what_is_printed_is_what_call_reads() {
    let cluster = cluster();
    let printed = run(&cluster, &["replay", "g.toml", "--class", "rejected", "--class", "fault", "--to", "stdout"]);
    assert!(printed.stderr.starts_with("replayed 3 to stdout; 3 dead letters"), "{printed:#?}");
    let lines = printed.json();
    assert_eq!(
        (&lines[0]["topic"], &lines[0]["partition"], &lines[0]["offset"]),
        (&"orders".into(), &1.into(), &7.into())
    );
    assert_eq!(lines[0]["timestamp"], 1_600_000_000_000_i64);
    let headers = lines[2]["headers"].as_array().unwrap();
    assert_eq!(headers.last().unwrap(), &json!({ "key": "gristmill.replays", "value": "3" }));
    let ended = Run::new().input(&printed.stdout).with(&["call", &plugin("gristmill-echo"), "--output", "json"]);
    assert_eq!((&ended.good().json()[0]["records"], &ended.json()[0]["outcome"]), (&3.into(), &"ok".into()));
}

#[test]
fn the_plugin_gets_what_it_would_get_after_a_replay_in_batches_of_its_configuration() {
    let cluster = cluster();
    let more = "settings = { field = \"currency\", \"route.GBP\" = \"pounds\" }\n[batch]\nmax_records = 1\n[sinks.pounds]\n\
                topic = \"pounds\"\n";
    let config = text(&cluster, "gristmill-route", more);
    let replay = |wishes: &[&str]| {
        let run = Run::new().file("g.toml", &config);
        run.with(&[&["dead-letters", "replay", "g.toml", "--to", "plugin"], wishes].concat())
    };
    let ended = replay(&["--class", "rejected"]);
    let lines: Vec<&str> = ended.good().stdout.lines().collect();
    assert!(lines[0].starts_with("batch 1: ok (1 records, ") && lines[0].ends_with(", 1 emitted"), "{lines:?}");
    assert!(lines[1].starts_with("  emitted to pounds from 0 (orders/1/7): "), "{lines:?}");
    assert!(lines[2].starts_with("batch 2: ok (1 records, ") && lines[2].ends_with(", 1 rejected"), "{lines:?}");
    assert!(lines[4].starts_with("handed 2 to the plugin; "), "{lines:?}");
    let ended = replay(&["--at", "0:0", "--output", "json"]);
    let lines = ended.good().json();
    assert_eq!(lines[0]["emitted"][0]["record"]["key"], "a");
    assert_eq!((&lines[1]["replayed"], &lines[1]["topics"]), (&1.into(), &Value::Null));
    assert!(replayed(&cluster, "orders").is_empty(), "nothing is written");
}

#[test]
fn a_batch_that_is_not_ok_ends_it_as_it_ends_a_call() {
    let cluster = cluster();
    put(&cluster, b"fatal:no table", b"", &REJECTED);
    put(&cluster, b"ok", b"", &REJECTED);
    let config = text(&cluster, "gristmill-mischief", "[batch]\nmax_records = 1");
    let run = Run::new().file("g.toml", config);
    let ended = run.with(&["dead-letters", "replay", "g.toml", "--to", "plugin", "--from", "0:5", "--all"]);
    ended.refused(65, &["the plugin said fatal to batch 1: no table", "0 were replayed"]);
    let line = ended.stderr.lines().find(|line| line.starts_with("to go on: ")).unwrap();
    assert_eq!(line, "to go on: the same command with --from 0:5");
}

#[test]
fn nothing_is_replayed_by_chance_or_in_a_circle() {
    let cluster = cluster();
    let replay = |arguments: &[&str]| run(&cluster, &[&["replay", "g.toml"], arguments].concat());
    replay(&["--to", "origin"]).refused(2, &["every dead letter", "--all", "--dry-run"]);
    replay(&["--to", "origin", "--from", "0:1"]).refused(2, &["--all"]);
    replay(&["--to", "orders.dead", "--all"]).refused(2, &["--to orders.dead: dead letters go there"]);
    replay(&["--to", "gone", "--at", "0:0"]).refused(78, &["the brokers know no topic gone", "0:0", "create it"]);
    let ended = replay(&["--all"]);
    assert_eq!(ended.code, 2, "{ended:#?}");
    assert!(ended.stderr.contains("--to <TARGET>"), "where to is for the user to say: {ended:#?}");
    // A topic whose dead letters came from itself: they stay.
    let ended = run(&cluster, &["replay", "g.toml", "--at", "0:0", "--to", "origin", "--topic", "orders.dead"]);
    ended.good();
    let ended = run(&cluster, &["replay", "g.toml", "--topic", "orders", "--all", "--to", "origin"]);
    ended.refused(1, &["1 of 1 were not replayed"]);
    assert!(
        ended.stderr.starts_with("1:0 is not replayed: it came from orders, which is where dead letters go"),
        "{ended:#?}"
    );
}

#[test]
fn what_the_brokers_refuse_is_told_with_the_way_out() {
    let cluster = cluster();
    // Topic authorization failed.
    cluster.fail_next(RequestKind::Produce, &[29]);
    let ended = run(&cluster, &["replay", "g.toml", "--at", "0:0", "--to", "origin"]);
    ended.refused(77, &["this user may not write to orders", "give it the right to", "; 0 were replayed; "]);
    assert!(ended.stderr.contains("to go on: the same command with --from 0:0\n"), "{ended:#?}");
    // One that is larger than its topic takes will never be written; the next one is.
    put(&cluster, b"large", &[b'x'; 5_000], &REJECTED);
    put(&cluster, b"small", b"5", &REJECTED);
    let small = ["--set", "producer.properties.\"message.max.bytes\"=2000"];
    let from = ["replay", "g.toml", "--all", "--from", "0:5", "--to", "origin"];
    let ended = run(&cluster, &[&from[..], &small[..]].concat());
    ended.refused(1, &["1 of 2 were not replayed"]);
    assert!(ended.stderr.starts_with("0:5 is not replayed: a record for orders is too large for it"), "{ended:#?}");
    let keys: Vec<_> = replayed(&cluster, "orders").into_iter().map(|record| record.key.unwrap()).collect();
    assert_eq!(keys, [b"small"]);
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
    list(&["--topic", "t", "--wait", "300ms"]).refused(69, &["127.0.0.1:1", "check kafka.bootstrap_servers"]);
    let ended = Run::new().with(&["dead-letters"]);
    assert!(ended.code == 2 && ended.stderr.contains("replay"), "{ended:#?}");
}

#[test]
fn a_replay_without_brokers_says_so_and_shows_no_secret() {
    let secret = "hunter2-the-secret";
    let more = format!(
        "[start]\nwait = \"500ms\"\n[kafka.properties]\n\"sasl.password\" = \"{secret}\"\n[dead_letter]\ntopic = \"d\"\n"
    );
    let run = Run::new().file("g.toml", configuration("gristmill-echo", &more));
    let ended = run.with(&["dead-letters", "replay", "g.toml", "--all", "--to", "origin", "-vv"]);
    ended.refused(69, &["check kafka.bootstrap_servers"]);
    assert!(!ended.printed().contains(secret), "{ended:#?}");
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
