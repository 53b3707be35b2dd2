//! Rules F5, R4, D8: what fails to the last is cut until one record fails alone, in a bounded number of calls.

use std::num::{NonZeroU32, NonZeroU64};

use gristmill_core::io::{Delivery, HeldReason, Input, LetterClass, Report, StopReason};
use gristmill_core::outcome::{Answer, FaultClass};
use gristmill_core::policy::{Attempts, DeadLetterPolicy, Exhausted, Policy};

use super::alone::Course;
use super::story::{Story, blaming, completing, fault, isolating, ok, retryable};
use crate::names::{Body, partition, place};

const ATTEMPTS: u32 = 3;

/// As many calls as finding one record among so many may take.
fn bound(records: usize) -> usize {
    2 * records.next_power_of_two().ilog2() as usize + ATTEMPTS as usize
}

/// Hands so many records of one partition over as one batch.
fn batch_of(records: u32, mut policy: Policy) -> Story {
    policy.batch.records_max = NonZeroU32::new(records).unwrap();
    policy.batch.bytes_max = NonZeroU64::new(u64::from(records) * 100).unwrap();
    let mut story = Story::owning(policy, &[0]);
    let names: Vec<String> = (0..records).map(|offset| format!("0:{offset}")).collect();
    story.fetches(&names.join(" "));
    story
}

fn holds(delivery: &Delivery<Body>, poison: &[i64]) -> bool {
    delivery.records.iter().any(|record| poison.contains(&record.facts.offset.0))
}

/// A guest that answers badly as long as one of these is in its batch.
fn failing_on(poison: &[i64], bad: &Answer) -> impl FnMut(&Delivery<Body>) -> Answer {
    move |delivery| if holds(delivery, poison) { bad.clone() } else { ok() }
}

/// Exactly these were put aside; every other record was handled once, and all of them are committed.
fn assert_found(course: &Course, records: i64, poison: &[i64]) {
    let poison: Vec<_> = poison.iter().map(|&offset| (0, offset)).collect();
    assert_eq!(course.put_aside(), poison);
    let others: Vec<_> = (0..records).map(|offset| (0, offset)).filter(|at| !poison.contains(at)).collect();
    assert_eq!(course.handled, others, "in their order, each once");
    assert_eq!((course.committed.get(&0), &course.end), (Some(&records), &None));
}

#[test]
fn f5_one_record_among_ten_thousand_is_found_whatever_it_breaks() {
    for class in [FaultClass::Trap, FaultClass::Timeout, FaultClass::Memory] {
        for poison in [0, 1, 4_999, 5_000, 7_777, 9_999] {
            let mut story = batch_of(10_000, isolating(ATTEMPTS));
            let course = story.goes_on_alone(failing_on(&[poison], &fault(class)));
            assert_found(&course, 10_000, &[poison]);
            assert!(course.calls <= bound(10_000), "{} calls, {} are allowed", course.calls, bound(10_000));
            let verdict = &course.letters[0].verdict;
            assert_eq!(verdict.class, LetterClass::Fault(class));
            assert!(verdict.reason.ends_with("broke"), "{}", verdict.reason);
            assert_eq!((verdict.path.first(), verdict.path.last()), (Some(&10_000), Some(&1)));
            assert!(verdict.path.windows(2).all(|pair| pair[1] <= pair[0].div_ceil(2)), "{:?}", verdict.path);
        }
    }
}

#[test]
fn f5_the_bound_holds_for_every_place_in_batches_of_every_size() {
    for records in 1..=33_u32 {
        for poison in 0..i64::from(records) {
            for bad in [fault(FaultClass::Exit), retryable()] {
                let mut story = batch_of(records, isolating(ATTEMPTS));
                let course = story.goes_on_alone(failing_on(&[poison], &bad));
                assert_found(&course, i64::from(records), &[poison]);
                assert!(course.calls <= bound(records as usize), "{} calls for {poison} of {records}", course.calls);
            }
        }
    }
}

#[test]
fn f5_of_two_poisons_both_are_found_and_nobody_else() {
    for poison in [[0, 1], [0, 9_999], [4_999, 5_000], [123, 124], [17, 8_000]] {
        let mut story = batch_of(10_000, isolating(ATTEMPTS));
        let course = story.goes_on_alone(failing_on(&poison, &fault(FaultClass::Trap)));
        assert_found(&course, 10_000, &poison);
        assert!(course.calls <= 2 * bound(10_000), "{} calls", course.calls);
    }
}

#[test]
fn f5_retryable_answers_without_end_are_searched_as_faults_are_and_tell_the_plugins_own_words() {
    let mut story = batch_of(1_000, isolating(ATTEMPTS));
    let course = story.goes_on_alone(failing_on(&[321], &retryable()));
    assert_found(&course, 1_000, &[321]);
    let verdict = &course.letters[0].verdict;
    assert_eq!((verdict.class, verdict.reason.as_str()), (LetterClass::Retries, "again"));
}

#[test]
fn f5_a_record_that_is_named_rightly_is_found_at_once() {
    for suspect in [0, 1, 321, 998, 999] {
        let named = |delivery: &Delivery<Body>| {
            let at = delivery.records.iter().position(|record| record.facts.offset.0 == suspect);
            at.map_or(ok(), |at| blaming(u32::try_from(at).unwrap(), 0))
        };
        let mut story = batch_of(1_000, isolating(ATTEMPTS));
        let course = story.goes_on_alone(named);
        assert_found(&course, 1_000, &[suspect]);
        assert!(course.calls <= ATTEMPTS as usize + 3, "{} calls", course.calls);
    }
}

#[test]
fn f5_a_record_that_is_named_wrongly_is_not_put_aside_and_costs_three_calls_at_most() {
    for (poison, blamed) in [(0, 999), (999, 0), (500, 499), (500, 501), (321, 700)] {
        let mut story = batch_of(1_000, isolating(ATTEMPTS));
        let course = story.goes_on_alone(|delivery| {
            let at = delivery.records.iter().position(|record| record.facts.offset.0 == blamed).unwrap_or(0);
            if holds(delivery, &[poison]) { blaming(u32::try_from(at).unwrap(), 0) } else { ok() }
        });
        assert_found(&course, 1_000, &[poison]);
        assert!(course.calls <= bound(1_000) + 3, "{} calls for {poison}, {blamed} was blamed", course.calls);
    }
}

/// Whoever blames the last record of whatever it gets would have each part cut at its end only, and every record would cost a
/// call.
#[test]
fn f5_a_plugin_that_always_blames_its_last_record_is_not_believed_twice() {
    let mut story = batch_of(1_000, isolating(ATTEMPTS));
    let course = story.goes_on_alone(|delivery| {
        let last = u32::try_from(delivery.records.len() - 1).unwrap();
        if holds(delivery, &[3]) { blaming(last, 0) } else { ok() }
    });
    assert_found(&course, 1_000, &[3]);
    assert!(course.calls <= bound(1_000) + 3, "{} calls", course.calls);
}

/// The index that a plugin names is one of the batch as it got it, not of the rest behind what it completed.
#[test]
fn f5_r7_who_completes_a_part_names_the_record_by_its_place_in_the_whole() {
    let mut policy = isolating(1);
    policy.batch.records_max = NonZeroU32::new(10).unwrap();
    let mut story = Story::owning(policy, &[0]);
    story.fetches("0:0 0:1 0:2 0:3 0:4 0:5 0:6 0:7 0:8 0:9");
    story.delivers("0:0 0:1 0:2 0:3 0:4 0:5 0:6 0:7 0:8 0:9").says(blaming(5, 3)).commits("0:3").commit_ends(Ok(()));
    story.delivers("0:3 0:4").says(ok()).commits("0:5").commit_ends(Ok(()));
    story.delivers("0:5").says(retryable()).writes("0:5=retries").written(Ok(())).commits("0:6").commit_ends(Ok(()));
    story.finishes("0:6 0:7 0:8 0:9", "0:10");
    // What it names among what it completed is no help.
    story.fetches("0:10 0:11 0:12 0:13 0:14 0:15 0:16 0:17 0:18 0:19");
    story.delivers("0:10 0:11 0:12 0:13 0:14 0:15 0:16 0:17 0:18 0:19").says(blaming(1, 6)).commits("0:16");
    story.commit_ends(Ok(())).finishes("0:16 0:17", "0:18").finishes("0:18 0:19", "0:20");
}

#[test]
fn d8_b63_where_every_record_is_bad_the_search_ends_at_the_limit() {
    let mut policy = isolating(ATTEMPTS);
    policy.dead_letters = Some(DeadLetterPolicy { consecutive_max: NonZeroU32::new(5), share_max: None });
    let mut story = batch_of(64, policy);
    let course = story.goes_on_alone(|_| fault(FaultClass::Trap));
    assert_eq!(course.put_aside(), [(0, 0), (0, 1), (0, 2), (0, 3)]);
    assert_eq!(course.committed.get(&0), Some(&4), "no further than what was acknowledged");
    assert!(matches!(course.end, Some(StopReason::TooManyDeadLetters { .. })), "{:?}", course.end);
}

#[test]
fn r4_the_search_ends_where_all_that_is_left_got_further() {
    let mut policy = isolating(2);
    policy.batch.records_max = NonZeroU32::new(4).unwrap();
    let mut story = Story::owning(policy, &[0]);
    story.fetches("0:0 0:1 0:2 0:3").delivers("0:0 0:1 0:2 0:3").says(retryable()).passes(100);
    story.delivers("0:0 0:1 0:2 0:3").says(retryable()).delivers("0:0 0:1").says(completing(1)).commits("0:1");
    // One record did it: what is left has its attempts again, and is not put aside after the first.
    story.commit_ends(Ok(())).passes(100).delivers("0:1").says(retryable());
    story.writes("0:1=retries").written(Ok(())).commits("0:2").commit_ends(Ok(())).finishes("0:2 0:3", "0:4");
}

/// What follows the last attempt, with and without the search for the record that fails.
#[test]
fn f5_without_a_search_the_policy_is_for_the_whole_batch() {
    let exhausted = |then| {
        let mut policy = isolating(1);
        (policy.fault.isolate, policy.fault.then) = (false, then);
        let mut story = Story::owning(policy, &[0]);
        story.fetches("0:0 0:1! 0:2 0:3 0:4 0:5").delivers("0:0 0:2").says(fault(FaultClass::Trap));
        story
    };
    exhausted(Exhausted::Stop).ends(&StopReason::Exhausted { reason: "trap: broke".to_owned() });
    let mut story = exhausted(Exhausted::Hold);
    assert!(matches!(story.passes(60_000).is_quiet().held(), HeldReason::Exhausted { .. }));
    story.feed(Input::RetryAsked).delivers("0:0 0:2").says(ok()).writes("0:1=undecodable").written(Ok(()));
    story.commits("0:3");
    let mut story = exhausted(Exhausted::DeadLetter);
    story.writes("0:0=fault 0:1=undecodable 0:2=fault").passes(60_000).is_quiet();
    let fates: Vec<_> = story.letters().iter().map(|letter| letter.verdict.clone()).collect();
    assert_eq!((fates[0].attempts, &*fates[0].path, &*fates[0].reason), (1, &[2][..], "trap: broke"));
    assert_eq!((fates[1].attempts, &*fates[1].path), (0, &[][..]));
    story.written(Ok(())).commits("0:3").commit_ends(Ok(())).delivers("0:3 0:4 0:5");
}

#[test]
fn f5_with_a_search_the_policy_is_for_the_one_record() {
    let exhausted = |then| {
        let mut policy = isolating(1);
        policy.fault.then = then;
        let mut story = Story::owning(policy, &[0]);
        story.fetches("0:0 0:1 0:2 0:3 0:4 0:5").delivers("0:0 0:1 0:2").says(fault(FaultClass::Trap));
        story.finishes("0:0", "0:1").delivers("0:1 0:2").says(fault(FaultClass::Trap));
        story.delivers("0:1").says(fault(FaultClass::Trap));
        story
    };
    exhausted(Exhausted::Stop).ends(&StopReason::Exhausted { reason: "trap: broke".to_owned() });
    let mut story = exhausted(Exhausted::Hold);
    assert!(matches!(story.passes(60_000).is_quiet().held(), HeldReason::Exhausted { .. }));
    story.skips("broken sensor").writes("0:1=skipped");
    let verdict = story.verdict();
    assert_eq!((&*verdict.reason, verdict.attempts, &*verdict.path), ("broken sensor", 2, &[3, 2, 1][..]));
    story.written(Ok(())).commits("0:2").commit_ends(Ok(())).finishes("0:2", "0:3").delivers("0:3 0:4 0:5");
    let mut story = exhausted(Exhausted::DeadLetter);
    story.writes("0:1=fault").written(Ok(())).commits("0:2").commit_ends(Ok(())).finishes("0:2", "0:3");
    story.delivers("0:3 0:4 0:5");
}

#[test]
fn f5_without_a_place_for_dead_letters_the_one_record_is_held() {
    let mut policy = isolating(1);
    policy.dead_letters = None;
    let mut story = Story::owning(policy, &[0]);
    story.fetches("0:0 0:1").delivers_after_wait("0:0 0:1").says(fault(FaultClass::Trap)).finishes("0:0", "0:1");
    story.delivers("0:1").says(fault(FaultClass::Trap)).skips("away with it").passes(60_000).is_quiet();
    assert_eq!((story.holds(), story.wakes_in()), (1, None));
    story.feed(Input::RetryAsked).finishes("0:1", "0:2");
}

/// A guest that does not start has seen no record.
#[test]
fn f5_a_guest_that_does_not_start_is_no_records_fault() {
    let mut story = Story::owning(isolating(2), &[0]);
    story.fetches("0:0 0:1 0:2").delivers("0:0 0:1 0:2").says(fault(FaultClass::Start)).passes(100);
    story.delivers("0:0 0:1 0:2").says(fault(FaultClass::Start)).passes(60_000).is_quiet();
    assert!(matches!(story.held(), HeldReason::Exhausted { .. }));
    assert!(!story.reports.iter().any(|report| matches!(report, Report::Cut { .. })));
    story.feed(Input::RetryAsked).finishes("0:0 0:1 0:2", "0:3");
}

#[test]
fn f5_a_guest_that_does_not_start_during_a_search_is_tried_again_and_the_search_goes_on() {
    let mut story = Story::owning(isolating(2), &[0]);
    story.fetches("0:0 0:1 0:2").delivers("0:0 0:1 0:2").says(fault(FaultClass::Trap)).passes(100);
    story.delivers("0:0 0:1 0:2").says(fault(FaultClass::Trap)).finishes("0:0", "0:1");
    story.delivers("0:1 0:2").says(fault(FaultClass::Start)).passes(99).is_quiet().passes(1);
    story.delivers("0:1 0:2").says(fault(FaultClass::Trap)).finishes("0:1", "0:2");
    story.delivers("0:2").says(fault(FaultClass::Trap)).writes("0:2=fault").written(Ok(())).commits("0:3");
}

#[test]
fn f5_another_failure_than_the_one_searched_for_has_its_own_attempts() {
    let mut policy = isolating(2);
    policy.retry.attempts = Attempts::Unlimited;
    let mut story = Story::owning(policy, &[0]);
    story.fetches("0:0 0:1 0:2").delivers("0:0 0:1 0:2").says(fault(FaultClass::Trap)).passes(100);
    story.delivers("0:0 0:1 0:2").says(fault(FaultClass::Trap)).delivers("0:0");
    for wait in [100, 200, 400, 800] {
        story.says(retryable()).passes(wait - 1).is_quiet().passes(1).delivers("0:0");
    }
    story.says(ok()).commits("0:1").commit_ends(Ok(())).finishes("0:1 0:2", "0:3");
}

#[test]
fn f5_the_search_of_one_lane_keeps_no_other_back() {
    let mut policy = isolating(1);
    policy.scope = super::words::lanes(2);
    let mut story = Story::owning(policy, &[0, 1]);
    story.fetches("0:0 0:1 0:2 1:0 1:1 1:2").delivers("0:0 0:1 0:2").delivers("1:0 1:1 1:2");
    story.says(fault(FaultClass::Trap)).delivers("0:0").says(ok()).commits("1:3").commit_ends(Ok(()));
    story.says(ok()).commits("0:1").commit_ends(Ok(())).finishes("0:1 0:2", "0:3");
    assert_eq!((place(partition(1)), story.wakes_in()), (1, None));
}
