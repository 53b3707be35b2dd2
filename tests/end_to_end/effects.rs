//! What a plugin emits and rejects: written, with where it came from, before its batch is committed; and never of a failed attempt.

use std::collections::BTreeMap;

use gristmill_tests::{Found, Seen, create_topic, read_topic, shared_broker};

use crate::chance::{Chance, long};
use crate::control::command;
use crate::pipeline::{Pipeline, SOON, last, stop, wait_until_handed_over};

/// A pipeline whose plugin emits to a topic with three partitions, and that topic's name.
fn pipeline(name: &str) -> (Pipeline<'static>, String) {
    let pipeline =
        Pipeline::new(shared_broker(), name).set("retry", "initial", "\"10ms\"").set("retry", "max", "\"50ms\"");
    let copies = format!("{}.copies", pipeline.topic);
    create_topic(&shared_broker().bootstrap(), &copies, 3);
    let pipeline = pipeline.set("sinks.copies", "topic", format!("{copies:?}")).setting("sink", "copies");
    (pipeline, copies)
}

/// With a place for dead letters, and its name.
fn with_letters(pipeline: Pipeline<'static>) -> (Pipeline<'static>, String) {
    let letters = format!("{}.dead", pipeline.topic);
    create_topic(&shared_broker().bootstrap(), &letters, 3);
    (pipeline.set("dead_letter", "topic", format!("{letters:?}")), letters)
}

fn found(topic: &str) -> Vec<Found> {
    read_topic(&shared_broker().bootstrap(), topic)
}

/// How often each place of origin occurs, by the headers that begin so.
pub(crate) fn origins(found: &[Found], prefix: &str) -> BTreeMap<(i32, i64), u32> {
    let mut origins = BTreeMap::new();
    for record in found {
        let number = |name: &str| record.header(&format!("{prefix}.{name}")).unwrap().parse::<i64>().unwrap();
        let place = (i32::try_from(number("partition")).unwrap(), number("offset"));
        *origins.entry(place).or_default() += 1;
    }
    origins
}

/// D1: one record for each, byte for byte, with its origin; and the offsets follow.
#[test]
fn what_is_emitted_is_written_with_its_origin() {
    let (pipeline, copies) = pipeline("emits");
    let pipeline = pipeline.batches_of(100).set("batch", "max_wait", "\"100ms\"").setting("emit_every", "1");
    let loaded = pipeline.load(2, 500);
    let host = pipeline.run();
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let shown = command(&host, &["status"]);
    assert!(shown.contains("emitted     1,000 acknowledged"), "{shown}");
    stop(host);
    let found = found(&copies);
    let wanted: BTreeMap<_, _> =
        (0..2).flat_map(|partition| (0..500).map(move |offset| ((partition, offset), 1))).collect();
    assert_eq!(origins(&found, "gristmill.source"), wanted);
    for record in &found {
        let key = String::from_utf8(record.key.clone().unwrap()).unwrap();
        let source = |name: &str| record.header(&format!("gristmill.source.{name}")).unwrap();
        assert_eq!(key, format!("{}-{}", source("partition"), source("offset")));
        assert_eq!(source("topic"), pipeline.topic);
        assert!(source("plugin").starts_with("sha256:"), "{record:?}");
        assert_eq!(record.value.as_ref().map(Vec::len), Some(100));
    }
}

/// A sink can do without: what the plugin wrote is all there is.
#[test]
fn a_sink_without_provenance_adds_nothing() {
    let (pipeline, copies) = pipeline("plain");
    let pipeline = pipeline.batches_of(10).set("sinks.copies", "provenance", "false").setting("emit_every", "1");
    let loaded = pipeline.load(1, 10);
    let host = pipeline.run();
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    stop(host);
    let found = found(&copies);
    assert_eq!(found.len(), 10);
    assert!(found.iter().all(|record| record.headers.is_empty()), "{found:?}");
}

/// R5: two attempts failed after they had emitted; what the third one emitted is all that is written.
#[test]
fn what_a_failed_attempt_emitted_is_never_written() {
    let (pipeline, copies) = pipeline("failed");
    let pipeline = pipeline.batches_of(10).setting("emit_every", "1").setting("retry_at", "0:5");
    let pipeline = pipeline.setting("retry_attempts", "2");
    let loaded = pipeline.load(1, 10);
    let host = pipeline.run();
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let seen = Seen::from_lines(&stop(host));
    assert_eq!(seen.attempts_max(), 3);
    assert_eq!(origins(&found(&copies), "gristmill.source"), (0..10).map(|offset| ((0, offset), 1)).collect());
}

/// R7: the finished part of a batch is committed with what it emitted, and the rest comes again without it.
#[test]
fn a_finished_part_takes_what_it_emitted_with_it() {
    let (pipeline, copies) = pipeline("parts");
    let pipeline = pipeline.batches_of(100).setting("emit_every", "1").setting("complete_to", "0:29,0:149");
    let loaded = pipeline.load(1, 200);
    let host = pipeline.run();
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let lines = stop(host);
    assert_eq!(Seen::from_lines(&lines).missing(&loaded), "");
    let wanted: BTreeMap<_, _> = (0..200).map(|offset| ((0, offset), 1)).collect();
    assert_eq!(origins(&found(&copies), "gristmill.source"), wanted, "{}", last(&lines));
}

/// D1, D3: what is rejected is a dead letter with the plugin's reason; everything else is committed as usual.
#[test]
fn what_is_rejected_is_put_aside_and_the_rest_is_committed() {
    let (pipeline, _) = pipeline("rejects");
    let (pipeline, letters) = with_letters(pipeline);
    let pipeline = pipeline.batches_of(250).setting("reject_every", "100");
    let loaded = pipeline.load(1, 1_000);
    let host = pipeline.run();
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let seen = Seen::from_lines(&stop(host));
    assert_eq!(seen.attempts_max(), 1);
    let found = found(&letters);
    assert_eq!(origins(&found, "gristmill.origin"), (0..10).map(|hundred| ((0, hundred * 100), 1)).collect());
    for record in &found {
        assert_eq!(record.header("gristmill.failure.class").as_deref(), Some("rejected"));
        assert_eq!(record.header("gristmill.failure.reason").as_deref(), Some("the witness was told to reject"));
    }
}

/// Without a place for it a rejected record holds, and nothing of its batch is committed.
#[test]
fn without_a_dead_letter_topic_a_rejected_record_holds() {
    let (pipeline, _) = pipeline("unplaced");
    let pipeline = pipeline.batches_of(10).setting("reject_at", "0:3");
    let _ = pipeline.load(1, 10);
    let host = pipeline.run();
    let line = host.wait_for_line("held: the plugin rejected this record", SOON);
    assert!(line.contains("configure [dead_letter]"), "{line}");
    stop(host);
    assert_eq!(pipeline.committed(), BTreeMap::from([(0, 0)]));
}

/// D2: a sink whose topic is not there holds the batch; once it is there, a retry is enough.
#[test]
fn a_sink_without_its_topic_holds_until_it_is_there() {
    let broker = shared_broker();
    let pipeline = Pipeline::new(broker, "no-sink").batches_of(10).setting("emit_every", "1").setting("sink", "copies");
    let copies = format!("{}.copies", pipeline.topic);
    let pipeline = pipeline.set("sinks.copies", "topic", format!("{copies:?}"));
    let loaded = pipeline.load(1, 10);
    let host = pipeline.run();
    let line = host.wait_for_line("held: the brokers refuse what has to be written", SOON);
    assert!(line.contains(&format!("the brokers know no topic {copies}")) && line.contains("create it"), "{line}");
    assert_eq!(pipeline.committed(), BTreeMap::from([(0, 0)]));
    create_topic(&broker.bootstrap(), &copies, 1);
    command(&host, &["retry"]);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    stop(host);
    assert_eq!(found(&copies).len(), 10);
}

/// What a record of the test below is: of a hundred one is rejected and emitted, and one does not decode.
fn value_of(number: i64) -> Vec<u8> {
    match number % 100 {
        50 => format!("{{\"n\": {number}, \"no json\"").into_bytes(),
        _ => format!("{{\"n\": {number}, \"text\": \"{number:060}\"}}").into_bytes(),
    }
}

/// C1, D1, D3, D9: of many records one in a hundred does not decode, one is rejected and one emitted, and hosts are killed with -9.
/// Whatever was committed is written: none is missing on either topic, none is there that must not be, and each has its bytes.
#[test]
fn hosts_that_are_killed_lose_nothing_of_what_had_to_be_written() {
    let (kills, records) = if long() { (20, 25_000) } else { (4, 5_000) };
    let (pipeline, copies) = pipeline("killed-emits");
    let (pipeline, letters) = with_letters(pipeline);
    let pipeline = pipeline.batches_of(500).set("batch", "max_wait", "\"200ms\"").setting("pause_ms", "5");
    let pipeline = pipeline.setting("reject_every", "100").setting("emit_every", "100");
    let formats = format!("topics.{:?}", pipeline.topic);
    let pipeline = pipeline.set(&formats, "value_format", "\"json\"").set(&formats, "key_format", "\"utf8\"");
    let loaded = pipeline.load_values(4, records, value_of);
    // Where records are put: the topic, the headers that say where they came from, and which offsets belong there.
    let emitted: (&str, &str, fn(i64) -> bool) = (&copies, "gristmill.source", |offset| offset % 100 == 0);
    let put_aside: (&str, &str, fn(i64) -> bool) = (&letters, "gristmill.origin", |offset| offset % 50 == 0);
    let due = |upto: &BTreeMap<i32, i64>, is_due: fn(i64) -> bool| -> Vec<(i32, i64)> {
        upto.iter()
            .flat_map(|(&partition, &end)| (0..end).map(move |at| (partition, at)))
            .filter(|it| is_due(it.1))
            .collect()
    };
    let (mut chance, mut lines) = (Chance::new(), Vec::new());
    for _ in 0..kills {
        let host = pipeline.run();
        wait_until_handed_over(&host, 1 + i64::try_from(chance.below(records * 4 / (kills + 1))).unwrap(), SOON);
        chance.let_pass(std::time::Duration::from_millis(40));
        lines.extend(host.kill());
        let committed = pipeline.committed();
        for (topic, prefix, is_due) in [emitted, put_aside] {
            let written = origins(&found(topic), prefix);
            let missing: Vec<_> =
                due(&committed, is_due).into_iter().filter(|place| !written.contains_key(place)).collect();
            assert!(missing.is_empty(), "committed and not on {topic}: {missing:?}");
        }
    }
    let host = pipeline.run();
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON * 3);
    lines.extend(stop(host));
    let undecodable = due(&loaded.end_offsets(), |offset| offset % 100 == 50);
    let unseen: Vec<String> =
        undecodable.iter().map(|(partition, at)| format!("{partition}: {at}..{}", at + 1)).collect();
    assert_eq!(Seen::from_lines(&lines).missing(&loaded), unseen.join(", "), "every other record was handed over");
    for (topic, prefix, is_due) in [emitted, put_aside] {
        let written = origins(&found(topic), prefix);
        assert_eq!(written.keys().copied().collect::<Vec<_>>(), due(&loaded.end_offsets(), is_due), "{topic}");
        println!("{topic}: {} places, {} records", written.len(), written.values().sum::<u32>());
    }
    for letter in found(&letters) {
        let offset: i64 = letter.header("gristmill.origin.offset").unwrap().parse().unwrap();
        let class = if offset % 100 == 50 { "undecodable" } else { "rejected" };
        assert_eq!(letter.header("gristmill.failure.class").as_deref(), Some(class), "{offset}");
        assert_eq!(letter.value, Some(value_of(offset)), "{offset}");
    }
}
