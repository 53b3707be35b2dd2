//! One assigned partition: everything the core remembers of it hangs off one value, made on assignment and gone with it.
//!
//! Many public bug reports are one of these things outliving the assignment; here nothing can.

use crate::decide::Spent;
use crate::io::{Assignment, HeldReason, PluginId, RequestId, RevokeId, StartPosition};
use crate::letters::LetterCount;
use crate::record::{Epoch, LeaderEpoch, NextOffset, Offset, Partition};
use crate::time::Moment;

/// One partition while it belongs to this member.
#[derive(Debug)]
pub(crate) struct Owned {
    /// The epoch of the assignment; stays when a seek raises the epoch of reading.
    pub(crate) assigned: Epoch,
    /// The epoch of the current reading, or of the last one while nothing is read.
    pub(crate) epoch: Epoch,
    pub(crate) reading: Reading,
    /// The next record taken in lies here or behind.
    pub(crate) expected: NextOffset,
    /// The position behind the last record taken in. Between it and `expected` lies no record (C10).
    pub(crate) taken: NextOffset,
    /// Leader epoch of the log just before `expected`, where something was passed.
    passed_epoch: Option<LeaderEpoch>,
    pub(crate) commit: Commit,
    budget: Budget,
    pub(crate) held: Option<HeldReason>,
    /// Dead letters lately.
    pub(crate) letters: LetterCount,
    /// Set while a revocation of it waits for its answer.
    pub(crate) revoking: Option<RevokeId>,
}

/// Whether and how records of a partition are being read.
#[derive(Debug)]
pub(crate) enum Reading {
    /// Records of the current epoch are taken in.
    Live,
    /// The position is being moved; until that has worked nothing is taken in (R3).
    Moving(Move),
    /// There is no position to read from; see `held`.
    Stopped,
}

/// A rewind by seek on its way: learn the committed offset, seek to it, check the result.
#[derive(Debug)]
pub(crate) struct Move {
    pub(crate) step: Step,
    /// Failed tries of the current step.
    pub(crate) tries: u32,
    /// No try before this moment.
    pub(crate) not_before: Moment,
}

/// The step a rewind stands at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Ask,
    Asking(RequestId),
    Seek(NextOffset),
    Seeking(RequestId, NextOffset),
}

/// What is committed of a partition, what should be, and how far the way there is.
#[derive(Debug)]
pub(crate) struct Commit {
    /// The position at assignment: where to go when nothing is committed. Never the reset policy.
    /// `None`: there was no usable position.
    pub(crate) start: Option<NextOffset>,
    /// The committed position as last confirmed by the broker.
    pub(crate) confirmed: Option<NextOffset>,
    pub(crate) wanted: Option<Wanted>,
    /// What of the wish was sent last: the records that are committed with it, and the position behind them.
    sent: Option<(u64, NextOffset)>,
    pub(crate) phase: CommitPhase,
    /// Failed tries of the current wish.
    pub(crate) tries: u32,
    /// A request failed since the last one that worked.
    pub(crate) failing: bool,
}

/// A position that should be committed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) next: NextOffset,
    pub(crate) leader_epoch: Option<LeaderEpoch>,
    pub(crate) plugin: PluginId,
    /// How many records are done with it and not known to be committed; none for a start position.
    pub(crate) records: u64,
    /// The position behind the last of them.
    pub(crate) behind: NextOffset,
}

/// What a partition's commit waits for. One request at a time (C4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommitPhase {
    Idle,
    InFlight(RequestId, NextOffset),
    /// The outcome is unknown: the committed offset has to be read before anything else (C5).
    Unknown {
        sent: NextOffset,
        not_before: Moment,
    },
    Asking(RequestId, NextOffset),
    /// Failed; sent again at this moment (C2).
    Backoff(Moment),
}

/// Failed attempts since the last progress, counted at the first record that is not done (R4).
#[derive(Clone, Copy, Debug, Default)]
struct Budget {
    at: Option<Offset>,
    spent: Spent,
}

impl Owned {
    pub(crate) fn new(assignment: &Assignment, plugin: PluginId) -> Self {
        let (start, confirmed) = match assignment.start {
            StartPosition::Committed(next) => (Some(next), Some(next)),
            StartPosition::Reset(next) => (Some(next), None),
            StartPosition::Unusable(_) => (None, None),
        };
        let (reading, held) = match assignment.start {
            StartPosition::Unusable(trouble) => {
                (Reading::Stopped, Some(HeldReason::Offset { partition: assignment.partition, trouble }))
            }
            StartPosition::Committed(_) | StartPosition::Reset(_) => (Reading::Live, None),
        };
        // A start that the reset policy chose is committed once, so that a crash before the first batch cannot skip it (C8).
        let wanted = match assignment.start {
            StartPosition::Reset(next) => Some(Wanted::of_no_record(next, None, plugin)),
            StartPosition::Committed(_) | StartPosition::Unusable(_) => None,
        };
        Self {
            assigned: assignment.epoch,
            epoch: assignment.epoch,
            reading,
            expected: start.unwrap_or(NextOffset(0)),
            taken: start.unwrap_or(NextOffset(0)),
            passed_epoch: None,
            commit: Commit { start, confirmed, wanted, sent: None, phase: CommitPhase::Idle, tries: 0, failing: false },
            budget: Budget::default(),
            held,
            letters: LetterCount::default(),
            revoking: None,
        }
    }

    /// Reading stands here, and everything that it still holds lies before.
    pub(crate) fn stand_at(&mut self, next: NextOffset) {
        self.expected = next;
        self.taken = next;
        self.passed_epoch = None;
    }

    /// Reading went past offsets without a record.
    pub(crate) fn pass(&mut self, next: NextOffset, leader_epoch: Option<LeaderEpoch>) {
        self.expected = next;
        self.passed_epoch = leader_epoch;
    }

    /// What a commit says once everything before `done` is done: that position, or the one behind what follows it and holds
    /// no record. Without this a partition whose last transaction retention removed would be out of range for ever (C10).
    pub(crate) fn position_behind(
        &self,
        done: NextOffset,
        leader_epoch: Option<LeaderEpoch>,
    ) -> (NextOffset, Option<LeaderEpoch>) {
        if done == self.taken && self.expected > done {
            (self.expected, self.passed_epoch)
        } else {
            (done, leader_epoch)
        }
    }

    /// The failed attempts that count for a batch whose first record of this partition is `first`.
    pub(crate) fn spent(&self, first: Offset) -> Spent {
        if self.budget.at == Some(first) { self.budget.spent } else { Spent::default() }
    }

    /// Remembers the failed attempts of the batch that starts at `first`.
    pub(crate) fn spend(&mut self, first: Offset, spent: Spent) {
        self.budget = Budget { at: Some(first), spent };
    }

    /// When this partition wants attention by itself. `rewinds`: time alone lets its rewind go on.
    pub(crate) fn wakeup(&self, rewinds: bool) -> Option<Moment> {
        let commit = match self.commit.phase {
            CommitPhase::Backoff(until) | CommitPhase::Unknown { not_before: until, .. } => Some(until),
            CommitPhase::Idle | CommitPhase::InFlight(..) | CommitPhase::Asking(..) => None,
        };
        let rewind = match &self.reading {
            Reading::Moving(moving) if rewinds => match moving.step {
                Step::Ask | Step::Seek(_) => Some(moving.not_before),
                Step::Asking(_) | Step::Seeking(..) => None,
            },
            Reading::Moving(_) | Reading::Live | Reading::Stopped => None,
        };
        [commit, rewind].into_iter().flatten().min()
    }

    /// Progress up to a position: what was spent on records before it no longer counts.
    pub(crate) fn clear_budget_before(&mut self, next: NextOffset) {
        if self.budget.at.is_some_and(|at| !next.reaches(at)) {
            self.clear_budget();
        }
    }

    /// A new plugin version, or an operator who wants another try: what was spent no longer counts.
    pub(crate) fn clear_budget(&mut self) {
        self.budget = Budget::default();
    }
}

impl Commit {
    /// True when everything that should be committed is known to be.
    pub(crate) fn settled(&self) -> bool {
        matches!(self.phase, CommitPhase::Idle | CommitPhase::Backoff(_)) && self.due().is_none()
    }

    /// The wish that is still to be fulfilled. An unchanged offset is none (C4).
    pub(crate) fn due(&self) -> Option<Wanted> {
        self.wanted.filter(|wanted| self.confirmed.is_none_or(|confirmed| wanted.next > confirmed))
    }

    /// The position up to which everything is done. `None`: there was no usable position, and nothing was done since.
    pub(crate) fn done(&self) -> Option<NextOffset> {
        self.wanted.map(|wanted| wanted.next).max(self.confirmed).max(self.start)
    }

    /// Records that are done and whose commit is not confirmed yet.
    pub(crate) fn unconfirmed_records(&self) -> u64 {
        self.due().map_or(0, |wanted| wanted.records)
    }

    /// True when all that is wished for is the start position itself: no record depends on it.
    pub(crate) fn only_start(&self) -> bool {
        self.wanted.is_some_and(|wanted| Some(wanted.next) == self.start)
    }

    /// True when no record depends on the wish: it is the start position, or what was passed behind the last record. Giving
    /// it up and reading again would help nobody.
    pub(crate) fn is_of_no_record(&self) -> bool {
        self.wanted.is_some_and(|wanted| wanted.records == 0)
    }

    /// True while nothing is known to have gone wrong with what should be committed.
    pub(crate) fn is_on_its_way(&self) -> bool {
        !self.failing && matches!(self.phase, CommitPhase::Idle | CommitPhase::InFlight(..))
    }

    /// True while a request may still change the committed offset.
    pub(crate) fn in_flight(&self) -> bool {
        matches!(self.phase, CommitPhase::InFlight(..))
    }

    /// A look-up showed what is committed. What was waiting to be tried again may be done already.
    pub(crate) fn learn(&mut self, committed: NextOffset) {
        self.raise_confirmed(committed);
        self.rest_if_done();
    }

    /// Nothing is tried again of which a look-up has shown meanwhile that it is done.
    pub(crate) fn rest_if_done(&mut self) {
        let waits = matches!(self.phase, CommitPhase::Backoff(_) | CommitPhase::Unknown { .. });
        if waits && self.due().is_none() {
            self.rest();
        }
    }

    /// The position at assignment is to be committed, unless more is wished or known to be.
    pub(crate) fn wish_start(&mut self, plugin: PluginId) {
        if self.confirmed.is_none() && self.wanted.is_none() {
            self.wanted = self.start.map(|next| Wanted::of_no_record(next, None, plugin));
        }
    }

    /// What lies behind everything that is done, and holds no record, is to be committed too: in the name of the version behind
    /// the records before it while those wait for their commit, else of the one that runs.
    pub(crate) fn wish_passed(&mut self, next: NextOffset, leader_epoch: Option<LeaderEpoch>, plugin: PluginId) {
        self.wanted = Some(match self.due() {
            Some(due) => Wanted { next, leader_epoch, ..due },
            None => Wanted::of_no_record(next, leader_epoch, plugin),
        });
        // Tries belong to one position.
        self.tries = 0;
    }

    /// The partition is read again, and what was passed behind its last record is passed again. The start is still wished.
    pub(crate) fn forget_passed(&mut self) {
        let start = self.start;
        if let Some(wanted) = self.wanted.take_if(|wanted| wanted.records == 0 && Some(wanted.next) != start) {
            // A try that failed may have been done all the same. The start is not committed over it.
            if let CommitPhase::Backoff(until) = self.phase {
                self.phase = CommitPhase::Unknown { sent: wanted.next, not_before: until };
            }
            self.wish_start(wanted.plugin);
        }
    }

    /// A look-up showed what is committed, whoever asked: what was unknown is not any more, and may be tried again in its time.
    pub(crate) fn end_doubt(&mut self) {
        match self.phase {
            CommitPhase::Unknown { not_before, .. } => self.phase = CommitPhase::Backoff(not_before),
            CommitPhase::Asking(..) => self.phase = CommitPhase::Idle,
            CommitPhase::Idle | CommitPhase::InFlight(..) | CommitPhase::Backoff(_) => {}
        }
    }

    /// The wait after a failure is over. Whatever is wished for now may be sent.
    pub(crate) fn end_backoff(&mut self, now: Moment) {
        if matches!(self.phase, CommitPhase::Backoff(until) if until <= now) {
            self.phase = CommitPhase::Idle;
        }
    }

    /// Time is short: what waits to be tried again is tried now.
    pub(crate) fn hurry(&mut self, now: Moment) {
        match &mut self.phase {
            CommitPhase::Backoff(until) | CommitPhase::Unknown { not_before: until, .. } => *until = now.min(*until),
            CommitPhase::Idle | CommitPhase::InFlight(..) | CommitPhase::Asking(..) => {}
        }
    }

    /// The broker has stored this position. Tells how many records are committed by it.
    pub(crate) fn confirm(&mut self, next: NextOffset) -> u64 {
        self.rest();
        self.raise_confirmed(next)
    }

    /// Nothing is under way, and nothing has failed.
    pub(crate) fn rest(&mut self) {
        self.phase = CommitPhase::Idle;
        self.tries = 0;
        self.failing = false;
    }

    /// The wish is given up.
    pub(crate) fn give_up(&mut self) {
        self.wanted = None;
        self.sent = None;
        self.rest();
    }

    /// What is confirmed only rises. The wish may have grown meanwhile; it stays then, and its records may be committed.
    fn raise_confirmed(&mut self, next: NextOffset) -> u64 {
        self.confirmed = self.confirmed.max(Some(next));
        let Some(wanted) = &mut self.wanted else { return 0 };
        if wanted.behind <= next {
            return std::mem::take(&mut wanted.records);
        }
        match self.sent.take_if(|(_, behind)| *behind <= next) {
            Some((records, _)) => {
                wanted.records = wanted.records.saturating_sub(records);
                records
            }
            None => 0,
        }
    }

    /// The wish is sent as it is now.
    pub(crate) fn send(&mut self, id: RequestId, next: NextOffset) {
        self.sent = self.wanted.map(|wanted| (wanted.records, wanted.behind));
        self.phase = CommitPhase::InFlight(id, next);
    }
}

impl Wanted {
    /// A position on which no record depends.
    fn of_no_record(next: NextOffset, leader_epoch: Option<LeaderEpoch>, plugin: PluginId) -> Self {
        Self { next, leader_epoch, plugin, records: 0, behind: next }
    }
}

/// The sequence that a partition belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LaneId {
    /// All partitions of this member.
    Consumer,
    /// One partition.
    Of(Partition),
}
