//! Answers with effects and completed parts: honest ones, and each that contradicts itself or asks for too much.
//!
//! What is emitted goes to the sink `out` unless it is said where.

use gristmill_plugin::bindings::plugin::gristmill::plugin::types::{
    Effects, KafkaRecord, Outcome, OutputRecord, Progress, Rejection, Retry,
};

use crate::{answer, number};

/// Rejects the records at these indexes, in this order: `0,2,1`.
pub(crate) fn reject(indexes: &str) -> Outcome {
    Outcome::Ok(rejecting(indexes))
}

/// Rejects every record with a reason of so many bytes.
pub(crate) fn reject_all(records: &[KafkaRecord], bytes: u64) -> Outcome {
    let reason = "x".repeat(length(bytes));
    let rejected = (0..).zip(records).map(|(index, _)| Rejection { index, reason: reason.clone() });
    Outcome::Ok(Effects { rejected: rejected.collect(), ..answer::nothing() })
}

/// Emits one record to this sink.
pub(crate) fn emit(sink: &str) -> Outcome {
    ok([OutputRecord { sink: sink.to_owned(), ..record(Some(0)) }])
}

/// Emits a copy of every record to this sink.
pub(crate) fn emit_all(sink: &str, records: &[KafkaRecord]) -> Outcome {
    ok((0..).zip(records).map(|(index, original)| OutputRecord {
        sink: sink.to_owned(),
        key: original.key.clone(),
        value: original.value.clone(),
        headers: original.headers.clone(),
        partition: Some(original.partition),
        source: Some(index),
    }))
}

/// Emits one record that was made from the record at this index.
pub(crate) fn emit_from(source: u64) -> Outcome {
    ok([record(Some(index(source)))])
}

/// Emits one record to this partition.
pub(crate) fn emit_to_partition(partition: &str) -> Outcome {
    ok([OutputRecord { partition: partition.parse().ok(), ..record(None) }])
}

/// Emits so many records.
pub(crate) fn emit_many(records: u64) -> Outcome {
    ok((0..records).map(|_| record(None)))
}

/// Emits so many records of a mebibyte each.
pub(crate) fn emit_mebibytes(records: u64) -> Outcome {
    ok((0..records).map(|_| OutputRecord { value: Some(vec![b'v'; 1 << 20]), ..record(None) }))
}

/// Calls so many records completed, without effects.
pub(crate) fn completed(records: u64) -> Outcome {
    part(records, answer::nothing())
}

/// Calls so many records completed, with an effect of the record at an index: `2:1`.
pub(crate) fn completed_with(argument: &str, effects: impl Fn(&str) -> Effects) -> Outcome {
    let (records, index) = argument.split_once(':').unwrap_or((argument, "0"));
    part(number(records), effects(index))
}

/// Blames the record at this index.
pub(crate) fn blame(suspect: u64) -> Outcome {
    let suspect = Some(index(suspect));
    Outcome::Retryable(Retry { reason: "blamed".to_owned(), after_ms: None, completed: None, suspect })
}

pub(crate) fn rejecting(indexes: &str) -> Effects {
    let rejected = indexes
        .split(',')
        .map(|text| Rejection { index: index(number(text)), reason: "not today".to_owned() })
        .collect();
    Effects { rejected, ..answer::nothing() }
}

pub(crate) fn emitted_from(source: &str) -> Effects {
    Effects { emitted: vec![record(Some(index(number(source))))], ..answer::nothing() }
}

fn part(records: u64, effects: Effects) -> Outcome {
    let completed = Some(Progress { records: index(records), effects });
    Outcome::Retryable(Retry { reason: "half done".to_owned(), after_ms: None, completed, suspect: None })
}

fn ok(emitted: impl IntoIterator<Item = OutputRecord>) -> Outcome {
    Outcome::Ok(Effects { emitted: emitted.into_iter().collect(), ..answer::nothing() })
}

fn record(source: Option<u32>) -> OutputRecord {
    let value = Some(b"v".to_vec());
    OutputRecord { sink: "out".to_owned(), key: None, value, headers: Vec::new(), partition: None, source }
}

fn index(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn length(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
