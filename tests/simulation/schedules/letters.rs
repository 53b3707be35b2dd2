//! Rules D1, D2, D8, D9, A4, A6: what is written before a commit, and what follows when it is not.

use std::num::NonZeroU32;

use gristmill_core::io::{HeldReason, Input, LetterClass, PluginId, Report, StopReason};
use gristmill_core::policy::{Attempts, DeadLetterPolicy, Exhausted, FatalPolicy, Share};

use super::story::{
    Story, by_partition, emitting, fatal, never, not_now, ok, policy, rejecting, retryable, with_letters,
};
use crate::names::body;

const BATCH: &str = "0:0 0:1 0:2";

#[test]
fn d1_b11_nothing_is_committed_before_the_brokers_have_the_dead_letter() {
    let mut story = Story::owning(with_letters(), &[0]);
    story.fetches("0:0 0:1! 0:2").delivers("0:0 0:2").says(ok()).writes("0:1=undecodable");
    story.passes(3_600_000).is_quiet();
    story.written(Ok(())).commits("0:3").commit_ends(Ok(()));
    // Whoever dies before starts again where the record still lies.
    let mut story = Story::owning(with_letters(), &[0]);
    story.fetches("0:0 0:1! 0:2").delivers("0:0 0:2").says(ok()).writes("0:1=undecodable").feed(Input::StopNowAsked);
    story.leaves().written(Ok(())).is_quiet();
}

#[test]
fn d1_a_production_of_unknown_end_is_none() {
    // The edge tells a production without an answer as one that failed for now; some of it may have been written.
    let mut story = Story::owning(with_letters(), &[0]);
    story.fetches("0:0 0:1! 0:2").delivers("0:0 0:2").says(ok()).writes("0:1=undecodable").written(not_now());
    story.passes(99).is_quiet().passes(1).delivers("0:0 0:2").says(ok()).writes("0:1=undecodable");
    story.written(Ok(())).commits("0:3");
}

#[test]
fn d1_the_word_on_another_production_counts_for_nothing() {
    let mut story = Story::owning(with_letters(), &[0]);
    story.fetches("0:0! 0:1 0:2").delivers("0:1 0:2").says(ok()).writes("0:0=undecodable").written(not_now());
    // The same word comes again, late, and then the other one.
    story.written(Ok(())).is_quiet().written(not_now()).passes(100).delivers("0:1 0:2").says(ok());
    story.writes("0:0=undecodable").passes(1_000).is_quiet();
    story.written(Ok(())).commits("0:3");
}

#[test]
fn d1_what_a_batch_emits_is_written_before_its_commit_and_with_its_letters() {
    let mut story = Story::owning(with_letters(), &[0]);
    story.fetches("0:0 0:1! 0:2").delivers("0:0 0:2").says(emitting(5)).writes_emitted("0:1=undecodable");
    story.passes(60_000).is_quiet();
    story.written(Ok(())).commits("0:3").commit_ends(Ok(()));
    let (batch, letters) = (gristmill_core::io::BatchId(1), vec![LetterClass::Undecodable]);
    let produced = Report::Produced { batch, letters, emitted: 5 };
    assert!(story.reports.contains(&produced));
    story.fetches("0:3 0:4 0:5").delivers("0:3 0:4 0:5").says(emitting(1)).writes_emitted("");
    story.written(Ok(())).commits("0:6");
}

#[test]
fn d1_what_a_batch_emits_needs_no_place_for_dead_letters() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(emitting(2)).writes_emitted("").written(Ok(())).commits("0:3");
}

#[test]
fn d2_b62_a_failed_writing_makes_the_batch_come_again_with_spacing_and_counts_as_no_attempt() {
    let mut policy = with_letters();
    policy.retry.attempts = Attempts::Limited { max: NonZeroU32::new(2).unwrap(), then: Exhausted::Stop };
    let mut story = Story::owning(policy, &[0]);
    story.fetches(BATCH);
    for wait in [100, 200, 400, 800, 1_600] {
        story.delivers(BATCH);
        assert_eq!(story.attempt(), 1);
        story.says(rejecting(&[1])).writes("0:1=rejected").written(not_now()).passes(wait - 1).is_quiet().passes(1);
    }
    // An attempt that fails meanwhile counts as ever, and one that is written ends the row.
    story.delivers(BATCH).says(retryable()).passes(100).delivers(BATCH);
    assert_eq!(story.attempt(), 2);
    story.says(rejecting(&[1])).writes("0:1=rejected").written(Ok(())).commits("0:3").commit_ends(Ok(()));
    story.fetches("0:3! 0:4 0:5").delivers("0:4 0:5").says(ok()).writes("0:3=undecodable").written(not_now());
    story.passes(100).delivers("0:4 0:5");
}

#[test]
fn d2_what_another_attempt_emitted_is_not_written() {
    let mut story = Story::owning(with_letters(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(emitting(1)).writes_emitted("").written(not_now());
    story.passes(100).delivers(BATCH).says(emitting(2)).writes_emitted("").written(not_now());
    // This time nothing is emitted, and nothing is left to wait for.
    story.passes(200).delivers(BATCH).says(ok()).commits("0:3");
}

#[test]
fn d2_a_refused_writing_holds_and_a_retry_hands_over_again() {
    let mut story = Story::owning(with_letters(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(rejecting(&[0])).writes("0:0=rejected").written(never());
    story.fetches("0:3 0:4 0:5").passes(3_600_000).is_quiet();
    assert_eq!((story.holds(), story.wakes_in()), (1, None));
    assert!(matches!(story.held(), HeldReason::NotWritten { reason, .. } if reason == "not authorised"));
    story.feed(Input::RetryAsked).delivers(BATCH).says(rejecting(&[0])).writes("0:0=rejected").written(Ok(()));
    story.commits("0:3").commit_ends(Ok(())).delivers("0:3 0:4 0:5");
}

#[test]
fn d3_a_dead_letter_is_the_record_as_it_was_read_and_says_why() {
    let mut story = Story::owning(with_letters(), &[0]);
    story.fetches(BATCH).delivers(BATCH).says(retryable()).passes(100).delivers(BATCH).says(rejecting(&[1]));
    story.writes("0:1=rejected");
    assert_eq!(story.letters()[0].record.body, body(0, 1));
    let verdict = story.verdict();
    assert_eq!((verdict.reason.as_str(), verdict.attempts, verdict.path.as_slice()), ("no good", 2, [].as_slice()));
}

#[test]
fn d9_a4_a_record_that_no_guest_can_take_is_never_handed_over_and_an_empty_one_is_not_such_a_record() {
    let mut story = Story::owning(with_letters(), &[0]);
    // 0:1 holds more than the plugin can take, 0:2 nothing at all.
    story.fetches_of("0:2", 0).fetches("0:3!").fetches_of("0:4", 10_001).delivers("0:2").says(retryable());
    story.passes(100).delivers("0:2").says(ok()).writes("0:3=undecodable 0:4=too-large").written(Ok(()));
    story.commits("0:5");
    assert_eq!(story.letters().iter().map(|letter| letter.verdict.attempts).max(), Some(0), "nobody tried");
}

#[test]
fn a4_what_no_guest_can_take_takes_no_room_from_what_one_can() {
    let mut story = Story::owning(with_letters(), &[0]);
    story.fetches_of("0:0!", 900).fetches_of("0:1", 600).fetches_of("0:2", 400).delivers("0:1 0:2");
    story.says(ok()).writes("0:0=undecodable").written(Ok(())).commits("0:3");
}

/// The host keeps it all the same, and what it may keep is bounded: a batch of what no guest can take does not wait for its time.
#[test]
fn a4_i33_what_no_guest_can_take_closes_a_batch_by_its_bytes_and_is_written_at_once() {
    let mut story = Story::owning(with_letters(), &[0]);
    story.fetches_of("0:0!", 600).is_quiet().fetches_of("0:1!", 400).writes("0:0=undecodable 0:1=undecodable");
    story.written(Ok(())).commits("0:2").commit_ends(Ok(()));
    story.fetches_of("0:2", 20_000).writes("0:2=too-large").written(Ok(())).commits("0:3");
}

#[test]
fn a6_b59_where_every_record_is_bad_no_guest_is_called_and_the_offsets_are_committed() {
    let mut story = Story::owning(with_letters(), &[0]);
    story.fetches("0:0! 0:1! 0:2!").writes("0:0=undecodable 0:1=undecodable 0:2=undecodable").is_quiet();
    story.written(Ok(())).commits("0:3").commit_ends(Ok(())).passes(60_000).is_quiet();
    assert!(story.last.is_none(), "nothing was handed over");
}

#[test]
fn a6_d2_where_every_record_is_bad_a_failed_writing_is_written_again_without_a_guest() {
    let mut story = Story::owning(with_letters(), &[0]);
    story.fetches("0:0! 0:1! 0:2!").writes("0:0=undecodable 0:1=undecodable 0:2=undecodable").written(not_now());
    story.passes(99).is_quiet().passes(1).writes("0:0=undecodable 0:1=undecodable 0:2=undecodable").written(Ok(()));
    story.commits("0:3");
}

#[test]
fn b59_the_others_are_handed_over_in_order_in_one_call_and_the_commit_covers_all() {
    let mut policy = with_letters();
    policy.batch.records_max = NonZeroU32::new(5).unwrap();
    let mut story = Story::owning(policy, &[0]);
    story.fetches("0:1 0:2 0:3! 0:4 0:5").delivers("0:1 0:2 0:4 0:5").says(ok()).writes("0:3=undecodable");
    story.written(Ok(())).commits("0:6").commit_ends(Ok(())).passes(60_000).is_quiet();
}

#[test]
fn b58_without_a_place_for_dead_letters_an_undecodable_record_is_held_and_nothing_spins() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches("0:0 0:1! 0:2").finishes("0:0", "0:1").passes(3_600_000).is_quiet();
    assert_eq!((story.holds(), story.wakes_in()), (1, None));
    assert!(matches!(story.held(), HeldReason::Undecodable { facts } if facts.offset.0 == 1));
    // Whoever asks again is told again, once each time, and nothing is skipped.
    for asked in 2..=10 {
        story.feed(Input::RetryAsked).skips("away with it").passes(60_000).is_quiet();
        assert_eq!((story.holds(), story.wakes_in()), (asked, None));
    }
}

#[test]
fn b58_without_a_place_for_dead_letters_a_rejected_record_holds_its_batch() {
    let mut story = Story::owning(policy(), &[0]);
    story.fetches("0:0 0:1 0:2 0:3").delivers(BATCH).says(rejecting(&[2, 1])).passes(3_600_000).is_quiet();
    assert_eq!((story.holds(), story.wakes_in()), (1, None));
    let held = story.held().clone();
    assert!(matches!(held, HeldReason::Rejected { facts, reason, .. } if facts.offset.0 == 1 && reason == "no good"));
    story.skips("away with it").is_quiet();
    story.feed(Input::PluginReady(PluginId(1))).finishes(BATCH, "0:3");
}

#[test]
fn b58_what_no_guest_can_take_holds_only_its_own_lane() {
    let mut story = Story::owning(by_partition(2), &[0, 1]);
    story.fetches("0:0! 1:0 1:1 1:2").finishes("1:0 1:1 1:2", "1:3").passes(60_000).is_quiet();
    story.lost(&[0]);
    assert!(story.reports.iter().any(|report| matches!(report, Report::Released { .. })), "it went away");
}

#[test]
fn d8_b63_so_many_in_a_row_end_the_host_and_nothing_of_that_batch_is_written_or_committed() {
    let consecutive_max = NonZeroU32::new(4);
    let policy = gristmill_core::policy::Policy {
        dead_letters: Some(DeadLetterPolicy { consecutive_max, share_max: None }),
        ..policy()
    };
    let mut story = Story::owning(policy, &[0, 1]);
    story.fetches("0:0 0:1! 0:2!").delivers("0:0").says(ok()).writes("0:1=undecodable 0:2=undecodable");
    story.written(Ok(())).commits("0:3").commit_ends(Ok(()));
    // What lies between them in another partition interrupts no row, and makes none.
    story.fetches("1:0 1:1! 0:3!").delivers("1:0").says(ok()).writes("1:1=undecodable 0:3=undecodable");
    story.written(Ok(())).commits("0:4 1:2").commit_ends(Ok(()));
    story.fetches("1:2! 1:3 0:4!");
    story.delivers("1:3").says(ok());
    let reason = "4 records in a row became dead letters, 4 are too many".to_owned();
    story.ends(&StopReason::TooManyDeadLetters { partition: crate::names::partition(0), reason });
}

#[test]
fn d8_a_share_of_the_last_records_ends_the_host() {
    let share = Share { permille: 500, of_last: NonZeroU32::new(6).unwrap() };
    let mut policy = with_letters();
    policy.dead_letters = Some(DeadLetterPolicy { consecutive_max: None, share_max: Some(share) });
    let mut story = Story::owning(policy, &[0]);
    story.fetches("0:0! 0:1 0:2!").delivers("0:1").says(ok()).writes("0:0=undecodable 0:2=undecodable");
    story.written(Ok(())).commits("0:3").commit_ends(Ok(()));
    story.fetches("0:3 0:4! 0:5!").delivers("0:3").says(ok());
    let reason = "4 of the last 6 records became dead letters, more than 50 %".to_owned();
    story.ends(&StopReason::TooManyDeadLetters { partition: crate::names::partition(0), reason });
}

#[test]
fn d8_what_is_written_twice_because_it_failed_once_counts_once() {
    let mut policy = with_letters();
    policy.dead_letters = Some(DeadLetterPolicy { consecutive_max: NonZeroU32::new(3), share_max: None });
    let mut story = Story::owning(policy, &[0]);
    story.fetches("0:0 0:1! 0:2!");
    for wait in [100, 200, 400, 800] {
        story.delivers("0:0").says(ok()).writes("0:1=undecodable 0:2=undecodable").written(not_now()).passes(wait);
    }
    story.delivers("0:0").says(ok()).writes("0:1=undecodable 0:2=undecodable").written(Ok(())).commits("0:3");
}

#[test]
fn s5_what_is_held_is_skipped_only_after_it_was_written() {
    let mut policy = with_letters();
    policy.fatal = FatalPolicy::Hold;
    let mut story = Story::owning(policy, &[0]);
    story.fetches("0:0 0:1! 0:2 0:3 0:4 0:5").delivers("0:0 0:2").says(retryable()).passes(100).delivers("0:0 0:2");
    story.says(fatal()).passes(60_000).is_quiet().skips("the vendor sent rubbish");
    story.writes("0:0=skipped 0:1=undecodable 0:2=skipped");
    let verdicts: Vec<(&str, u32)> =
        story.letters().iter().map(|letter| (letter.verdict.reason.as_str(), letter.verdict.attempts)).collect();
    assert_eq!(verdicts, [("the vendor sent rubbish", 2), ("", 0), ("the vendor sent rubbish", 2)]);
    story.passes(60_000).is_quiet().written(not_now()).passes(99).is_quiet().passes(1);
    story.writes("0:0=skipped 0:1=undecodable 0:2=skipped").written(Ok(())).commits("0:3").commit_ends(Ok(()));
    story.delivers("0:3 0:4 0:5");
}

/// Each partition's batch is judged for itself.
#[test]
fn s5_of_two_lanes_that_are_held_the_named_one_is_skipped() {
    let mut policy = gristmill_core::policy::Policy { scope: super::words::lanes(2), ..with_letters() };
    policy.fatal = FatalPolicy::Hold;
    let mut story = Story::owning(policy, &[0, 1]);
    story.fetches("0:0 0:1 0:2 1:0 1:1 1:2").delivers(BATCH).delivers("1:0 1:1 1:2").says(fatal()).says(fatal());
    story.skips_at(1, "no").writes("1:0=skipped 1:1=skipped 1:2=skipped").is_quiet();
    story.written(Ok(())).commits("1:3").is_quiet().skips("nor this").writes("0:0=skipped 0:1=skipped 0:2=skipped");
}

#[test]
fn s5_what_is_not_held_is_not_skipped() {
    let mut story = Story::owning(with_letters(), &[0]);
    story.skips("nothing").fetches(BATCH).skips("nothing").delivers(BATCH).skips("nothing").says(retryable());
    story.skips("nothing").is_quiet().passes(100).finishes(BATCH, "0:3");
}

#[test]
fn s5_without_a_place_for_dead_letters_nothing_is_skipped() {
    let mut policy = policy();
    policy.fatal = FatalPolicy::Hold;
    let mut story = Story::owning(policy, &[0]);
    story.fetches(BATCH).delivers(BATCH).says(fatal()).skips("away with it").passes(60_000).is_quiet();
    story.feed(Input::RetryAsked).finishes(BATCH, "0:3");
}
