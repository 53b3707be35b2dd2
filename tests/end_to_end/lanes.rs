//! Batches of one partition each: several with the plugin at once, each partition in order, and none that stops another.

use std::collections::BTreeMap;

use gristmill_tests::{Seen, shared_broker};

use crate::control;
use crate::pipeline::{Pipeline, SOON, stop, wait_until_all_seen};

const PARTITIONS: i32 = 3;

/// A pipeline whose partitions have batches of their own.
fn lanes(name: &str, workers: u32) -> Pipeline<'static> {
    Pipeline::new(shared_broker(), name).set("batch", "scope", "\"partition\"").set(
        "batch",
        "workers",
        workers.to_string(),
    )
}

#[test]
fn partitions_with_batches_of_their_own_are_each_handed_over_once_and_in_order() {
    let pipeline = lanes("lanes", 3).batches_of(100).setting("pause_ms", "1");
    let loaded = pipeline.load(PARTITIONS, 4_000);
    let host = pipeline.run();
    wait_until_all_seen(&host, &loaded, SOON);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let seen = Seen::from_lines(&stop(host));
    assert_eq!((seen.missing(&loaded), seen.out_of_order()), (String::new(), String::new()));
}

/// I-09: as many as workers, each of another partition.
#[test]
fn as_many_batches_as_workers_are_with_the_plugin_at_once() {
    let pipeline = lanes("workers", 2).batches_of(100).setting("pause_ms", "500");
    let loaded = pipeline.load(PARTITIONS, 300);
    let host = pipeline.run();
    host.wait_for_line("assigned; ", SOON);
    let out = |status: &serde_json::Value| {
        let batches = status["batches"].as_array().unwrap();
        let mut places: Vec<String> = batches.iter().map(|batch| batch["positions"].to_string()).collect();
        places.dedup();
        assert!(places.len() <= 2, "{status:#}");
        places.len() == 2
    };
    control::wait_until(&host.socket(&pipeline.group), "two batches with the plugin", out);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    assert_eq!(Seen::from_lines(&stop(host)).out_of_order(), "");
}

/// S5, R8: a partition whose batch is held stops no other, though there is far more of it than the buffer takes; and it goes on where it
/// stood.
#[test]
fn s5_a_partition_that_is_held_stops_no_other() {
    let pipeline = lanes("held-lane", 2).batches_of(100).set("batch", "max_bytes", "\"256 KiB\"");
    let pipeline = pipeline.set("batch", "max_wait", "\"50ms\"").set("plugin.limits", "record", "\"256 KiB\"");
    let blocked = pipeline.setting("fatal_at", "0:7").set("fatal", "then", "\"hold\"");
    // The buffer takes 18.5 MiB.
    let loaded = blocked.load_values(PARTITIONS, 4_000, |_| vec![b'x'; 10_000]);
    let host = blocked.run();
    let ends = loaded.end_offsets();
    let others = BTreeMap::from([(0, 0), (1, ends[&1]), (2, ends[&2])]);
    blocked.wait_until_committed(&others, SOON);
    let status = control::wait_until(&host.socket(&blocked.group), "the hold", |status| status["state"] == "held");
    assert_eq!(
        (&status["held"][0]["partition"], &status["batches"]),
        (&0.into(), &serde_json::json!([])),
        "{status:#}"
    );
    let mut seen = Seen::from_lines(&stop(host));
    assert_eq!(seen.out_of_order(), "");
    let mended = blocked.without_setting("fatal_at").run();
    mended.wait_until("the rest of the partition that was held", SOON, |lines| {
        let mut all = seen.clone();
        all.extend(Seen::from_lines(lines));
        all.missing(&loaded).is_empty().then_some(())
    });
    seen.extend(Seen::from_lines(&stop(mended)));
    assert_eq!(seen.missing(&loaded), "");
}

/// R1, R8: one that waits neither, and what was read of it meanwhile comes behind what failed.
#[test]
fn r1_a_partition_that_waits_stops_no_other_and_goes_on_in_order() {
    let pipeline =
        lanes("waiting-lane", 1).batches_of(100).setting("retry_at", "0:7").set("retry", "initial", "\"4s\"");
    let loaded = pipeline.load(PARTITIONS, 3_000);
    let host = pipeline.run();
    let ends = loaded.end_offsets();
    pipeline.wait_until_committed(&BTreeMap::from([(0, 0), (1, ends[&1]), (2, ends[&2])]), SOON);
    pipeline.wait_until_committed(&ends, SOON);
    let seen = Seen::from_lines(&stop(host));
    assert_eq!((seen.missing(&loaded), seen.repeats()), (String::new(), 100), "the batch that failed comes again");
}

/// I-33: many that wait hold more than the buffer takes, with what was on its way. The others flow, and what was thrown away for that is read again.
#[test]
fn many_partitions_that_wait_leave_room_for_the_others_and_lose_nothing() {
    const MANY: i32 = 16;
    const WAITING: i32 = 14;
    let pipeline = lanes("many-lanes", 2).batches_of(100).set("batch", "max_bytes", "\"64 KiB\"");
    let pipeline = pipeline.set("batch", "max_wait", "\"50ms\"").set("plugin.limits", "record", "\"64 KiB\"");
    let waiting: Vec<String> = (0..WAITING).map(|partition| format!("{partition}:0")).collect();
    let pipeline = pipeline.setting("retry_at", &waiting.join(",")).set("retry", "initial", "\"20s\"");
    // The buffer takes 17 MiB, and there are 153 MiB.
    let loaded = pipeline.load_values(MANY, 1_000, |_| vec![b'x'; 10_000]);
    let host = pipeline.run();
    host.wait_for_line("assigned; ", SOON);
    let committed = |status: &serde_json::Value, partition: i32| {
        let all = status["partitions"].as_array().unwrap();
        all.iter().find(|one| one["partition"] == partition).map(|one| one["committed"].as_i64())
    };
    let status = control::wait_until(&host.socket(&pipeline.group), "those that do not wait", |status| {
        (WAITING..MANY).all(|partition| committed(status, partition) == Some(Some(1_000)))
    });
    println!("{} records were thrown away", status["counts"]["stale_at_edge"]);
    let still = (0..WAITING).filter(|partition| committed(&status, *partition) == Some(Some(0))).count();
    assert!(still > 0, "nobody waits any more: {status:#}");
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let seen = Seen::from_lines(&stop(host));
    assert_eq!(seen.missing(&loaded), "");
    // Of each that failed its first batch, which took 64 KiB at most.
    assert!(seen.repeats() <= i64::from(WAITING) * 7, "{} repeats", seen.repeats());
}
