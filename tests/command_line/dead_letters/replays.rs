//! `dead-letters replay`: to the origin, to a topic, to stdout, to the plugin; what is refused, and what is said of it.

use std::process::Command;

use gristmill_kafka::RequestKind;
use gristmill_tests::TemporaryFolder;
use serde_json::{Value, json};

use super::{REJECTED, Told, cluster, listed, put, replayed, run, text};
use crate::process::{Run, binary, configuration, plugin};

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
    let ended = run(&cluster, &["replay", "g.toml", "--at", "0:0", "--to", "stdout", "--dry-run", "--output", "json"]);
    assert_eq!(ended.good().json(), [json!({ "would_replay": "0:0", "to": "stdout" })]);
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
fn the_plugin_gets_what_its_topics_say_and_what_does_not_decode_is_named() {
    let cluster = cluster();
    let replay = |more: &str| {
        let run = Run::new().file("g.toml", text(&cluster, "gristmill-echo", more));
        run.with(&["dead-letters", "replay", "g.toml", "--class", "rejected", "--class", "fault", "--to", "plugin"])
    };
    let ended = replay("[topics.orders]\nvalue_format = \"json\"");
    ended.refused(1, &["1 of 3 were not replayed"]);
    assert!(ended.stderr.starts_with("0:1 is not replayed: it does not decode: the value: "), "{ended:#?}");
    assert!(ended.stdout.starts_with("batch 1: ok (2 records, "), "{ended:#?}");
    let registry = "[topics.orders]\nvalue_format = \"avro\"\n[schema_registry]\nurl = \"http://127.0.0.1:2\"\n[start]\n\
                    wait = \"3s\"";
    put(&cluster, b"e", b"\0\0\0\0\x07\x0e", &REJECTED);
    replay(registry).refused(
        69,
        &[
            "schema 7: the registry at http://127.0.0.1:2 cannot be reached: connection refused",
            "look at the schema registry",
        ],
    );
}

#[test]
fn a_plugin_that_is_tried_on_dead_letters_is_confined_as_by_run() {
    let cluster = cluster();
    let said = |more: &str| {
        let run = Run::new().file("g.toml", text(&cluster, "gristmill-echo", more));
        let ended =
            run.with(&["dead-letters", "replay", "g.toml", "--to", "plugin", "--all", "--log-level", "gristmill=info"]);
        assert!(ended.stdout.contains("batch 1: "), "{ended:#?}");
        ended.stderr.contains("gave up what it does not need of the system")
    };
    assert!(said(""));
    assert!(!said("[start]\nconfine = false\n"));
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
    assert!(
        ended
            .stderr
            .starts_with("0:5 is not replayed: with its story it is too large for orders (MSG_SIZE_TOO_LARGE); raise "),
        "{ended:#?}"
    );
    let keys: Vec<_> = replayed(&cluster, "orders").into_iter().map(|record| record.key.unwrap()).collect();
    assert_eq!(keys, [b"small"]);
}

#[test]
fn a_dead_letter_that_names_no_topic_stays_where_it_is() {
    let cluster = cluster();
    put(&cluster, b"forged", b"", &Told { topic: "a/../b\u{1b}[2J", ..REJECTED });
    let ended = run(&cluster, &["replay", "g.toml", "--at", "0:5", "--to", "origin"]);
    ended.refused(1, &["1 of 1 were not replayed"]);
    let said = "0:5 is not replayed: it says that it came from \"a/../b\\u{1b}[2J\", which is no topic: ";
    assert!(ended.stderr.starts_with(said), "{ended:#?}");
    assert!(!ended.printed().contains('\u{1b}'), "{ended:#?}");
}

/// A pipe takes more than is read of it: that all were printed would be a guess.
#[test]
fn a_reader_that_went_away_is_told_how_far_it_can_have_come() {
    let cluster = cluster();
    let value = [b'x'; 20_000];
    (0..20).for_each(|_| put(&cluster, b"large", &value, &REJECTED));
    let folder = TemporaryFolder::new();
    folder.write("g.toml", &text(&cluster, "gristmill-echo", ""));
    let replay = format!("'{}' dead-letters replay g.toml --all --from 0:5 --to stdout", binary().display());
    let line = format!("{{ {replay}; echo \"code $?\" >&2; }} | head -n 1");
    let output = Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let [words, far, code] = stderr.lines().collect::<Vec<_>>()[..] else { panic!("{stderr}") };
    let count: u64 = words.strip_prefix("replayed ").unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!((1..20).contains(&count), "{stderr}");
    let wanted = format!(
        "nobody reads stdout any more; at most the first {count} were read, the last of them perhaps not; to go on behind them: the \
         same command with --from 0:{}",
        5 + count
    );
    assert_eq!((far, code), (wanted.as_str(), "code 0"));
}

/// Headers may say anything.
#[test]
fn what_a_forged_header_says_cannot_move_a_terminal() {
    let cluster = cluster();
    let odd = "\u{1b}[2J\u{9b}2J\u{202e}\u{2028}\u{200b}\u{feff}";
    put(
        &cluster,
        odd.as_bytes(),
        odd.as_bytes(),
        &Told { class: odd, reason: odd, plugin: odd, topic: odd, ..REJECTED },
    );
    let at = ["g.toml", "--at", "0:5"];
    for command in [&["list"][..], &["show"], &["replay", "--to", "origin"], &["replay", "--to", "plugin"]] {
        let ended = run(&cluster, &[command, &at].concat());
        let found: Vec<char> = odd.chars().filter(|c| !c.is_ascii_graphic() && ended.printed().contains(*c)).collect();
        assert!(found.is_empty() && ended.printed().contains("u{1b}[2J"), "{command:?}: {found:?} {ended:#?}");
    }
    let ended = run(&cluster, &[&["list"][..], &at, &["--output", "json"]].concat());
    assert_eq!(ended.good().json()[0]["first"]["reason"], odd);
    assert_eq!(ended.json()[1]["summary"]["classes"], json!({ odd: 1 }));
}

/// Whoever writes to the topic that is read could choose any topic otherwise.
#[test]
fn a_record_goes_back_only_to_a_topic_that_the_pipeline_reads_or_somebody_named() {
    let cluster = cluster();
    cluster.create_topic("secrets", 2).unwrap();
    put(&cluster, b"forged", b"", &Told { topic: "secrets", ..REJECTED });
    let replay = ["replay", "g.toml", "--from", "0:4", "--class", "rejected", "--to", "origin"];
    let said = "0:5 is not replayed: it came from secrets, which this pipeline does not read; name it with --origin secrets, or another \
                topic with --to\n";
    for more in [&["--dry-run"][..], &[]] {
        let ended = run(&cluster, &[&replay[..], more].concat());
        ended.refused(1, &["1 of 2 were not replayed"]);
        assert!(ended.stderr.starts_with(said), "{ended:#?}");
    }
    assert_eq!((replayed(&cluster, "secrets").len(), replayed(&cluster, "orders").len()), (0, 1));
    run(&cluster, &[&replay[..], &["--origin", "secrets"]].concat()).good();
    assert_eq!((replayed(&cluster, "secrets").len(), replayed(&cluster, "orders").len()), (1, 1));
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
