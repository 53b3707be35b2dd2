//! Bugs of the machine that the simulation found, each told as short as it can be. They never come back unseen.

use std::num::NonZeroU32;

use gristmill_core::io::{HeldReason, Input, OffsetTrouble, Report, RequestError, StartPosition, StopReason};
use gristmill_core::outcome::FaultClass;
use gristmill_core::policy::Exhausted;
use gristmill_core::record::NextOffset;

use super::story::{Story, by_seek, fault, ok, policy, retryable};

const BATCH: &str = "0:0 0:1 0:2";

fn reset(next: i64) -> StartPosition {
    StartPosition::Reset(NextOffset(next))
}

fn unreadable(at: i64) -> OffsetTrouble {
    OffsetTrouble::Unreadable { at: NextOffset(at) }
}

/// A start commit failed; a look-up for a rewind then showed that it had been done. Its back-off stayed and woke the host
/// for ever, and a revocation would have waited for it until the deadline.
#[test]
fn s6_a_look_up_that_shows_a_commit_done_ends_its_back_off() {
    let mut story = Story::new(by_seek());
    story.assigned(0, reset(0)).commits("0:0").commit_ends(Err(RequestError::Temporary));
    story.fetches(BATCH).delivers(BATCH).says(retryable()).asks(&[0]).knows(&[(0, Some(0))]).seeks("0:0").sought();
    story.passes(60_000).is_quiet();
    story.revoking(1, &[0], 5_000).answers_revoke(1);
}

/// A rewind ordered during a revocation or on the way out never runs; its timer woke the host for ever.
#[test]
fn s6_a_rewind_of_what_goes_away_wakes_nobody() {
    let mut story = Story::owning(by_seek(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(retryable()).asks(&[0]).revoking(1, &[], 500).answers_revoke(1);
    story.feed(Input::StopAsked).lookup_fails(RequestError::Temporary).leaves();
    assert_eq!(story.wakes_in(), None);
}

/// A partition was held for its position while a batch with records of it waited in memory. A retry both handed the batch
/// over and read the partition again: the same records in two places.
#[test]
fn i10_a_partition_that_is_read_again_leaves_the_batch_in_memory() {
    let mut story = Story::owning(policy(), &[0, 1]);
    story.fetches("0:0 1:0 0:1").delivers("0:0 1:0 0:1").says(retryable()).troubled(0, unreadable(2));
    story.feed(Input::RetryAsked).asks(&[0]).delivers("1:0").knows(&[(0, Some(0))]).seeks("0:0").sought();
    story.fetches("0:0 0:1 0:2").says(ok()).commits("1:1").commit_ends(Ok(())).finishes(BATCH, "0:3");
}

/// A rewind asked for the committed offset while a guest was still working on records of the partition: the answer led
/// back behind what the guest then finished.
#[test]
fn i06_a_rewind_waits_for_the_guest_and_for_the_commit() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).troubled(0, unreadable(3)).feed(Input::RetryAsked).is_quiet();
    story.says(ok()).commits("0:3").is_quiet();
    story.commit_ends(Ok(())).asks(&[0]).knows(&[(0, Some(3))]).seeks("0:3").sought();
}

/// The same, and the guest fails: nothing of the batch is left in memory, but the delay holds for what is read again.
#[test]
fn r5_a_batch_that_is_read_again_still_waits_for_its_delay() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).troubled(0, unreadable(3)).feed(Input::RetryAsked).says(retryable());
    story.asks(&[0]).knows(&[(0, Some(0))]).seeks("0:0").sought().fetches(BATCH).passes(99).is_quiet();
    story.passes(1).finishes(BATCH, "0:3");
}

/// The same, and the budget is spent: the lane has to be held though nothing of the batch is left in memory.
#[test]
fn i17_a_batch_that_is_read_again_is_still_held() {
    let mut policy = policy();
    policy.fault.attempts_max = NonZeroU32::new(1).unwrap();
    policy.fault.then = Exhausted::Hold;
    let mut story = Story::owning(policy, &[0]);
    story
        .fetches(BATCH)
        .delivers(BATCH)
        .troubled(0, unreadable(3))
        .feed(Input::RetryAsked)
        .says(fault(FaultClass::Trap));
    story.asks(&[0]).knows(&[(0, Some(0))]).seeks("0:0").sought().fetches(BATCH).passes(60_000).is_quiet();
    story.feed(Input::RetryAsked).finishes(BATCH, "0:3");
}

/// Giving a batch's commit up forgot that the start position was not committed either; a crash then met the reset policy.
#[test]
fn c8_giving_a_commit_up_keeps_the_wish_for_the_start() {
    let mut policy = policy();
    policy.commit.tries_max = NonZeroU32::new(1).unwrap();
    let mut story = Story::new(policy);
    story.assigned(0, reset(5)).commits("0:5").commit_ends(Err(RequestError::Temporary));
    story.fetches("0:5 0:6 0:7").delivers("0:5 0:6 0:7").says(ok()).passes(100).commits("0:8");
    story.commit_ends(Err(RequestError::Temporary)).asks(&[0]).knows(&[(0, None)]);
    story
        .seeks("0:5")
        .commits("0:5")
        .sought()
        .commit_ends(Ok(()))
        .fetches("0:5 0:6 0:7")
        .finishes("0:5 0:6 0:7", "0:8");
}

/// A start commit on its way when the batch's own was wished: its failure counted as a try of the batch's.
#[test]
fn c2_tries_belong_to_one_position() {
    let mut policy = policy();
    policy.commit.tries_max = NonZeroU32::new(2).unwrap();
    let mut story = Story::new(policy);
    story.assigned(0, reset(0)).commits("0:0").fetches(BATCH).delivers(BATCH).says(ok());
    story.commit_ends(Err(RequestError::Temporary)).passes(100).commits("0:3");
    story.commit_ends(Err(RequestError::Temporary)).passes(200).commits("0:3").commit_ends(Ok(())).is_quiet();
}

/// The deadline of a revocation took a partition whose commit the lane was settling; nothing woke the lane again.
#[test]
fn i40_a_lane_goes_on_when_a_revocation_takes_what_it_settles() {
    let mut story = Story::owning(policy(), &[0, 1]);
    story.fetches("0:0 0:1 0:2 0:3 0:4 0:5 1:0 1:1 1:2").delivers(BATCH).says(ok()).commits("0:3");
    story.delivers("0:3 0:4 0:5").says(ok()).is_quiet();
    story.revoking(1, &[0], 500).passes(500).answers_revoke(1).finishes("1:0 1:1 1:2", "1:3");
}

/// On the way out a finished batch was given up after some tries though the grace time was not over.
#[test]
fn s1_on_the_way_out_a_commit_is_tried_until_the_grace_time_ends() {
    let mut policy = policy();
    policy.commit.tries_max = NonZeroU32::new(1).unwrap();
    let mut story = Story::owning(policy, &[0]);
    story.fetches(BATCH).delivers(BATCH).feed(Input::StopAsked).says(ok()).commits("0:3");
    story.commit_ends(Err(RequestError::Temporary)).passes(100).commits("0:3").commit_ends(Ok(()));
    story.ends(&StopReason::Asked);
}

/// A look-up that a commit of unknown outcome had asked for was refused for want of membership, and asked again for ever.
#[test]
fn c3_a_look_up_refused_for_membership_means_lost() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(ok()).commits("0:3").commit_ends(Err(RequestError::Unknown));
    story.passes(100).asks(&[0]).lookup_fails(RequestError::NotOurs).passes(60_000).is_quiet();
}

/// A look-up showed a start commit done while another try of it was on its way; that try failed, and its back-off, with
/// nothing left to do, woke the host for ever.
#[test]
fn s6_a_try_that_fails_after_its_commit_was_seen_done_is_not_repeated() {
    let mut story = Story::new(by_seek());
    story.assigned(0, reset(0)).commits("0:0").fetches(BATCH).delivers(BATCH);
    story.commit_ends(Err(RequestError::Temporary)).says(retryable()).asks(&[0]).passes(100).commits("0:0");
    story.knows(&[(0, Some(0))]).seeks("0:0").sought().commit_ends(Err(RequestError::Temporary)).passes(60_000);
    story.is_quiet();
    assert_eq!(story.wakes_in(), None);
}

/// A look-up after a batch's commit of unknown outcome showed that the start was committed after all. Giving the batch up
/// then wished the start once more.
#[test]
fn c9_a_start_that_a_look_up_showed_is_not_committed_again() {
    let mut policy = policy();
    policy.commit.tries_max = NonZeroU32::new(1).unwrap();
    let mut story = Story::new(policy);
    story.assigned(0, reset(0)).commits("0:0").fetches(BATCH).delivers(BATCH).says(ok());
    story.commit_ends(Err(RequestError::Temporary)).passes(100).commits("0:3").commit_ends(Err(RequestError::Unknown));
    story.passes(100).asks(&[0]).knows(&[(0, Some(0))]).asks(&[0]).passes(60_000).is_quiet();
    story.knows(&[(0, Some(0))]).seeks("0:0").sought().fetches(BATCH).finishes(BATCH, "0:3");
}

/// Giving a commit up wished the start again before a look-up had shown that nothing was committed; the commit that was
/// given up had been done, and the start moved the group back.
#[test]
fn i04_the_start_is_wished_again_only_when_nothing_is_committed() {
    let mut policy = policy();
    policy.commit.tries_max = NonZeroU32::new(1).unwrap();
    let mut story = Story::new(policy);
    story.assigned(0, reset(0)).commits("0:0").fetches(BATCH).delivers(BATCH).says(ok());
    story
        .commit_ends(Err(RequestError::Temporary))
        .passes(100)
        .commits("0:3")
        .commit_ends(Err(RequestError::Temporary));
    story.asks(&[0]).lookup_fails(RequestError::Temporary).passes(100).asks(&[0]).knows(&[(0, Some(3))]).seeks("0:3");
    story.sought().passes(60_000).is_quiet();
}

/// A lane was held and its batch given up to memory pressure; its partition moved away and came back, and the lane was
/// still held.
#[test]
fn b1_a_hold_ends_with_the_partition_that_caused_it() {
    let mut policy = policy();
    policy.fault.attempts_max = NonZeroU32::new(1).unwrap();
    policy.fault.then = Exhausted::Hold;
    let mut story = Story::owning(policy, &[0, 1]);
    story.fetches(BATCH).delivers(BATCH).says(fault(FaultClass::Trap)).feed(Input::MemoryShort);
    story.asks(&[0]).knows(&[(0, Some(0))]).seeks("0:0").sought().fetches("1:0 1:1 1:2").is_quiet();
    story.lost(&[0]).finishes("1:0 1:1 1:2", "1:3");
    story.assigned(0, StartPosition::Committed(NextOffset(0))).fetches(BATCH).delivers(BATCH);
}

/// The same with a record larger than the plugin can ever take.
#[test]
fn b1_a_record_that_is_too_large_blocks_nobody_after_it_moved_away() {
    let mut story = Story::owning(policy(), &[0, 1]);
    story.fetches_of("0:0", 10_001).fetches("1:0 1:1 1:2").passes(60_000).is_quiet();
    story.revoking(1, &[0], 500).answers_revoke(1).finishes("1:0 1:1 1:2", "1:3");
    let released = |report: &Report| matches!(report, Report::Released { reason: HeldReason::RecordTooLarge { .. } });
    assert_eq!(
        story.reports.iter().filter(|report| released(report)).count(),
        1,
        "whoever shows the hold hears its end"
    );
}

/// A batch that was lost before its commit was confirmed was counted as committed with the next one.
#[test]
fn i37_records_count_as_committed_once_their_own_commit_is_confirmed() {
    let mut story = Story::owning(policy(), &[0, 1]);
    story.fetches(BATCH).delivers(BATCH).says(ok()).commits("0:3").lost(&[0]).commit_ends(Ok(()));
    story.fetches("1:0 1:1 1:2").finishes("1:0 1:1 1:2", "1:3");
    let records = |report: &Report| if let Report::Committed { records, .. } = report { *records } else { 0 };
    assert_eq!(story.reports.iter().map(records).sum::<u64>(), 3);
}

/// A batch that failed while the process was ending was said to be handed over again.
#[test]
fn s1_a_batch_that_fails_on_the_way_out_is_given_up() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).feed(Input::StopAsked).says(retryable()).ends(&StopReason::Asked);
    let given_up = |report: &Report| matches!(report, Report::GivenUp { attempt: 1, .. });
    assert!(story.reports.iter().any(given_up));
    assert!(!story.reports.iter().any(|report| matches!(report, Report::Waiting { .. })));
}

/// Two partitions of one batch were given up one after the other; the delay holds until both are gone.
#[test]
fn r5_a_delay_holds_for_every_partition_that_is_read_again() {
    let mut story = Story::owning(policy(), &[0, 1]);
    story.fetches("0:0 1:0 0:1").delivers("0:0 1:0 0:1").says(retryable()).feed(Input::MemoryShort).asks(&[0, 1]);
    story.knows(&[(0, Some(0)), (1, Some(0))]).seeks("0:0 1:0").sought().lost(&[1]).fetches(BATCH).passes(99);
    story.is_quiet().passes(1).finishes(BATCH, "0:3");
}
