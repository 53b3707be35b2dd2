//! kill -9 at random moments: nothing is lost, and what comes again is what was in flight.

use std::time::Duration;

use gristmill_tests::{Seen, shared_broker};

use crate::chance::{Chance, long};
use crate::pipeline::{Pipeline, SOON, stop, wait_until_all_seen, wait_until_handed_over};

const BATCH: i64 = 500;
const PARTITIONS: i32 = 3;

/// What one host may have in flight of one sequence of batches: the batch with the plugin, and the one before it while its commit is on the way.
const IN_FLIGHT_MAX: i64 = 2 * BATCH;

/// C1, S2: a host that dies has committed nothing that was not handed over and answered.
#[test]
fn a_host_that_is_killed_loses_nothing() {
    kill_again_and_again(Pipeline::new(shared_broker(), "killed"), IN_FLIGHT_MAX);
}

/// C1: the same where each partition has batches of its own.
#[test]
fn a_host_that_is_killed_loses_nothing_with_batches_of_one_partition() {
    let pipeline = Pipeline::new(shared_broker(), "killed-lanes").set("batch", "scope", "\"partition\"");
    kill_again_and_again(pipeline.set("batch", "workers", "2"), IN_FLIGHT_MAX * i64::from(PARTITIONS));
}

fn kill_again_and_again(pipeline: Pipeline<'_>, in_flight_max: i64) {
    let kills = if long() { 20 } else { 5 };
    let pipeline = pipeline.batches_of(500).setting("pause_ms", "20");
    let pipeline = pipeline.set("batch", "max_wait", "\"200ms\"");
    let loaded = pipeline.load(PARTITIONS, 4_000 * (kills + 1));
    let mut chance = Chance::new();
    let mut seen = Seen::default();
    for _ in 0..kills {
        let host = pipeline.run();
        wait_until_handed_over(&host, 1 + i64::try_from(chance.below(6_000)).unwrap(), SOON);
        chance.let_pass(Duration::from_millis(40));
        let run = Seen::from_lines(&host.kill());
        let committed = pipeline.committed();
        // Of this run alone: what an earlier one had in flight need not have come again yet.
        let in_flight: i64 =
            run.next_offsets().iter().map(|(partition, next)| next - committed.get(partition).unwrap_or(&0)).sum();
        seen.extend(run);
        println!("killed with {in_flight} records in flight");
        assert!((0..=in_flight_max).contains(&in_flight), "{in_flight} in flight: {committed:?}");
    }
    let host = pipeline.run();
    let last = loaded.clone();
    host.wait_until("the rest", SOON * 3, |lines| {
        let mut all = seen.clone();
        all.extend(Seen::from_lines(lines));
        all.missing(&last).is_empty().then_some(())
    });
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    seen.extend(Seen::from_lines(&stop(host)));
    assert_eq!(seen.missing(&loaded), "");
    let repeats = seen.repeats();
    println!("{repeats} repeats after {kills} kills");
    assert!(repeats <= in_flight_max * i64::try_from(kills).unwrap(), "{repeats} repeats after {kills} kills");
}

/// The judge would notice: a group whose offset is set back repeats exactly what lies between.
#[test]
fn the_judge_of_kills_sees_repeats() {
    let pipeline = Pipeline::new(shared_broker(), "judged").set("batch", "max_wait", "\"100ms\"");
    let loaded = pipeline.load(1, 100);
    let host = pipeline.run();
    wait_until_all_seen(&host, &loaded, SOON);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let mut seen = Seen::from_lines(&stop(host));
    shared_broker().set_committed(&pipeline.group, &pipeline.topic, 0, 40).unwrap();
    let host = pipeline.run();
    wait_until_handed_over(&host, 60, SOON);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    seen.extend(Seen::from_lines(&stop(host)));
    assert_eq!(seen.repeats(), 60);
}
