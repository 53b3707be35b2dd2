//! Rules S4, S5, S6 and the operator's commands: pause, resume, retry, another version.

use std::num::NonZeroU32;

use gristmill_core::io::{Input, PluginId, Report};
use gristmill_core::outcome::FaultClass;
use gristmill_core::policy::{Attempts, Exhausted};

use super::story::{Story, by_partition, fault, ok, policy, retryable, retryable_after};

const BATCH: &str = "0:0 0:1 0:2";

#[test]
fn s4_b72_a_swap_lets_the_running_batch_finish_on_the_old_version() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches("0:0 0:1 0:2 0:3 0:4 0:5").delivers(BATCH).feed(Input::PluginReady(PluginId(1))).is_quiet();
    story.says(ok()).commits("0:3").commit_ends(Ok(())).delivers("0:3 0:4 0:5");
    assert_eq!(story.last.as_ref().unwrap().plugin, PluginId(1));
}

#[test]
fn s4_b72_a_batch_that_fails_at_the_swap_is_redone_whole_on_the_new_version() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).feed(Input::PluginReady(PluginId(1))).says(retryable()).passes(100);
    story.delivers(BATCH);
    assert_eq!(story.last.as_ref().unwrap().plugin, PluginId(1));
}

/// The old version works on a batch; the swap clears the budget; then the old version fails.
#[test]
fn s4_r4_what_the_old_version_answers_after_the_swap_spends_nothing_of_the_new_ones_budget() {
    let mut policy = policy();
    policy.retry.attempts = Attempts::Limited { max: NonZeroU32::new(2).unwrap(), then: Exhausted::Stop };
    policy.fault.attempts_max = NonZeroU32::new(1).unwrap();
    for late in [retryable(), retryable_after(60_000), fault(FaultClass::Trap)] {
        let mut story = Story::owning(policy.clone(), &[0]);
        story.fetches(BATCH).delivers(BATCH).feed(Input::PluginReady(PluginId(1))).says(late).delivers(BATCH);
        assert_eq!((story.last.as_ref().unwrap().plugin, story.attempt()), (PluginId(1), 1));
        story.says(retryable()).passes(100).delivers(BATCH);
        assert_eq!(story.attempt(), 2);
        story.says(ok()).commits("0:3");
    }
}

#[test]
fn s4_i27_a_swap_changes_no_position() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches("0:0 0:1");
    for version in 1..=50 {
        story.feed(Input::PluginReady(PluginId(version))).is_quiet();
    }
    story.fetches("0:2").finishes(BATCH, "0:3");
    let switched = story.reports.iter().filter(|report| matches!(report, Report::PluginSwitched { .. })).count();
    assert_eq!(switched, 50);
}

#[test]
fn s4_a_held_batch_takes_the_new_version_at_once() {
    let mut policy = policy();
    policy.retry.attempts = Attempts::Limited { max: NonZeroU32::new(1).unwrap(), then: Exhausted::Hold };
    let mut story = Story::owning(policy, &[0]);
    story.fetches(BATCH).delivers(BATCH).says(retryable()).passes(60_000).is_quiet();
    story.feed(Input::PluginReady(PluginId(1))).finishes(BATCH, "0:3");
}

#[test]
fn s5_b87_a_held_lane_says_why_once_and_wakes_nobody() {
    let mut policy = policy();
    policy.retry.attempts = Attempts::Limited { max: NonZeroU32::new(1).unwrap(), then: Exhausted::Hold };
    let mut story = Story::owning(policy, &[0]);
    story.fetches(BATCH).delivers(BATCH).says(retryable()).fetches("0:3 0:4 0:5").passes(3_600_000).is_quiet();
    assert_eq!((story.holds(), story.wakes_in()), (1, None));
}

#[test]
fn s6_nothing_to_do_means_nothing_to_wake_for() {
    let mut story = Story::new(policy());
    assert_eq!(story.wakes_in(), None, "nothing owned");
    story.assigned(0, gristmill_core::io::StartPosition::Committed(gristmill_core::record::NextOffset(0)));
    assert_eq!(story.wakes_in(), None, "nothing fetched");
    story.fetches(BATCH).delivers(BATCH);
    assert_eq!(story.wakes_in(), None, "a batch is out");
    story.says(ok()).commits("0:3");
    assert_eq!(story.wakes_in(), None, "a commit is under way");
    story.fetches("0:3 0:4 0:5").delivers("0:3 0:4 0:5").says(ok()).fetches("0:6 0:7 0:8");
    assert_eq!(story.wakes_in(), None, "two batches are done and not committed");
    story.commit_ends(Ok(())).commits("0:6").delivers("0:6 0:7 0:8").says(ok()).fetches("0:9").feed(Input::PauseAsked);
    assert_eq!(story.wakes_in(), None, "paused");
}

#[test]
fn i25_a_pause_stops_hand_overs_and_a_resume_starts_them() {
    let mut story = Story::owning(policy(), &[0]);
    story.feed(Input::PauseAsked).fetches("0:0 0:1 0:2 0:3").passes(60_000).is_quiet();
    story.feed(Input::ResumeAsked).finishes(BATCH, "0:3").finishes("0:3", "0:4");
}

#[test]
fn i25_a_pause_holds_back_a_redelivery_but_not_a_commit() {
    let mut story = Story::owning(by_partition(2), &[0, 1]);
    story.fetches("0:0 0:1 0:2 1:0 1:1 1:2").delivers(BATCH).delivers("1:0 1:1 1:2").feed(Input::PauseAsked);
    story.says(retryable()).says(ok()).commits("1:3").commit_ends(Ok(())).passes(60_000).is_quiet();
    story.feed(Input::ResumeAsked).finishes(BATCH, "0:3");
}

#[test]
fn workers_bound_how_many_lanes_are_out_and_none_starves() {
    let mut story = Story::owning(by_partition(1), &[0, 1, 2]);
    story.fetches("0:0 0:1 0:2 0:3 0:4 0:5 1:0 1:1 1:2 2:0 2:1 2:2").delivers(BATCH).is_quiet();
    story.says(ok()).commits("0:3").delivers_one_of(&["1:0 1:1 1:2", "2:0 2:1 2:2"]).commit_ends(Ok(()));
    story.is_quiet().says(ok()).commit_any().delivers_one_of(&["1:0 1:1 1:2", "2:0 2:1 2:2"]);
}
