//! A lane: one head-of-line sequence. What waits in it, what is out, and what blocks it.

use std::collections::VecDeque;

use crate::assemble::{Assembly, Offered};
use crate::batch::{Batch, Span};
use crate::io::{ClosedBy, DeliveryId, HeldReason};
use crate::policy::BatchLimits;
use crate::record::{Partition, Record, RecordFacts};
use crate::time::Moment;

/// One head-of-line sequence over one or more partitions.
#[derive(Debug)]
pub(crate) struct Lane<R> {
    /// Taken in and not yet in a batch, in order of arrival.
    waiting: VecDeque<Record<R>>,
    assembly: Assembly,
    pub(crate) state: LaneState<R>,
    /// When the lane last handed a batch over.
    pub(crate) flushed: Moment,
}

/// What a lane does besides collecting records.
#[derive(Debug)]
pub(crate) enum LaneState<R> {
    /// Nothing stands before the batch that is being filled.
    Filling,
    /// A batch is with the guest.
    Out(Out<R>),
    /// A batch is done and its commit is under way; the spans are what has to be confirmed.
    Settling(Vec<Span>),
    /// A batch failed. Without a batch: its records are being read again (rewind by seek).
    Waiting { batch: Option<Batch<R>>, until: Moment },
    /// Blocked on purpose until an operator decides (S5).
    Held { batch: Option<Batch<R>>, reason: HeldReason },
}

/// A batch that is with the guest.
#[derive(Debug)]
pub(crate) struct Out<R> {
    pub(crate) delivery: DeliveryId,
    pub(crate) attempt: u32,
    /// The version that works on it.
    pub(crate) plugin: crate::io::PluginId,
    pub(crate) batch: Batch<R>,
    /// Its answer no longer counts; the lane only waits for the guest to be free.
    pub(crate) cancelled: bool,
}

/// Whether the front of a lane can become a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Front {
    /// Nothing waits.
    Empty,
    /// A batch of this many records can be closed now.
    Ready(usize, ClosedBy),
    /// Nothing is due before this moment, unless more records come.
    DueAt(Moment),
    /// The first record can never be handed over (A4).
    TooLarge(RecordFacts),
}

impl<R> Lane<R> {
    pub(crate) fn new(now: Moment) -> Self {
        Self { waiting: VecDeque::new(), assembly: Assembly::default(), state: LaneState::Filling, flushed: now }
    }

    pub(crate) fn push(&mut self, record: Record<R>) {
        self.waiting.push_back(record);
    }

    /// Records taken in and not yet in a batch.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Record<R>> {
        self.waiting.iter()
    }

    /// What the front of the lane is good for at `now`. Counts each waiting record once, however often it is asked.
    pub(crate) fn front(&mut self, now: Moment, limits: &BatchLimits) -> Front {
        while let Some(record) = self.waiting.get(self.assembly.records()) {
            match self.assembly.offer(record.facts.bytes, limits) {
                Offered::Taken => {}
                Offered::NextBatch => break,
                Offered::TooLarge => return Front::TooLarge(record.facts),
            }
        }
        let Some(first) = self.waiting.front() else { return Front::Empty };
        if let Some(full) = self.assembly.full() {
            return Front::Ready(self.assembly.records(), full);
        }
        let due = first.arrived.after(limits.wait_max);
        if due <= now { Front::Ready(self.assembly.records(), ClosedBy::Wait) } else { Front::DueAt(due) }
    }

    /// Takes the first `records` out: they become a batch.
    pub(crate) fn cut(&mut self, records: usize) -> Vec<Record<R>> {
        self.assembly = Assembly::default();
        self.waiting.drain(..records.min(self.waiting.len())).collect()
    }

    /// Forgets the waiting records that `keep` rejects; tells how many those were.
    pub(crate) fn forget(&mut self, mut keep: impl FnMut(&Record<R>) -> bool) -> u64 {
        let before = self.waiting.len();
        self.waiting.retain(|record| keep(record));
        self.assembly = Assembly::default();
        (before - self.waiting.len()) as u64
    }

    pub(crate) fn forget_partition(&mut self, partition: Partition) -> u64 {
        self.forget(|record| record.facts.partition != partition)
    }

    pub(crate) fn out(&self) -> Option<&Out<R>> {
        match &self.state {
            LaneState::Out(out) => Some(out),
            LaneState::Filling | LaneState::Settling(_) | LaneState::Waiting { .. } | LaneState::Held { .. } => None,
        }
    }

    /// True when the lane holds nothing at all.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && matches!(self.state, LaneState::Filling)
    }
}

impl<R: Clone> Lane<R> {
    /// Takes partitions out of a batch that is not with the guest; tells how many records went.
    /// When nothing of it is left, the lane is free again.
    pub(crate) fn retain_batch(&mut self, keep: impl Fn(&Span) -> bool) -> u64 {
        let before = self.batch_records();
        let state = std::mem::replace(&mut self.state, LaneState::Filling);
        self.state = match state {
            LaneState::Waiting { batch: Some(batch), until } => match batch.retain(keep) {
                Some(batch) => LaneState::Waiting { batch: Some(batch), until },
                None => LaneState::Filling,
            },
            LaneState::Held { batch: Some(batch), reason } => match batch.retain(keep) {
                Some(batch) => LaneState::Held { batch: Some(batch), reason },
                None => LaneState::Filling,
            },
            state @ (LaneState::Filling
            | LaneState::Out(_)
            | LaneState::Settling(_)
            | LaneState::Waiting { batch: None, .. }
            | LaneState::Held { batch: None, .. }) => state,
        };
        before - self.batch_records()
    }

    fn batch_records(&self) -> u64 {
        match &self.state {
            LaneState::Waiting { batch: Some(batch), .. } | LaneState::Held { batch: Some(batch), .. } => {
                batch.records.len() as u64
            }
            LaneState::Filling
            | LaneState::Out(_)
            | LaneState::Settling(_)
            | LaneState::Waiting { batch: None, .. }
            | LaneState::Held { batch: None, .. } => 0,
        }
    }
}
