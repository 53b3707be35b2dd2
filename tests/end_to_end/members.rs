//! Several hosts in one group: partitions move, nothing is lost, no commit overtakes another.

use std::collections::BTreeMap;
use std::time::Duration;

use gristmill_tests::{Loaded, Seen, shared_broker};

use crate::chance::{Chance, long};
use crate::pipeline::{Pipeline, SOON, stop, wait_until_handed_over};

const BATCH: i64 = 50;
const PARTITIONS: i32 = 6;

/// B1, B9: a second host joins and leaves again and again, in order or by a kill.
#[test]
fn a_host_that_comes_and_goes_loses_nothing() {
    come_and_go(Pipeline::new(shared_broker(), "moving"), 1);
}

/// B6: the same with whole assignments instead of incremental ones.
#[test]
fn a_host_that_comes_and_goes_loses_nothing_with_the_eager_protocol() {
    come_and_go(Pipeline::new(shared_broker(), "eager").property("partition.assignment.strategy", "range"), 1);
}

/// B1: the same where each partition has batches of its own, several of them with the plugin at once.
#[test]
fn a_host_that_comes_and_goes_loses_nothing_with_batches_of_one_partition() {
    come_and_go(
        Pipeline::new(shared_broker(), "moving-lanes")
            .set("batch", "scope", "\"partition\"")
            .set("batch", "workers", "2"),
        PARTITIONS.into(),
    );
}

/// B6: the same with the broker's own assignment (KIP-848), for which no session settings may be given.
#[test]
fn a_host_that_comes_and_goes_loses_nothing_with_the_consumer_protocol() {
    let pipeline = Pipeline::new(shared_broker(), "consumer").property("group.protocol", "consumer");
    come_and_go(pipeline.without_property("session.timeout.ms").without_property("heartbeat.interval.ms"), 1);
}

/// `lanes`: how many sequences of batches there are.
fn come_and_go(pipeline: Pipeline<'_>, lanes: i64) {
    let rounds = if long() { 16 } else { 3 };
    let pipeline = pipeline.batches_of(50).set("batch", "max_wait", "\"100ms\"").setting("pause_ms", "20");
    let mut loaded = pipeline.load(PARTITIONS, 1_000);
    let mut chance = Chance::new();
    let stays = pipeline.run();
    let mut seen_by_guests = Seen::default();
    let mut committed = BTreeMap::new();
    for round in 0..rounds {
        // More than one host can do before the other one has its share.
        pipeline.load_more(&mut loaded, 2_500);
        let comes = pipeline.run();
        // It takes part: at the latest when the session of one that was killed has ended.
        wait_until_handed_over(&comes, 1, SOON);
        chance.let_pass(Duration::from_secs(3));
        // Every other time without a word.
        let lines = if round % 2 == 0 { stop(comes) } else { comes.kill() };
        seen_by_guests.extend(Seen::from_lines(&lines));
        committed = risen(&committed, pipeline.committed());
    }
    stays.wait_until("the rest", SOON * 3, |lines| {
        all(&seen_by_guests, lines).missing(&loaded).is_empty().then_some(())
    });
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    judge(&all(&seen_by_guests, &stop(stays)), &loaded, rounds, lanes);
}

fn all(others: &Seen, lines: &[String]) -> Seen {
    let mut all = others.clone();
    all.extend(Seen::from_lines(lines));
    all
}

fn judge(seen: &Seen, loaded: &Loaded, rounds: i64, lanes: i64) {
    assert_eq!(seen.missing(loaded), "");
    let repeats = seen.repeats();
    println!("{repeats} repeats after {rounds} rounds");
    // In each round partitions move twice, and each time both hosts may have to give up what they have in flight: two batches, of each
    // partition where those have their own.
    let repeats_max = rounds * 2 * 2 * 2 * BATCH * lanes;
    assert!(repeats <= repeats_max, "{repeats} repeats after {rounds} rounds, more than {repeats_max}");
}

/// No committed offset ever goes back (I-04).
#[track_caller]
fn risen(before: &BTreeMap<i32, i64>, now: BTreeMap<i32, i64>) -> BTreeMap<i32, i64> {
    for (partition, next) in before {
        assert!(now.get(partition) >= Some(next), "partition {partition} went back from {next}: {now:?}");
    }
    now
}
