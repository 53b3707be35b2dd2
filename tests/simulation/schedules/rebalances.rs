//! Rules B1 to B10: partitions that go and come while work is under way.

use gristmill_core::io::{Input, RequestError, StartPosition, StopReason};
use gristmill_core::record::NextOffset;

use super::story::{Story, by_partition, ok, policy, retryable};

const BATCH: &str = "0:0 0:1 0:2";

fn at(next: i64) -> StartPosition {
    StartPosition::Committed(NextOffset(next))
}

#[test]
fn b1_running_work_is_finished_and_committed_before_the_answer() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches("0:0 0:1 0:2 0:3").delivers(BATCH).revoking(1, &[0], 5_000).passes(1_000).is_quiet();
    story.says(ok()).commits("0:3").is_quiet();
    story.commit_ends(Ok(())).answers_revoke(1).passes(60_000).is_quiet();
}

#[test]
fn b1_b4_i23_at_the_deadline_the_answer_comes_whatever_the_guest_does() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).revoking(1, &[0], 5_000).passes(4_999).is_quiet();
    story.passes(1).cancels().answers_revoke(1);
    // The guest finishes all the same: nothing of it is committed any more (I-14).
    story.says(ok()).passes(60_000).is_quiet();
}

#[test]
fn b1_b35_at_the_deadline_the_answer_comes_whatever_the_commit_does() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(ok()).commits("0:3").revoking(1, &[0], 5_000).passes(4_999).is_quiet();
    story.passes(1).answers_revoke(1).commit_ends(Ok(())).is_quiet();
}

#[test]
fn b1_b09_half_filled_batches_of_what_goes_are_dropped_and_the_rest_stays() {
    let mut policy = policy();
    policy.batch.records_max = std::num::NonZeroU32::new(1_000).unwrap();
    let mut story = Story::owning(policy, &[0, 1, 2, 3]);
    story.fetches("0:0 1:0 2:0 3:0 0:1 1:1 2:1 3:1").revoking(1, &[1, 3], 500).answers_revoke(1);
    story.passes(1_000).finishes("0:0 2:0 0:1 2:1", "0:2 2:2").passes(60_000).is_quiet();
}

#[test]
fn b1_a_partition_that_comes_back_starts_anew() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(retryable()).revoking(1, &[0], 500).answers_revoke(1);
    story.assigned(0, at(0)).fetches(BATCH).delivers(BATCH);
    assert_eq!(story.attempt(), 1);
}

#[test]
fn b2_lost_partitions_are_not_committed() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).lost(&[0]).cancels().says(ok()).passes(60_000).is_quiet();
}

#[test]
fn b3_b10_b39_of_a_batch_over_a_kept_and_a_moved_partition_only_the_kept_is_committed() {
    let mut story = Story::owning(policy(), &[0, 1]);
    story.fetches("0:0 1:0 0:1").delivers("0:0 1:0 0:1").revoking(1, &[1], 2_000).passes(2_000).answers_revoke(1);
    story.passes(8_000).says(ok()).commits("0:2").commit_ends(Ok(())).passes(60_000).is_quiet();
}

#[test]
fn b3_of_a_batch_that_finishes_in_time_both_are_committed() {
    let mut story = Story::owning(policy(), &[0, 1]);
    story.fetches("0:0 1:0 0:1").delivers("0:0 1:0 0:1").revoking(1, &[1], 2_000).says(ok()).commits("0:2 1:1");
    story.commit_ends(Ok(())).answers_revoke(1);
}

#[test]
fn b3_a_failed_batch_comes_again_without_what_moved() {
    let mut story = Story::owning(policy(), &[0, 1]);
    story.fetches("0:0 1:0 0:1").delivers("0:0 1:0 0:1").says(retryable()).lost(&[1]).passes(100);
    story.finishes("0:0 0:1", "0:2");
}

#[test]
fn b5_new_partitions_do_not_disturb_a_back_off() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(retryable()).passes(50).assigned(1, at(0)).fetches("1:0 1:1 1:2");
    story.passes(49).is_quiet();
    story.passes(1).finishes(BATCH, "0:3").finishes("1:0 1:1 1:2", "1:3");
}

#[test]
fn b01_b5_records_that_come_while_a_batch_waits_through_a_rebalance_are_kept() {
    let mut story = Story::owning(policy(), &[0, 1]);
    story.fetches("0:0 1:0 0:1").delivers("0:0 1:0 0:1").says(retryable()).fetches("0:2 1:1");
    story.revoking(1, &[], 500).answers_revoke(1).fetches("0:3 1:2").assigned(2, at(0)).fetches("0:4 1:3").passes(100);
    story.finishes("0:0 1:0 0:1", "0:2 1:1").finishes("0:2 1:1 0:3", "0:4 1:2").finishes("1:2 0:4 1:3", "0:5 1:4");
}

#[test]
fn b8_b30_b36_an_evicted_member_commits_nothing_and_goes_on_after_the_next_assignment() {
    let mut story = Story::owning(policy(), &[0, 1]);
    story.fetches("0:0 1:0 0:1").delivers("0:0 1:0 0:1").passes(10_000).lost(&[0, 1]).cancels();
    story.says(ok()).is_quiet();
    story.assigned(0, at(0)).fetches(BATCH).finishes(BATCH, "0:3");
}

#[test]
fn b9_records_that_come_out_after_the_revocation_enter_no_batch() {
    let mut story = Story::owning(policy(), &[0, 1]);
    story.fetches("1:0").delivers_after_wait("1:0").revoking(1, &[0], 5_000);
    story.answers_revoke(1).fetches("0:0 0:1 0:2").says(ok()).commits("1:1").commit_ends(Ok(()));
    story.passes(60_000).is_quiet();
}

#[test]
fn b9_records_under_an_old_assignment_enter_no_batch_of_the_new_one() {
    let mut story = Story::owning(policy(), &[0]);
    story.lost(&[0]).assigned(0, at(3)).fetches_under(1, "0:0 0:1 0:2 0:3").passes(60_000).is_quiet();
    story.fetches("0:3 0:4 0:5").finishes("0:3 0:4 0:5", "0:6");
}

#[test]
fn b10_b96_a_fenced_member_ends_at_once_without_a_commit() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).feed(Input::Fenced).cancels().ends(&StopReason::Fenced);
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(ok()).commits("0:3").commit_ends(Err(RequestError::Fenced));
    story.ends(&StopReason::Fenced);
}

#[test]
fn b76_a_running_batch_is_not_touched_by_rounds_that_take_nothing_of_it() {
    let mut story = Story::owning(by_partition(2), &[0, 1]);
    story.fetches(BATCH).delivers(BATCH);
    for round in 1..=8 {
        story.revoking(round, &[1], 500).answers_revoke(round).assigned(1, at(0));
    }
    story.says(ok()).commits("0:3").commit_ends(Ok(())).is_quiet();
}

#[test]
fn b102_after_a_hundred_rebalances_nothing_is_left_behind() {
    let mut story = Story::owning(by_partition(4), &[]);
    for round in 1..=100 {
        story.assigned(0, at(0)).assigned(1, at(0)).fetches("0:0 1:0").revoking(round, &[0, 1], 500);
        story.answers_revoke(round);
    }
    assert_eq!(story.wakes_in(), None, "I-36: every timer belongs to a living object");
    story.passes(60_000).is_quiet();
}
