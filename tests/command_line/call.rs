//! `call`: records from a file through a plugin, its answer as the exit code.

use std::time::Duration;

use gristmill_tests::{Host, TemporaryFolder};

use crate::process::{Ended, Run, configuration, plugin};

fn call(records: &str, arguments: &[&str]) -> Ended {
    let plugin = plugin("gristmill-mischief");
    Run::new().file("r.jsonl", records).with(&[&["call", &plugin, "r.jsonl"], arguments].concat())
}

#[test]
fn each_answer_has_its_exit_code_and_words() {
    let ended = call("{\"key\":\"ok\"}", &[]);
    assert!(ended.good().stdout.starts_with("batch 1: ok (1 records, "), "{}", ended.stdout);
    call("{\"key\":\"retry:the database is down\"}", &[]).refused(75, &["retryable", "the database is down"]);
    call("{\"key\":\"fatal:no such table\"}", &[]).refused(65, &["fatal", "no such table"]);
    call("{\"key\":\"panic:the stone cracked\"}", &[]).refused(76, &["broke", "(trap)", "the stone cracked"]);
    call("{\"key\":\"exit0\"}", &[]).refused(76, &["(exit)"]);
    call("{\"key\":\"grow:500\"}", &[]).refused(76, &["(memory)"]);
    call("{\"key\":\"emit:nowhere\"}", &[]).refused(76, &["(contract)", "nowhere"]);
}

/// A line that is read by people, at three in the morning.
const LINE_CHARS_MAX: usize = 400;

#[test]
fn a_fault_is_told_in_short_with_the_way_out_at_the_end() {
    for (key, words) in [
        ("panic:the stone\\ncracked", "panicked at tests/guests/mischief/src/lib.rs:43:20: the stone cracked"),
        ("spin", "used all of its 200ms of processor time"),
        ("deep", "in gristmill_mischief::burn::deep::down"),
    ] {
        let ended = call_within("200ms", key);
        ended.refused(76, &[words]);
        let broke = ended.stderr.lines().find(|line| line.contains("guest broke")).unwrap();
        assert!(broke.contains(" frames=gristmill"), "{key}: the plugin's own frames come first: {broke}");
        for line in [broke, ended.stdout.trim_end(), ended.last_line()] {
            let noise = ["RUST_BACKTRACE", "__rust", "core::", "std::", "abort", "\\n"];
            let found: Vec<&str> = noise.into_iter().filter(|noise| line.contains(noise)).collect();
            assert!(found.is_empty(), "{key}: {found:?} in {line}");
        }
        assert!(ended.last_line().chars().count() <= LINE_CHARS_MAX, "{key}: {}", ended.last_line());
        assert!(ended.last_line().ends_with("then does what fault.then says"), "{key}: {}", ended.last_line());
    }
}

fn call_within(cpu: &str, key: &str) -> Ended {
    let text = configuration("gristmill-mischief", &format!("[plugin.limits]\ncpu = \"{cpu}\"\n"));
    let plugin = plugin("gristmill-mischief");
    let run = Run::new().file("g.toml", text).input(&format!("{{\"key\":\"{key}\"}}\n"));
    run.with(&["call", &plugin, "--config", "g.toml"])
}

#[test]
fn a_reason_that_is_long_does_not_bury_the_way_out() {
    for word in ["fatal", "retry"] {
        let ended = call(&format!("{{\"key\":\"{word}:row 1\\nrow 2 {}\"}}", "x".repeat(3_000)), &[]);
        let last = ended.last_line();
        assert!(last.contains("row 1\\nrow 2 xxx") && last.contains("x…; "), "{last}");
        assert!(last.chars().count() <= 2 * LINE_CHARS_MAX, "{last}");
        assert!(ended.stdout.len() > 3_000, "the result holds all of it: {}", ended.stdout);
    }
}

#[test]
fn after_retryable_it_says_what_a_pipeline_would_do_and_how_to_tell_a_record_from_an_outage() {
    let retry = "{\"key\":\"retry:the database is down\"}";
    let tell = "--batch 1 finds it";
    call(retry, &[]).refused(75, &["run would wait and hand the same batch over again until the answer changes", tell]);
    let text = configuration("gristmill-mischief", "[retry]\nmax_attempts = 7\nthen = \"hold\"\n");
    let run = Run::new().file("g.toml", text).input(retry);
    let ended = run.with(&["call", &plugin("gristmill-mischief"), "-c", "g.toml"]);
    ended.refused(75, &["hand the same batch over again, 7 times in all, and then hold", tell]);
}

#[test]
fn a_batch_of_one_finds_the_record_that_a_plugin_cannot_take() {
    let records = "{\"key\":\"ok\"}\n{\"key\":\"ok\"}\n{\"key\":\"retry:no such column\"}\n{\"key\":\"ok\"}\n";
    call(records, &["--batch", "1"]).refused(75, &["retryable to batch 3 of 4", "no such column"]);
}

#[test]
fn a_guest_that_does_not_end_is_ended_by_the_configured_limit() {
    let text = configuration("gristmill-mischief", "[plugin.limits]\ntime = \"200ms\"\n");
    let plugin = plugin("gristmill-mischief");
    let run = Run::new().file("g.toml", text).input("{\"key\":\"spin\"}\n");
    run.with(&["call", &plugin, "--config", "g.toml"]).refused(76, &["(timeout)", "200ms"]);
}

/// A laptop that slept, a container that was paused: the guest did not have the time in which nobody ran.
#[test]
fn a_guest_is_not_blamed_for_the_time_in_which_the_whole_process_stood_still() {
    let folder = TemporaryFolder::new();
    folder.write("r.jsonl", "{\"key\":\"nap:100\"}\n");
    folder.write("g.toml", &configuration("gristmill-mischief", "[plugin.limits]\ntime = \"4s\"\n"));
    let host = Host::start(folder, &["call", &plugin("gristmill-mischief"), "r.jsonl", "--config", "g.toml"]);
    host.wait_for_line("napping", Duration::from_secs(60));
    host.signal("STOP");
    // Longer than its limit: that nothing runs meanwhile is what is tested.
    std::thread::sleep(Duration::from_secs(5));
    host.signal("CONT");
    let (code, lines) = host.wait_for_end(Duration::from_secs(60));
    assert_eq!(code, 0, "{lines:#?}");
}

#[test]
fn machines_get_one_line_for_each_batch() {
    let records = "{\"key\":\"ok\"}\n{}\n{\"key\":\"retry-after:1500\"}\n{}\n{\"key\":\"ok\"}\n";
    let ended = call(records, &["--batch", "2", "--output", "json"]);
    assert_eq!(ended.code, 75);
    let lines = ended.json();
    assert_eq!(lines.len(), 2, "what lies behind a batch that is not ok is not handed over: {ended:#?}");
    assert_eq!((&lines[0]["batch"], &lines[0]["records"], &lines[0]["outcome"]), (&1.into(), &2.into(), &"ok".into()));
    assert_eq!(
        (&lines[1]["outcome"], &lines[1]["after_ms"], &lines[1]["reason"]),
        (&"retryable".into(), &1500.into(), &"later".into())
    );
}

#[test]
fn what_a_pipeline_would_write_is_shown_to_people() {
    let route = configuration("gristmill-route", "settings = { field = \"kind\", \"route.a\" = \"as\" }\n");
    let records = r#"{"topic":"t","partition":2,"offset":40,"key":"k","value":"{\"kind\":\"a\"}","headers":[["h",null]]}
{"topic":"t","partition":2,"value":"{\"kind\":\"b\"}"}
"#;
    let run = || Run::new().file("g.toml", route.clone()).input(records);
    let plugin = plugin("gristmill-route");
    let with_sink = format!("{route}[sinks.as]\ntopic = \"a-topic\"\n");
    let ended = run().file("g.toml", with_sink).with(&["call", &plugin, "-c", "g.toml", "--sink", "bs"]);
    let lines: Vec<&str> = ended.good().stdout.lines().collect();
    assert!(lines[0].ends_with(" ms), 1 rejected, 1 emitted"), "{lines:?}");
    assert_eq!(lines[1], "  rejected 1 (t/2/41): no route is for the value \"b\" of kind");
    let record = r#"{"key":"k","value":"{\"kind\":\"a\"}","headers":[{"key":"h","value":null}]}"#;
    assert_eq!(lines[2], format!("  emitted to as from 0 (t/2/40): {record}"));
    let ended = run().with(&["call", &plugin, "-c", "g.toml", "--sink", "bs"]);
    ended.refused(76, &["(contract)", "names the sink \"as\"; known are bs"]);
}

#[test]
fn what_may_be_emitted_is_what_the_configuration_says() {
    let emitting = |limits: &str| {
        let text = configuration("gristmill-mischief", &format!("limits = {{ {limits} }}\n"));
        let input = "{\"key\":\"emit-all:out\"}\n{\"key\":\"b\"}\n";
        let plugin = plugin("gristmill-mischief");
        Run::new().file("g.toml", text).input(input).with(&["call", &plugin, "-c", "g.toml", "--sink", "out"])
    };
    emitting("emitted_records = 2").good();
    emitting("emitted_records = 1").refused(76, &["it emitted 2 records; a batch may emit 1"]);
    emitting("emitted_bytes = \"10 B\"").refused(76, &["bytes; a batch may emit 10"]);
}

#[test]
fn what_a_pipeline_would_write_is_shown_to_machines() {
    let ended = call("{\"key\":\"emit-all:out\"}\n{\"value_b64\":\"/w==\"}\n", &["--sink", "out", "--output", "json"]);
    assert_eq!(ended.good().json()[0]["emitted"][1]["source"], 1);
    let record = serde_json::json!({ "partition": 0, "key": null, "value_b64": "/w==", "headers": [] });
    assert_eq!(ended.json()[0]["emitted"][1]["record"], record);
    assert_eq!(ended.json()[0]["emitted"][1]["sink"], "out");
    let ended = call("{\"key\":\"completed-reject:2:1\"}\n{}\n{}\n", &["--output", "json"]);
    assert_eq!((ended.code, &ended.json()[0]["completed"]), (75, &2.into()));
    assert_eq!(ended.json()[0]["rejected"], serde_json::json!([{ "index": 1, "reason": "not today" }]));
    let ended = call("{\"key\":\"blame:1\"}\n{}\n", &["--output", "json"]);
    assert_eq!(ended.json()[0]["suspect"], 1);
}

#[test]
fn records_reach_the_plugin_as_they_are_written() {
    let records = r#"{"topic":"t","partition":2,"offset":40,"key":"dump","value":null,"timestamp":-1}
{"topic":"t","partition":2,"key":null,"value":"","headers":[["h",null],["h",""],{"key":"h","value":"x"}]}
{"topic":"t","partition":2,"key":"","value_b64":"/wA=","timestamp":7,"timestamp_type":"log_append"}
"#;
    let ended = call(records, &["--attempt", "3", "--output", "json"]);
    let reason = ended.json()[0]["reason"].as_str().unwrap().to_owned();
    // A plugin's words are escaped: line feeds are no line feeds any more.
    let lines: Vec<&str> = reason.split("\\n").collect();
    assert!(lines[0].starts_with("call attempt=3 limit=5000 part=false sha256:"), "{reason}");
    let wanted = [
        "t/2/40 create(-1) 'dump' null []",
        "t/2/41 none null '' [h=null,h='',h='x']",
        "t/2/42 append(7) '' '\u{fffd}\\u{0}' []",
    ];
    assert_eq!(lines[1..], wanted, "{reason}");
}

#[test]
fn settings_come_from_the_configuration() {
    let text = configuration("gristmill-count", "settings = { rehearse_fatal = \"x\" }\n");
    let plugin = plugin("gristmill-count");
    let run = Run::new().file("g.toml", text).input("{\"key\":\"x\"}\n");
    run.with(&["call", &plugin, "-c", "g.toml"]).refused(65, &["rehearse a fatal answer"]);
    let ended = Run::new().input("{\"key\":\"x\"}\n").with(&["call", &plugin]);
    let said = "counted 1 records under 1 keys";
    assert!(ended.good().stderr.contains(said), "what a plugin prints is shown: {}", ended.stderr);
}

#[test]
fn a_line_that_is_no_record_is_named_with_its_place() {
    call("{}\n{\"vale\":1}\n", &[]).refused(78, &["r.jsonl:2:7: unknown field `vale`"]);
    call("{\"key\":\"a\",\"key_b64\":\"YQ==\"}", &[]).refused(78, &["r.jsonl:1:", "key and key_b64 are both given"]);
    for (value, what) in [("{\"id\":1}", "an object"), ("[1]", "a list"), ("5", "a number"), ("true", "true or false")]
    {
        let ended = call(&format!("{{}}\n{{\"value\":{value}}}"), &[]);
        ended.refused(78, &["r.jsonl:2:", &format!("{what} is no text; write it as a string"), "value_b64"]);
    }
    let ended = Run::new().with(&["call", &plugin("gristmill-echo"), "nowhere.jsonl"]);
    ended.refused(78, &["cannot read records from nowhere.jsonl"]);
}

#[test]
fn no_records_is_no_empty_batch() {
    let ended = call("\n\n", &[]);
    assert_eq!(
        (ended.good().stdout.as_str(), ended.stderr.as_str()),
        ("", "there are no records, so nothing was handed over\n")
    );
}

#[test]
fn a_plugins_words_cannot_move_the_cursor_or_forge_a_line() {
    let ended = call("{\"key\":\"fatal:\\u001b[2Ja\\ngristmill: done\"}", &[]);
    assert_eq!(ended.code, 65);
    assert!(!ended.printed().contains('\u{1b}'), "{}", ended.printed());
    assert!(ended.last_line().starts_with("gristmill: the plugin said fatal"), "{}", ended.stderr);
}

#[test]
fn values_without_a_configuration_to_lie_over_are_a_usage_error() {
    call("{}", &["--set", "batch.max_records=1"]).refused(2, &["batch.max_records=1", "--config"]);
}

#[test]
fn logs_for_machines_have_their_four_keys_first() {
    let plugin = plugin("gristmill-count");
    let ended = Run::new().input("{\"key\":\"x\"}\n").with(&["call", &plugin, "--log-format", "json"]);
    let line = ended.good().stderr.lines().next().unwrap();
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).unwrap();
    let text = |key: &str| fields[key].as_str().unwrap();
    assert!(line.starts_with("{\"ts\":\"2"), "{line}");
    assert_eq!((text("level"), text("target"), text("stream")), ("info", "gristmill::plugin", "stdout"));
    assert_eq!((text("msg"), text("plugin").len()), ("counted 1 records under 1 keys", 12));
}

/// Whatever a line holds, people and their terminals get a part of it.
#[test]
fn what_is_said_of_a_huge_record_is_small() {
    let huge = "k".repeat(10_000_000);
    for (line, words) in [
        (format!("{{\"{huge}\":1}}"), "expected one of `topic`"),
        (format!("{{\"partition\":\"{huge}\"}}"), "expected i32"),
    ] {
        let ended = call(&line, &[]);
        ended.refused(78, &["r.jsonl:1:", "kkk…kkk", words]);
        assert!(ended.printed().chars().count() < 1_000, "{} characters", ended.printed().chars().count());
    }
}

/// As in a pipeline: the plugin gets what decoding makes of a record, and never one that does not decode. That does not end well.
#[test]
fn records_are_decoded_as_the_configuration_says() {
    let schema = r#"{"type":"record","name":"O","fields":[{"name":"n","type":"long"}]}"#;
    let more = "[topics.orders]\nvalue_format = \"avro\"\nvalue_schema = \"o.avsc\"\n[plugin.settings]\nschema = '{\"type\":\"object\",\"required\":[\"n\"]}'\n";
    let records = "{\"topic\":\"orders\",\"value_b64\":\"Dg==\"}\n{\"topic\":\"orders\",\"value\":\"no avro\"}\n{\"topic\":\"orders\",\"value\":null}\n";
    let plugin = plugin("gristmill-validate");
    let text = configuration("gristmill-validate", more);
    let run = Run::new().file("g.toml", &text).file("o.avsc", schema).file("r.jsonl", records);
    let ended = run.with(&["call", &plugin, "r.jsonl", "--config", "g.toml"]);
    ended.refused(1, &["1 of 3 records do not decode and were not handed over"]);
    assert!(ended.stdout.starts_with("batch 1: ok (2 records, "), "{ended:#?}");
    assert!(!ended.stdout.contains("rejected"), "{ended:#?}");
    let told = "orders/0 1 is not handed over: it does not decode: the value: it is not Avro of its schema";
    assert!(ended.stderr.contains(told), "{ended:#?}");
    let none = "{\"topic\":\"orders\",\"value\":\"no avro\"}\n";
    let run = Run::new().file("g.toml", &text).file("o.avsc", schema).file("r.jsonl", none);
    let ended = run.with(&["call", &plugin, "r.jsonl", "--config", "g.toml"]);
    ended.refused(1, &["1 of 1 records do not decode and were not handed over"]);
    assert!(ended.stdout.is_empty() && !ended.stderr.contains("there are no records"), "{ended:#?}");
    // A batch that is not ok decides.
    let text = configuration("gristmill-mischief", "[topics.orders]\nvalue_format = \"json\"\n");
    let records = "{\"topic\":\"orders\",\"key\":\"fatal:no\"}\n{\"topic\":\"orders\",\"value\":\"no json\"}\n";
    let run = Run::new().file("g.toml", text).file("r.jsonl", records);
    run.with(&["call", &self::plugin("gristmill-mischief"), "r.jsonl", "-c", "g.toml"]).refused(65, &["fatal"]);
}
