//! A lane: one head-of-line sequence. What waits in it, what is out, and what blocks it.

use std::collections::VecDeque;

use crate::assemble::{Assembly, Offered};
use crate::batch::{Batch, Span};
use crate::io::{ClosedBy, DeliveryId, HeldReason, PluginId, Report, RequestId};
use crate::letters::Tally;
use crate::policy::BatchLimits;
use crate::record::{Partition, Record, RecordFacts};
use crate::time::Moment;

/// One head-of-line sequence over one or more partitions.
#[derive(Debug)]
pub(crate) struct Lane<R> {
    /// Taken in and not yet in a batch, in order of arrival.
    collected: VecDeque<Record<R>>,
    assembly: Assembly,
    /// Parts of a batch that was cut, in order: they come before anything collected.
    pub(crate) parts: VecDeque<Batch<R>>,
    pub(crate) state: LaneState<R>,
    /// The parts of the last batch that settled and is not known to be committed. One more may be handed over meanwhile.
    pub(crate) unconfirmed: Vec<Span>,
    /// Productions that failed in a row.
    pub(crate) produce_failures: u32,
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
    /// A batch is done as soon as what it made is written.
    Producing(Box<Producing<R>>),
    /// A batch is done, and the one before it is not known to be committed yet: two are as many as may be repeated by whoever
    /// comes after a crash. The spans are what has to be confirmed of this one, `then` what follows.
    Settling { spans: Vec<Span>, then: Box<Self> },
    /// A batch failed and comes again, not before a moment.
    Waiting { front: Blocked<R>, until: Moment },
    /// Blocked on purpose until an operator decides (S5).
    Held { front: Blocked<R>, reason: HeldReason },
}

/// What blocks a lane: as much of a batch as is still here, and the partitions whose records did and are read again
/// (rewind by seek) or stand at the lane's front. Once all of those are gone, nothing blocks it any more (B1).
#[derive(Debug)]
pub(crate) struct Blocked<R> {
    pub(crate) batch: Option<Batch<R>>,
    pub(crate) read_again: Vec<Partition>,
}

impl<R> Blocked<R> {
    fn records(&self) -> u64 {
        self.batch.as_ref().map_or(0, |batch| batch.records.len() as u64)
    }
}

impl<R: Clone> Blocked<R> {
    /// Nothing blocks when nothing is left to block.
    pub(crate) fn by(batch: Option<Batch<R>>, read_again: Vec<Partition>) -> Option<Self> {
        (batch.is_some() || !read_again.is_empty()).then_some(Self { batch, read_again })
    }

    /// Without a partition that goes away.
    fn without(self, gone: Partition) -> Option<Self> {
        let batch = self.batch.and_then(|batch| batch.retain(|span| span.partition != gone));
        Self::by(batch, self.read_again.into_iter().filter(|partition| *partition != gone).collect())
    }

    /// With the records of a partition given up, because they are read again.
    fn giving_up(mut self, partition: Partition) -> Self {
        if self.batch.as_ref().is_some_and(|batch| batch.covers(partition)) {
            self.batch = self.batch.and_then(|batch| batch.retain(|span| span.partition != partition));
            self.read_again.push(partition);
        }
        self
    }
}

/// A batch that is with the guest.
#[derive(Debug)]
pub(crate) struct Out<R> {
    pub(crate) delivery: DeliveryId,
    /// The version that works on it.
    pub(crate) plugin: PluginId,
    pub(crate) batch: Batch<R>,
    /// Its answer no longer counts; the lane only waits for the guest to be free.
    pub(crate) cancelled: bool,
}

/// A batch whose dead letters and emitted records are being written.
#[derive(Debug)]
pub(crate) struct Producing<R> {
    pub(crate) id: RequestId,
    pub(crate) plugin: PluginId,
    pub(crate) batch: Batch<R>,
    /// What it adds to the dead letters of its partitions: one for each of its spans.
    pub(crate) tallies: Vec<Tally>,
    /// What is told once it is written.
    pub(crate) made: Report,
    /// What follows once it is written and committed: most often nothing, else the rest of a batch that was done in part.
    pub(crate) then: LaneState<R>,
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
    /// The first record can never be handed over, and there is no place to put it aside (A4).
    Impossible(RecordFacts),
}

impl<R> Lane<R> {
    pub(crate) fn new(now: Moment) -> Self {
        Self {
            collected: VecDeque::new(),
            assembly: Assembly::default(),
            parts: VecDeque::new(),
            state: LaneState::Filling,
            unconfirmed: Vec::new(),
            produce_failures: 0,
            flushed: now,
        }
    }

    pub(crate) fn push(&mut self, record: Record<R>) {
        self.collected.push_back(record);
    }

    /// Records taken in and not yet in a batch.
    pub(crate) fn collected(&self) -> impl Iterator<Item = &Record<R>> {
        self.collected.iter()
    }

    /// What the front of the lane is good for at `now`. Counts each collected record once, however often it is asked.
    /// `put_aside`: there is a place for records that no guest can take.
    pub(crate) fn front(&mut self, now: Moment, limits: &BatchLimits, put_aside: bool) -> Front {
        while let Some(record) = self.collected.get(self.assembly.records()) {
            match self.assembly.offer(&record.facts, limits, put_aside) {
                Offered::Taken => {}
                Offered::NextBatch => break,
                Offered::Impossible => return Front::Impossible(record.facts),
            }
        }
        let Some(first) = self.collected.front() else { return Front::Empty };
        if let Some(full) = self.assembly.full() {
            return Front::Ready(self.assembly.records(), full);
        }
        let due = first.arrived.after(limits.wait_max);
        if due <= now { Front::Ready(self.assembly.records(), ClosedBy::Wait) } else { Front::DueAt(due) }
    }

    /// The limits are others now: what was counted is counted again.
    pub(crate) fn count_anew(&mut self) {
        self.assembly = Assembly::default();
    }

    /// Takes the first `records` out: they become a batch.
    pub(crate) fn cut(&mut self, records: usize) -> Vec<Record<R>> {
        self.assembly = Assembly::default();
        self.collected.drain(..records.min(self.collected.len())).collect()
    }

    /// Forgets the collected records that `keep` rejects; tells how many those were.
    pub(crate) fn forget(&mut self, mut keep: impl FnMut(&Record<R>) -> bool) -> u64 {
        let before = self.collected.len();
        self.collected.retain(|record| keep(record));
        self.assembly = Assembly::default();
        (before - self.collected.len()) as u64
    }

    pub(crate) fn forget_partition(&mut self, partition: Partition) -> u64 {
        self.forget(|record| record.facts.partition != partition)
    }

    pub(crate) fn out(&self) -> Option<&Out<R>> {
        match &self.state {
            LaneState::Out(out) => Some(out),
            LaneState::Filling
            | LaneState::Producing(_)
            | LaneState::Settling { .. }
            | LaneState::Waiting { .. }
            | LaneState::Held { .. } => None,
        }
    }

    /// True while a guest works for the lane.
    pub(crate) fn is_out(&self) -> bool {
        matches!(self.state, LaneState::Out(_))
    }

    /// True while something that a batch made is being written.
    pub(crate) fn is_producing(&self) -> bool {
        matches!(self.state, LaneState::Producing(_))
    }

    /// True while something that is done is not known to be committed.
    pub(crate) fn is_settling(&self) -> bool {
        !self.unconfirmed.is_empty() || matches!(self.state, LaneState::Settling { .. })
    }

    /// True while something of the partition is with the guest, or being written.
    pub(crate) fn is_at_work_on(&self, partition: Partition) -> bool {
        match &self.state {
            LaneState::Out(out) => !out.cancelled && out.batch.covers(partition),
            LaneState::Producing(producing) => producing.batch.covers(partition),
            LaneState::Filling | LaneState::Settling { .. } | LaneState::Waiting { .. } | LaneState::Held { .. } => {
                false
            }
        }
    }

    /// True while an operator has to decide, or will have to once what is under way has ended.
    pub(crate) fn is_held(&self) -> bool {
        self.held_for().is_some()
    }

    /// Why an operator has to decide, if one has to.
    pub(crate) fn held_for(&self) -> Option<&HeldReason> {
        self.state.held_for()
    }

    /// True when the lane holds nothing at all.
    pub(crate) fn is_idle(&self) -> bool {
        self.collected.is_empty() && self.parts.is_empty() && matches!(self.state, LaneState::Filling)
    }
}

impl<R: Clone> Lane<R> {
    /// Takes a partition that is going away out of what blocks the lane; tells how many records went with it, and why the
    /// lane was held if nothing is left that holds it.
    pub(crate) fn unblock(&mut self, gone: Partition) -> (u64, Option<HeldReason>) {
        let before = self.blocked_records();
        self.drop_from_parts(gone);
        let released = self.change_front(|front| front.without(gone));
        (before - self.blocked_records(), released)
    }

    /// Gives up the records of a partition in what blocks the lane, because they are read again. The lane stays blocked.
    pub(crate) fn give_up(&mut self, partition: Partition) {
        self.drop_from_parts(partition);
        self.change_front(|front| Some(front.giving_up(partition)));
    }

    /// Ends the wait and the hold of what blocks the lane, now or once what is under way has ended. Tells why it was held.
    pub(crate) fn release(&mut self, now: Moment, change: impl FnOnce(Blocked<R>) -> Blocked<R>) -> Option<HeldReason> {
        let (state, released) = std::mem::replace(&mut self.state, LaneState::Filling).released(now, change);
        self.state = state;
        released
    }

    /// What is left of a batch that was cut is handed over like any other from now on.
    pub(crate) fn forget_search(&mut self) {
        self.parts.iter_mut().for_each(|part| part.search = None);
        if let LaneState::Out(out) = &mut self.state {
            out.batch.search = None;
        }
        self.change_front(|mut front| {
            front.batch.iter_mut().for_each(|batch| batch.search = None);
            Some(front)
        });
    }

    fn drop_from_parts(&mut self, partition: Partition) {
        let parts = std::mem::take(&mut self.parts);
        self.parts = parts.into_iter().filter_map(|part| part.retain(|span| span.partition != partition)).collect();
    }

    fn change_front(&mut self, change: impl FnOnce(Blocked<R>) -> Option<Blocked<R>>) -> Option<HeldReason> {
        let (state, released) = std::mem::replace(&mut self.state, LaneState::Filling).with_front(change);
        self.state = state;
        released
    }

    fn blocked_records(&self) -> u64 {
        self.state.blocked_records() + self.parts.iter().map(|part| part.records.len() as u64).sum::<u64>()
    }
}

impl<R: Clone> LaneState<R> {
    fn released(self, now: Moment, change: impl FnOnce(Blocked<R>) -> Blocked<R>) -> (Self, Option<HeldReason>) {
        match self {
            Self::Waiting { front, .. } => (Self::Waiting { front: change(front), until: now }, None),
            Self::Held { front, reason } => (Self::Waiting { front: change(front), until: now }, Some(reason)),
            Self::Producing(mut producing) => {
                let (then, released) = std::mem::replace(&mut producing.then, Self::Filling).released(now, change);
                producing.then = then;
                (Self::Producing(producing), released)
            }
            Self::Settling { spans, then } => {
                let (then, released) = then.released(now, change);
                (Self::Settling { spans, then: Box::new(then) }, released)
            }
            Self::Filling | Self::Out(_) => (self, None),
        }
    }

    fn with_front(self, change: impl FnOnce(Blocked<R>) -> Option<Blocked<R>>) -> (Self, Option<HeldReason>) {
        match self {
            Self::Waiting { front, until } => {
                (change(front).map_or(Self::Filling, |front| Self::Waiting { front, until }), None)
            }
            Self::Held { front, reason } => match change(front) {
                Some(front) => (Self::Held { front, reason }, None),
                None => (Self::Filling, Some(reason)),
            },
            Self::Producing(mut producing) => {
                let (then, released) = std::mem::replace(&mut producing.then, Self::Filling).with_front(change);
                producing.then = then;
                (Self::Producing(producing), released)
            }
            Self::Settling { spans, then } => {
                let (then, released) = then.with_front(change);
                (Self::Settling { spans, then: Box::new(then) }, released)
            }
            Self::Filling | Self::Out(_) => (self, None),
        }
    }
}

impl<R> LaneState<R> {
    fn held_for(&self) -> Option<&HeldReason> {
        match self {
            Self::Held { reason, .. } => Some(reason),
            Self::Producing(producing) => producing.then.held_for(),
            Self::Settling { then, .. } => then.held_for(),
            Self::Filling | Self::Out(_) | Self::Waiting { .. } => None,
        }
    }

    fn blocked_records(&self) -> u64 {
        match self {
            Self::Waiting { front, .. } | Self::Held { front, .. } => front.records(),
            Self::Producing(producing) => producing.then.blocked_records(),
            Self::Settling { then, .. } => then.blocked_records(),
            Self::Filling | Self::Out(_) => 0,
        }
    }
}
