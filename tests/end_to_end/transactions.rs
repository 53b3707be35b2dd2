//! Transactions of other producers: what is aborted is not handed over, and the offsets that hold no record are committed too.

use std::collections::BTreeMap;

use gristmill_tests::{Ending, Seen, shared_broker};

use crate::pipeline::{Pipeline, SOON, last, stop, wait_until_handed_over};

fn pipeline(name: &str) -> Pipeline<'static> {
    let pipeline = Pipeline::new(shared_broker(), name).set("batch", "max_wait", "\"100ms\"");
    // The keys of records in transactions do not name their offsets.
    pipeline.without_setting("check_keys")
}

/// C10: what a transaction leaves behind when it is aborted is no record, and no lag once it was read past.
#[test]
fn an_aborted_transaction_is_neither_handed_over_nor_lag() {
    let pipeline = pipeline("aborted").property("statistics.interval.ms", "200");
    let loaded = pipeline.load(1, 10);
    pipeline.put_in_transaction(5, Ending::Aborted);
    let host = pipeline.run();
    pipeline.wait_until_committed(&BTreeMap::from([(0, 16)]), SOON);
    // The first summary comes ten seconds after the start, and says the lag.
    let line = host.wait_for_line("the last 10 s", SOON);
    assert!(line.contains("\"lag\":0"), "{line}");
    let seen = Seen::from_lines(&stop(host));
    assert_eq!((seen.missing(&loaded), seen.handed_over()), (String::new(), 10));
}

/// C10: the end of a transaction has an offset. Were it not committed, a partition that retention has emptied would stand
/// before the start of its log, and be held although nothing of it was missed.
#[test]
fn a_partition_that_retention_emptied_behind_a_transaction_is_read_on() {
    let broker = shared_broker();
    let pipeline = pipeline("emptied");
    let _ = pipeline.load(1, 0);
    pipeline.put_in_transaction(50, Ending::Committed);
    let host = pipeline.run();
    pipeline.wait_until_committed(&BTreeMap::from([(0, 51)]), SOON);
    assert_eq!(Seen::from_lines(&stop(host)).handed_over(), 50);
    broker.delete_records(&pipeline.topic, &[(0, 51)]).unwrap();
    let host = pipeline.run();
    pipeline.put_in_transaction(7, Ending::Committed);
    wait_until_handed_over(&host, 7, SOON);
    pipeline.wait_until_committed(&BTreeMap::from([(0, 59)]), SOON);
    let lines = stop(host);
    assert_eq!(Seen::from_lines(&lines).handed_over(), 7, "{}", last(&lines));
}

/// C10, B1: a mark that follows records at work is committed with them, or not at all.
#[test]
fn the_end_of_a_transaction_is_not_committed_before_its_records_are_done() {
    let pipeline = pipeline("undone").setting("retry_at", "0:3").setting("retry_attempts", "100000");
    let pipeline = pipeline.set("retry", "initial", "\"50ms\"").set("retry", "max", "\"50ms\"");
    let _ = pipeline.load(1, 0);
    pipeline.put_in_transaction(5, Ending::Committed);
    let host = pipeline.run();
    host.wait_until("ten attempts", SOON, |lines| (Seen::from_lines(lines).attempts_max() >= 10).then_some(()));
    pipeline.wait_until_committed(&BTreeMap::from([(0, 0)]), SOON);
    stop(host);
    assert_eq!(pipeline.committed(), BTreeMap::from([(0, 0)]));
}
