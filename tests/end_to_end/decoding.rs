//! Records that are decoded before the plugin gets them: by format, by a real schema registry, and what does not decode.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use gristmill_tests::{
    Found, Host, TemporaryFolder, WireRecord, create_topic, put_batch, read_topic, shared_broker, varint,
};
use xtask::registry::Registry;

use crate::clean::resident_bytes;
use crate::control::command;
use crate::pipeline::{Pipeline, SOON, last, shown, stop};

/// A pipeline that shows what its plugin gets, and its dead-letter topic.
fn pipeline(name: &str) -> (Pipeline<'static>, String) {
    let broker = shared_broker();
    let pipeline = Pipeline::new(broker, name).without_setting("check_keys").setting("show", "yes");
    create_topic(&broker.bootstrap(), &pipeline.topic, 1);
    let letters = format!("{}.dead", pipeline.topic);
    create_topic(&broker.bootstrap(), &letters, 1);
    (pipeline.set("batch", "max_wait", "\"100ms\""), letters)
}

fn with_letters<'b>(pipeline: Pipeline<'b>, letters: &str) -> Pipeline<'b> {
    pipeline.set("dead_letter", "topic", format!("{letters:?}"))
}

/// Sets what the values of the pipeline's topic are.
fn with_format<'b>(pipeline: Pipeline<'b>, format: &str) -> Pipeline<'b> {
    let section = format!("topics.{:?}", pipeline.topic);
    pipeline.set(&section, "value_format", format!("{format:?}"))
}

fn put(topic: &str, values: &[Option<&[u8]>]) {
    let record = |value: &Option<&[u8]>| WireRecord {
        timestamp_ms: 1,
        key: Some(b"k".to_vec()),
        value: value.map(<[u8]>::to_vec),
        headers: vec![(b"h".to_vec(), None)],
    };
    let records: Vec<WireRecord> = values.iter().map(record).collect();
    put_batch(&shared_broker().bootstrap(), topic, 0, &records);
}

fn letters(topic: &str) -> Vec<Found> {
    read_topic(&shared_broker().bootstrap(), topic)
}

/// D3, D9: what is no JSON is put aside with its original bytes and the reason; a tombstone is no such thing.
#[test]
fn what_does_not_decode_is_put_aside_and_a_tombstone_reaches_the_plugin() {
    let (pipeline, topic) = pipeline("no-json");
    let pipeline = with_format(with_letters(pipeline, &topic), "json");
    put(&pipeline.topic, &[Some(b"{\"a\":1}"), None, Some(b"{\"a\":"), Some(b"\xff"), Some(b""), Some(b"[2]")]);
    let host = pipeline.run();
    pipeline.wait_until_committed(&BTreeMap::from([(0, 6)]), SOON);
    let shown_by_status = command(&host, &["status"]);
    assert!(shown_by_status.contains(&format!("put aside   3 to {topic}")), "{shown_by_status}");
    let lines = stop(host);
    let seen: Vec<String> = shown(&lines);
    assert_eq!(
        seen,
        [
            "record 0 0 create(1) 'k' '{\\\"a\\\":1}' [h=null]",
            "record 0 1 create(1) 'k' null [h=null]",
            "record 0 5 create(1) 'k' '[2]' [h=null]",
        ],
        "{}",
        last(&lines)
    );
    let told: Vec<&String> = lines.iter().filter(|line| line.contains("this record cannot be decoded")).collect();
    assert!(told.len() == 1 && told[0].contains("the value: "), "{told:?}");
    let found = letters(&topic);
    let values: Vec<Option<&[u8]>> = found.iter().map(|letter| letter.value.as_deref()).collect();
    assert_eq!(values, [Some(&b"{\"a\":"[..]), Some(b"\xff"), Some(b"")]);
    for letter in &found {
        assert_eq!(letter.header("gristmill.failure.class").as_deref(), Some("undecodable"));
        let reason = letter.header("gristmill.failure.reason").unwrap_or_default();
        assert!(reason.starts_with("the value: "), "{reason}");
        assert_eq!((letter.key.as_deref(), letter.headers[0].1.as_ref()), (Some(&b"k"[..]), None));
    }
}

/// Without a place to put it the record holds everything behind it, and whoever asks hears why.
#[test]
fn without_a_dead_letter_topic_what_does_not_decode_holds_and_says_why() {
    let (pipeline, topic) = pipeline("held-json");
    let pipeline = with_format(pipeline, "json");
    put(&pipeline.topic, &[Some(b"1"), Some(b"no json"), Some(b"2")]);
    let host = pipeline.run();
    host.wait_for_line("held: this record cannot be decoded", SOON);
    pipeline.wait_until_committed(&BTreeMap::from([(0, 1)]), SOON);
    let status = command(&host, &["status"]);
    let why = "the record at offset 1 cannot be decoded, and there is no dead-letter topic: the value: ";
    assert!(status.contains(why), "{status}");
    stop(host);
    let host = with_letters(pipeline, &topic);
    let host = (host.run(), host);
    host.1.wait_until_committed(&BTreeMap::from([(0, 3)]), SOON);
    stop(host.0);
    assert_eq!(letters(&topic).len(), 1);
}

/// The registry that the tests of this file share. None of them freezes it.
fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| Registry::start().unwrap_or_else(|error| panic!("cannot start a registry: {error:#}")))
}

/// Registers a schema; gives its id.
fn register(registry: &Registry, subject: &str, language: &str, schema: &str) -> u32 {
    let url = format!("{}/subjects/{subject}/versions", registry.url());
    let body = serde_json::json!({ "schemaType": language, "schema": schema }).to_string();
    let request = ureq::post(url).header("content-type", "application/vnd.schemaregistry.v1+json");
    let mut answer = request.send(body).unwrap_or_else(|error| panic!("the registry does not take {subject}: {error}"));
    let text = answer.body_mut().read_to_string().unwrap();
    let id = serde_json::from_str::<serde_json::Value>(&text).unwrap()["id"].as_u64();
    id.and_then(|id| u32::try_from(id).ok()).unwrap_or_else(|| panic!("{text}"))
}

/// A datum as Confluent's serializers write it: a zero, the schema's id, and the rest.
fn framed(id: u32, rest: &[u8]) -> Vec<u8> {
    [&[0], &id.to_be_bytes()[..], rest].concat()
}

/// The order of a book: 7 copies of "ab".
const AVRO: &str =
    r#"{"type":"record","name":"Order","fields":[{"name":"copies","type":"long"},{"name":"title","type":"string"}]}"#;
const AVRO_DATUM: &[u8] = b"\x0e\x04ab";
const PROTOBUF: &str = "syntax = \"proto3\"; package shop; message Order { int64 copies = 1; string title = 2; }";
/// The first message of the file, and then its fields.
const PROTOBUF_DATUM: &[u8] = b"\x00\x08\x07\x12\x02ab";
const JSON: &str = r#"{"type":"object","required":["copies"],"properties":{"copies":{"type":"integer"}}}"#;

/// D9, by a real registry: each language's data reach the plugin as JSON; what names no schema, one of another language, or is cut short is
/// put aside.
#[test]
fn data_with_registered_schemas_reach_the_plugin_as_json() {
    let registry = registry();
    for (format, language, schema, datum, json) in [
        ("avro", "AVRO", AVRO, AVRO_DATUM, "{\\\"copies\\\":7,\\\"title\\\":\\\"ab\\\"}"),
        ("protobuf", "PROTOBUF", PROTOBUF, PROTOBUF_DATUM, "{\\\"copies\\\":\\\"7\\\",\\\"title\\\":\\\"ab\\\"}"),
        ("json-schema", "JSON", JSON, b"{\"copies\":7}", "{\\\"copies\\\":7}"),
    ] {
        let (pipeline, topic) = pipeline(format);
        let id = register(registry, &pipeline.topic, language, schema);
        let other = if format == "avro" { ("JSON", JSON) } else { ("AVRO", AVRO) };
        let other = register(registry, &format!("{}-other", pipeline.topic), other.0, other.1);
        let pipeline = with_format(with_letters(pipeline, &topic), format);
        let pipeline = pipeline.set("schema_registry", "url", format!("{:?}", registry.url()));
        let good = framed(id, datum);
        let bad = [
            b"\x01no frame".to_vec(),
            framed(id, &datum[..datum.len() - 1]),
            framed(1_000_000, datum),
            framed(other, datum),
        ];
        let mut values: Vec<Option<&[u8]>> = vec![Some(&good), None];
        values.extend(bad.iter().map(|value| Some(value.as_slice())));
        values.push(Some(&good));
        put(&pipeline.topic, &values);
        let host = pipeline.run();
        let folder = TemporaryFolder::new();
        folder.write("gristmill.toml", &pipeline.configuration());
        let (code, checked) = Host::start(folder, &["check", "gristmill.toml", "--online"]).wait_for_end(SOON);
        assert!(code == 0 && checked.iter().any(|line| line == "the schema registry answers"), "{checked:?}");
        pipeline.wait_until_committed(&BTreeMap::from([(0, 7)]), SOON);
        let lines = stop(host);
        let seen = [(0, format!("'{json}'")), (1, "null".to_owned()), (6, format!("'{json}'"))];
        let seen = seen.map(|(offset, value)| format!("record 0 {offset} create(1) 'k' {value} [h=null]"));
        assert_eq!(shown(&lines), seen, "{format}: {}", last(&lines));
        let found = letters(&topic);
        assert_eq!(found.iter().map(|letter| letter.value.clone()).collect::<Vec<_>>(), bad.map(Some), "{format}");
        let reasons: Vec<String> =
            found.iter().map(|letter| letter.header("gristmill.failure.reason").unwrap_or_default()).collect();
        assert!(reasons[2].contains("1000000"), "{reasons:?}");
        assert!(reasons[3].contains("is expected"), "{reasons:?}");
    }
}

/// A registry that does not answer is no record's fault: everything waits, whoever asks hears for what, and nothing is put aside.
#[test]
fn while_the_registry_does_not_answer_records_wait_and_none_is_put_aside() {
    let registry = Registry::start().unwrap();
    let (pipeline, topic) = pipeline("outage");
    let id = register(&registry, &pipeline.topic, "AVRO", AVRO);
    let pipeline = with_format(with_letters(pipeline, &topic), "avro");
    let pipeline = pipeline.set("schema_registry", "url", format!("{:?}", registry.url()));
    let pipeline = pipeline.set("schema_registry", "timeout", "\"200ms\"");
    registry.freeze().unwrap();
    let good = framed(id, AVRO_DATUM);
    put(&pipeline.topic, &[None, Some(&good), Some(&good)]);
    let host = pipeline.run();
    let line = host.wait_for_line("waits for the schema registry", SOON);
    assert!(line.contains(&format!("schema {id}")), "{line}");
    host.wait_until("the state to say so", SOON, |_| {
        let status = command(&host, &["status"]);
        (status.contains(": waiting for ") && status.contains("no schemas, asked again in ")).then_some(())
    });
    // What lies before it needs no schema, and does not wait.
    pipeline.wait_until_committed(&BTreeMap::from([(0, 1)]), SOON);
    // While it is certain to be still waiting: once the registry answers, it goes on by itself and nothing is left to be released.
    let said = command(&host, &["retry"]);
    assert!(said.contains("released 1 thing") && said.contains("the wait for the schema registry: "), "{said}");
    registry.thaw().unwrap();
    pipeline.wait_until_committed(&BTreeMap::from([(0, 3)]), SOON);
    host.wait_for_line("the schema registry answers again", SOON);
    let lines = stop(host);
    assert_eq!(shown(&lines).len(), 3, "{}", last(&lines));
    assert_eq!(letters(&topic), []);
    // A stop is heard while everything waits.
    registry.freeze().unwrap();
    put(&pipeline.topic, &[Some(&good)]);
    let host = pipeline.run();
    host.wait_for_line("waits for the schema registry", SOON);
    stop(host);
}

/// A few bytes of Avro can stand for megabytes of JSON: what they become is bounded, however many there are.
#[test]
fn small_data_that_become_large_stay_within_the_budget() {
    const RECORDS: i64 = 200;
    const JSON_MIB: i64 = 2;
    let (pipeline, topic) = pipeline("bomb");
    let pipeline = with_format(with_letters(pipeline, &topic), "avro").without_setting("show");
    let folder = TemporaryFolder::new();
    let schema = folder.write("nulls.avsc", r#"{"type":"array","items":"null"}"#);
    let section = format!("topics.{:?}", pipeline.topic);
    let pipeline = pipeline.set(&section, "value_schema", format!("{:?}", schema.display().to_string()));
    // Each null is five bytes of JSON with its comma, and none of Avro.
    let mut datum = varint((JSON_MIB << 20) / 5 - 1);
    datum.push(0);
    let values: Vec<Option<&[u8]>> = (0..RECORDS).map(|_| Some(datum.as_slice())).collect();
    put(&pipeline.topic, &values);
    let host = pipeline.run();
    pipeline.wait_until_committed(&BTreeMap::from([(0, RECORDS)]), SOON * 3);
    let peak_mib = i64::try_from(resident_bytes(&host).1 >> 20).unwrap();
    stop(host);
    assert_eq!(letters(&topic), []);
    // The budgets of fetched and of decoded records with the defaults, the guest's memory, and what the process takes by itself.
    println!("{} MiB of JSON, {peak_mib} MiB at the peak", RECORDS * JSON_MIB);
    assert!(peak_mib < 80 + 64 + 100, "{peak_mib} MiB for {} MiB of JSON", RECORDS * JSON_MIB);
}

/// I-33: what no guest gets is kept here until it is written. However long a batch may wait, a topic of nothing else goes on: more than
/// the budget of fetched records (1 MiB × 4 + 16 MiB × 2 + 16 MiB) is put aside, long before its time.
#[test]
fn a_topic_of_nothing_but_bad_records_is_put_aside_long_before_a_batch_would_be_due() {
    const RECORDS: i64 = 75;
    let (pipeline, topic) = pipeline("all-bad");
    let pipeline = with_format(with_letters(pipeline, &topic), "utf8").without_setting("show");
    let pipeline = pipeline.set("batch", "max_bytes", "\"1 MiB\"").set("batch", "max_wait", "\"1h\"");
    let value = vec![0xFF; 900_000];
    (0..RECORDS).for_each(|_| put(&pipeline.topic, &[Some(&value)]));
    let host = pipeline.run();
    // Two of them make a batch; the last one waits for another.
    pipeline.wait_until_committed(&BTreeMap::from([(0, RECORDS - 1)]), SOON);
    stop(host);
    assert_eq!(letters(&topic).len() as i64, RECORDS - 1);
}
