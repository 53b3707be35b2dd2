//! Rules C1 to C9: what is committed, when, and what a failed commit means.

use std::num::NonZeroU32;

use gristmill_core::io::{PluginId, Report, RequestError, StartPosition, StopReason};
use gristmill_core::record::NextOffset;

use super::story::{Story, ok, policy, retryable};

const BATCH: &str = "0:0 0:1 0:2";

#[test]
fn c1_b14_the_commit_comes_from_the_batch_not_from_what_was_read_since() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).fetches("0:3 0:4 0:5 0:6 0:7").says(ok()).commits("0:3");
}

#[test]
fn c2_b48_b49_a_temporary_error_is_tried_again_with_spacing_and_the_guest_is_not_called() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(ok()).commits("0:3");
    story.commit_ends(Err(RequestError::Temporary)).passes(99).is_quiet();
    story.passes(1).commits("0:3").commit_ends(Err(RequestError::Temporary)).passes(199).is_quiet();
    story.passes(1).commits("0:3").commit_ends(Ok(())).is_quiet();
}

#[test]
fn c2_b48_giving_a_commit_up_means_reading_again_not_the_end() {
    let mut policy = policy();
    policy.commit.tries_max = NonZeroU32::new(2).unwrap();
    let mut story = Story::owning(policy, &[0]);
    story.fetches(BATCH).delivers(BATCH).says(ok()).commits("0:3").commit_ends(Err(RequestError::Temporary));
    story.passes(100).commits("0:3").commit_ends(Err(RequestError::Temporary));
    story.asks(&[0]).knows(&[(0, Some(0))]).seeks("0:0").sought().fetches(BATCH).finishes(BATCH, "0:3");
}

#[test]
fn c3_b33_not_a_member_any_more_means_lost_not_the_end() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches("0:0 0:1 0:2 0:3 0:4").delivers(BATCH).says(ok()).commits("0:3");
    story.commit_ends(Err(RequestError::NotOurs)).is_quiet();
    // The edge says so as well, a moment later; then the partition comes back.
    story.lost(&[0]).passes(10_000).is_quiet();
    story.assigned(0, StartPosition::Committed(NextOffset(0))).fetches(BATCH).finishes(BATCH, "0:3");
}

#[test]
fn c3_old_news_does_not_touch_the_next_assignment() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(ok()).commits("0:3").lost(&[0]);
    story.assigned(0, StartPosition::Committed(NextOffset(3)));
    story.commit_ends(Err(RequestError::NotOurs)).fetches("0:3 0:4 0:5").finishes("0:3 0:4 0:5", "0:6");
}

#[test]
fn c4_one_commit_at_a_time_and_none_without_progress() {
    let mut story = Story::owning(policy(), &[0]);
    story.assigned(1, StartPosition::Reset(NextOffset(0))).commits("1:0");
    story.fetches("1:0 1:1 1:2").delivers("1:0 1:1 1:2").says(ok()).is_quiet();
    story.commit_ends(Ok(())).commits("1:3").commit_ends(Ok(())).passes(60_000).is_quiet();
}

#[test]
fn c5_i06_an_unknown_outcome_is_looked_up_before_anything_else() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(ok()).commits("0:3").commit_ends(Err(RequestError::Unknown));
    story.passes(100).asks(&[0]).knows(&[(0, Some(3))]).passes(60_000).is_quiet();
    story.fetches("0:3 0:4 0:5").finishes("0:3 0:4 0:5", "0:6");
}

#[test]
fn c5_an_unknown_outcome_that_was_not_done_is_committed_again() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(ok()).commits("0:3").commit_ends(Err(RequestError::Unknown));
    story.passes(100).asks(&[0]).lookup_fails(RequestError::Temporary).passes(200);
    story.asks(&[0]).knows(&[(0, Some(0))]).commits("0:3").commit_ends(Ok(())).is_quiet();
}

#[test]
fn c6_a_batch_that_failed_once_is_committed_though_nothing_more_arrives() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(retryable()).passes(100).finishes(BATCH, "0:3");
}

#[test]
fn c7_the_commit_names_the_version_that_did_the_work() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH);
    // The witness checks version and leader epoch of each commit; this swap happens in the middle of the work.
    story.feed(gristmill_core::io::Input::PluginReady(PluginId(1))).says(ok()).commits("0:3").commit_ends(Ok(()));
    story.fetches("0:3 0:4 0:5").delivers("0:3 0:4 0:5");
    assert_eq!(story.last.as_ref().unwrap().plugin, PluginId(1));
}

#[test]
fn c8_b78_a_start_that_the_reset_policy_chose_is_committed_once() {
    let mut story = Story::new(policy());
    story.assigned(0, StartPosition::Reset(NextOffset(17))).commits("0:17").commit_ends(Err(RequestError::Temporary));
    story.passes(100).commits("0:17").commit_ends(Ok(())).passes(3_600_000).is_quiet();
}

#[test]
fn c9_an_idle_partition_is_never_committed() {
    let mut story = Story::owning(policy(), &[0, 1, 2]);
    story.fetches("1:0 1:1 1:2").finishes("1:0 1:1 1:2", "1:3").passes(3_600_000).is_quiet();
}

#[test]
fn a_commit_refused_for_good_ends_the_machine_without_another_commit() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(ok()).commits("0:3").commit_ends(Err(RequestError::Refused));
    story.ends(&StopReason::CommitRefused);
}

#[test]
fn i37_every_commit_and_every_finished_batch_is_reported_once() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches("0:0 0:1 0:2 0:3 0:4 0:5").finishes(BATCH, "0:3").finishes("0:3 0:4 0:5", "0:6");
    let committed = story.reports.iter().filter(|report| matches!(report, Report::Committed { .. })).count();
    let finished = story.reports.iter().filter(|report| matches!(report, Report::BatchOk { records: 3, .. })).count();
    assert_eq!((committed, finished), (2, 2));
}

#[test]
fn c10_the_marks_behind_a_batch_are_committed_with_it() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).reads_past(0, 4).is_quiet();
    story.says(ok()).commits("0:4").commit_ends(Ok(())).passes(60_000).is_quiet();
}

#[test]
fn c10_marks_that_are_read_when_all_is_done_are_committed_by_themselves() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).finishes(BATCH, "0:3").reads_past(0, 4).commits("0:4").commit_ends(Ok(()));
    // Nothing but aborted transactions.
    story.reads_past(0, 9).commits("0:9").commit_ends(Ok(())).passes(60_000).is_quiet();
    story.fetches("0:9 0:10 0:11").finishes("0:9 0:10 0:11", "0:12");
}

#[test]
fn c10_marks_behind_records_that_are_not_done_wait_for_them() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches("0:0 0:1 0:2 0:4").reads_past(0, 6).delivers(BATCH).is_quiet();
    // A failed batch, and one that is collected, stand before them.
    story.says(retryable()).passes(100).delivers(BATCH).says(ok()).commits("0:3").commit_ends(Ok(()));
    story.delivers_after_wait("0:4").says(ok()).commits("0:6").commit_ends(Ok(())).is_quiet();
}

#[test]
fn c10_the_next_batch_does_not_wait_for_the_commit_of_marks() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).finishes(BATCH, "0:3").reads_past(0, 4).commits("0:4");
    story.fetches("0:4 0:5 0:6").delivers("0:4 0:5 0:6").says(ok()).is_quiet();
    story.commit_ends(Ok(())).commits("0:7").commit_ends(Ok(())).is_quiet();
}

#[test]
fn c10_marks_of_an_older_reading_count_for_nothing() {
    let mut story = Story::owning(policy(), &[0]);
    story.reads_past_under(99, 0, 5).is_quiet();
    story.lost(&[0]).assigned(0, StartPosition::Committed(NextOffset(0)));
    story.reads_past_under(1, 0, 5).is_quiet();
    story.revoking(1, &[0], 1_000).answers_revoke(1).reads_past(0, 5).is_quiet();
}
