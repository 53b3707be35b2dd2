//! Rules B1, B2, B3, S1, S2, S4, R3: what happens while something is being written, or while parts of a batch wait.

use gristmill_core::io::{Input, PluginId, Report, StartPosition, StopReason, Unfinished};
use gristmill_core::outcome::FaultClass;
use gristmill_core::policy::{Attempts, Exhausted, Policy, Redeliver};
use gristmill_core::record::NextOffset;

use super::story::{
    Story, by_partition, by_seek, completing_rejecting, fault, isolating, not_now, ok, policy, rejecting, retryable,
    with_letters,
};

const BATCH: &str = "0:0 0:1 0:2";

/// A batch over two partitions whose dead letters are being written.
fn writing() -> Story {
    let mut story = Story::owning(with_letters(), &[0, 1]);
    story.fetches("0:0! 1:0 0:1").delivers("1:0 0:1").says(ok()).writes("0:0=undecodable");
    story
}

/// Faults have one attempt, retryable answers any number.
fn patient() -> Policy {
    let mut policy = isolating(1);
    policy.retry.attempts = Attempts::Unlimited;
    policy
}

/// A batch of six that failed to the last and is cut in halves, of which the first is with the guest.
fn searching(policy: Policy) -> Story {
    let mut policy = policy;
    policy.batch.records_max = std::num::NonZeroU32::new(6).unwrap();
    let attempts = policy.fault.attempts_max.get();
    let mut story = Story::owning(policy, &[0, 1]);
    story.fetches("0:0 1:0 0:1 1:1 0:2 1:2 0:3 1:3");
    for _ in 0..attempts {
        story.passes(100).delivers("0:0 1:0 0:1 1:1 0:2 1:2").says(fault(FaultClass::Trap));
    }
    story.delivers("0:0 1:0 0:1");
    assert!(story.last.as_ref().unwrap().part);
    story
}

fn at(next: i64) -> StartPosition {
    StartPosition::Committed(NextOffset(next))
}

#[test]
fn b1_a_revocation_waits_for_what_is_being_written_and_for_its_commit() {
    let mut story = writing();
    story.revoking(1, &[0, 1], 5_000).passes(1_000).is_quiet().written(Ok(())).commits("0:2 1:1").is_quiet();
    story.commit_ends(Ok(())).answers_revoke(1).passes(60_000).is_quiet();
}

#[test]
fn b1_what_could_not_be_written_does_not_keep_a_revocation() {
    let mut story = writing();
    story.revoking(1, &[0, 1], 5_000).written(not_now()).answers_revoke(1).passes(60_000).is_quiet();
}

#[test]
fn b1_i23_at_the_deadline_a_revocation_is_answered_whatever_is_being_written() {
    let mut story = writing();
    story.revoking(1, &[0, 1], 5_000).passes(4_999).is_quiet().passes(1).answers_revoke(1);
    story.written(Ok(())).passes(60_000).is_quiet();
    // The lane is free for whatever is assigned next.
    story.assigned(0, at(1)).fetches("0:1 0:2 0:3").finishes("0:1 0:2 0:3", "0:4");
}

#[test]
fn b2_what_is_lost_while_it_is_being_written_is_not_committed() {
    let mut story = writing();
    story.lost(&[0, 1]).passes(60_000).is_quiet();
    // It comes back before the brokers' word on the old one: that word is not about the new assignment.
    story.assigned(0, at(0)).fetches("0:0 0:1 0:2").is_quiet().written(Ok(())).delivers("0:1 0:2").says(ok());
    story.writes("0:0=undecodable").written(Ok(())).commits("0:3");
}

#[test]
fn b3_of_what_is_being_written_only_the_kept_half_is_committed() {
    let mut story = writing();
    story.lost(&[0]).written(Ok(())).commits("1:1").commit_ends(Ok(())).passes(60_000).is_quiet();
    let mut story = writing();
    story.revoking(1, &[1], 2_000).passes(2_000).answers_revoke(1).written(Ok(())).commits("0:2");
}

#[test]
fn b3_of_what_could_not_be_written_only_the_kept_half_comes_again() {
    let mut story = writing();
    story.lost(&[1]).written(not_now()).passes(100).delivers("0:1").says(ok()).writes("0:0=undecodable");
    story.written(Ok(())).commits("0:2");
}

#[test]
fn b3_what_went_away_before_the_answer_is_not_put_aside_here() {
    let mut story = Story::owning(with_letters(), &[0, 1]);
    story.fetches("0:0! 1:0 0:1").delivers_after_wait("1:0 0:1").lost(&[0]).says(rejecting(&[0, 1]));
    story.writes("1:0=rejected").written(Ok(())).commits("1:1");
}

#[test]
fn b1_parts_of_what_goes_away_go_with_it_and_the_others_stay() {
    let mut story = searching(isolating(1));
    story.revoking(1, &[0], 5_000).is_quiet().says(ok()).commits("0:2 1:1").delivers("1:1 1:2");
    story
        .commit_ends(Ok(()))
        .answers_revoke(1)
        .says(ok())
        .commits("1:3")
        .commit_ends(Ok(()))
        .passes(1_000)
        .finishes("1:3", "1:4")
        .passes(60_000)
        .is_quiet();
}

#[test]
fn b2_parts_of_what_is_lost_go_with_it() {
    let mut story = searching(isolating(1));
    story.lost(&[0, 1]).cancels().says(fault(FaultClass::Trap)).passes(60_000).is_quiet();
    story.assigned(0, at(0)).fetches(BATCH).passes(1_000).delivers(BATCH);
    assert!(!story.last.as_ref().unwrap().part, "a batch like any other");
    assert_eq!(story.attempt(), 1);
}

#[test]
fn s1_on_the_way_out_what_is_being_written_is_waited_for_and_committed() {
    let mut story = writing();
    story.feed(Input::StopAsked).passes(3_000).is_quiet().written(Ok(())).commits("0:2 1:1").is_quiet();
    story.commit_ends(Ok(())).ends(&StopReason::Asked);
}

#[test]
fn s1_d2_on_the_way_out_nothing_is_written_again_and_nothing_of_it_committed() {
    let mut story = writing();
    story.feed(Input::StopAsked).written(not_now()).ends(&StopReason::Asked);
    assert!(story.reports.iter().any(|report| matches!(report, Report::GivenUp { .. })));
}

#[test]
fn s1_i35_when_the_grace_time_ends_what_is_being_written_is_abandoned_and_called_so() {
    let mut story = writing();
    story.feed(Input::StopAsked).passes(9_999).is_quiet().passes(1);
    story.ends(&StopReason::Abandoned { insisted: false, unfinished: Unfinished::Writing });
}

#[test]
fn s2_the_second_signal_leaves_what_is_being_written_uncommitted() {
    let mut story = writing();
    story.feed(Input::StopAsked).passes(10).feed(Input::StopNowAsked).leaves().written(Ok(())).is_quiet();
    story.feed(Input::Left);
    let mut story = writing();
    story.feed(Input::StopNowAsked).ends(&StopReason::Abandoned { insisted: true, unfinished: Unfinished::Writing });
}

#[test]
fn s1_on_the_way_out_an_answer_with_dead_letters_is_written_and_committed() {
    let mut story = Story::owning(with_letters(), &[0]);
    story.fetches(BATCH).delivers(BATCH).feed(Input::StopAsked).says(rejecting(&[1])).writes("0:1=rejected");
    story.written(Ok(())).commits("0:3").commit_ends(Ok(())).ends(&StopReason::Asked);
}

#[test]
fn s1_on_the_way_out_nothing_is_held() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).feed(Input::StopAsked).says(rejecting(&[1])).ends(&StopReason::Asked);
    assert_eq!(story.holds(), 0, "{:?}", story.reports);
    assert!(story.reports.iter().any(|report| matches!(report, Report::GivenUp { .. })), "{:?}", story.reports);
}

#[test]
fn s1_on_the_way_out_a_part_that_is_done_is_committed_and_the_rest_dropped() {
    let mut story = Story::owning(with_letters(), &[0]);
    story.fetches(BATCH).delivers(BATCH).feed(Input::StopAsked).says(completing_rejecting(2, &[0]));
    story.writes("0:0=rejected").written(Ok(())).commits("0:2").commit_ends(Ok(())).ends(&StopReason::Asked);
}

#[test]
fn s1_on_the_way_out_no_part_is_handed_over_any_more() {
    let mut story = searching(isolating(1));
    story.feed(Input::StopAsked).says(ok()).commits("0:2 1:1").commit_ends(Ok(())).ends(&StopReason::Asked);
    let mut story = searching(isolating(1));
    story.feed(Input::StopAsked).says(fault(FaultClass::Trap)).ends(&StopReason::Asked);
}

#[test]
fn s4_c7_what_is_being_written_is_committed_in_the_name_of_the_version_that_made_it() {
    let mut story = writing();
    story.feed(Input::PluginReady(PluginId(1))).written(Ok(())).commits("0:2 1:1").commit_ends(Ok(()));
    // What could not be written is made anew, by the new version.
    let mut story = writing();
    story.feed(Input::PluginReady(PluginId(1))).written(not_now()).passes(100).delivers("1:0 0:1");
    assert_eq!((story.last.as_ref().unwrap().plugin, story.attempt()), (PluginId(1), 1));
    story.says(ok()).writes("0:0=undecodable");
    assert_eq!(story.production.as_ref().unwrap().plugin, PluginId(1));
}

#[test]
fn s4_while_parts_wait_a_new_version_takes_them_over_and_nobody_is_searched_for_any_more() {
    let mut story = searching(isolating(2));
    story.feed(Input::PluginReady(PluginId(1))).says(fault(FaultClass::Trap)).delivers("0:0 1:0 0:1");
    assert_eq!((story.last.as_ref().unwrap().plugin, story.attempt()), (PluginId(1), 1));
    // It has all of its attempts, and so has the part behind.
    story.says(fault(FaultClass::Trap)).passes(100).finishes("0:0 1:0 0:1", "0:2 1:1").delivers("1:1 0:2 1:2");
    story.says(fault(FaultClass::Trap)).passes(100).finishes("1:1 0:2 1:2", "0:3 1:3");
}

/// The swap comes between a verdict and its writing: the dead letter names the version that failed.
#[test]
fn s4_d3_what_was_put_aside_before_a_swap_names_the_version_that_failed() {
    let mut story = Story::owning(isolating(1), &[0]);
    story.fetches("0:0").delivers_after_wait("0:0").feed(Input::PauseAsked).says(fault(FaultClass::Trap)).is_quiet();
    story.feed(Input::PluginReady(PluginId(1))).feed(Input::ResumeAsked).writes("0:0=fault");
    assert_eq!(story.production.as_ref().unwrap().plugin, PluginId(0));
    story.written(Ok(())).commits("0:1");
}

#[test]
fn i25_a_pause_holds_parts_back_and_wakes_nobody() {
    let mut story = searching(isolating(1));
    story.feed(Input::PauseAsked).says(ok()).commits("0:2 1:1").commit_ends(Ok(())).passes(60_000).is_quiet();
    assert_eq!(story.wakes_in(), None);
    story.feed(Input::ResumeAsked).finishes("1:1 0:2 1:2", "0:3 1:3");
}

#[test]
fn r3_while_parts_wait_short_memory_gives_them_up_and_all_is_read_again() {
    let mut story = searching(patient());
    // This failure is none of the search's: the part waits for its delay, and the other behind it.
    story.says(retryable()).passes(50).is_quiet().feed(Input::MemoryShort).asks(&[0, 1]);
    story.knows(&[(0, Some(0)), (1, Some(0))]).seeks("0:0 1:0").sought();
    story.fetches("0:0 1:0 0:1 1:1 0:2 1:2").passes(49).is_quiet().passes(1);
    story.finishes("0:0 1:0 0:1 1:1 0:2 1:2", "0:3 1:3").passes(60_000).is_quiet();
}

#[test]
fn r3_r9_a_part_that_is_read_again_takes_no_other_partition_with_it() {
    let mut policy = patient();
    policy.retry.redeliver = Redeliver::Seek;
    policy.batch.records_max = std::num::NonZeroU32::new(4).unwrap();
    let mut story = Story::owning(policy, &[0, 1]);
    story.fetches("0:0 0:1 1:0 1:1").delivers("0:0 0:1 1:0 1:1").says(fault(FaultClass::Trap)).delivers("0:0 0:1");
    story.says(retryable()).asks(&[0]).knows(&[(0, Some(0))]).seeks("0:0").sought().fetches("0:0 0:1").passes(100);
    story.finishes("1:0 1:1", "1:2").passes(1_000).finishes("0:0 0:1", "0:2");
}

#[test]
fn r3_r7_by_seek_the_rest_is_read_again_behind_the_part_once_that_is_written_and_committed() {
    let policy = Policy { dead_letters: with_letters().dead_letters, ..by_seek() };
    let mut story = Story::owning(policy.clone(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(completing_rejecting(2, &[0])).writes("0:0=rejected").is_quiet();
    story.written(Ok(())).commits("0:2").is_quiet().commit_ends(Ok(())).asks(&[0]).knows(&[(0, Some(2))]);
    story.seeks("0:2").sought().fetches("0:2").passes(1_000).finishes("0:2", "0:3");
    // Not written, it is not committed, and both are read again.
    let mut story = Story::owning(policy, &[0]);
    story.fetches(BATCH).delivers(BATCH).says(completing_rejecting(2, &[0])).writes("0:0=rejected").written(not_now());
    story.asks(&[0]).knows(&[(0, Some(0))]).seeks("0:0").sought().fetches(BATCH).passes(100).finishes(BATCH, "0:3");
}

#[test]
fn s5_a_retry_of_the_one_record_that_is_held_hands_it_over_like_any_other() {
    let mut policy = isolating(2);
    policy.fault.then = Exhausted::Hold;
    let mut story = Story::owning(policy, &[0]);
    story.fetches(BATCH).delivers(BATCH).says(fault(FaultClass::Trap)).passes(100).delivers(BATCH);
    story.says(fault(FaultClass::Trap)).delivers("0:0").says(fault(FaultClass::Trap)).passes(60_000).is_quiet();
    assert_eq!(story.holds(), 1);
    story.feed(Input::RetryAsked).delivers("0:0");
    assert_eq!(story.attempt(), 1);
    story.says(fault(FaultClass::Trap)).passes(100).finishes("0:0", "0:1").finishes("0:1 0:2", "0:3");
}

#[test]
fn b102_after_a_hundred_rebalances_with_something_being_written_nothing_is_left_behind() {
    let mut policy = by_partition(4);
    policy.dead_letters = with_letters().dead_letters;
    let mut story = Story::owning(policy, &[]);
    for round in 1..=100 {
        story.assigned(0, at(0)).fetches("0:0! 0:1! 0:2!").writes("0:0=undecodable 0:1=undecodable 0:2=undecodable");
        story.revoking(round, &[0], 500).passes(500).answers_revoke(round).written(not_now()).is_quiet();
    }
    assert_eq!(story.wakes_in(), None);
}
