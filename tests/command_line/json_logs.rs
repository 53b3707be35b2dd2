//! `--log-format json`: what goes to stderr is one object a line, from the first line to the last.

use std::time::Duration;

use gristmill_kafka::MockCluster;
use gristmill_tests::Host;
use serde_json::{Map, Value};

use crate::process::{Run, configuration};

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(30);

/// The objects, each of which has the four keys first.
#[track_caller]
fn objects<'l>(lines: impl IntoIterator<Item = &'l str>) -> Vec<Map<String, Value>> {
    let read = |line| {
        let object: Map<String, Value> = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let first: Vec<&str> = object.keys().take(4).map(String::as_str).collect();
        assert_eq!(first, ["ts", "level", "msg", "target"], "{line}");
        object
    };
    lines.into_iter().map(read).collect()
}

#[test]
fn a_run_is_told_in_objects_to_its_last_line() {
    let cluster = MockCluster::start(1).unwrap();
    for topic in ["orders", "payments"] {
        cluster.create_topic(topic, 1).unwrap();
    }
    let text = configuration("gristmill-echo", "").replace("127.0.0.1:1", &cluster.bootstrap_servers());
    let host = Host::run(&text.replace("[\"orders\"]", "[\"orders\", \"payments\"]"));
    let starting = host.wait_for_line("\"msg\":\"starting\"", SOON);
    assert!(starting.contains(r#""topics":"orders, payments""#), "{starting}");
    host.wait_for_line("assigned; ", SOON);
    host.signal("TERM");
    let (code, lines) = host.wait_for_end(SOON);
    let objects = objects(lines.iter().map(String::as_str));
    let last = objects.last().unwrap();
    assert_eq!(
        (&last["level"], &last["target"], &last["exit_code"]),
        (&"info".into(), &"gristmill".into(), &code.into())
    );
    assert!(last["msg"].as_str().unwrap().starts_with("stopped as it was asked to; "), "{last:?}");
}

#[test]
fn every_problem_of_a_configuration_is_an_object() {
    let text = configuration("gristmill-echo", "[batch]\nmax_record = 5\nmax_wait = \"often\"\n");
    for command in ["run", "check"] {
        let ended = Run::new().file("g.toml", &text).with(&[command, "g.toml", "--log-format", "json"]);
        let [first, second, last] = objects(ended.stderr.lines()).try_into().unwrap();
        let words = |object: &Map<String, Value>, words: &str| object["msg"].as_str().unwrap().contains(words);
        assert!(words(&first, "g.toml:10:1: ") && words(&first, "max_record"), "{first:?}");
        assert!(words(&second, "max_wait"), "{second:?}");
        assert!(words(&last, "max_record") && words(&last, "(and 1 more, above)"), "{last:?}");
        assert_eq!((&last["level"], &last["exit_code"], ended.code), (&"error".into(), &78.into(), 78));
    }
}
