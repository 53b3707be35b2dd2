//! Offsets that are not there: the partition is held with a reason, and nothing is skipped in silence.

use std::collections::BTreeMap;

use gristmill_tests::{Seen, shared_broker};

use xtask::kafka::{Broker, Options};

use crate::pipeline::{Pipeline, SOON, last, stop, wait_until_all_seen, wait_until_handed_over};

/// O1: a committed offset whose records were deleted holds its partition; the others flow.
#[test]
fn deleted_records_hold_their_partition() {
    let broker = shared_broker();
    let pipeline = Pipeline::new(broker, "deleted").set("batch", "max_wait", "\"100ms\"");
    let loaded = pipeline.load(2, 100);
    broker.set_committed(&pipeline.group, &pipeline.topic, 0, 20).unwrap();
    broker.delete_records(&pipeline.topic, &[(0, 60)]).unwrap();
    let mut host = pipeline.run();
    let words = host.wait_for_line("held", SOON);
    assert!(words.contains("20") && words.contains("60"), "from where to where is not said: {words}");
    wait_until_handed_over(&host, 100, SOON);
    pipeline.wait_until_committed(&BTreeMap::from([(0, 20), (1, 100)]), SOON);
    assert!(host.runs());
    let seen = Seen::from_lines(&stop(host));
    assert_eq!(seen.next_offsets(), BTreeMap::from([(1, 100)]));
    assert_eq!(pipeline.committed(), BTreeMap::from([(0, 20), (1, loaded.end_offsets()[&1])]));
}

/// O1: unless the configuration explicitly says where to go on.
#[test]
fn deleted_records_can_be_passed_over_where_the_operator_says_so() {
    let broker = shared_broker();
    let pipeline = Pipeline::new(broker, "passed").set("batch", "max_wait", "\"100ms\"");
    let pipeline = pipeline.set("kafka", "on_out_of_range", "\"earliest\"");
    let loaded = pipeline.load(1, 100);
    broker.set_committed(&pipeline.group, &pipeline.topic, 0, 20).unwrap();
    broker.delete_records(&pipeline.topic, &[(0, 60)]).unwrap();
    let host = pipeline.run();
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let lines = stop(host);
    // Where the ends of the log are learnt late the group is joined again, which may repeat what is in hand.
    let seen = Seen::from_lines(&lines);
    assert_eq!(seen.missing(&loaded), "0: 0..60", "{} handed over: {}", seen.handed_over(), last(&lines));
}

/// O1: a topic that is deleted and created again is a topic in which the group has committed nothing, however fast it goes
/// and however far the new one has grown. Nothing of the old one is committed for the new.
#[test]
fn a_topic_that_is_recreated_at_once_is_read_from_its_start() {
    let broker = shared_broker();
    let pipeline = Pipeline::new(broker, "recreated").set("batch", "max_wait", "\"100ms\"");
    let old = pipeline.load(2, 100);
    let host = pipeline.run();
    pipeline.wait_until_committed(&old.end_offsets(), SOON);
    let new = pipeline.recreate(2, 150);
    host.wait_for_line("the topic was deleted and created again", SOON);
    host.wait_until("all of the new topic handed over", SOON, |lines| {
        Seen::from_lines(after_recreation(lines)).missing(&new).is_empty().then_some(())
    });
    pipeline.wait_until_committed(&new.end_offsets(), SOON);
    let lines = stop(host);
    assert_eq!(Seen::from_lines(after_recreation(&lines)).repeats(), 0);
    let told = lines.iter().filter(|line| line.contains("the topic was deleted and created again")).count();
    assert_eq!(told, 2, "once for each partition: {}", last(&lines));
}

/// O1: where nothing may be assumed, the new topic is held.
#[test]
fn a_topic_that_is_recreated_holds_where_the_operator_chose_error() {
    let broker = shared_broker();
    let pipeline = Pipeline::new(broker, "recreated-held").set("batch", "max_wait", "\"100ms\"");
    let old = pipeline.load(1, 100);
    let host = pipeline.run();
    pipeline.wait_until_committed(&old.end_offsets(), SOON);
    stop(host);
    let pipeline = pipeline.set("kafka", "auto_offset_reset", "\"error\"");
    let host = pipeline.run();
    host.wait_for_line("resumes at the committed offset", SOON);
    let _ = pipeline.recreate(1, 150);
    host.wait_for_line("the topic was deleted and created again", SOON);
    host.wait_for_line("the group has committed nothing and kafka.auto_offset_reset is", SOON);
    let lines = stop(host);
    assert_eq!(Seen::from_lines(after_recreation(&lines)).handed_over(), 0);
}

/// O1: where the old topic had seen more leaders than the new one, librdkafka can never read the new one. The host does not
/// stand still over it but ends, to be started again.
#[test]
fn a_recreated_topic_that_the_client_cannot_read_ends_the_host() {
    let broker = Broker::start(&Options::default()).unwrap();
    let pipeline = Pipeline::new(&broker, "fewer-leaders").set("batch", "max_wait", "\"100ms\"");
    let old = pipeline.load(1, 100);
    // Each start of the broker is a new leader.
    broker.terminate().unwrap();
    broker.restart().unwrap();
    let host = pipeline.run();
    pipeline.wait_until_committed(&old.end_offsets(), SOON);
    let new = pipeline.recreate(1, 150);
    let (code, lines) = host.wait_for_end(SOON);
    assert_eq!(code, 1, "{}", last(&lines));
    assert!(lines.last().is_some_and(|line| line.contains("start the host again")), "{}", last(&lines));
    let host = pipeline.run();
    pipeline.wait_until_committed(&new.end_offsets(), SOON);
    let seen = Seen::from_lines(&stop(host));
    assert_eq!((seen.missing(&new), seen.repeats()), (String::new(), 0));
}

fn after_recreation(lines: &[String]) -> &[String] {
    let told = lines.iter().rposition(|line| line.contains("the topic was deleted and created again"));
    &lines[told.map_or(lines.len(), |at| at + 1)..]
}

/// O1: a group without offsets is held where nothing may be assumed.
#[test]
fn a_group_without_offsets_is_held_where_the_operator_chose_error() {
    let broker = shared_broker();
    let pipeline = Pipeline::new(broker, "nothing").set("kafka", "auto_offset_reset", "\"error\"");
    let _ = pipeline.load(1, 10);
    let host = pipeline.run();
    host.wait_for_line("held", SOON);
    let seen = Seen::from_lines(&stop(host));
    assert_eq!(seen.handed_over(), 0);
    assert!(pipeline.committed().is_empty());
}

/// C8: where nothing was committed, the resolved start is committed once, so that a crash before the first commit cannot
/// skip anything.
#[test]
fn the_start_position_is_committed_when_nothing_was() {
    let pipeline = Pipeline::new(shared_broker(), "start").batches_of(1_000);
    let _ = pipeline.load(1, 10);
    let host = pipeline.run();
    pipeline.wait_until_committed(&BTreeMap::from([(0, 0)]), SOON);
    assert_eq!(Seen::from_lines(&stop(host)).handed_over(), 0);
}

/// C9: what is committed for an idle partition is what was committed for it.
#[test]
fn an_idle_partition_keeps_its_offset() {
    let broker = shared_broker();
    let pipeline = Pipeline::new(broker, "kept").set("batch", "max_wait", "\"100ms\"");
    let loaded = pipeline.load(2, 10);
    broker.set_committed(&pipeline.group, &pipeline.topic, 1, 10).unwrap();
    let host = pipeline.run();
    wait_until_handed_over(&host, 10, SOON);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let seen = Seen::from_lines(&stop(host));
    assert_eq!(seen.next_offsets(), BTreeMap::from([(0, 10)]));
    let again = pipeline.run();
    again.wait_for_line("assigned", SOON);
    stop(again);
    assert_eq!(pipeline.committed(), loaded.end_offsets());
}

/// A2: a batch of one record closes at once, a hundred times over.
#[test]
fn many_small_batches_commit_every_record() {
    let pipeline = Pipeline::new(shared_broker(), "small").set("batch", "max_records", "1");
    let loaded = pipeline.load(2, 100);
    let host = pipeline.run();
    wait_until_all_seen(&host, &loaded, SOON);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let seen = Seen::from_lines(&stop(host));
    assert_eq!((seen.handed_over(), seen.repeats()), (200, 0));
}
