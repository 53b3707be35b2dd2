//! A guest that wants more memory than it has ends as such, with both numbers in the text.

use gristmill_core::outcome::{Answer, FaultClass, Outcome};

use crate::mill::{Batch, Mill, Record, with_limits};

const MEBIBYTE: u64 = 1 << 20;

fn values(count: usize, bytes: usize) -> impl Iterator<Item = Record> {
    (1..).take(count).map(move |offset| Record { value: Some(vec![b'v'; bytes]), ..Record::at(offset) })
}

/// B24, B107: "limit X, asked Y" instead of a bare trap.
#[test]
fn a_guest_that_grows_without_end_ends_as_memory_with_limit_and_wish() {
    let mut mill = Mill::with(&with_limits(|limits| limits.memory_bytes = 32 * MEBIBYTE));
    let fault = mill.breaks("grow:0", FaultClass::Memory);
    assert!(fault.detail.contains("memory limit 33554432 bytes, asked "), "{}", fault.detail);
    mill.still_works();
}

#[test]
fn growth_within_the_limit_is_nobodys_business() {
    let answered = Mill::strict().tell("grow:16");
    assert_eq!(answered.answer, Answer::Outcome(Outcome::OK));
    assert!(answered.facts.guest_memory_bytes >= 16 * MEBIBYTE, "{:?}", answered.facts);
}

/// B26, F3: a batch that cannot lie in the plugin's memory is not even handed over.
#[test]
fn a_batch_larger_than_the_plugins_memory_is_recognised_as_such() {
    let mut mill = Mill::with(&with_limits(|limits| limits.memory_bytes = 16 * MEBIBYTE));
    let answer = mill.run(Batch::told_with("ok", values(32, 1 << 20))).answer;
    let Answer::Fault(fault) = answer else { panic!("{answer:?}") };
    assert_eq!(fault.class, FaultClass::Memory);
    let named =
        fault.detail.contains("batch of 33 records and 335") && fault.detail.contains("plugin memory 16777216 bytes");
    assert!(named, "{}", fault.detail);
    mill.still_works();
}

/// B26, F3: a batch that fits by its bytes, and not with what the guest's allocator adds, ends in the middle of lowering.
#[test]
fn a_batch_that_breaks_the_guests_allocator_is_recognised_as_such() {
    let mut mill = Mill::with(&with_limits(|limits| limits.memory_bytes = 16 * MEBIBYTE));
    let answer = mill.run(Batch::told_with("ok", values(15, 1 << 20))).answer;
    let Answer::Fault(fault) = answer else { panic!("{answer:?}") };
    assert_eq!(fault.class, FaultClass::Memory, "{}", fault.detail);
    assert!(
        fault.detail.contains("plugin memory 16777216 bytes") && fault.detail.contains("asked"),
        "{}",
        fault.detail
    );
    mill.still_works();
}

#[test]
fn a_limit_below_what_the_plugin_needs_to_start_is_named_at_load() {
    let error = crate::mill::mischief(&with_limits(|limits| limits.memory_bytes = MEBIBYTE)).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("does not start") && text.contains("memory limit 1048576 bytes, asked "), "{text}");
}
