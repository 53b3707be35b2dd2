//! Rule R8: what may be with the guest while a commit is under way, and what becomes of it when that commit fails.

use std::num::NonZeroU32;

use gristmill_core::io::{Input, Report, RequestError, StopReason};

use super::story::{Story, by_partition, by_seek, emitting, fatal, ok, policy, retryable};

const FIRST: &str = "0:0 0:1 0:2";
const SECOND: &str = "0:3 0:4 0:5";
const THIRD: &str = "0:6 0:7 0:8";

/// One batch is done and its commit under way, the next one is with the guest, and a third one waits.
fn one_behind_the_other(policy: gristmill_core::policy::Policy) -> Story {
    let mut story = Story::owning(policy, &[0]);
    story.fetches(&format!("{FIRST} {SECOND} {THIRD}")).delivers(FIRST).says(ok()).commits("0:3").delivers(SECOND);
    story
}

/// A commit has this many tries.
fn trying(tries: u32) -> gristmill_core::policy::Policy {
    let mut policy = policy();
    policy.commit.tries_max = NonZeroU32::new(tries).unwrap();
    policy
}

fn committed(report: &Report) -> Option<u64> {
    if let Report::Committed { records, .. } = report { Some(*records) } else { None }
}

#[test]
fn r8_a_commit_under_way_does_not_stop_the_next_hand_over() {
    let mut story = one_behind_the_other(policy());
    story.is_quiet().commit_ends(Ok(())).says(ok()).commits("0:6").delivers(THIRD);
}

#[test]
fn r8_no_third_batch_is_handed_over_before_the_first_is_committed() {
    let mut story = one_behind_the_other(policy());
    story.says(ok()).passes(60_000).is_quiet().commit_ends(Ok(())).commits("0:6").delivers(THIRD);
    story.says(ok()).is_quiet().commit_ends(Ok(())).commits("0:9").commit_ends(Ok(())).is_quiet();
}

#[test]
fn r8_what_is_written_for_the_next_batch_is_written_before_its_own_commit() {
    let mut story = one_behind_the_other(policy());
    story.says(emitting(1)).writes_emitted("").commit_ends(Ok(())).passes(1_000).is_quiet();
    story.written(Ok(())).commits("0:6").delivers(THIRD);
}

#[test]
fn r8_after_a_commit_that_failed_nothing_is_handed_over_until_one_worked() {
    let mut story = one_behind_the_other(policy());
    story.commit_ends(Err(RequestError::Temporary)).says(ok()).passes(99).is_quiet();
    // One commit speaks for both.
    story.passes(1).commits("0:6").passes(1_000).is_quiet().commit_ends(Ok(())).delivers(THIRD);
}

#[test]
fn r8_after_a_commit_of_unknown_outcome_nothing_is_handed_over_until_it_is_known() {
    let mut story = one_behind_the_other(policy());
    story.commit_ends(Err(RequestError::Unknown)).says(ok()).passes(99).is_quiet().passes(1).asks(&[0]);
    story.knows(&[(0, Some(3))]).commits("0:6").delivers(THIRD).commit_ends(Ok(())).is_quiet();
}

#[test]
fn r8_a_failed_batch_does_not_come_again_while_the_commit_before_it_fails() {
    let mut story = one_behind_the_other(policy());
    story.commit_ends(Err(RequestError::Temporary)).passes(99).says(retryable()).passes(1).commits("0:3");
    story.commit_ends(Err(RequestError::Temporary)).passes(199).is_quiet();
    story.passes(1).commits("0:3").is_quiet().commit_ends(Ok(())).delivers(SECOND);
}

#[test]
fn c2_a_commit_is_not_given_up_while_the_next_batch_may_still_be_done() {
    let mut story = one_behind_the_other(trying(1));
    story.commit_ends(Err(RequestError::Temporary)).passes(100).commits("0:3");
    story.commit_ends(Err(RequestError::Temporary)).says(ok()).passes(200).commits("0:6").commit_ends(Ok(()));
    story.delivers(THIRD);
    assert_eq!(story.reports.iter().filter_map(committed).sum::<u64>(), 6, "those of both batches");
}

#[test]
fn i37_each_commit_counts_its_own_records_though_the_next_batch_is_done_by_then() {
    let mut story = one_behind_the_other(policy());
    story.says(ok()).commit_ends(Ok(())).commits("0:6").delivers(THIRD).says(ok()).commit_ends(Ok(())).commits("0:9");
    let counts: Vec<u64> = story.reports.iter().filter_map(committed).collect();
    assert_eq!(counts, [3, 3], "the third is on its way");
}

#[test]
fn c2_a_commit_is_given_up_once_the_next_batch_failed_and_both_are_read_again() {
    let mut story = one_behind_the_other(trying(1));
    story.commit_ends(Err(RequestError::Temporary)).says(retryable()).passes(100).asks(&[0]);
    story.knows(&[(0, Some(0))]).seeks("0:0").sought().fetches(&format!("{FIRST} {SECOND}"));
    story.delivers(FIRST).says(ok()).commits("0:3").delivers(SECOND);
}

#[test]
fn c3_a_member_no_longer_gives_up_what_the_guest_works_on() {
    let mut story = one_behind_the_other(policy());
    story.commit_ends(Err(RequestError::NotOurs)).cancels().says(ok()).passes(60_000).is_quiet();
}

#[test]
fn b1_a_revocation_waits_for_the_commit_and_for_the_batch_behind_it() {
    let mut story = one_behind_the_other(policy());
    story.revoking(1, &[0], 5_000).is_quiet().commit_ends(Ok(())).is_quiet().says(ok()).commits("0:6");
    story.commit_ends(Ok(())).answers_revoke(1);
}

#[test]
fn f1_a_fatal_batch_does_not_take_the_commit_before_it_along() {
    let mut story = one_behind_the_other(policy());
    story.says(fatal()).is_quiet().commit_ends(Ok(()));
    story.ends(&StopReason::Fatal { reason: "poison".to_owned() });
}

#[test]
fn s1_a_stop_waits_for_both() {
    let mut story = one_behind_the_other(policy());
    story.feed(Input::StopAsked).says(ok()).is_quiet().commit_ends(Ok(())).commits("0:6").commit_ends(Ok(()));
    story.ends(&StopReason::Asked);
}

#[test]
fn r3_a_rewind_by_seek_waits_for_the_commit_before_the_batch_that_failed() {
    let mut story = one_behind_the_other(by_seek());
    story.says(retryable()).passes(1_000).is_quiet().commit_ends(Ok(())).asks(&[0]).knows(&[(0, Some(3))]);
    story.seeks("0:3").sought().fetches(SECOND).delivers(SECOND);
}

#[test]
fn r8_each_lane_has_a_commit_of_its_own_under_way() {
    let mut story = Story::owning(by_partition(2), &[0, 1]);
    story.fetches("0:0 0:1 0:2 0:3 0:4 0:5 1:0 1:1 1:2 1:3 1:4 1:5").delivers(FIRST).delivers("1:0 1:1 1:2");
    story.says(ok()).commits("0:3").delivers(SECOND).commit_ends(Err(RequestError::Temporary));
    // The other partition goes on.
    story.says(ok()).commits("1:3").delivers("1:3 1:4 1:5").says(ok()).is_quiet();
}
