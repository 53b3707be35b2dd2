//! The broker goes away and comes back, or stops answering for a while: the host waits, and nothing is lost.

use std::collections::BTreeMap;
use std::time::Duration;

use gristmill_tests::{Loaded, Seen, create_topic, load_large, read_topic};
use xtask::kafka::{Broker, Options};

use crate::chance::long;
use crate::clean::resident_bytes;
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
    // It stays a member all the while: what becomes of one that is forgotten is another test's.
    let pipeline = pipeline.property("session.timeout.ms", "45000");
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

/// A pipeline whose dead letters and sink lie on a second broker, and whose plugin rejects and emits everything. The names of these
/// topics come with it.
fn written_elsewhere<'b>(broker: &'b Broker, name: &str) -> (Pipeline<'b>, [String; 2]) {
    let pipeline = Pipeline::new(broker, name).setting("reject_every", "1").setting("emit_every", "1");
    let topics = ["dead", "copies"].map(|name| format!("{}.{name}", pipeline.topic));
    for (topic, node) in [(&pipeline.topic, "1"), (&topics[0], "2"), (&topics[1], "2")] {
        broker.tool("TopicCommand", &["--create", "--topic", topic, "--replica-assignment", node]).unwrap();
    }
    let pipeline = pipeline.set("dead_letter", "topic", format!("{:?}", topics[0]));
    let pipeline = pipeline.set("dead_letter.stop_when", "consecutive", "1000000000");
    let pipeline = pipeline.set("dead_letter.stop_when", "ratio", "1.0").setting("sink", "copies");
    let pipeline = pipeline.set("sinks.copies", "topic", format!("{:?}", topics[1]));
    let pipeline = pipeline.set("retry", "initial", "\"50ms\"").set("retry", "max", "\"200ms\"");
    (pipeline.set("producer", "timeout", "\"1s\""), topics)
}

/// D2: what cannot be written does not pile up. The records lie on one broker and what has to be written goes to another, which is
/// gone for a while: the host has ten times what it may keep within reach, and takes no more memory than its configuration says.
#[test]
fn memory_stays_within_its_bound_while_the_broker_of_the_dead_letters_is_down() {
    const RECORDS: u64 = 50_000;
    const VALUE_BYTES: usize = 4 << 10;
    let silence = Duration::from_secs(if long() { 60 } else { 8 });
    let broker = Broker::start(&Options::default()).unwrap();
    let second = broker.start_beside().unwrap();
    let (pipeline, topics) = written_elsewhere(&broker, "piled-up");
    let pipeline = pipeline.set("batch", "max_bytes", "\"1 MiB\"").set("plugin.limits", "record", "\"1 MiB\"");
    let pipeline = pipeline.set("plugin.limits", "memory", "\"16 MiB\"");
    let pipeline = pipeline.property("queued.max.messages.kbytes", "4096").property("fetch.max.bytes", "4194304");
    // As docs/operating.md counts: fetched records and one chunk, the guest, the client's queue and one answer to it. What is being
    // written is the batch twice, and twice more in the producer. What was freed is kept, in one arena and another.
    let fetched = 4 + 2 + 16 + 1;
    let bound = (fetched + 16 + (4 + 4) + 4 + 16) << 20;

    let host = pipeline.run();
    pipeline.wait_until_committed(&BTreeMap::from([(0, 0)]), SOON);
    let (idle, _) = resident_bytes(&host);
    second.kill().unwrap();
    let mut loaded = Loaded { partitions: [(0, 0..0)].into() };
    load_large(&broker.bootstrap(), &pipeline.topic, &mut loaded, RECORDS, VALUE_BYTES);
    host.wait_for_line("what has to be written before the commit was not", SOON);
    // What gathers while nothing can be written is what is tested.
    std::thread::sleep(silence);
    let (now, most) = resident_bytes(&host);
    assert_eq!(pipeline.committed(), BTreeMap::from([(0, 0)]));
    second.restart().unwrap();
    wait_until_handed_over(&host, loaded.records() / 2, SOON * 2);
    let (_, most_at_all) = resident_bytes(&host);
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!(
        "resident MiB: {:.1} idle, {:.1} while nothing was written, {:.1} at most till then, {:.1} at most at all; bound {:.1}, \
         {:.1} lay in the topic",
        mebibytes(idle),
        mebibytes(now),
        mebibytes(most),
        mebibytes(most_at_all),
        mebibytes(idle + bound),
        mebibytes(RECORDS * VALUE_BYTES as u64),
    );
    assert!(most_at_all < idle + bound, "{most_at_all} bytes of {}", idle + bound);
    assert!(now > idle + (fetched << 20) / 2, "it did not even take what it may: {now} bytes, {idle} when idle");
    stop(host);
    let next = pipeline.committed()[&0];
    assert!(next > 0, "nothing was committed after the broker had come back");
    for (topic, prefix) in topics.iter().zip(["gristmill.origin", "gristmill.source"]) {
        let written = origins(&read_topic(&broker.bootstrap(), topic), prefix);
        let missing: Vec<i64> = (0..next).filter(|offset| !written.contains_key(&(0, *offset))).collect();
        assert!(missing.is_empty(), "committed and not on {topic}: {missing:?}");
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
