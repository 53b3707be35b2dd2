//! What `call` says of a batch: its answer, and what a pipeline would write for it.
//!
//! Pure: from an answer to texts. It does not know how the command ends.

use gristmill_core::outcome::{Answer, Effects, Outcome};
use gristmill_guest::{Answered, EmittedRecord};
use serde::Serialize;

use crate::records::{EmittedBody, FileRecord};

use super::console::escape;

/// One batch's end, for machines.
#[derive(Serialize)]
pub(super) struct Line<'l> {
    batch: u64,
    records: usize,
    outcome: &'l str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'l str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after_ms: Option<u128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suspect: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rejected: Vec<RejectedLine<'l>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    emitted: Vec<EmittedLine<'l>>,
    duration_ms: f64,
    guest_memory_bytes: u64,
}

/// A record that was put aside.
#[derive(Serialize)]
struct RejectedLine<'l> {
    index: u32,
    reason: &'l str,
}

/// A record that would be written.
#[derive(Serialize)]
struct EmittedLine<'l> {
    sink: &'l str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<u32>,
    record: EmittedBody,
}

/// An answer in parts.
struct Parts<'l> {
    outcome: &'l str,
    reason: Option<&'l str>,
    after: Option<std::time::Duration>,
    /// How many records are done where not all are.
    completed: Option<u32>,
    suspect: Option<u32>,
    effects: Option<&'l Effects>,
}

impl<'l> Parts<'l> {
    fn of(answer: &'l Answer) -> Self {
        let plain =
            |outcome, reason| Self { outcome, reason, after: None, completed: None, suspect: None, effects: None };
        match answer {
            Answer::Outcome(Outcome::Ok(effects)) => Self { effects: Some(effects), ..plain("ok", None) },
            Answer::Outcome(Outcome::Retryable { reason, after, completed, suspect }) => Self {
                after: *after,
                completed: completed.as_ref().map(|progress| progress.records),
                suspect: *suspect,
                effects: completed.as_ref().map(|progress| &progress.effects),
                ..plain("retryable", Some(reason.as_str()))
            },
            Answer::Outcome(Outcome::Fatal { reason }) => plain("fatal", Some(reason.as_str())),
            Answer::Fault(fault) => plain(fault.class.as_str(), Some(fault.detail.as_str())),
            Answer::Cancelled => plain("cancelled", None),
        }
    }

    fn rejected(&self) -> impl Iterator<Item = RejectedLine<'l>> + use<'l> {
        let rejected = self.effects.map_or(&[][..], |effects| &effects.rejected);
        rejected.iter().map(|rejection| RejectedLine { index: rejection.index, reason: &rejection.reason })
    }
}

/// The answer to a batch of so many records, for machines.
pub(super) fn line(number: u64, records: usize, answered: &Answered) -> Line<'_> {
    let parts = Parts::of(&answered.answer);
    Line {
        batch: number,
        records,
        outcome: parts.outcome,
        reason: parts.reason,
        after_ms: parts.after.map(|after| after.as_millis()),
        completed: parts.completed,
        suspect: parts.suspect,
        rejected: parts.rejected().collect(),
        emitted: answered.emitted.iter().map(emitted).collect(),
        duration_ms: duration_ms(answered),
        guest_memory_bytes: answered.facts.guest_memory_bytes,
    }
}

fn emitted(record: &EmittedRecord) -> EmittedLine<'_> {
    EmittedLine { sink: &record.sink, source: record.source, record: EmittedBody::of(record) }
}

fn duration_ms(answered: &Answered) -> f64 {
    answered.facts.duration.as_secs_f64() * 1_000.0
}

/// The same for people: one line for the answer, and one for each record that would be written.
pub(super) fn text(number: u64, records: &[FileRecord], answered: &Answered) -> Vec<String> {
    let parts = Parts::of(&answered.answer);
    let mut headline =
        format!("batch {number}: {} ({} records, {:.1} ms)", parts.outcome, records.len(), duration_ms(answered));
    if let Some(completed) = parts.completed {
        headline += &format!(", {completed} completed");
    }
    for (count, what) in [(parts.rejected().count(), "rejected"), (answered.emitted.len(), "emitted")] {
        if count > 0 {
            headline += &format!(", {count} {what}");
        }
    }
    if let Some(after) = parts.after {
        headline += &format!(", after {}", humantime::format_duration(after));
    }
    if let Some(suspect) = parts.suspect {
        headline += &format!(", blaming {}", place(records, suspect));
    }
    if let Some(reason) = parts.reason {
        headline += &format!(": {}", escape(reason));
    }
    let rejected = parts
        .rejected()
        .map(|rejected| format!("  rejected {}: {}", place(records, rejected.index), escape(rejected.reason)));
    let emitted = answered.emitted.iter().map(|record| {
        let from = record.source.map_or(String::new(), |source| format!(" from {}", place(records, source)));
        format!("  emitted to {}{from}: {}", escape(&record.sink), escape(&EmittedBody::of(record).to_line()))
    });
    std::iter::once(headline).chain(rejected).chain(emitted).collect()
}

/// A record by its index, and by where it came from.
fn place(records: &[FileRecord], index: u32) -> String {
    let record = usize::try_from(index).ok().and_then(|index| records.get(index));
    record.map_or(index.to_string(), |FileRecord { topic, partition, offset, .. }| {
        format!("{index} ({}/{partition}/{offset})", escape(topic))
    })
}
