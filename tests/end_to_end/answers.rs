//! What the plugin's answers do to the group's offsets.

use std::collections::BTreeMap;
use std::time::Duration;

use gristmill_tests::{Seen, shared_broker};

use crate::pipeline::{Pipeline, SOON, last, positions, stop, wait_until_all_seen};

/// F1: earlier commits are kept, the batch is not committed, the exit code is its own, and the last words say where it lies.
#[test]
fn fatal_ends_the_host_without_committing_the_batch() {
    let pipeline = Pipeline::new(shared_broker(), "fatal").batches_of(100).setting("fatal_at", "0:250");
    let _ = pipeline.load(1, 1_000);
    let (code, lines) = pipeline.run().wait_for_end(SOON);
    assert_eq!(code, 65, "{}", last(&lines));
    let words = lines.last().cloned().unwrap_or_default();
    assert!(words.contains("the witness was told to say fatal"), "the last line does not say why: {words}");
    let place = format!("{}/0 200..299", pipeline.topic);
    assert!(words.contains(&format!("; its batch ({place}) was not committed")), "{words}");
    assert_eq!(positions(&lines, "the batch failed and was not committed"), Some(place));
    assert_eq!(pipeline.committed(), BTreeMap::from([(0, 200)]));
    assert_eq!(Seen::from_lines(&lines).next_offsets(), BTreeMap::from([(0, 300)]));
}

/// C6, R1: the batch comes again from memory until it is done, and what follows waits for it.
#[test]
fn retryable_hands_the_same_records_over_again() {
    let pipeline = Pipeline::new(shared_broker(), "retried").batches_of(100);
    let pipeline = pipeline.setting("retry_at", "0:150").setting("retry_attempts", "2");
    let pipeline = pipeline.set("retry", "initial", "\"50ms\"");
    let loaded = pipeline.load(1, 300);
    let host = pipeline.run();
    wait_until_all_seen(&host, &loaded, SOON);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let lines = stop(host);
    let place = Some(format!("{}/0 100..199", pipeline.topic));
    for begins in ["the batch failed and is handed over again", "the batch failed again; from now on"] {
        assert_eq!(positions(&lines, begins), place, "{}", last(&lines));
    }
    let seen = Seen::from_lines(&lines);
    assert_eq!((seen.missing(&loaded), seen.repeats(), seen.attempts_max()), (String::new(), 200, 3));
}

/// R3: the same by seek, over several partitions: each is read again from its committed offset.
#[test]
fn retryable_by_seek_reads_again_from_the_committed_offsets() {
    let pipeline = Pipeline::new(shared_broker(), "sought").batches_of(100);
    let pipeline = pipeline.set("batch", "max_wait", "\"200ms\"").set("retry", "redeliver", "\"seek\"");
    let pipeline = pipeline.setting("retry_at", "1:150").setting("retry_attempts", "2");
    let pipeline = pipeline.set("retry", "initial", "\"50ms\"");
    let loaded = pipeline.load(3, 300);
    let host = pipeline.run();
    wait_until_all_seen(&host, &loaded, SOON);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let seen = Seen::from_lines(&stop(host));
    assert_eq!(seen.missing(&loaded), "");
    assert_eq!(seen.attempts_max(), 3);
    assert!((2..=200).contains(&seen.repeats()), "{} repeats", seen.repeats());
}

/// F5: a batch that traps every time ends in the policy.
#[test]
fn a_poison_batch_ends_the_host_when_its_attempts_are_spent() {
    let pipeline = Pipeline::new(shared_broker(), "poison").batches_of(100).setting("trap_at", "0:150");
    let pipeline = pipeline.set("fault", "max_attempts", "3").set("retry", "initial", "\"10ms\"");
    let _ = pipeline.load(1, 300);
    let (code, lines) = pipeline.run().wait_for_end(SOON);
    assert_eq!(code, 75, "{}", last(&lines));
    let words = lines.last().cloned().unwrap_or_default();
    assert!(words.contains(&format!("; its batch ({}/0 100..199) was not committed", pipeline.topic)), "{words}");
    assert_eq!(pipeline.committed(), BTreeMap::from([(0, 100)]));
    assert_eq!(Seen::from_lines(&lines).attempts_max(), 3);
}

/// S5: held on purpose is not stuck: the host stays in the group, says so, and stops cleanly.
#[test]
fn fatal_can_hold_instead() {
    let pipeline = Pipeline::new(shared_broker(), "held-fatal").batches_of(100).setting("fatal_at", "0:150");
    let pipeline = pipeline.set("fatal", "then", "\"hold\"");
    let _ = pipeline.load(1, 300);
    let mut host = pipeline.run();
    host.wait_for_line("held", SOON);
    pipeline.wait_until_committed(&BTreeMap::from([(0, 100)]), SOON);
    assert!(host.runs());
    let lines = stop(host);
    assert_eq!(positions(&lines, "held: the plugin said fatal"), Some(format!("{}/0 100..199", pipeline.topic)));
    assert_eq!(Seen::from_lines(&lines).next_offsets(), BTreeMap::from([(0, 200)]));
    assert_eq!(pipeline.committed(), BTreeMap::from([(0, 100)]));
}

/// R2: a host that waits in back-off stops at once.
#[test]
fn a_stop_ends_the_back_off() {
    let pipeline = Pipeline::new(shared_broker(), "backing-off").batches_of(100);
    let pipeline = pipeline.setting("retry_at", "0:50").setting("retry_attempts", "1000");
    let pipeline = pipeline.set("retry", "initial", "\"30s\"");
    let _ = pipeline.load(1, 300);
    let host = pipeline.run();
    host.wait_for_line("retryable", SOON);
    host.signal("TERM");
    let (code, lines) = host.wait_for_end(Duration::from_secs(10));
    assert_eq!(code, 0, "{}", last(&lines));
    assert!(pipeline.committed().values().all(|next| *next == 0));
}

/// R7: of a partial outcome exactly the finished part is committed, and nothing else comes again but the rest.
#[test]
fn a_partial_outcome_commits_exactly_its_part() {
    let pipeline = Pipeline::new(shared_broker(), "partial").batches_of(100).setting("complete_to", "0:149");
    let pipeline = pipeline.set("retry", "initial", "\"30s\"").set("retry", "max", "\"30s\"");
    let _ = pipeline.load(1, 350);
    let host = pipeline.run();
    pipeline.wait_until_committed(&BTreeMap::from([(0, 150)]), SOON);
    let lines = stop(host);
    assert!(lines.iter().any(|line| line.contains("retryable")), "{}", last(&lines));
    let again = pipeline.run();
    pipeline.wait_until_committed(&BTreeMap::from([(0, 350)]), SOON);
    let seen = Seen::from_lines(&stop(again));
    assert_eq!(seen.attempts_max(), 1);
}
