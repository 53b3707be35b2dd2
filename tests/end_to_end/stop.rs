//! Signals: the first one ends the work in order, the second one ends it at once, and a deadline ends what will not end.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use gristmill_tests::{Seen, shared_broker};
use xtask::kafka::{Broker, Options};

use crate::chance::{Chance, long};
use crate::pipeline::{Pipeline, SOON, last, stop, wait_until_all_seen, wait_until_handed_over};

/// S1: the running batch is finished and committed, a half-built one is dropped, and nothing comes twice.
#[test]
fn a_host_that_is_asked_to_stop_repeats_nothing() {
    let stops = if long() { 20 } else { 5 };
    let pipeline = Pipeline::new(shared_broker(), "stopped").batches_of(500).setting("pause_ms", "20");
    let pipeline = pipeline.set("batch", "max_wait", "\"200ms\"");
    let loaded = pipeline.load(3, 2_000 * (stops + 1));
    let mut chance = Chance::new();
    let mut seen = Seen::default();
    for _ in 0..stops {
        let host = pipeline.run();
        wait_until_handed_over(&host, 1 + i64::try_from(chance.below(4_000)).unwrap(), SOON);
        chance.let_pass(Duration::from_millis(40));
        seen.extend(Seen::from_lines(&stop(host)));
        let mut committed = pipeline.committed();
        // Where nothing was handed over yet, the start position is committed (C8).
        committed.retain(|_, next| *next > 0);
        assert_eq!(committed, seen.next_offsets());
    }
    let host = pipeline.run();
    host.wait_until("the rest", SOON * 3, |lines| {
        let mut all = seen.clone();
        all.extend(Seen::from_lines(lines));
        all.missing(&loaded).is_empty().then_some(())
    });
    seen.extend(Seen::from_lines(&stop(host)));
    assert_eq!((seen.missing(&loaded), seen.repeats()), (String::new(), 0));
    assert_eq!(pipeline.committed(), loaded.end_offsets());
}

/// S1: an idle host has nothing to wait for.
#[test]
fn an_idle_host_stops_within_seconds() {
    let pipeline = Pipeline::new(shared_broker(), "idle-stop").set("batch", "max_wait", "\"100ms\"");
    let loaded = pipeline.load(1, 10);
    let host = pipeline.run();
    wait_until_all_seen(&host, &loaded, SOON);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let asked = Instant::now();
    stop(host);
    let took = asked.elapsed();
    println!("stopped in {took:?}");
    // The rule says one second; the rest is for a machine that compiles meanwhile.
    assert!(took < Duration::from_secs(4), "stopping took {took:?}");
}

/// S2: the second signal does not wait for the batch, and commits nothing of it.
#[test]
fn a_second_signal_ends_the_host_at_once_without_a_commit() {
    let pipeline = Pipeline::new(shared_broker(), "insisted").batches_of(10).setting("pause_ms", "50000");
    let pipeline = pipeline.set("plugin.limits", "time", "\"55s\"");
    let _ = pipeline.load(1, 30);
    let host = pipeline.run();
    wait_until_handed_over(&host, 10, SOON);
    host.signal("TERM");
    host.signal("INT");
    let asked = Instant::now();
    let (code, lines) = host.wait_for_end(Duration::from_secs(15));
    println!("ended in {:?}", asked.elapsed());
    assert_eq!(code, 124, "{}", last(&lines));
    assert!(committed_nothing_new(&pipeline.committed()));
}

/// S1, S3: a batch that outlives the grace time is given up, and the process ends with the code that says so.
#[test]
fn a_batch_that_outlives_the_grace_time_is_not_committed() {
    let pipeline = Pipeline::new(shared_broker(), "graceless").batches_of(10).setting("pause_ms", "50000");
    let pipeline = pipeline.set("plugin.limits", "time", "\"55s\"").set("shutdown", "grace", "\"500ms\"");
    let _ = pipeline.load(1, 30);
    let host = pipeline.run();
    wait_until_handed_over(&host, 10, SOON);
    host.signal("TERM");
    let (code, lines) = host.wait_for_end(Duration::from_secs(15));
    assert_eq!(code, 124, "{}", last(&lines));
    assert!(committed_nothing_new(&pipeline.committed()));
}

/// S1, C5: the batch ended in time, and the broker does not answer its commit. That is not the plugin's doing.
#[test]
fn a_commit_that_outlives_the_grace_time_is_not_called_a_batch() {
    let broker = Broker::start(&Options::default()).unwrap();
    let pipeline = Pipeline::new(&broker, "unanswered").batches_of(10).setting("pause_ms", "1000");
    // Shorter than the session, whose end takes the partition away and with it the commit.
    let pipeline = pipeline.set("shutdown", "grace", "\"3s\"").property("session.timeout.ms", "20000");
    let _ = pipeline.load(1, 10);
    let host = pipeline.run();
    wait_until_handed_over(&host, 10, SOON);
    broker.freeze().unwrap();
    host.signal("TERM");
    let (code, lines) = host.wait_for_end(SOON);
    broker.thaw().unwrap();
    assert_eq!(code, 124, "{}", last(&lines));
    let words = lines.last().unwrap();
    assert!(words.contains("did not confirm the commit") && words.contains("is unknown"), "{}", last(&lines));
}

/// The start position may have been committed (C8), and nothing beyond it.
fn committed_nothing_new(committed: &BTreeMap<i32, i64>) -> bool {
    committed.values().all(|next| *next == 0)
}
