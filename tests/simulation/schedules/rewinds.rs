//! Rules R3 and O1: rewind by seek, and positions that cannot be used.

use gristmill_core::io::{HeldReason, Input, OffsetTrouble, Report, RequestError, StartPosition};
use gristmill_core::record::NextOffset;

use super::story::{Story, by_seek, ok, policy, retryable};

const BATCH: &str = "0:0 0:1 0:2";

#[test]
fn r3_a_rewind_forgets_asks_seeks_and_drops_what_still_arrives() {
    let mut story = Story::owning(by_seek(), &[0]);
    story.fetches("0:0 0:1 0:2 0:3").delivers(BATCH).says(retryable()).asks(&[0]);
    story.fetches("0:4 0:5").knows(&[(0, Some(0))]).seeks("0:0").fetches("0:6").sought();
    assert_eq!(story.dropped(), 3);
    story.fetches("0:0 0:1 0:2 0:3 0:4 0:5").passes(100).finishes(BATCH, "0:3").finishes("0:3 0:4 0:5", "0:6");
}

#[test]
fn r3_a_record_fetched_before_the_seek_makes_no_hole() {
    let mut story = Story::owning(by_seek(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(retryable()).asks(&[0]).knows(&[(0, Some(0))]).seeks("0:0").sought();
    // On its way since before the seek, with the epoch of then.
    story.fetches_under(1, "0:3 0:4 0:5").passes(60_000).is_quiet();
    story.fetches("0:0 0:1 0:2 0:3").finishes(BATCH, "0:3");
}

#[test]
fn r3_b02_a_look_up_that_fails_is_asked_again_for_ever() {
    let mut story = Story::new(by_seek());
    story.assigned(0, StartPosition::Committed(NextOffset(50)));
    story.fetches("0:50 0:51 0:52").delivers("0:50 0:51 0:52").says(retryable()).asks(&[0]);
    for wait in [100, 200, 400, 800] {
        story.lookup_fails(RequestError::Temporary).passes(wait - 1).is_quiet();
        story.passes(1).asks(&[0]);
    }
    story.knows(&[(0, Some(50))]).seeks("0:50").sought().fetches("0:50 0:51 0:52").delivers("0:50 0:51 0:52");
}

#[test]
fn r3_b03_with_nothing_committed_the_rewind_goes_to_where_this_session_began() {
    let mut story = Story::new(by_seek());
    story.assigned(0, StartPosition::Reset(NextOffset(7))).commits("0:7");
    story.fetches("0:7 0:8 0:9").delivers("0:7 0:8 0:9").commit_ends(Err(RequestError::Temporary)).says(retryable());
    story.asks(&[0]).knows(&[(0, None)]).seeks("0:7").sought().fetches("0:7 0:8 0:9");
    story.passes(100).commits("0:7").delivers("0:7 0:8 0:9").commit_ends(Ok(())).says(ok()).commits("0:10");
}

#[test]
fn r3_b04_b43_nothing_is_handed_over_until_the_seek_has_worked() {
    let mut story = Story::owning(by_seek(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(retryable()).asks(&[0]).knows(&[(0, Some(0))]).seeks("0:0");
    // The edge goes on reading where it stood.
    story.sought_except(&[0]).fetches("0:3 0:4 0:5").passes(99).is_quiet();
    story.passes(1).seeks("0:0").sought_except(&[0]).fetches("0:6 0:7 0:8").passes(200);
    story.seeks("0:0").sought().fetches(BATCH).finishes(BATCH, "0:3");
}

#[test]
fn r3_b05_each_partition_of_a_seek_counts_for_itself() {
    let mut story = Story::owning(by_seek(), &[0, 1, 2]);
    story.fetches("0:0 1:0 2:0").delivers("0:0 1:0 2:0").says(retryable()).asks(&[0, 1, 2]);
    story.knows(&[(0, Some(0)), (1, Some(0)), (2, Some(0))]).seeks("0:0 1:0 2:0").sought_except(&[1]);
    story.fetches("0:0 2:0 1:1 1:2 1:3").passes(100).seeks("1:0").sought().fetches("1:0");
    story.finishes("0:0 2:0 1:0", "0:1 1:1 2:1");
}

#[test]
fn b08_after_a_rewind_neither_the_kept_batch_nor_its_end_comes_back() {
    let mut policy = policy();
    policy.commit.tries_max = std::num::NonZeroU32::new(1).unwrap();
    let mut story = Story::owning(policy, &[0]);
    story.fetches(BATCH).delivers(BATCH).says(ok()).commits("0:3").commit_ends(Err(RequestError::Temporary));
    story.asks(&[0]).knows(&[(0, Some(0))]).seeks("0:0").sought().passes(2_000).is_quiet();
    story.fetches("0:0").passes(1_000).finishes("0:0", "0:1");
}

#[test]
fn b42_a_rewind_skips_what_is_gone_by_then() {
    let mut story = Story::owning(by_seek(), &[0, 1]);
    story.fetches("0:0 1:0 0:1").delivers("0:0 1:0 0:1").says(retryable()).asks(&[0, 1]);
    story.lost(&[1]).knows(&[(0, Some(0)), (1, Some(0))]).seeks("0:0").sought().fetches(BATCH).passes(100);
    story.finishes(BATCH, "0:3");
}

#[test]
fn r3_a_late_commit_of_another_owner_does_not_lead_back_behind_what_was_confirmed() {
    let mut story = Story::owning(by_seek(), &[0]);
    story.fetches(BATCH).finishes(BATCH, "0:3").fetches("0:3 0:4 0:5").delivers("0:3 0:4 0:5").says(retryable());
    story.asks(&[0]).knows(&[(0, Some(1))]).seeks("0:3");
}

#[test]
fn memory_short_turns_a_waiting_batch_into_a_rewind() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(retryable()).feed(Input::MemoryShort);
    story.asks(&[0]).knows(&[(0, Some(0))]).seeks("0:0").sought().fetches(BATCH).is_quiet();
    story.passes(100).finishes(BATCH, "0:3");
}

#[test]
fn o1_b12_a_position_outside_the_log_holds_the_partition_and_never_jumps() {
    let mut story = Story::owning(policy(), &[0, 1]);
    let trouble =
        OffsetTrouble::OutOfRange { wanted: NextOffset(0), low: Some(NextOffset(50)), high: Some(NextOffset(100)) };
    story.troubled(0, trouble).fetches("1:0 1:1 1:2").finishes("1:0 1:1 1:2", "1:3").passes(600_000).is_quiet();
    let reason = HeldReason::Offset { partition: crate::names::partition(0), trouble };
    assert!(story.reports.contains(&Report::Held { reason }), "the reason names from and to");
    // The operator moved the group's offset, and asks again.
    story.feed(Input::RetryAsked).asks(&[0]).knows(&[(0, Some(50))]).seeks("0:50").sought();
    story.fetches("0:50 0:51 0:52").finishes("0:50 0:51 0:52", "0:53");
}

#[test]
fn o1_b56_an_unusable_start_holds_from_the_start_and_commits_nothing() {
    let mut story = Story::new(policy());
    story.assigned(0, StartPosition::Unusable(OffsetTrouble::NothingCommitted)).passes(600_000).is_quiet();
    assert_eq!(story.holds(), 1);
    story.feed(Input::RetryAsked).asks(&[0]).knows(&[(0, None)]).is_quiet();
    assert_eq!(story.holds(), 2, "still nothing committed: held again");
    story.feed(Input::RetryAsked).asks(&[0]).knows(&[(0, Some(4))]).seeks("0:4").sought();
    story.fetches("0:4 0:5 0:6").finishes("0:4 0:5 0:6", "0:7");
}

#[test]
fn o1_what_was_read_before_the_trouble_is_still_handed_over() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches("0:0 0:1").troubled(0, OffsetTrouble::Unreadable { at: NextOffset(2) }).passes(1_000);
    story.finishes("0:0 0:1", "0:2").passes(600_000).is_quiet();
}
