//! Effects come out as the guest gave them, byte for byte; an answer that contradicts itself or asks for too much is refused
//! whole, in words that quote the numbers and names.

use std::sync::Arc;

use gristmill_core::outcome::{Answer, Effects, FaultClass, Outcome, Progress, Rejection};
use gristmill_guest::{Answered, EmittedHeader, EmittedRecord, Plugin};

use crate::mill::{Batch, Header, Mill, Record, engine, guest_bytes, with_limits, with_settings};

fn mill() -> Mill {
    Mill::strict().with_sinks(&["out", "audit"])
}

/// A batch of so many records, the first of which tells mischief what to do.
fn told(key: &str, records: i64) -> Batch {
    Batch::told_with(key, (1..records).map(Record::at))
}

/// What comes out for an answer to three records.
fn outcome(key: &str) -> (Outcome, Vec<EmittedRecord>) {
    match mill().run(told(key, 3)) {
        Answered { answer: Answer::Outcome(outcome), emitted, .. } => (outcome, emitted),
        other => panic!("{key} must be an answer: {other:?}"),
    }
}

fn rejections(indexes: &[u32], reason: &str) -> Vec<Rejection> {
    indexes.iter().map(|index| Rejection { index: *index, reason: reason.to_owned() }).collect()
}

fn plain(source: u32) -> EmittedRecord {
    let value = Some(b"v".to_vec());
    EmittedRecord { sink: "out".into(), key: None, value, headers: vec![], partition: None, source: Some(source) }
}

#[test]
fn rejected_records_come_out_in_the_order_of_the_guest() {
    let effects = Effects { rejected: rejections(&[2, 0], "not today"), emitted: 0 };
    assert_eq!(outcome("reject:2,0"), (Outcome::Ok(effects), vec![]));
}

#[test]
fn an_emitted_record_comes_out_beside_the_answer_that_counts_it() {
    let effects = Effects { rejected: vec![], emitted: 1 };
    let audit = EmittedRecord { sink: "audit".into(), ..plain(0) };
    assert_eq!(outcome("emit:audit"), (Outcome::Ok(effects.clone()), vec![audit]));
    assert_eq!(outcome("emit-from:2"), (Outcome::Ok(effects.clone()), vec![plain(2)]));
    let placed = EmittedRecord { partition: Some(7), source: None, ..plain(0) };
    assert_eq!(outcome("emit-to-partition:7"), (Outcome::Ok(effects), vec![placed]));
}

fn partly(records: u32, effects: Effects) -> Outcome {
    let completed = Some(Progress { records, effects });
    Outcome::Retryable { reason: "half done".to_owned(), after: None, completed, suspect: None }
}

#[test]
fn a_completed_part_comes_out_with_its_effects() {
    assert_eq!(outcome("completed:0"), (partly(0, Effects::NONE), vec![]));
    assert_eq!(outcome("completed:3"), (partly(3, Effects::NONE), vec![]));
    let one = Effects { rejected: vec![], emitted: 1 };
    assert_eq!(outcome("completed-emit:2:1"), (partly(2, one), vec![plain(1)]));
    let one = Effects { rejected: rejections(&[1], "not today"), emitted: 0 };
    assert_eq!(outcome("completed-reject:2:1"), (partly(2, one), vec![]));
}

#[test]
fn a_record_that_is_blamed_comes_out() {
    let blamed = |suspect| Outcome::Retryable { reason: "blamed".into(), after: None, completed: None, suspect };
    assert_eq!(outcome("blame:2"), (blamed(Some(2)), vec![]));
}

/// Bytes that look like nothing: every length from 0 up, every byte, all of it from one number.
fn odd(seed: usize, bytes_max: usize) -> Option<Vec<u8>> {
    let length = (seed % (bytes_max + 2)).checked_sub(1)?;
    let byte = |at: usize| (seed.wrapping_mul(2_654_435_761).wrapping_add(at.wrapping_mul(40_503)) >> 7) as u8;
    Some((0..length).map(byte).collect())
}

fn odd_record(offset: i64) -> Record {
    let seed = usize::try_from(offset).unwrap();
    let name = |number: usize| ["", "a", "größe", "a\0b"][(seed + number) % 4].as_bytes().to_vec();
    let headers: Vec<Header> = (0..seed % 5).map(|number| (name(number / 2), odd(seed / 3 + number, 4))).collect();
    Record { partition: i32::MAX, key: odd(seed, 40), value: odd(seed / 7, 300), headers, ..Record::at(offset) }
}

/// B82, B83, A7, A12: null, empty, repeated and any other bytes come out as they went in.
#[test]
fn keys_values_and_headers_come_out_byte_for_byte() {
    let records: Vec<Record> = (1..10_000).map(odd_record).collect();
    let answered = mill().run(Batch::told_with("emit-all:out", records.clone()));
    assert_eq!(answered.answer, Answer::Outcome(Outcome::Ok(Effects { rejected: vec![], emitted: 10_000 })));
    assert_eq!(answered.emitted[0].key.as_deref(), Some(&b"emit-all:out"[..]));
    for (index, (emitted, record)) in (1..).zip(answered.emitted[1..].iter().zip(records)) {
        let headers = record.headers.into_iter().map(|(name, value)| EmittedHeader { name, value }).collect();
        let (key, value, partition) = (record.key, record.value, Some(record.partition));
        let wanted = EmittedRecord { sink: "out".into(), key, value, headers, partition, source: Some(index) };
        assert_eq!(*emitted, wanted);
    }
}

#[test]
fn a_contradiction_is_refused_whole_with_its_numbers_and_names() {
    let mut mill = mill();
    for (key, words) in [
        ("reject:3", "it rejected record 3; the batch holds 3"),
        ("reject:0,2,0", "it rejected record 0 twice"),
        ("emit:uot", "its emitted record 0 names the sink \"uot\"; known are out, audit"),
        ("emit:", "its emitted record 0 names the sink \"\"; known are out, audit"),
        ("emit-from:3", "its emitted record 0 names record 3 as source; the batch holds 3"),
        ("emit-to-partition:-1", "its emitted record 0 names the partition -1"),
        ("completed:4", "it completed 4 records; the batch holds 3"),
        ("completed-emit:2:2", "its emitted record 0 names record 2 as source; completed are 2"),
        ("completed-emit:4:3", "it completed 4 records; the batch holds 3"),
        ("completed-reject:2:2", "it rejected record 2; completed are 2"),
        ("completed-reject:2:0,0", "it rejected record 0 twice"),
        ("blame:3", "it blames record 3; the batch holds 3"),
    ] {
        let answered = mill.run(told(key, 3));
        let Answer::Fault(fault) = answered.answer else { panic!("{key}: {:?}", answered.answer) };
        assert_eq!((fault.class, fault.detail.as_str()), (FaultClass::Contract, words), "{key}");
        assert!(answered.emitted.is_empty(), "{key}: nothing of a refused answer comes out");
        mill.still_works();
    }
}

#[test]
fn without_sinks_nothing_can_be_emitted_and_the_text_says_so() {
    let fault = Mill::strict().breaks("emit:out", FaultClass::Contract);
    assert_eq!(fault.detail, "its emitted record 0 names the sink \"out\"; no sink is configured");
}

#[test]
fn more_records_than_a_batch_may_emit_are_refused() {
    let mut mill = mill();
    let answered = mill.tell("emit-many:100000");
    assert_eq!((answered.emitted.len(), matches!(answered.answer, Answer::Outcome(_))), (100_000, true));
    let fault = mill.breaks("emit-many:100001", FaultClass::Contract);
    assert_eq!(fault.detail, "it emitted 100001 records; a batch may emit 100000");
    mill.still_works();
}

#[test]
fn more_bytes_than_a_batch_may_emit_are_refused() {
    let settings = with_limits(|limits| limits.emitted_bytes = 3 << 20);
    let mut mill = Mill::with(&settings).with_sinks(&["out"]);
    assert_eq!(mill.tell("emit-mebibytes:2").emitted.len(), 2);
    let fault = mill.breaks("emit-mebibytes:3", FaultClass::Contract);
    assert_eq!(fault.detail, "it emitted 3146112 bytes; a batch may emit 3145728");
    // So much more than it may emit that the host does not even read it.
    let fault = mill.breaks("emit-mebibytes:20", FaultClass::Contract);
    assert_eq!(fault.detail, "its answer takes more than the 7640544 bytes that it may take in the host");
    mill.still_works();
}

/// A gibibyte does not fit into a guest; and what fits into a larger one does not fit into an answer.
#[test]
fn a_guest_that_emits_far_too_much_is_stopped_by_its_memory_or_by_the_limits() {
    let mut strict = mill();
    let fault = strict.breaks("emit-mebibytes:1024", FaultClass::Memory);
    assert!(fault.detail.contains("memory limit 67108864 bytes"), "{}", fault.detail);
    strict.still_works();
    let mut roomy = Mill::with(&with_limits(|limits| limits.memory_bytes = 256 << 20)).with_sinks(&["out"]);
    let fault = roomy.breaks("emit-mebibytes:160", FaultClass::Contract);
    assert_eq!(fault.detail, "its answer takes more than the 71603680 bytes that it may take in the host");
    roomy.still_works();
}

#[test]
fn every_record_of_a_batch_of_small_ones_can_be_rejected_with_a_reason() {
    let answered = mill().run(told("reject-all:400", 10_000));
    let Answer::Outcome(Outcome::Ok(effects)) = answered.answer else { panic!("{:?}", answered.answer) };
    assert_eq!((effects.rejected.len(), effects.rejected[9_999].index), (10_000, 9_999));
}

#[test]
fn the_reason_of_a_rejection_is_cut_and_cannot_forge_a_line() {
    let answered = mill().run(told("reject-all:5000", 1));
    let Answer::Outcome(Outcome::Ok(effects)) = answered.answer else { panic!("{:?}", answered.answer) };
    let reason = &effects.rejected[0].reason;
    assert!(reason.len() < 4_200 && reason.ends_with("… (904 bytes cut)"), "{}", &reason[reason.len() - 40..]);
}

/// The same through the SDK: what a plugin says of records comes out by their indexes.
#[test]
fn what_a_plugin_says_through_the_sdk_comes_out() {
    let witness = |settings: &[(&str, &str)]| {
        let settings = with_settings(settings);
        let plugin = Plugin::load(engine(), "witness", &guest_bytes("gristmill_witness"), &settings).unwrap();
        Mill::of(plugin).with_sinks(&["out"]).run(Batch((40..45).map(odd_record).collect()))
    };
    let partition = i32::MAX;
    let (first, second) = (format!("{partition}:41"), format!("{partition}:43"));
    let answered = witness(&[("reject_at", &first), ("emit_at", &second), ("sink", "out")]);
    let reason = "the witness was told to reject";
    let effects = Effects { rejected: rejections(&[1], reason), emitted: 1 };
    assert_eq!(answered.answer, Answer::Outcome(Outcome::Ok(effects)));
    let Record { key, value, headers, .. } = odd_record(43);
    let headers = headers.into_iter().map(|(name, value)| EmittedHeader { name, value }).collect();
    let sink: Arc<str> = "out".into();
    assert_eq!(answered.emitted, [EmittedRecord { sink, key, value, headers, partition: None, source: Some(3) }]);

    let settings = [
        ("complete_to", second.as_str()),
        ("suspect", &first),
        ("reject_every", "2"),
        ("emit_every", "1"),
        ("sink", "out"),
    ];
    let answered = witness(&settings);
    let Answer::Outcome(Outcome::Retryable { completed: Some(done), suspect, .. }) = answered.answer else {
        panic!("no part: {:?}", answered.answer)
    };
    assert_eq!((done.records, suspect), (4, Some(1)));
    assert_eq!(done.effects, Effects { rejected: rejections(&[0, 2], reason), emitted: 4 });
    let sources: Vec<_> = answered.emitted.iter().map(|emitted| emitted.source).collect();
    assert_eq!(sources, [Some(0), Some(1), Some(2), Some(3)]);
}
