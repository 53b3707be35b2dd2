//! Tests of reading a configuration as a whole: text in, `Config` or problems out.

mod bounds;
mod decoding;
mod grants;
mod lanes;
mod paths;
mod refused;
mod writing;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use gristmill_core::policy::{Attempts, Exhausted, FatalPolicy, Redeliver};
use gristmill_kafka::ResetPolicy;

use super::*;

const GOOD: &str = r#"
[kafka]
bootstrap_servers = "localhost:9092"
group_id = "orders-to-postgres"
topics = ["orders"]
auto_offset_reset = "earliest"

[plugin]
path = "plugins/orders.wasm"
"#;

fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn read(text: &str) -> Result<Loaded, ConfigError> {
    load_text(text.to_owned(), Notation::Toml, Request::new(Path::new("etc/g.toml"), BTreeMap::new()))
}

fn good(more: &str) -> Config {
    read(&format!("{GOOD}{more}")).unwrap_or_else(|error| panic!("refused: {error}")).config
}

/// The problems of the good configuration with `more` at its end.
fn problems(more: &str) -> String {
    read(&format!("{GOOD}{more}")).expect_err("this was accepted").to_string()
}

#[test]
fn defaults_are_the_documented_ones() {
    let config = good("");
    assert_eq!(config.pipeline, "orders-to-postgres");
    assert_eq!(config.plugin.path, Path::new("etc/plugins/orders.wasm"));
    assert_eq!(config.plugin.limits.memory_bytes, 64 << 20);
    assert_eq!(config.plugin.limits.time, Duration::from_secs(5));
    assert_eq!(config.plugin.limits.cpu, Duration::from_secs(2));
    assert!(!config.plugin.reuse);
    let policy = config.policy;
    assert_eq!(policy.batch.records_max.get(), 10_000);
    assert_eq!(policy.batch.bytes_max.get(), 8 << 20);
    assert_eq!(policy.batch.record_bytes_max.get(), 16 << 20);
    assert_eq!(policy.batch.wait_max, Duration::from_secs(1));
    assert_eq!(policy.retry.attempts, Attempts::Unlimited);
    assert_eq!(policy.retry.redeliver, Redeliver::Memory);
    assert_eq!(policy.retry.backoff.jitter_permille, 200);
    assert_eq!((policy.fault.attempts_max.get(), policy.fault.then), (3, Exhausted::Stop));
    assert_eq!(policy.fatal, FatalPolicy::Exit);
    assert_eq!(policy.shutdown_grace, Duration::from_secs(20));
    assert!(config.warnings.is_empty());
}

#[test]
fn what_is_written_is_what_is_decided() {
    let config = good(
        r#"
        limits = { memory = "128 MiB", time = "500ms", record = "1 MiB" }
        instances = "reuse"
        settings = { table = "orders", port = 5432, tls = true }
        [batch]
        max_records = 1_000
        max_bytes = "2 MB"
        max_wait = "0s"
        [retry]
        initial = "1s"
        max = "1m"
        jitter = 0.5
        max_attempts = 7
        then = "hold"
        redeliver = "seek"
        [fault]
        max_attempts = 1
        then = "hold"
        [fatal]
        then = "hold"
        [shutdown]
        grace = "1m"
        "#,
    );
    assert_eq!(config.plugin.limits.cpu, Duration::from_millis(500), "never more than the wall clock");
    assert!(config.plugin.reuse);
    assert_eq!(config.plugin.settings["port"].reveal(), "5432");
    assert_eq!(config.plugin.settings["tls"].reveal(), "true");
    let policy = config.policy;
    assert_eq!((policy.batch.records_max.get(), policy.batch.bytes_max.get()), (1_000, 2_000_000));
    assert_eq!((policy.batch.wait_max, policy.batch.record_bytes_max.get()), (Duration::ZERO, 1 << 20));
    assert_eq!(policy.retry.backoff.jitter_permille, 500);
    let Attempts::Limited { max, then: Exhausted::Hold } = policy.retry.attempts else { panic!("{policy:?}") };
    assert_eq!(max.get(), 7);
    assert_eq!(policy.retry.redeliver, Redeliver::Seek);
    assert_eq!(policy.fatal, FatalPolicy::Hold);
}

#[test]
fn contradictions_are_refused_with_both_numbers() {
    let cases: [(&str, &[&str]); 14] = [
        ("limits = { time = \"2m\" }", &["10:19", "plugin.limits.time (2m)", "(1m 40s)", "max.poll.interval.ms (5m)"]),
        ("limits = { time = \"1s\", cpu = \"2s\" }", &["plugin.limits.cpu (2s)", "plugin.limits.time (1s)"]),
        ("limits = { memory = \"8 MiB\" }", &["batch.max_bytes (8 MiB)", "plugin.limits.memory (8 MiB)"]),
        ("limits = { memory = \"2 GiB\" }", &["plugin.limits.memory (2 GiB)", "(1 GiB)"]),
        ("limits = { record = \"33 MiB\" }", &["plugin.limits.record (33 MiB)", "plugin.limits.memory (64 MiB)"]),
        ("[retry]\ninitial = \"2s\"\nmax = \"1s\"", &["11:11", "retry.initial (2s)", "retry.max (1s)"]),
        ("[retry]\ninitial = \"0s\"", &["retry.initial = 0s", "at least \"1ms\""]),
        ("[retry]\njitter = 1.5", &["retry.jitter (1.5)", "between 0.0 and 1.0"]),
        ("[kafka.properties]\n\"session.timeout.ms\" = 6000", &["kafka.drain of 10000 ms", "session.timeout.ms=6000"]),
        (
            "[kafka.properties]\n\"heartbeat.interval.ms\" = \"60000\"",
            &["heartbeat.interval.ms=60000", "session.timeout.ms=45000"],
        ),
        (
            "[kafka.properties]\n\"max.poll.interval.ms\" = 30000",
            &["11:26", "session.timeout.ms=45000", "max.poll.interval.ms=30000"],
        ),
        (
            "[kafka.properties]\n\"receive.message.max.bytes\" = 1000000",
            &["receive.message.max.bytes=1000000", "fetch.max.bytes=2097152"],
        ),
        ("[batch]\nworkers = 2", &["batch.workers = 2", "one batch at a time; write scope = \"partition\""]),
        ("[batch]\nscope = \"partition\"\nworkers = 300", &["batch.workers (300)", "the most that it may be (256)"]),
    ];
    for (more, wanted) in cases {
        let text = problems(more);
        for part in wanted {
            assert!(text.contains(part), "{more}: {text:?} lacks {part:?}");
        }
    }
}

#[test]
fn r6_unlimited_retries_with_an_exhausted_policy_are_refused() {
    let text = problems("[retry]\nthen = \"stop\"");
    assert!(text.contains("11:8: retry.then") && text.contains("\"unlimited\" has no last attempt"), "{text}");
    let limited = good("[retry]\nthen = \"hold\"\nmax_attempts = 2").policy.retry.attempts;
    assert!(matches!(limited, Attempts::Limited { then: Exhausted::Hold, .. }), "{limited:?}");
}

// B4, B6
#[test]
fn a_drain_without_room_and_two_ways_to_rebalance_are_refused() {
    let text = problems("[kafka.properties]\n\"session.timeout.ms\" = 10500");
    assert!(
        text.contains("kafka.drain of 10000 ms with 1000 ms for the commit")
            && text.contains("session.timeout.ms=10500"),
        "{text}"
    );
    let both = "[kafka.properties]\n\"partition.assignment.strategy\" = \"range,cooperative-sticky\"";
    let text = problems(both);
    assert!(text.contains("11:35: ") && text.contains("name only one"), "{text}");
}

#[test]
fn all_contradictions_are_told_at_once() {
    let error = read(&format!("{GOOD}[retry]\ninitial = \"2m\"\njitter = 7\n[batch]\nworkers = 9\n"));
    assert_eq!(error.unwrap_err().problems.len(), 3);
}

#[test]
fn properties_that_the_host_owns_are_refused_with_the_reason() {
    let cases = [
        ("enable.auto.commit", "is the host's own"),
        ("group.id", "set kafka.group_id"),
        ("plugin.library.paths", "it would load native code"),
        ("test.mock.num.brokers", "use gristmill demo"),
        ("linger.ms", "is for producers"),
        ("session.timeot.ms", "did you mean \"session.timeout.ms\"?"),
    ];
    for (name, wanted) in cases {
        let text = problems(&format!("[kafka.properties]\n\"{name}\" = \"1\""));
        assert!(text.contains(name) && text.contains(wanted), "{name}: {text}");
    }
    let text = problems("[kafka.properties]\n\"group.protocol\" = \"consumer\"\n\"session.timeout.ms\" = 30000");
    assert!(text.contains("12:24") || text.contains("12:23"), "{text}");
    assert!(text.contains("the brokers decide it"), "{text}");
}

#[test]
fn a_misspelt_key_is_named_with_the_one_that_was_meant() {
    let text = problems("[batch]\nmax_record = 5");
    assert_eq!(text, "etc/g.toml:11:1: unknown key \"max_record\" in [batch]; did you mean \"max_records\"?");
    let text = read(&format!("max_records = 5\n{GOOD}")).unwrap_err().to_string();
    assert!(
        text.contains("unknown key \"max_records\" at the top level; did you mean \"batch.max_records\"?"),
        "{text}"
    );
}

#[test]
fn a_wrong_kind_is_named_with_what_was_wanted() {
    let cases = [
        ("[batch]\nmax_records = \"many\"", "11:15: batch.max_records = \"many\": wanted a whole number from 1 to"),
        ("[batch]\nmax_records = 0", "batch.max_records = 0: wanted a whole number from 1 to"),
        ("[batch]\nmax_records = -1", "batch.max_records = -1: wanted a whole number from 1 to"),
        ("[batch]\nmax_wait = 5", "batch.max_wait = 5: wanted a time with its unit"),
        ("[batch]\nmax_wait = \"5 parsecs\"", "this is no time; write a number and a unit"),
        ("[batch]\nmax_bytes = \"8 Mibs\"", "this is no size; write a number and a unit"),
        ("[retry]\nmax_attempts = \"forever\"", "wanted a whole number from 1, or \"unlimited\""),
        ("[retry]\nmax_attempts = 0", "wanted a whole number from 1, or \"unlimited\""),
        ("[retry]\nredeliver = \"sek\"", "wanted one of \"memory\", \"seek\"; did you mean \"seek\"?"),
        ("batch = 5", "unknown key \"batch\" in [plugin]"),
        ("digest = \"sha256:12\"", "wanted \"sha256:\" and 64 hexadecimal digits"),
    ];
    for (more, wanted) in cases {
        let text = problems(more);
        assert!(text.contains(wanted), "{more}: {text}");
    }
}

#[test]
fn flags_beat_the_environment_and_that_beats_the_file() {
    let environment = variables(&[
        ("GRISTMILL__BATCH__MAX_RECORDS", "7"),
        ("GRISTMILL__BATCH__MAX_WAIT", "7s"),
        ("GRISTMILL__KAFKA__TOPICS", "a, b"),
        ("GRISTMILL__KAFKA__GROUP_ID", "12"),
        ("GRISTMILL__KAFKA__PROPERTIES__SASL_PASSWORD", "hunter2"),
    ]);
    let mut request = Request::new(Path::new("g.toml"), environment);
    request.set("batch.max_wait=3s").unwrap();
    request.set("retry.max_attempts=5").unwrap();
    request.property("client.rack=a=b").unwrap();
    let text = format!("{GOOD}[batch]\nmax_records = 5\nmax_wait = \"5s\"\nmax_bytes = \"5 MiB\"");
    let loaded = load_text(text, Notation::Toml, request).unwrap();
    let config = &loaded.config;
    assert_eq!(config.policy.batch.records_max.get(), 7);
    assert_eq!(config.policy.batch.wait_max, Duration::from_secs(3));
    assert_eq!(config.policy.batch.bytes_max.get(), 5 << 20);
    assert_eq!(config.kafka.topics, ["a", "b"]);
    assert_eq!(config.kafka.group_id, "12", "a name of digits is still a name");
    assert_eq!(config.kafka.properties["sasl.password"].reveal(), "hunter2");
    assert_eq!(config.kafka.properties["client.rack"].reveal(), "a=b");
    let origin = |path: &str| loaded.origins.iter().find(|line| line.path == path).unwrap().origin.as_str();
    assert_eq!(origin("batch.max_records"), "environment variable GRISTMILL__BATCH__MAX_RECORDS");
    assert_eq!(origin("batch.max_wait"), "flag --set batch.max_wait");
    assert_eq!(origin("batch.max_bytes"), "g.toml:13:13");
    assert_eq!(origin("retry.initial"), "default");
}

#[test]
fn a_variable_may_stand_for_a_number_or_a_list() {
    let request = Request::new(Path::new("g.toml"), variables(&[("MAX", "12"), ("TOPICS", "a,b")]));
    let text = GOOD.replace("[\"orders\"]", "\"${TOPICS}\"");
    let text = format!("{text}[batch]\nmax_records = \"${{MAX}}\"\nmax_wait = \"${{WAIT:-3s}}\"\n");
    let config = load_text(text, Notation::Toml, request).unwrap().config;
    assert_eq!((config.policy.batch.records_max.get(), config.policy.batch.wait_max), (12, Duration::from_secs(3)));
    assert_eq!(config.kafka.topics, ["a", "b"]);
}

#[test]
fn a_text_that_is_no_table_is_refused_in_every_notation() {
    let cases = [
        ("[1]", Notation::Json, "g:1:1: this is a list; wanted the sections [kafka] and [plugin]"),
        ("word", Notation::Yaml, "g:1:1: this is a string; wanted the sections"),
        ("# nothing\n", Notation::Yaml, "the section [kafka] is missing"),
        ("", Notation::Toml, "g:1:1: the section [kafka] is missing"),
        ("a: 1\n---\nb: 1\n", Notation::Yaml, "this is not YAML: multiple YAML documents detected"),
    ];
    for (text, notation, wanted) in cases {
        let request = Request::new(Path::new("g"), BTreeMap::new());
        let error = load_text(text.to_owned(), notation, request).unwrap_err().to_string();
        assert!(error.contains(wanted) && !error.contains("from_str"), "{text}: {error}");
    }
}

#[test]
fn a_section_is_a_table_and_a_list_is_a_list() {
    let with = |set: &str| {
        let mut request = Request::new(Path::new("g"), BTreeMap::new());
        request.set(set).unwrap();
        load_text(GOOD.to_owned(), Notation::Toml, request).map(|loaded| loaded.config.kafka.topics)
    };
    let refusal = |set: &str| with(set).unwrap_err().to_string();
    assert!(refusal("batch=5").starts_with("flag --set batch: batch = \"5\": wanted a table; "));
    assert!(refusal("batch=[5]").starts_with("flag --set batch: batch = (a list): wanted a table; "));
    assert!(refusal("kafka.topics=[\"a\"").contains("wanted a list in TOML's notation, such as"));
    assert!(refusal("kafka.topics=[\"a\", 5]").contains("kafka.topics = 5: wanted a string"));
    assert_eq!(with("kafka.topics=[\"^a{1,2}\", \"c\"]").unwrap(), ["^a{1,2}", "c"]);
}

#[test]
fn json_nested_without_end_is_refused() {
    let text = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let request = Request::new(Path::new("g.json"), BTreeMap::new());
    let text = load_text(text, Notation::Json, request).unwrap_err().to_string();
    assert!(text.contains("g.json:1:66: this is not JSON: this is nested more than 64 deep"), "{text}");
}

#[test]
fn a_misspelt_variable_is_no_silence() {
    let request = Request::new(Path::new("g.toml"), variables(&[("GRISTMILL__BATCH__MAX_RECRODS", "7")]));
    let text = load_text(GOOD.to_owned(), Notation::Toml, request).unwrap_err().to_string();
    let wanted =
        "environment variable GRISTMILL__BATCH__MAX_RECRODS: unknown key \"max_recrods\" in [batch]; did you mean";
    assert!(text.starts_with(wanted), "{text}");
}

#[test]
fn secrets_never_print() {
    let more = "[plugin.settings]\ndsn = \"hunter2\"\n[kafka.properties]\n\"sasl.password\" = \"hunter2\"\n";
    let loaded = read(&format!("{GOOD}{more}")).unwrap();
    assert_eq!(loaded.config.plugin.settings["dsn"].reveal(), "hunter2");
    let printed = format!("{loaded:?}{:#?}", loaded.config);
    assert!(!printed.contains("hunter2"), "{printed}");
    let wrong = problems("[plugin.settings]\ndsn = [\"hunter2\"]\n");
    assert!(wrong.contains("plugin.settings.dsn") && !wrong.contains("hunter2"), "{wrong}");
}

#[test]
fn a_secret_on_the_line_at_fault_is_blotted_out() {
    let json = r#"{"plugin": {"settings": {"dsn": "hunter2"}, "path": 5}}"#;
    let request = Request::new(Path::new("g.json"), BTreeMap::new());
    let error = load_text(json.to_owned(), Notation::Json, request).unwrap_err();
    let path = error.problems.iter().find(|problem| problem.message.starts_with("plugin.path")).unwrap();
    let Some(Place::File(spot)) = &path.place else { panic!("{error}") };
    let (line, span) = spot.shown.clone().unwrap();
    assert_eq!(&line[span], "5");
    assert!(line.contains("\"dsn\": *********"), "{line}");
}

#[test]
fn three_notations_say_the_same() {
    let json = r#"{"kafka": {"bootstrap_servers": "localhost:9092", "group_id": "g", "topics": ["a"],
        "auto_offset_reset": "latest"}, "plugin": {"path": "p.wasm"}, "batch": {"max_records": 12}}"#;
    let yaml = "kafka:\n  bootstrap_servers: localhost:9092\n  group_id: g\n  topics: [a]\n  auto_offset_reset: latest\n\
                plugin:\n  path: p.wasm\nbatch:\n  max_records: 12\n";
    for (text, notation) in [(json, Notation::Json), (yaml, Notation::Yaml)] {
        let request = Request::new(Path::new("g"), BTreeMap::new());
        let config = load_text(text.to_owned(), notation, request).unwrap().config;
        assert_eq!((config.kafka.reset, config.policy.batch.records_max.get()), (ResetPolicy::Latest, 12));
    }
}

#[test]
fn a_place_is_right_in_every_notation() {
    let json = "{\"batch\":\n  {\"max_recrods\": 1}}";
    let yaml = "# é\nbatch:\n  max_recrods: 1\n";
    for (text, notation, wanted) in [(json, Notation::Json, "g:2:4: "), (yaml, Notation::Yaml, "g:3:3: ")] {
        let request = Request::new(Path::new("g"), BTreeMap::new());
        let text = load_text(text.to_owned(), notation, request).unwrap_err().to_string();
        assert!(text.contains(&format!("{wanted}unknown key")), "{text}");
    }
}

#[test]
fn a_key_given_twice_is_refused_in_every_notation() {
    let cases = [
        ("[batch]\nmax_records = 1\nmax_records = 2\n", Notation::Toml),
        ("{\"batch\": 1, \"batch\": 2}", Notation::Json),
        ("batch: 1\nbatch: 2\n", Notation::Yaml),
    ];
    for (text, notation) in cases {
        let request = Request::new(Path::new("g"), BTreeMap::new());
        let text = load_text(text.to_owned(), notation, request).unwrap_err().to_string();
        assert!(text.contains("this is not"), "{text}");
    }
}

#[test]
fn the_schema_knows_every_key_of_the_reference() {
    let schema: serde_json::Value = serde_json::from_str(&json_schema()).unwrap();
    assert_eq!(schema["properties"]["kafka"]["description"], "Where records come from.");
    let keys: Vec<_> = schema::keys().into_iter().map(|key| key.path).collect();
    for key in
        ["kafka.auto_offset_reset", "batch.max_bytes", "plugin.limits.memory", "retry.redeliver", "shutdown.grace"]
    {
        assert!(keys.iter().any(|known| known == key), "{key} is not in {keys:?}");
    }
    for key in schema::keys() {
        assert!(!key.meaning.is_empty(), "{} has no description", key.path);
    }
}
