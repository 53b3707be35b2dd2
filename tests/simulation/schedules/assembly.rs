//! Rules A1 to A12: when a batch closes, and what is in it.

use std::num::NonZeroU64;
use std::time::Duration;

use gristmill_core::io::{ClosedBy, HeldReason, Report};

use super::story::{Story, ok, policy};
use crate::names::body;

#[test]
fn a1_age_counts_from_the_first_record_however_long_the_lane_was_idle() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches("0:0 0:1 0:2").finishes("0:0 0:1 0:2", "0:3");
    story.passes(4 * 3_600_000).is_quiet();
    story.fetches("0:3").passes(999).is_quiet();
    story.passes(1).delivers("0:3");
}

#[test]
fn a1_later_records_do_not_push_the_wait_out() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches("0:0").passes(600).fetches("0:1").passes(399).is_quiet();
    story.passes(1).delivers("0:0 0:1");
}

#[test]
fn a2_the_last_record_closes_the_batch_at_once() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches("0:0 0:1").is_quiet();
    story.fetches("0:2").delivers("0:0 0:1 0:2");
    assert_eq!(story.last.as_ref().unwrap().closed_by, ClosedBy::Records);
}

#[test]
fn a3_a_record_that_would_exceed_the_bytes_starts_the_next_batch() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches_of("0:0", 600).is_quiet();
    story.fetches_of("0:1", 500).delivers("0:0");
    assert_eq!(story.last.as_ref().unwrap().closed_by, ClosedBy::Bytes);
    story.says(ok()).commits("0:1").commit_ends(Ok(())).is_quiet();
    story.passes(1_000).delivers("0:1");
}

#[test]
fn a4_a_record_above_the_batch_limit_travels_alone() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches_of("0:0", 100).fetches_of("0:1", 5_000).delivers("0:0");
    story.says(ok()).commits("0:1").commit_ends(Ok(())).finishes("0:1", "0:2");
}

#[test]
fn a4_a_record_above_the_hard_cap_holds_and_is_neither_skipped_nor_retried() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches_of("0:0", 10_001).fetches("0:1 0:2 0:3").passes(600_000).is_quiet();
    let held = |report: &Report| matches!(report, Report::Held { reason: HeldReason::RecordTooLarge { .. } });
    assert_eq!(story.reports.iter().filter(|report| held(report)).count(), 1);
}

#[test]
fn a6_a_batch_whose_records_all_went_away_is_not_handed_over() {
    let mut story = Story::owning(policy(), &[0, 1]);
    story.fetches("0:0 0:1").revoking(1, &[0], 500).answers_revoke(1).passes(5_000).is_quiet();
}

#[test]
fn a7_a12_what_a_record_carries_comes_back_as_it_was() {
    let mut story = Story::owning(policy(), &[0, 1]);
    story.fetches("0:0 1:0 0:1").delivers("0:0 1:0 0:1");
    let bodies: Vec<_> = story.last.as_ref().unwrap().records.iter().map(|record| record.body).collect();
    assert_eq!(bodies, [body(0, 0), body(1, 0), body(0, 1)]);
}

#[test]
fn a8_b86_gaps_are_no_failure_and_the_commit_goes_behind_the_last_record() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches("0:0 0:1 0:4").finishes("0:0 0:1 0:4", "0:5");
    story.fetches("0:9 0:17 0:40").finishes("0:9 0:17 0:40", "0:41");
    assert_eq!(story.dropped(), 0);
}

#[test]
fn a9_records_of_a_partition_keep_their_order_between_those_of_others() {
    let mut story = Story::owning(policy(), &[0, 1]);
    story.fetches("1:0 0:0 1:1").finishes("1:0 0:0 1:1", "0:1 1:2");
}

#[test]
fn a10_redelivery_from_memory_is_the_same_batch() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches("0:0 0:1 0:2").delivers("0:0 0:1 0:2");
    let first = story.last.take().unwrap();
    story.says(super::story::retryable()).fetches("0:3 0:4 0:5").passes(100).delivers("0:0 0:1 0:2");
    let second = story.last.take().unwrap();
    assert_eq!((first.batch, first.attempt, second.attempt), (second.batch, 1, 2));
    assert!(std::sync::Arc::ptr_eq(&first.records, &second.records), "the very same records");
}

#[test]
fn a11_no_wait_hands_over_whatever_is_there() {
    let mut policy = policy();
    policy.batch.wait_max = Duration::ZERO;
    let mut story = Story::owning(policy, &[0]);
    story.fetches("0:0").delivers("0:0").fetches("0:1 0:2").is_quiet();
    story.says(ok()).commits("0:1").commit_ends(Ok(())).delivers("0:1 0:2");
}

#[test]
fn a11_b50_a_partly_filled_batch_is_handed_over_though_nothing_more_arrives() {
    let mut policy = policy();
    policy.batch.wait_max = Duration::from_millis(500);
    let mut story = Story::owning(policy, &[0]);
    story.fetches("0:0 0:1");
    assert_eq!(story.wakes_in(), Some(500));
    story.passes(500).delivers("0:0 0:1");
    assert_eq!(story.last.as_ref().unwrap().closed_by, ClosedBy::Wait);
}

#[test]
fn a5_the_size_of_a_batch_is_the_sum_of_its_records() {
    let mut policy = policy();
    policy.batch.bytes_max = NonZeroU64::new(300).unwrap();
    let mut story = Story::owning(policy, &[0]);
    story.fetches_of("0:0", 100).fetches_of("0:1", 150).fetches_of("0:2", 60).delivers("0:0 0:1");
    assert_eq!(story.last.as_ref().unwrap().bytes, 250);
}

#[test]
fn the_next_batch_fills_while_one_is_out() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches("0:0 0:1 0:2").delivers("0:0 0:1 0:2").fetches("0:3 0:4 0:5 0:6").is_quiet();
    story.says(ok()).commits("0:3").delivers("0:3 0:4 0:5").is_quiet();
}
