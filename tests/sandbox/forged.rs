//! Answers that no toolchain makes: bytes put together by hand behind the contract's types. None is read as an answer, and the
//! worker goes on.

use std::time::Duration;

use gristmill_core::outcome::{Answer, Fault, FaultClass, Outcome};
use gristmill_guest::Plugin;

use crate::component::component;
use crate::mill::{Batch, Mill, engine, mischief, with_limits};

/// The guest's code. A test puts its own into the braces: the address of the answer, what lies in memory from 1024 on, and what
/// cabi_realloc and post-return do before they return.
const CODE: &str = r#"(module
  (memory (export "memory") 2)
  (global $next (mut i32) (i32.const 65536))
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    {allocate}
    ;; Everything in turn, each aligned to eight bytes. Nothing is grown, and a test's batch is small.
    (global.get $next)
    (global.set $next (i32.and (i32.add (i32.add (global.get $next) (local.get 3)) (i32.const 7)) (i32.const -8))))
  (func (export "process-batch") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32) i32.const {answer})
  (func (export "post-return") (param i32) {free})
  (data (i32.const 1024) "{data}"))"#;

/// Where [`Forged::bytes`] lie in the guest's memory, of which there are 131,072 bytes.
const AT: u32 = 1_024;

/// How far an outcome's payload lies behind its discriminant.
const PAYLOAD: usize = 8;

/// A guest put together by hand.
struct Forged {
    /// The address of the answer.
    answer: u32,
    /// What lies at [`AT`].
    bytes: Vec<u8>,
    /// What is done for each allocation before it is made, as WebAssembly text.
    allocate: &'static str,
    /// What is done when the answer has been read.
    free: &'static str,
    /// What it may emit to.
    sinks: &'static [&'static str],
}

impl Forged {
    /// Answers with these bytes.
    fn answering(bytes: Vec<u8>) -> Self {
        Self { answer: AT, bytes, allocate: "", free: "", sinks: &[] }
    }

    fn mill(&self) -> Mill {
        let data: String = self.bytes.iter().map(|byte| format!("\\{byte:02x}")).collect();
        let code = CODE
            .replace("{answer}", &self.answer.to_string())
            .replace("{data}", &data)
            .replace("{allocate}", self.allocate)
            .replace("{free}", self.free);
        let settings = with_limits(|limits| limits.cpu = Duration::from_millis(500));
        let plugin = Plugin::load(engine(), "forged", &wat::parse_str(component(&code)).unwrap(), &settings).unwrap();
        Mill::of(plugin).with_sinks(self.sinks)
    }

    fn answer(&self) -> Answer {
        self.mill().tell("any").answer
    }

    /// Wants the guest to break in one of these ways, three times on one worker, which serves another plugin afterwards.
    fn breaks(&self, what: &str, classes: &[FaultClass]) -> Fault {
        let mut mill = self.mill();
        let mut faults: Vec<Fault> = (0..3)
            .map(|_| match mill.run(Batch::told("any")).answer {
                Answer::Fault(fault) if classes.contains(&fault.class) => fault,
                other => panic!("{what} must end as one of {classes:?} and ended as {other:?}"),
            })
            .collect();
        mill.plugin = mischief(&with_limits(|_| {})).unwrap();
        mill.still_works();
        faults.pop().unwrap()
    }
}

/// The bytes of an outcome: its discriminant, and words from its payload on.
fn outcome(discriminant: u8, words: &[u32]) -> Vec<u8> {
    let mut bytes = vec![0; PAYLOAD];
    bytes[0] = discriminant;
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    bytes.resize(64, 0);
    bytes
}

/// `fatal` with a reason at this address, of this length, followed by these bytes at `AT + 64`.
fn fatal(address: u32, length: u32, reason: &[u8]) -> Vec<u8> {
    let mut bytes = outcome(2, &[address, length]);
    bytes.extend(reason);
    bytes
}

/// `retryable` without a reason, whose payload has these words behind it: after-ms from 0, completed from 4, suspect from 10.
fn retryable(words: &[(usize, u32)]) -> Vec<u8> {
    let mut payload = [0; 14];
    for (index, word) in words {
        payload[2 + index] = *word;
    }
    outcome(1, &payload)
}

const UNREADABLE: [FaultClass; 2] = [FaultClass::Contract, FaultClass::Trap];

#[test]
fn a_forged_answer_that_is_right_is_read() {
    assert_eq!(Forged::answering(outcome(0, &[])).answer(), Answer::Outcome(Outcome::OK));
    let reason = "no luck";
    let fatal = Forged::answering(fatal(AT + 64, reason.len() as u32, reason.as_bytes()));
    assert_eq!(fatal.answer(), Answer::Outcome(Outcome::Fatal { reason: reason.into() }));
    let later = Forged::answering(retryable(&[(0, 1), (2, 1_500)])).answer();
    let after = Some(Duration::from_millis(1_500));
    assert_eq!(later, Answer::Outcome(Outcome::retryable("", after)));
}

/// T-10: text that is not UTF-8.
#[test]
fn a_reason_that_is_not_utf8_is_no_answer() {
    for reason in [&b"\xff\xfe"[..], b"half of \xe2\x82", b"\xed\xa0\x80", b"\xc0\x80"] {
        let forged = Forged::answering(fatal(AT + 64, reason.len() as u32, reason));
        let fault = forged.breaks(&format!("{reason:?}"), &UNREADABLE);
        assert!(fault.detail.contains("utf-8"), "{}", fault.detail);
    }
}

/// T-10: a choice that is none of those there are.
#[test]
fn a_discriminant_that_does_not_exist_is_no_answer() {
    for discriminant in [3, 127, 255] {
        let forged = Forged::answering(outcome(discriminant, &[]));
        let fault = forged.breaks(&format!("outcome {discriminant}"), &UNREADABLE);
        assert!(fault.detail.contains("discriminant"), "{}", fault.detail);
    }
    for (field, index) in [("after-ms", 0), ("completed", 4), ("suspect", 10)] {
        let forged = Forged::answering(retryable(&[(index, 2)]));
        let fault = forged.breaks(field, &UNREADABLE);
        assert!(fault.detail.contains("discriminant"), "{}", fault.detail);
    }
}

/// T-08: results that are huge, out of range, misaligned, or lie across each other.
#[test]
fn a_result_that_lies_where_nothing_can_is_no_answer() {
    for answer in [AT + 1, 131_072 - 8, 131_072, u32::MAX - 7] {
        Forged { answer, ..Forged::answering(outcome(0, &[])) }.breaks(&format!("at {answer}"), &UNREADABLE);
    }
    let reasons = [(AT, u32::MAX), (u32::MAX, 2), (131_071, 2), (u32::MAX, u32::MAX)];
    for (address, length) in reasons {
        Forged::answering(fatal(address, length, b"")).breaks(&format!("{length} bytes at {address}"), &UNREADABLE);
    }
    let lists = [(AT, u32::MAX), (AT, 1 << 30), (AT + 1, 1), (u32::MAX - 3, 1)];
    for (address, length) in lists {
        let what = format!("{length} rejections at {address}");
        Forged::answering(outcome(0, &[address, length])).breaks(&what, &UNREADABLE);
    }
}

/// T-08: two thousand rejections whose reasons are the same twelve kilobytes: small in the guest, huge in the host.
#[test]
fn a_result_that_grows_when_it_is_copied_is_no_answer() {
    /// Behind all that is written, the batch too; zeros are text.
    const ZEROS_AT: u32 = 98_304;
    let rejections = |count: u32| {
        let mut bytes = outcome(0, &[AT + 64, count]);
        bytes.extend((0..count).flat_map(|index| [index, ZEROS_AT, 12_000]).flat_map(u32::to_le_bytes));
        Forged::answering(bytes).breaks("reasons that lie across each other", &UNREADABLE)
    };
    let read = rejections(20);
    assert_eq!(read.detail, "it rejected record 19; the batch holds 1");
    let refused = rejections(2_000);
    assert!(refused.detail.contains("takes more than the 4194816 bytes"), "{}", refused.detail);
}

/// A thousand records of a thousand headers of the same 128 KiB: 131 GB in the host, if it read them.
#[test]
fn emitted_records_that_grow_when_they_are_copied_are_no_answer() {
    const HEADERS_AT: u32 = AT + 64;
    let header = [0, 1, 1, 0, 131_072];
    let headers: Vec<u32> = (0..1_000).flat_map(|_| header).collect();
    let records_at = HEADERS_AT + 4 * headers.len() as u32;
    let record = |headers: u32| [0, 3, 0, 0, 0, 0, 0, 0, HEADERS_AT, headers, 0, 0, 0, 0];
    let emitting = |records: usize, headers_each: u32| {
        let mut bytes = outcome(0, &[0, 0, records_at, records as u32]);
        let records = (0..records).flat_map(|_| record(headers_each));
        bytes.extend(headers.iter().copied().chain(records).flat_map(u32::to_le_bytes));
        Forged { sinks: &["\0\0\0"], ..Forged::answering(bytes) }
    };
    assert_eq!(emitting(1, 10).mill().tell("any").emitted[0].headers.len(), 10);
    let fault = emitting(1_000, 1_000).breaks("headers that lie across each other", &[FaultClass::Contract]);
    assert!(fault.detail.contains("takes more than the 71603"), "{}", fault.detail);
    let fault = emitting(1, 600).breaks("more bytes than may be emitted", &[FaultClass::Contract]);
    assert!(fault.detail.starts_with("its answer takes more than"), "{}", fault.detail);
    let fault = emitting(1, 520).breaks("a few bytes more than may be emitted", &[FaultClass::Contract]);
    assert!(fault.detail.ends_with("bytes; a batch may emit 67108864"), "{}", fault.detail);
}

/// T-02: the host calls a guest on the way in and on the way out as well, inside the same limits.
#[test]
fn a_guest_that_spins_on_the_way_in_or_out_ends_at_its_limit() {
    let forged = Forged { allocate: "(loop (br 0))", ..Forged::answering(outcome(0, &[])) };
    forged.breaks("cabi_realloc", &[FaultClass::Timeout]);
    let forged = Forged { free: "(loop (br 0))", ..Forged::answering(outcome(0, &[])) };
    forged.breaks("post-return", &[FaultClass::Timeout]);
}

#[test]
fn a_guest_that_traps_on_the_way_in_or_out_breaks_the_batch() {
    let forged = Forged { allocate: "unreachable", ..Forged::answering(outcome(0, &[])) };
    forged.breaks("cabi_realloc", &[FaultClass::Trap]);
    let forged = Forged { free: "unreachable", ..Forged::answering(outcome(0, &[])) };
    forged.breaks("post-return", &[FaultClass::Trap]);
}

/// T-08: an allocator that lies about where there is room.
#[test]
fn an_allocator_that_gives_what_there_is_not_breaks_the_batch() {
    for allocate in ["(return (i32.const -8))", "(return (i32.const 65537))", "(return (i32.const 131072))"] {
        let forged = Forged { allocate, ..Forged::answering(outcome(0, &[])) };
        forged.breaks(allocate, &UNREADABLE);
    }
}
