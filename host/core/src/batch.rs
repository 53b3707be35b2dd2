//! A closed batch: its records, and which part of each partition they are.

use std::sync::Arc;

use crate::io::{BatchId, ClosedBy, Place};
use crate::record::{Epoch, LeaderEpoch, NextOffset, Offset, Partition, Record};

/// A closed batch. Its records never change, so that a redelivery is the same batch byte for byte (A10).
#[derive(Clone, Debug)]
pub(crate) struct Batch<R> {
    pub(crate) id: BatchId,
    pub(crate) records: Arc<[Record<R>]>,
    pub(crate) bytes: u64,
    pub(crate) closed_by: ClosedBy,
    /// One for each partition in the batch, in order of first appearance.
    pub(crate) spans: Vec<Span>,
}

/// The part of one partition that a batch holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) partition: Partition,
    /// The assignment under which the records were read. A later owner of the same number is somebody else.
    pub(crate) assigned: Epoch,
    /// Offset of its first record: where a rewind has to lead.
    pub(crate) first: Offset,
    pub(crate) last: Offset,
    /// What a commit says once the batch is done (C1).
    pub(crate) next: NextOffset,
    pub(crate) leader_epoch: Option<LeaderEpoch>,
    pub(crate) records: u64,
}

impl<R: Clone> Batch<R> {
    /// Closes a batch over `records`; `assigned` tells the assignment of each partition in it.
    pub(crate) fn close(
        id: BatchId,
        records: Vec<Record<R>>,
        closed_by: ClosedBy,
        assigned: impl Fn(Partition) -> Option<Epoch>,
    ) -> Self {
        let spans = spans(&records, assigned);
        let bytes = records.iter().map(|record| record.facts.bytes).sum();
        Self { id, records: records.into(), bytes, closed_by, spans }
    }

    /// The batch without the partitions that `keep` rejects. `None` when nothing is left.
    pub(crate) fn retain(self, keep: impl Fn(&Span) -> bool) -> Option<Self> {
        let kept: Vec<Span> = self.spans.iter().filter(|span| keep(span)).copied().collect();
        if kept.len() == self.spans.len() {
            return Some(self);
        }
        if kept.is_empty() {
            return None;
        }
        let stays = |partition| kept.iter().any(|span| span.partition == partition);
        let records: Vec<Record<R>> =
            self.records.iter().filter(|record| stays(record.facts.partition)).cloned().collect();
        let bytes = records.iter().map(|record| record.facts.bytes).sum();
        Some(Self { records: records.into(), bytes, spans: kept, ..self })
    }

    /// Where its records lie.
    pub(crate) fn places(&self) -> Vec<Place> {
        self.spans.iter().map(|&Span { partition, first, last, .. }| Place { partition, first, last }).collect()
    }

    pub(crate) fn covers(&self, partition: Partition) -> bool {
        self.spans.iter().any(|span| span.partition == partition)
    }
}

fn spans<R>(records: &[Record<R>], assigned: impl Fn(Partition) -> Option<Epoch>) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut at = 0;
    for record in records {
        let facts = &record.facts;
        // Records come in runs of one partition: look at the last span first.
        if spans.get(at).is_none_or(|span| span.partition != facts.partition) {
            at = spans.iter().position(|span| span.partition == facts.partition).unwrap_or(spans.len());
        }
        if at == spans.len() {
            spans.push(Span {
                partition: facts.partition,
                assigned: assigned(facts.partition).unwrap_or(facts.epoch),
                first: facts.offset,
                last: facts.offset,
                next: facts.offset.next(),
                leader_epoch: facts.leader_epoch,
                records: 0,
            });
        }
        let span = &mut spans[at];
        span.last = facts.offset;
        span.next = facts.offset.next();
        span.leader_epoch = facts.leader_epoch;
        span.records += 1;
    }
    spans
}
