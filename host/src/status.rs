//! What a running host is doing, in the words that logs, the live line and metrics share, and how much it has done.
//!
//! Told of everything that goes into the machine and comes out of it; decides nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use gristmill_core::io::{Action, ClosedBy, Input, Report};
use gristmill_core::record::{NextOffset, Partition};
use gristmill_core::time::Moment;

use crate::narrate::{TopicNames, held_words, trouble_words};

/// What the host is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Waiting for partitions.
    Joining,
    /// Records may flow.
    Running,
    /// A batch failed and waits for its next attempt.
    Waiting { attempt: u32, since: Moment, until: Moment, reason: String },
    /// Blocked on purpose.
    Held { since: Moment, reason: String },
    /// Hand-overs are paused by an operator.
    Paused,
    /// Asked to stop, or on its way out by itself: what it waits for since when. Nothing named: leaving the group.
    Draining { since: Moment, waits_for: Option<&'static str> },
    /// Over.
    Stopped,
}

impl State {
    /// The word for this state, the same everywhere.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Joining => "joining",
            Self::Running => "running",
            Self::Waiting { .. } => "waiting",
            Self::Held { .. } => "held",
            Self::Paused => "paused",
            Self::Draining { .. } => "draining",
            Self::Stopped => "stopped",
        }
    }
}

/// What has been counted since the start. Records, unless the name says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Taken from Kafka.
    pub(crate) records_in: u64,
    /// Dropped as repeated or outdated; they were or will be handed over under another reading.
    pub(crate) stale: u64,
    /// Given to the plugin, each attempt counted.
    pub(crate) handed_over: u64,
    /// Of these, given again after a failed attempt.
    pub(crate) redelivered: u64,
    /// Said ok to by the plugin, and committed.
    pub(crate) committed: u64,
    /// Batches handed over for the first time, by what closed them.
    pub(crate) closed_by_records: u64,
    /// As above.
    pub(crate) closed_by_bytes: u64,
    /// As above.
    pub(crate) closed_by_wait: u64,
    /// Batches that were said ok to.
    pub(crate) batches_ok: u64,
    /// Retryable answers.
    pub(crate) retries: u64,
    /// Traps, time-outs and the like.
    pub(crate) faults: u64,
    /// Assignments, revocations and losses.
    pub(crate) rebalances: u64,
    /// Times this member was thrown out of the group for being silent.
    pub(crate) evictions: u64,
    /// Dropped by the Kafka edge itself as repeated or outdated; not part of `records_in`.
    pub(crate) stale_at_edge: u64,
}

/// The running host as an observer sees it.
#[derive(Debug)]
pub(crate) struct Status {
    pub(crate) counts: Counts,
    pub(crate) assigned: BTreeMap<Partition, Progress>,
    state: State,
    held: BTreeMap<Option<Partition>, State>,
    /// Taken in since the last hand-over: how full the next batch is.
    pub(crate) filling: u64,
    pub(crate) paused: bool,
    /// Since when it is on its way out.
    ending: Option<Moment>,
    /// True once it only has to leave the group.
    leaving: bool,
    /// What the plugin has.
    pub(crate) batch_out: Option<BatchOut>,
    /// Commits that have no answer yet.
    commits_out: usize,
}

/// A batch that is with the plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BatchOut {
    pub(crate) records: u64,
    pub(crate) since: Moment,
}

/// How far one partition is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// As last confirmed.
    pub(crate) committed: Option<NextOffset>,
    /// End of the log, as last heard.
    pub(crate) end: Option<NextOffset>,
    /// When the committed offset last moved, or the partition was assigned (O4).
    pub(crate) moved: Moment,
}

impl Progress {
    /// Records between the committed offset and the end, where both are known. Control records count as well.
    pub(crate) fn lag(&self) -> Option<u64> {
        let (committed, end) = (self.committed?, self.end?);
        Some(u64::try_from(end.0 - committed.0).unwrap_or(0))
    }

    /// How long there has been lag without progress.
    pub(crate) fn age(&self, now: Moment) -> Duration {
        if self.lag().unwrap_or(0) == 0 { Duration::ZERO } else { now.since(self.moved) }
    }
}

impl Status {
    pub(crate) fn new() -> Self {
        Self {
            counts: Counts::default(),
            assigned: BTreeMap::new(),
            state: State::Joining,
            held: BTreeMap::new(),
            filling: 0,
            paused: false,
            ending: None,
            leaving: false,
            batch_out: None,
            commits_out: 0,
        }
    }

    /// What a stop would have to wait for now.
    pub(crate) fn unfinished(&self) -> Option<&'static str> {
        if self.leaving {
            return None;
        }
        if self.batch_out.is_some() { Some("the running batch") } else { (self.commits_out > 0).then_some("a commit") }
    }

    /// How many more are held than the one that the state tells of.
    pub(crate) fn more_held(&self) -> usize {
        self.held.len().saturating_sub(1)
    }

    /// The state, the most pressing first.
    pub(crate) fn state(&self) -> State {
        if let Some(since) = self.ending {
            return State::Draining { since, waits_for: self.unfinished() };
        }
        match (&self.state, self.held.values().next()) {
            (State::Stopped, _) => State::Stopped,
            (_, Some(held)) => held.clone(),
            (State::Running, None) if self.paused => State::Paused,
            (State::Running, None) if self.assigned.is_empty() => State::Joining,
            (state, None) => state.clone(),
        }
    }

    /// The partitions that nothing blocks on purpose, with their progress.
    pub(crate) fn free_partitions(&self) -> impl Iterator<Item = (Partition, &Progress)> {
        let blocked = self.held.contains_key(&None) || matches!(self.state, State::Waiting { .. });
        let free = move |partition: &Partition| !blocked && !self.held.contains_key(&Some(*partition));
        self.assigned.iter().map(|(&partition, progress)| (partition, progress)).filter(move |(it, _)| free(it))
    }

    /// Sum of the lag of all partitions; `None` while it is not known of every one.
    pub(crate) fn lag(&self) -> Option<u64> {
        if self.assigned.is_empty() {
            return None;
        }
        self.assigned.values().map(Progress::lag).sum()
    }

    pub(crate) fn end_of(&mut self, partition: Partition, end: NextOffset) {
        if let Some(progress) = self.assigned.get_mut(&partition) {
            progress.end = Some(end);
        }
    }

    pub(crate) fn note_input<R>(&mut self, now: Moment, input: &Input<R>) {
        match input {
            Input::Fetched(records) => {
                self.counts.records_in += records.len() as u64;
                self.filling += records.len() as u64;
            }
            Input::Assigned(_) | Input::Revoking { .. } | Input::Lost(_) => self.counts.rebalances += 1,
            Input::StopAsked | Input::StopNowAsked => {
                self.ending.get_or_insert(now);
            }
            Input::PauseAsked => self.paused = true,
            Input::ResumeAsked => self.paused = false,
            Input::Answered { .. } => self.batch_out = None,
            Input::CommitEnded { .. } => self.commits_out = self.commits_out.saturating_sub(1),
            Input::Tick
            | Input::Passed(_)
            | Input::PositionTrouble { .. }
            | Input::CommittedKnown { .. }
            | Input::Sought { .. }
            | Input::PluginReady(_)
            | Input::RetryAsked
            | Input::MemoryShort
            | Input::Fenced
            | Input::Left => {}
        }
    }

    pub(crate) fn note_action<R>(&mut self, now: Moment, action: &Action<R>, topics: &impl TopicNames) {
        match action {
            Action::Deliver(delivery) => {
                let records = delivery.records.len() as u64;
                self.state = State::Running;
                self.batch_out = Some(BatchOut { records, since: now });
                self.counts.handed_over += records;
                if delivery.attempt > 1 {
                    self.counts.redelivered += records;
                    return;
                }
                self.filling = self.filling.saturating_sub(records);
                match delivery.closed_by {
                    ClosedBy::Records => self.counts.closed_by_records += 1,
                    ClosedBy::Bytes => self.counts.closed_by_bytes += 1,
                    ClosedBy::Wait => self.counts.closed_by_wait += 1,
                }
            }
            Action::Report(report) => self.note_report(now, report, topics),
            Action::Leave => (self.ending, self.leaving) = (Some(now), true),
            Action::Stopped(_) => {
                self.ending = None;
                self.state = State::Stopped;
            }
            Action::Commit { .. } => self.commits_out += 1,
            Action::Cancel(_) | Action::AskCommitted { .. } | Action::Seek { .. } | Action::AnswerRevoke(_) => {}
        }
    }

    fn note_report(&mut self, now: Moment, report: &Report, topics: &impl TopicNames) {
        match report {
            Report::Assigned { partition, start } => {
                self.state = State::Running;
                let committed = match start {
                    gristmill_core::io::StartPosition::Committed(next)
                    | gristmill_core::io::StartPosition::Reset(next) => Some(*next),
                    gristmill_core::io::StartPosition::Unusable(_) => None,
                };
                self.assigned.insert(*partition, Progress { committed, end: None, moved: now });
            }
            Report::Removed { partition, records, .. } => {
                self.assigned.remove(partition);
                self.held.remove(&Some(*partition));
                self.filling = self.filling.saturating_sub(*records);
            }
            Report::DroppedStale { records } => {
                self.counts.stale += records;
                self.filling = self.filling.saturating_sub(*records);
            }
            Report::BatchOk { .. } => self.counts.batches_ok += 1,
            Report::Committed { offsets, records } => {
                self.counts.committed += records;
                for offset in offsets {
                    if let Some(progress) = self.assigned.get_mut(&offset.partition) {
                        progress.committed = Some(offset.next);
                        progress.moved = now;
                    }
                }
            }
            Report::Waiting { attempt, delay, fault, reason, .. } => {
                if *fault {
                    self.counts.faults += 1
                } else {
                    self.counts.retries += 1
                }
                let (attempt, reason) = (*attempt, reason.clone());
                self.state = State::Waiting { attempt, since: now, until: now.after(*delay), reason };
            }
            Report::Held { reason } => {
                let held = State::Held { since: now, reason: held_words(reason, topics) };
                self.held.insert(trouble_words(reason).0, held);
            }
            Report::Released { reason } => {
                self.held.remove(&trouble_words(reason).0);
            }
            Report::GivenUp { .. }
            | Report::LateAnswer(_)
            | Report::RequestFailed { .. }
            | Report::Rewound { .. }
            | Report::PluginSwitched { .. } => {}
        }
    }
}
