//! Rules R7, R4, R8, R9: a batch that is done in part.

use std::num::NonZeroU32;

use gristmill_core::io::{HeldReason, Input, PluginId, Report, StopReason};
use gristmill_core::outcome::FaultClass;
use gristmill_core::policy::{Attempts, Exhausted, Policy};

use super::story::{
    Story, completing, completing_emitting, completing_rejecting, fault, isolating, never, not_now, ok, policy,
    retryable, with_letters,
};

const BATCH: &str = "0:0 0:1 0:2";

/// As many attempts at a retryable batch, then this.
fn limited(policy: Policy, max: u32, then: Exhausted) -> Policy {
    let mut policy = policy;
    policy.retry.attempts = Attempts::Limited { max: NonZeroU32::new(max).unwrap(), then };
    policy
}

#[test]
fn r7_of_a_batch_that_is_done_in_part_each_partition_commits_its_share_of_that_part() {
    let mut policy = policy();
    policy.batch.records_max = NonZeroU32::new(5).unwrap();
    let mut story = Story::owning(policy, &[0, 1]);
    story.fetches("0:0 1:0 0:1 1:1 0:2").delivers("0:0 1:0 0:1 1:1 0:2").says(completing(3)).commits("0:2 1:1");
    story.passes(99).is_quiet().commit_ends(Ok(())).passes(1).finishes("1:1 0:2", "0:3 1:2");
}

#[test]
fn r7_a_partition_without_a_record_in_the_part_commits_nothing() {
    let mut story = Story::owning(policy(), &[0, 1]);
    story.fetches("0:0 0:1 1:0").delivers("0:0 0:1 1:0").says(completing(2)).commits("0:2").commit_ends(Ok(()));
    story.passes(100).finishes("1:0", "1:1");
}

#[test]
fn r7_a_part_of_no_record_is_nothing_done() {
    let mut story = Story::owning(limited(policy(), 2, Exhausted::Hold), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(completing(0)).passes(99).is_quiet().passes(1).delivers(BATCH);
    assert_eq!(story.attempt(), 2);
    story.says(completing(0)).passes(60_000).is_quiet();
    assert!(matches!(story.held(), HeldReason::Exhausted { .. }));
}

#[test]
fn r7_a_part_of_every_record_is_all_done() {
    let mut story = Story::owning(policy(), &[0, 1]);
    story.fetches("0:0 1:0 0:1 0:2 1:1 0:3").delivers("0:0 1:0 0:1").says(completing(3)).commits("0:2 1:1");
    story.commit_ends(Ok(())).finishes("0:2 1:1 0:3", "0:4 1:2").passes(60_000).is_quiet();
}

/// Progress that is not written is none: the attempts stay, as they do after ok.
#[test]
fn r7_d2_a_part_of_every_record_that_could_not_be_written_keeps_its_attempts() {
    for done in [completing_emitting(3, 1), super::story::emitting(1)] {
        let mut story = Story::owning(policy(), &[0]);
        story.fetches(BATCH).delivers(BATCH).says(retryable()).passes(100).delivers(BATCH).says(done);
        story.writes_emitted("").written(not_now()).passes(100).delivers(BATCH);
        assert_eq!(story.attempt(), 2);
        story.says(ok()).commits("0:3");
    }
}

#[test]
fn r7_d1_what_the_part_made_is_written_before_its_commit_and_the_rest_waits_meanwhile() {
    let mut policy = with_letters();
    policy.batch.records_max = NonZeroU32::new(5).unwrap();
    let mut story = Story::owning(policy, &[0, 1]);
    story.fetches("0:0 1:0! 0:1 1:1! 0:2").delivers("0:0 0:1 0:2").says(completing_rejecting(2, &[1]));
    // What no guest can take goes with the record before which it lies, and there is none.
    story.writes("0:1=rejected").passes(60_000).is_quiet().written(Ok(())).commits("0:2").commit_ends(Ok(()));
    story.delivers("0:2").says(ok()).writes("1:0=undecodable 1:1=undecodable").written(Ok(())).commits("0:3 1:2");
}

#[test]
fn r7_what_no_guest_can_take_goes_with_the_part_that_goes_past_it() {
    let mut policy = with_letters();
    policy.batch.records_max = NonZeroU32::new(6).unwrap();
    let mut story = Story::owning(policy, &[0]);
    story.fetches("0:0! 0:1 0:2! 0:3 0:4! 0:5!").delivers("0:1 0:3").says(completing_emitting(1, 2));
    story.writes_emitted("0:0=undecodable").written(Ok(())).commits("0:2").commit_ends(Ok(())).passes(100);
    story.delivers("0:3").says(ok()).writes("0:2=undecodable 0:4=undecodable 0:5=undecodable").written(Ok(()));
    story.commits("0:6");
}

#[test]
fn r7_d2_a_part_that_could_not_be_written_comes_again_and_the_rest_behind_it() {
    let mut story = Story::owning(with_letters(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(completing_rejecting(2, &[0])).writes("0:0=rejected").written(not_now());
    story.passes(99).is_quiet().passes(1).delivers("0:0 0:1").says(ok()).commits("0:2").commit_ends(Ok(()));
    story.finishes("0:2", "0:3");
    // Refused for good it is held; a retry brings both again.
    let mut story = Story::owning(with_letters(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(completing_rejecting(2, &[0])).writes("0:0=rejected").written(never());
    story.fetches("0:3 0:4 0:5").passes(60_000).is_quiet().feed(Input::RetryAsked).finishes("0:0 0:1", "0:2");
    story.finishes("0:2", "0:3").finishes("0:3 0:4 0:5", "0:6");
}

#[test]
fn r7_without_a_place_for_dead_letters_a_part_with_a_rejected_record_is_held_with_its_rest() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(completing_rejecting(2, &[0])).passes(60_000).is_quiet();
    assert!(matches!(story.held(), HeldReason::Rejected { .. }));
    story.feed(Input::PluginReady(PluginId(1))).finishes("0:0 0:1", "0:2").finishes("0:2", "0:3");
}

#[test]
fn r7_r4_progress_restarts_the_attempts_of_the_rest() {
    let mut story = Story::owning(limited(policy(), 2, Exhausted::Stop), &[0]);
    story.fetches(BATCH);
    story.delivers(BATCH).says(retryable()).passes(100).delivers(BATCH).says(completing(1)).commits("0:1");
    story.commit_ends(Ok(())).passes(100).delivers("0:1 0:2");
    assert_eq!(story.attempt(), 2, "the answer that completed a part failed at the rest");
    story.says(completing(1)).commits("0:2").commit_ends(Ok(())).passes(100).delivers("0:2").says(retryable());
    story.ends(&StopReason::Exhausted { reason: "2 retryable answers, last: again".to_owned() });
}

#[test]
fn r4_progress_of_one_partition_does_not_restart_the_attempts_of_another() {
    let mut story = Story::owning(limited(policy(), 2, Exhausted::Hold), &[0, 1]);
    story.fetches("0:0 0:1 1:0").delivers("0:0 0:1 1:0").says(completing(1)).commits("0:1").commit_ends(Ok(()));
    story.passes(100).delivers("0:1 1:0").says(completing(1)).commits("0:2").commit_ends(Ok(()));
    story.passes(60_000).is_quiet();
    assert!(matches!(story.held(), HeldReason::Exhausted { .. }), "1:0 failed twice");
}

#[test]
fn r7_the_rest_is_held_where_its_attempts_are_spent() {
    let mut story = Story::owning(limited(policy(), 1, Exhausted::Hold), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(completing(1)).commits("0:1").commit_ends(Ok(()));
    story.passes(60_000).is_quiet().feed(Input::RetryAsked).finishes("0:1 0:2", "0:3");
}

#[test]
fn r7_the_rest_is_cut_where_its_attempts_are_spent_and_the_part_is_committed_first() {
    let mut policy = isolating(1);
    policy.batch.records_max = NonZeroU32::new(6).unwrap();
    let mut story = Story::owning(policy, &[0]);
    story.fetches("0:0 0:1 0:2 0:3 0:4 0:5").delivers("0:0 0:1 0:2 0:3 0:4 0:5").says(completing_emitting(2, 1));
    story.writes_emitted("").passes(1_000).is_quiet().written(Ok(())).commits("0:2");
    story.delivers("0:2 0:3").is_quiet().commit_ends(Ok(())).says(ok()).commits("0:4").delivers("0:4 0:5");
    story.commit_ends(Ok(())).says(ok()).commits("0:6");
}

#[test]
fn r7_the_rest_is_put_aside_behind_what_the_part_made() {
    let mut story = Story::owning(isolating(1), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(completing_rejecting(2, &[1])).writes("0:1=rejected").is_quiet();
    story.written(Ok(())).commits("0:2").commit_ends(Ok(())).writes("0:2=retries").written(Ok(())).commits("0:3");
}

#[test]
fn r8_nothing_behind_the_rest_is_handed_over_or_committed() {
    let mut story = Story::owning(policy(), &[0, 1]);
    story.fetches("0:0 1:0 0:1").delivers("0:0 1:0 0:1").says(completing(1)).commits("0:1").commit_ends(Ok(()));
    story.fetches("0:2 1:1 0:3").passes(99).is_quiet().passes(1).finishes("1:0 0:1", "0:2 1:1");
    story.finishes("0:2 1:1 0:3", "0:4 1:2");
}

#[test]
fn r9_the_parts_of_a_batch_come_before_what_was_read_later() {
    let mut story = Story::owning(isolating(1), &[0]);
    story.fetches("0:0 0:1 0:2 0:3 0:4 0:5").delivers(BATCH).says(fault(FaultClass::Trap));
    story.fetches("0:6").finishes("0:0", "0:1").delivers("0:1 0:2").says(fault(FaultClass::Trap));
    story.finishes("0:1", "0:2").delivers("0:2").says(fault(FaultClass::Trap)).writes("0:2=fault");
    story.written(Ok(())).commits("0:3").commit_ends(Ok(())).finishes("0:3 0:4 0:5", "0:6");
}

#[test]
fn a_contradiction_is_a_fault_and_nothing_of_it_is_done() {
    for answer in [completing(4), completing_rejecting(1, &[1]), super::story::rejecting(&[0, 0])] {
        let mut story = Story::owning(with_letters(), &[0]);
        story.fetches(BATCH).delivers(BATCH).says(answer).passes(100).delivers(BATCH);
        assert!(matches!(story.reports.last(), Some(Report::Waiting { fault: true, .. })), "{:?}", story.reports);
    }
}
