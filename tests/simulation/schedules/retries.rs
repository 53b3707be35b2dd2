//! Rules R1, R2, R4, R5, R8, R9: what happens between a failed attempt and the next one.

use std::num::NonZeroU32;
use std::time::Duration;

use gristmill_core::io::{Input, PluginId, Report, StopReason};
use gristmill_core::outcome::FaultClass;
use gristmill_core::policy::{Attempts, Exhausted};

use super::story::{Story, by_partition, fault, ok, policy, retryable, retryable_after};

const BATCH: &str = "0:0 0:1 0:2";

#[test]
fn r1_b37_records_that_come_during_a_back_off_are_kept() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(retryable()).fetches("0:3 0:4").passes(50).fetches("0:5").is_quiet();
    story.passes(50).finishes(BATCH, "0:3").finishes("0:3 0:4 0:5", "0:6");
    assert_eq!(story.dropped(), 0);
}

#[test]
fn r2_s4_a_new_version_ends_the_back_off_with_a_fresh_budget() {
    let mut policy = policy();
    policy.retry.attempts = Attempts::Limited { max: NonZeroU32::new(2).unwrap(), then: Exhausted::Stop };
    let mut story = Story::owning(policy, &[0]);
    story.fetches(BATCH).delivers(BATCH).says(retryable()).feed(Input::PluginReady(PluginId(1))).delivers(BATCH);
    assert_eq!((story.last.as_ref().unwrap().plugin, story.attempt()), (PluginId(1), 1));
    story.says(retryable()).passes(100).delivers(BATCH).says(ok()).commits("0:3");
}

#[test]
fn r2_a_revocation_ends_the_back_off_of_what_goes() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(retryable()).revoking(1, &[0], 500).answers_revoke(1);
    story.passes(60_000).is_quiet();
}

#[test]
fn r2_b74_a_stop_ends_the_back_off_without_a_commit() {
    let mut policy = policy();
    policy.retry.backoff.initial = Duration::from_secs(60);
    policy.retry.backoff.max = Duration::from_secs(60);
    let mut story = Story::owning(policy, &[0]);
    story.fetches(BATCH).delivers(BATCH).says(retryable()).passes(5_000).feed(Input::StopAsked);
    story.ends(&StopReason::Asked);
}

#[test]
fn r4_success_elsewhere_does_not_clear_the_attempts() {
    let mut policy = by_partition(2);
    policy.retry.attempts = Attempts::Limited { max: NonZeroU32::new(2).unwrap(), then: Exhausted::Hold };
    let mut story = Story::owning(policy, &[0, 1]);
    story.fetches(BATCH).delivers(BATCH).says(retryable());
    story.fetches("1:0 1:1 1:2").finishes("1:0 1:1 1:2", "1:3");
    story.passes(100).delivers(BATCH);
    assert_eq!(story.attempt(), 2);
    story.says(retryable()).passes(60_000).is_quiet();
    assert_eq!(story.holds(), 1);
}

#[test]
fn r4_f5_a_different_failure_does_not_clear_the_faults() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(fault(FaultClass::Trap)).passes(100);
    story.delivers(BATCH).says(retryable()).passes(100).delivers(BATCH).says(fault(FaultClass::Memory)).passes(200);
    story.delivers(BATCH).says(retryable()).passes(200).delivers(BATCH).says(fault(FaultClass::Timeout));
    story.ends(&StopReason::Exhausted { reason: "3 faults, last: timeout: broke".to_owned() });
}

#[test]
fn r4_progress_clears_the_attempts() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(fault(FaultClass::Trap)).passes(100);
    story.delivers(BATCH).says(fault(FaultClass::Trap)).passes(200).finishes(BATCH, "0:3");
    story.fetches("0:3 0:4 0:5").delivers("0:3 0:4 0:5");
    assert_eq!(story.attempt(), 1);
    story.says(fault(FaultClass::Trap)).passes(100).delivers("0:3 0:4 0:5").says(fault(FaultClass::Trap));
    story.passes(200).delivers("0:3 0:4 0:5");
}

#[test]
fn r4_a_partition_does_not_inherit_the_failures_of_another_in_its_batch() {
    let mut policy = super::story::by_seek();
    policy.fault.attempts_max = NonZeroU32::new(2).unwrap();
    let mut story = Story::owning(policy, &[0, 1]);
    story.fetches("0:0 0:1 0:2").delivers("0:0 0:1 0:2").says(fault(FaultClass::Trap));
    story.asks(&[0]).knows(&[(0, Some(0))]).seeks("0:0").sought();
    // Read again, the batch holds another partition too; both fail, and the first has spent its budget. Not the second.
    story.fetches("0:0 1:0 0:1").passes(100).delivers("0:0 1:0 0:1").lost(&[0]).says(fault(FaultClass::Trap));
    story.asks(&[1]).knows(&[(1, Some(0))]).seeks("1:0").sought();
    story.fetches("1:0 1:1 1:2").passes(100).finishes("1:0 1:1 1:2", "1:3");
}

#[test]
fn r5_b57_the_delay_keeps_its_bounds_over_two_hundred_attempts() {
    let mut policy = policy();
    policy.retry.backoff.jitter_permille = 200;
    let mut story = Story::owning(policy, &[0]);
    story.fetches(BATCH).delivers(BATCH);
    for _ in 0..200 {
        story.says(retryable()).passes(36_001).delivers(BATCH);
    }
    let delays: Vec<Duration> = story
        .reports
        .iter()
        .filter_map(|report| if let Report::Waiting { delay, .. } = report { Some(*delay) } else { None })
        .collect();
    assert_eq!(delays.len(), 200);
    assert!(delays.iter().all(|delay| *delay >= Duration::from_millis(80)), "a retry storm");
    assert!(delays.iter().all(|delay| *delay <= Duration::from_secs(36)), "beyond the cap");
    assert!(delays[20..].iter().all(|delay| *delay >= Duration::from_secs(24)), "falls after many attempts");
}

#[test]
fn r5_a_wish_for_the_delay_is_clamped() {
    let mut policy = policy();
    policy.retry.after_max = Duration::from_secs(2);
    let mut story = Story::owning(policy, &[0]);
    story.fetches(BATCH).delivers(BATCH).says(retryable_after(0)).passes(9).is_quiet();
    story.passes(1).delivers(BATCH).says(retryable_after(3_600_000)).passes(1_999).is_quiet();
    story.passes(1).delivers(BATCH);
}

#[test]
fn r8_nothing_behind_a_failed_batch_is_handed_over_or_committed() {
    let mut story = Story::owning(policy(), &[0, 1]);
    story.fetches("0:0 0:1 1:0").delivers("0:0 0:1 1:0").says(retryable());
    story.fetches("0:2 0:3 1:1 1:2 0:4 0:5").passes(99).is_quiet();
    story.passes(1).finishes("0:0 0:1 1:0", "0:2 1:1").finishes("0:2 0:3 1:1", "0:4 1:2");
}

#[test]
fn r8_another_partition_goes_on_when_each_has_its_own_lane() {
    let mut story = Story::owning(by_partition(2), &[0, 1]);
    story.fetches(BATCH).delivers(BATCH).says(retryable());
    story.fetches("1:0 1:1 1:2").finishes("1:0 1:1 1:2", "1:3");
    story.passes(100).finishes(BATCH, "0:3");
}

#[test]
fn r9_redelivered_records_come_before_those_read_later() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches("0:0 0:1 0:2 0:3").delivers(BATCH).says(retryable()).fetches("0:4 0:5").passes(100);
    story.finishes(BATCH, "0:3").finishes("0:3 0:4 0:5", "0:6");
}

#[test]
fn b40_resume_without_a_pause_hands_nothing_over_twice() {
    let mut story = Story::owning(policy(), &[0, 1]);
    for _ in 0..1_000 {
        story.feed(Input::ResumeAsked);
    }
    story.fetches("0:0 1:0 0:1").finishes("0:0 1:0 0:1", "0:2 1:1").passes(60_000).is_quiet();
}

#[test]
fn an_answer_that_comes_twice_counts_once() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches("0:0 0:1 0:2 0:3 0:4 0:5").delivers(BATCH);
    let delivery = story.last.as_ref().unwrap().id;
    story.says(ok()).commits("0:3").commit_ends(Ok(())).delivers("0:3 0:4 0:5");
    story.feed(Input::Answered { delivery, answer: ok() }).is_quiet();
    assert!(story.reports.contains(&Report::LateAnswer(delivery)), "I-14: counted as late");
}
