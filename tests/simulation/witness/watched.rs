//! What the witness knows of one owned partition, and of one hand-over.
//!
//! Must not know any rule: it only remembers.

use std::collections::VecDeque;
use std::sync::Arc;

use gristmill_core::io::{Assignment, BatchId, DeliveryId, PluginId, RequestId, RevokeId, StartPosition};
use gristmill_core::record::{Epoch, LeaderEpoch, Record, RecordFacts};
use gristmill_core::time::Moment;

use crate::names::{Body, Place};

/// One owned partition.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) assigned: Epoch,
    /// The epoch whose records may be handed over; none while the position is being moved.
    pub(super) live: Option<Epoch>,
    pub(super) start: Option<i64>,
    /// The start was chosen by the reset policy and has to be committed once.
    pub(super) reset: bool,
    /// The next offset to be handed over.
    pub(super) due: Option<i64>,
    /// Everything before has arrived under the current reading.
    pub(super) fetched: Option<i64>,
    /// Records that arrived under the current reading and are not done, or not before one that is not.
    pub(super) arrivals: VecDeque<Arrival>,
    /// Behind the last record that arrived.
    pub(super) arrived: Option<i64>,
    pub(super) passed_epoch: Option<LeaderEpoch>,
    /// How far what was passed could be committed when the next record arrived, and the leader epoch there.
    pub(super) beyond: (i64, Option<LeaderEpoch>),
    /// Every record before is done.
    pub(super) done: i64,
    pub(super) done_by: Option<(PluginId, Option<LeaderEpoch>)>,
    pub(super) confirmed: Option<i64>,
    /// Which batch was done up to where.
    pub(super) marks: Vec<(u64, i64)>,
    pub(super) commit: Option<(RequestId, i64)>,
    pub(super) tries: u32,
    pub(super) tried: Option<i64>,
    pub(super) commit_not_before: Moment,
    pub(super) commit_not_after: Moment,
    /// A commit's outcome is unknown and was not looked up yet.
    pub(super) unknown: bool,
    /// A commit failed since the last one that worked.
    pub(super) failing: bool,
    pub(super) looked_up: Option<Option<i64>>,
    /// A look-up was sent that no commit of unknown outcome asked for: a rewind begins.
    pub(super) asked: bool,
    /// Something made a rewind due, which may show only later: a rewind waits for commits and look-ups to end.
    pub(super) rewinding: bool,
    /// It cannot be read at its position.
    pub(super) troubled: bool,
    /// Its last hand-over failed and has not come again.
    pub(super) failed: bool,
    /// A seek was sent, and none has worked yet.
    pub(super) moving: bool,
    pub(super) seek: Option<RequestId>,
    pub(super) seek_failures: u32,
    pub(super) seek_not_before: Moment,
    pub(super) budget: Spent,
    pub(super) not_before: Moment,
    pub(super) held: bool,
    /// Records before this were counted, and so many of them in a row were put aside.
    pub(super) letters: (i64, u32),
    /// Records of each batch that was counted, and how many of them were put aside.
    pub(super) shares: Vec<(u64, u64)>,
    pub(super) revoking: Option<RevokeId>,
}

/// A record that arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) offset: i64,
    pub(super) leader_epoch: Option<LeaderEpoch>,
    pub(super) bytes: u64,
    pub(super) undecodable: bool,
    /// Set once it is done: by which version.
    pub(super) by: Option<PluginId>,
}

impl Arrival {
    /// True when no guest can take it.
    pub(super) fn is_impossible(&self, cap: u64) -> bool {
        self.undecodable || self.bytes > cap
    }
}

/// Failed attempts at the first record that is not done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    pub(super) first: Option<i64>,
    pub(super) retries: u32,
    pub(super) faults: u32,
}

impl Watched {
    pub(super) fn new(assignment: &Assignment) -> Self {
        let (start, reset) = match assignment.start {
            StartPosition::Committed(next) => (Some(next.0), false),
            StartPosition::Reset(next) => (Some(next.0), true),
            StartPosition::Unusable(_) => (None, false),
        };
        Self {
            assigned: assignment.epoch,
            live: start.map(|_| assignment.epoch),
            start,
            reset,
            due: start,
            fetched: start,
            arrivals: VecDeque::new(),
            arrived: start,
            passed_epoch: None,
            beyond: (i64::MIN, None),
            done: start.unwrap_or(i64::MIN),
            done_by: None,
            confirmed: if reset { None } else { start },
            marks: Vec::new(),
            commit: None,
            tries: 0,
            tried: None,
            commit_not_before: Moment::default(),
            commit_not_after: Moment::default(),
            unknown: false,
            failing: false,
            looked_up: None,
            asked: false,
            rewinding: false,
            troubled: false,
            failed: false,
            moving: false,
            seek: None,
            seek_failures: 0,
            seek_not_before: Moment::default(),
            budget: Spent::default(),
            not_before: Moment::default(),
            held: start.is_none(),
            letters: (i64::MIN, 0),
            shares: Vec::new(),
            revoking: None,
        }
    }

    /// A record arrives.
    pub(super) fn arrive(&mut self, facts: &RecordFacts) {
        self.beyond = self.passed();
        self.fetched = Some(facts.offset.0 + 1);
        self.arrived = self.fetched;
        let (offset, leader_epoch) = (facts.offset.0, facts.leader_epoch);
        let impossible = facts.undecodable;
        self.arrivals.push_back(Arrival {
            offset,
            leader_epoch,
            bytes: facts.bytes,
            undecodable: impossible,
            by: None,
        });
    }

    /// Reading begins here; nothing that arrived before counts.
    pub(super) fn stand_at(&mut self, next: i64) {
        self.arrivals.clear();
        self.due = Some(next);
        self.fetched = Some(next);
        self.arrived = Some(next);
        self.beyond = (next, None);
        self.done = next;
        self.done_by = None;
        self.marks.clear();
    }

    /// The batches that are done here and not known to be committed.
    pub(super) fn open_marks(&self) -> impl Iterator<Item = u64> {
        let confirmed = self.confirmed.unwrap_or(i64::MIN);
        self.marks.iter().filter(move |(_, next)| *next > confirmed).map(|(batch, _)| *batch)
    }

    /// Records from `first` on and before `next` are done.
    pub(super) fn finish(&mut self, first: i64, next: i64, by: PluginId) {
        for arrival in self.arrivals.iter_mut().filter(|arrival| (first..next).contains(&arrival.offset)) {
            arrival.by = Some(by);
        }
        while let Some(Arrival { offset, leader_epoch, by: Some(by), .. }) = self.arrivals.front().copied() {
            self.arrivals.pop_front();
            self.done = offset + 1;
            self.done_by = Some((by, leader_epoch));
        }
    }

    /// What a commit has to say: behind the last record that is done, or behind what follows it and holds no record (C10).
    pub(super) fn target(&self) -> i64 {
        self.passed().0.max(self.done)
    }

    /// How far what was passed can be committed.
    pub(super) fn passed(&self) -> (i64, Option<LeaderEpoch>) {
        match self.fetched {
            Some(fetched) if self.arrived == Some(self.done) && fetched > self.done => (fetched, self.passed_epoch),
            Some(_) | None => self.beyond,
        }
    }

    /// A commit's outcome or a rewind's target is still to be learnt.
    pub(super) fn waits_for_look_up(&self) -> bool {
        self.unknown || (self.asked && self.looked_up.is_none())
    }

    /// Records are done and not known to be committed.
    pub(super) fn unsettled(&self) -> bool {
        self.is_uncommitted(self.done)
    }

    /// Something is done or passed and not known to be committed.
    pub(super) fn is_behind(&self) -> bool {
        self.is_uncommitted(self.target())
    }

    fn is_uncommitted(&self, position: i64) -> bool {
        self.start.is_some()
            && Some(position) != self.start
            && self.confirmed.is_none_or(|confirmed| confirmed < position)
    }
}

/// One hand-over that has not been answered.
#[derive(Debug)]
pub(super) struct Handed {
    pub(super) lane: Place,
    pub(super) delivery: DeliveryId,
    pub(super) batch: BatchId,
    pub(super) plugin: PluginId,
    pub(super) parts: Vec<Part>,
    pub(super) records: Arc<[Record<Body>]>,
    pub(super) part: bool,
    pub(super) cancelled: bool,
}

/// One partition's part of a hand-over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) place: Place,
    pub(super) assigned: Epoch,
    pub(super) first: i64,
    pub(super) next: i64,
    /// All records, those that no guest can take included.
    pub(super) records: u64,
}

/// The name of a hand-over, for texts.
pub(super) fn name(id: DeliveryId, batch: BatchId) -> String {
    format!("hand-over {} of batch {}", id.0, batch.0)
}
