//! Rules F1, F2, F4, F5: fatal answers and guests that break.

use std::num::NonZeroU32;

use gristmill_core::io::{HeldReason, Input, PluginId, Report, StopReason};
use gristmill_core::outcome::FaultClass;
use gristmill_core::policy::{Exhausted, FatalPolicy};

use super::story::{Story, by_partition, fatal, fault, ok, policy};

const BATCH: &str = "0:0 0:1 0:2";

fn poison() -> StopReason {
    StopReason::Fatal { reason: "poison".to_owned() }
}

#[test]
fn f1_i08_fatal_keeps_earlier_commits_and_makes_none() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches("0:0 0:1 0:2 0:3 0:4 0:5 0:6").finishes(BATCH, "0:3").delivers("0:3 0:4 0:5").says(fatal());
    story.ends(&poison());
}

#[test]
fn f1_other_lanes_finish_within_the_grace_time() {
    let mut story = Story::owning(by_partition(2), &[0, 1]);
    story.fetches("0:0 0:1 0:2 1:0 1:1 1:2").delivers(BATCH).delivers("1:0 1:1 1:2").says(fatal()).is_quiet();
    story.says(ok()).commits("1:3").commit_ends(Ok(())).ends(&poison());
}

#[test]
fn f1_with_the_policy_to_hold_the_membership_stays_and_the_batch_waits_for_an_operator() {
    let mut policy = policy();
    policy.fatal = FatalPolicy::Hold;
    let mut story = Story::owning(policy, &[0]);
    story.fetches(BATCH).delivers(BATCH).says(fatal()).passes(3_600_000).is_quiet();
    assert!(matches!(
        story.reports.last(),
        Some(Report::Held { reason: HeldReason::Fatal { reason, .. } }) if reason == "poison"
    ));
    story.feed(Input::RetryAsked).delivers(BATCH).says(fatal()).feed(Input::PluginReady(PluginId(1)));
    story.finishes(BATCH, "0:3");
}

#[test]
fn f2_b68_the_hundredth_fault_costs_no_more_than_the_first() {
    let mut policy = by_partition(1);
    policy.fault.attempts_max = NonZeroU32::new(101).unwrap();
    let mut story = Story::owning(policy, &[0, 1]);
    story.fetches(BATCH);
    for _ in 0..100 {
        story.delivers(BATCH).says(fault(FaultClass::Timeout)).passes(30_000);
    }
    story.finishes(BATCH, "0:3");
    // The only worker is free, and nothing is left behind.
    story.fetches("1:0 1:1 1:2").finishes("1:0 1:1 1:2", "1:3");
    assert_eq!(story.wakes_in(), None);
}

#[test]
fn f4_exit_is_no_answer() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(fault(FaultClass::Exit)).passes(100).delivers(BATCH);
    assert_eq!(story.attempt(), 2);
}

#[test]
fn f5_a_batch_that_breaks_the_guest_every_time_ends_in_the_policy() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(fault(FaultClass::Trap)).passes(100);
    story.delivers(BATCH).says(fault(FaultClass::Trap)).passes(200).delivers(BATCH).says(fault(FaultClass::Trap));
    story.ends(&StopReason::Exhausted { reason: "3 faults, last: trap: broke".to_owned() });
}

#[test]
fn f5_with_the_policy_to_hold_the_batch_waits_for_an_operator() {
    let mut policy = policy();
    policy.fault.attempts_max = NonZeroU32::new(1).unwrap();
    policy.fault.then = Exhausted::Hold;
    let mut story = Story::owning(policy, &[0]);
    story.fetches(BATCH).delivers(BATCH).says(fault(FaultClass::Memory)).passes(3_600_000).is_quiet();
    assert_eq!((story.holds(), story.wakes_in()), (1, None));
    story.feed(Input::RetryAsked).finishes(BATCH, "0:3");
}

#[test]
fn b122_ok_then_retryable_twice_then_fatal_commits_the_end_of_the_second() {
    let mut story = Story::owning(policy(), &[0, 1, 2]);
    story.fetches("0:0 1:0 2:0").finishes("0:0 1:0 2:0", "0:1 1:1 2:1");
    story.fetches("0:1 1:1 2:1").delivers("0:1 1:1 2:1").says(super::story::retryable()).passes(100);
    story.delivers("0:1 1:1 2:1").says(super::story::retryable()).passes(200);
    story.finishes("0:1 1:1 2:1", "0:2 1:2 2:2");
    story.fetches("0:2 1:2 2:2").delivers("0:2 1:2 2:2").says(fatal()).ends(&poison());
    // The next process starts at what was committed and meets the third batch again.
    let mut story = Story::new(policy());
    for place in 0..3 {
        story.assigned(place, gristmill_core::io::StartPosition::Committed(gristmill_core::record::NextOffset(2)));
    }
    story.fetches("0:2 1:2 2:2").delivers("0:2 1:2 2:2");
}
