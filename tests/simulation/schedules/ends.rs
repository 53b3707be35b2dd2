//! Rules S1 and S2: the way out.

use gristmill_core::io::{Input, RequestError, StopReason, Unfinished};

use super::story::{Story, fatal, ok, policy, retryable};

const BATCH: &str = "0:0 0:1 0:2";

#[test]
fn s1_idle_leaves_at_once() {
    let mut story = Story::owning(policy(), &[0]);
    story.feed(Input::StopAsked).ends(&StopReason::Asked);
}

#[test]
fn s1_b73_the_running_batch_finishes_and_is_committed_and_the_half_built_one_is_dropped() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches("0:0 0:1 0:2 0:3 0:4").delivers(BATCH).feed(Input::StopAsked).passes(3_000).is_quiet();
    story.says(ok()).commits("0:3").is_quiet();
    story.commit_ends(Ok(())).ends(&StopReason::Asked);
}

#[test]
fn s1_b73_an_answer_that_comes_with_the_signal_is_committed() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(ok()).commits("0:3").feed(Input::StopAsked).is_quiet();
    story.commit_ends(Err(RequestError::Temporary)).passes(100).commits("0:3").commit_ends(Ok(()));
    story.ends(&StopReason::Asked);
}

#[test]
fn s1_i35_when_the_grace_time_ends_the_batch_is_abandoned() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).feed(Input::StopAsked).passes(9_999).is_quiet();
    story.passes(1).cancels().ends(&StopReason::Abandoned { insisted: false, unfinished: Unfinished::Batch });
}

#[test]
fn s1_i35_when_the_grace_time_ends_a_commit_without_an_answer_is_not_taken_for_a_batch() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).feed(Input::StopAsked).says(ok()).commits("0:3").passes(9_999).is_quiet();
    story.passes(1).ends(&StopReason::Abandoned { insisted: false, unfinished: Unfinished::Commit });
}

#[test]
fn s2_what_the_second_signal_cuts_off_is_told_apart() {
    let mut with_guest = Story::owning(policy(), &[0]);
    with_guest.fetches(BATCH).delivers(BATCH).feed(Input::StopAsked).feed(Input::StopNowAsked).cancels();
    with_guest.ends(&StopReason::Abandoned { insisted: true, unfinished: Unfinished::Batch });
    let mut committing = Story::owning(policy(), &[0]);
    committing.fetches(BATCH).delivers(BATCH).says(ok()).commits("0:3").feed(Input::StopNowAsked);
    committing.ends(&StopReason::Abandoned { insisted: true, unfinished: Unfinished::Commit });
}

#[test]
fn s1_a_batch_that_fails_on_the_way_out_is_not_handed_over_again() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).feed(Input::StopAsked).says(retryable()).ends(&StopReason::Asked);
}

#[test]
fn s1_a_commit_whose_next_try_lies_behind_the_grace_time_is_tried_now() {
    let mut policy = policy();
    policy.commit.backoff.initial = std::time::Duration::from_secs(30);
    let mut story = Story::owning(policy, &[0]);
    story.fetches(BATCH).delivers(BATCH).says(ok()).commits("0:3").commit_ends(Err(RequestError::Temporary));
    story.feed(Input::StopAsked).commits("0:3").commit_ends(Ok(())).ends(&StopReason::Asked);
}

#[test]
fn s2_the_second_signal_leaves_at_once_and_commits_nothing_unfinished() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).feed(Input::StopAsked).passes(10).feed(Input::StopNowAsked).cancels();
    story.leaves().says(ok()).is_quiet().feed(Input::Left);
}

#[test]
fn i35_the_first_cause_wins() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(fatal()).feed(Input::StopAsked).feed(Input::StopNowAsked);
    story.ends(&StopReason::Fatal { reason: "poison".to_owned() });
}

#[test]
fn b1_a_revocation_that_comes_while_leaving_is_answered() {
    let mut story = Story::owning(policy(), &[0]);
    story.feed(Input::StopAsked).leaves().revoking(1, &[0], 500).answers_revoke(1).feed(Input::Left);
}

#[test]
fn s6_on_the_way_out_nothing_is_tried_again() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(ok()).commits("0:3").feed(Input::StopNowAsked).leaves();
    story.commit_ends(Err(RequestError::Temporary)).passes(60_000).is_quiet();
    assert_eq!(story.wakes_in(), None);
}
