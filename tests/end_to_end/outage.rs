//! The broker goes away and comes back, or stops answering for a while: the host waits, and nothing is lost.

use std::collections::BTreeMap;
use std::time::Duration;

use gristmill_tests::{Seen, create_topic, read_topic};
use xtask::kafka::{Broker, Options};

use crate::chance::long;
use crate::control::command;
use crate::effects::origins;
use crate::pipeline::{Pipeline, SOON, stop, wait_until_all_seen, wait_until_handed_over};

/// C2, C5: commits that failed or whose end is unknown are settled once the broker is back.
#[test]
fn a_broker_that_dies_and_comes_back_costs_no_record() {
    let broker = Broker::start(&Options::default()).unwrap();
    let pipeline = Pipeline::new(&broker, "outage").batches_of(100).setting("pause_ms", "30");
    let pipeline = pipeline.set("batch", "max_wait", "\"200ms\"");
    let loaded = pipeline.load(2, 4_000);
    let host = pipeline.run();
    wait_until_handed_over(&host, 500, SOON);
    broker.kill().unwrap();
    broker.restart().unwrap();
    wait_until_handed_over(&host, 3_000, SOON);
    broker.freeze().unwrap();
    // The broker's silence is what is tested.
    std::thread::sleep(Duration::from_secs(2));
    broker.thaw().unwrap();
    wait_until_all_seen(&host, &loaded, SOON * 2);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let seen = Seen::from_lines(&stop(host));
    assert_eq!(seen.missing(&loaded), "");
    println!("{} repeats", seen.repeats());
}

/// D2, C5: dead letters and emitted records that nobody acknowledges keep their batch, for longer than the producer waits; once
/// the broker is back they are all there, and only then are the offsets.
#[test]
fn what_has_to_be_written_waits_for_the_broker() {
    let silence = Duration::from_secs(if long() { 60 } else { 4 });
    let broker = Broker::start(&Options::default()).unwrap();
    let pipeline = Pipeline::new(&broker, "unwritten").batches_of(100).setting("pause_ms", "30");
    let pipeline = pipeline.set("retry", "initial", "\"50ms\"").set("retry", "max", "\"200ms\"");
    let topics = ["dead", "copies"].map(|name| format!("{}.{name}", pipeline.topic));
    topics.iter().for_each(|topic| create_topic(&broker.bootstrap(), topic, 1));
    let pipeline = pipeline.set("dead_letter", "topic", format!("{:?}", topics[0]));
    let pipeline = pipeline.set("sinks.copies", "topic", format!("{:?}", topics[1])).setting("sink", "copies");
    let pipeline =
        pipeline.setting("reject_every", "10").setting("emit_every", "10").set("producer", "timeout", "\"1s\"");
    let loaded = pipeline.load(1, 4_000);
    let host = pipeline.run();
    wait_until_handed_over(&host, 1_000, SOON);
    broker.freeze().unwrap();
    let line = host.wait_for_line("what has to be written before the commit was not", SOON);
    let whose = ["the dead letter of ", "a record that the plugin emitted"];
    assert!(whose.iter().any(|whose| line.contains(&format!("the brokers did not acknowledge {whose}"))), "{line}");
    host.wait_until("the state to say so", SOON, |_| {
        let status = command(&host, &["status"]);
        let waits =
            status.contains(": waiting for ") && status.contains("what has to be written before the commit was not");
        (waits && status.contains("times that the brokers acknowledged nothing") && status.contains(" 0 retryable"))
            .then_some(())
    });
    // The broker's silence is what is tested.
    std::thread::sleep(silence);
    broker.thaw().unwrap();
    wait_until_handed_over(&host, 2_500, SOON);
    broker.kill().unwrap();
    broker.restart().unwrap();
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON * 2);
    stop(host);
    let wanted: Vec<_> = (0..4_000).step_by(10).map(|offset| (0, offset)).collect();
    for (topic, prefix) in topics.iter().zip(["gristmill.origin", "gristmill.source"]) {
        let written = origins(&read_topic(&broker.bootstrap(), topic), prefix);
        assert_eq!(written.keys().copied().collect::<Vec<_>>(), wanted, "{topic}");
        println!("{topic}: {} places, {} records", written.len(), written.values().sum::<u32>());
    }
}

/// A13: neither the end of a partition nor the broker's absence is a record, a failure, or a reason to close a batch.
#[test]
fn errors_and_ends_of_partitions_close_no_batch() {
    let broker = Broker::start(&Options::default()).unwrap();
    let pipeline = Pipeline::new(&broker, "half-full").batches_of(20);
    let mut loaded = pipeline.load(1, 10);
    let host = pipeline.run();
    pipeline.wait_until_committed(&BTreeMap::from([(0, 0)]), SOON);
    broker.kill().unwrap();
    host.wait_for_line("_TRANSPORT", SOON);
    broker.restart().unwrap();
    assert_eq!(Seen::from_lines(&host.lines().all()).handed_over(), 0);
    pipeline.load_more(&mut loaded, 10);
    wait_until_all_seen(&host, &loaded, SOON);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let lines = stop(host);
    let batches: Vec<&String> = lines.iter().filter(|line| line.contains("saw 0 ")).collect();
    assert!(matches!(batches.as_slice(), [only] if only.contains("saw 0 0 19 1")), "{batches:?}");
}
