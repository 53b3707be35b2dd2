//! What follows from an answer: the decision of [`crate::decide`], applied to the lane.

use std::time::Duration;

use super::{Machine, Phase};
use crate::batch::{Batch, Span};
use crate::decide::{Decision, Spent, decide};
use crate::io::{DeliveryId, HeldReason, PluginId, Report, StopReason};
use crate::lane::{Blocked, LaneState, Out};
use crate::outcome::{Answer, Outcome};
use crate::planted::Bug;
use crate::policy::Redeliver;
use crate::positions::{LaneId, Reading, Wanted};
use crate::record::Partition;

impl<R: Clone> Machine<R> {
    pub(super) fn handle_answered(&mut self, delivery: DeliveryId, answer: Answer) {
        let asked = |lane: &crate::lane::Lane<R>| lane.out().is_some_and(|out| out.delivery == delivery);
        let found = self.lanes.iter().find(|(_, lane)| asked(lane)).map(|(&id, _)| id);
        let Some(id) = found.or_else(|| self.any_lane_out_by_planted_bug()) else {
            self.report(Report::LateAnswer(delivery));
            return;
        };
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        let LaneState::Out(out) = std::mem::replace(&mut lane.state, LaneState::Filling) else { return };
        let live: Vec<Span> = out.batch.spans.iter().filter(|span| self.owns_span(span)).copied().collect();
        let counts =
            !out.cancelled && !live.is_empty() && !matches!(self.phase, Phase::Leaving { .. } | Phase::Stopped);
        if !counts && !self.planted(Bug::AcceptStaleAnswer) {
            self.report(Report::LateAnswer(delivery));
            return;
        }
        let replaced = self.was_replaced(out.plugin);
        // What a version that was replaced meanwhile fails at spends nothing of the new one's budget (S4).
        let spent = if replaced { self.spent(&out.batch) } else { self.count(&out.batch, &answer) };
        let answer = self.misheard(answer);
        match decide(&answer, spent, &self.policy, self.policy.jitter_seed ^ out.batch.id.0) {
            Decision::Commit => self.settle(id, &out, live),
            Decision::Redeliver { reason, .. } if self.phase != Phase::Running => {
                self.give_up(&out.batch, out.attempt, &reason);
            }
            Decision::Redeliver { delay, reason } => {
                // Nor does the new version wait for what the old one failed at.
                let delay = if replaced { Duration::ZERO } else { self.misjudged(delay, spent) };
                self.report(Report::Waiting {
                    batch: out.batch.id,
                    attempt: out.attempt,
                    delay,
                    fault: matches!(answer, Answer::Fault(_)),
                    reason,
                });
                self.redeliver(id, out.batch, delay);
            }
            Decision::Hold(cause) if self.phase != Phase::Running => {
                self.give_up(&out.batch, out.attempt, cause.words());
            }
            Decision::Hold(cause) => self.hold(id, out.batch, &cause),
            Decision::Stop(cause) => {
                if self.planted(Bug::CommitOnFatal) {
                    self.want_done(&live, self.plugin);
                    self.send_commits();
                }
                self.give_up(&out.batch, out.attempt, cause.words());
                self.drain(cause);
            }
        }
    }

    /// True when another version took over since this one was given a batch.
    fn was_replaced(&self, plugin: PluginId) -> bool {
        plugin != self.plugin && !self.planted(Bug::CountReplacedVersion)
    }

    /// The failed attempts of a batch so far: the most that any of its partitions has at its first record here (R4).
    pub(super) fn spent(&self, batch: &Batch<R>) -> Spent {
        let mut most = Spent::default();
        for span in &batch.spans {
            if let Some(owned) = self.partitions.get(&span.partition) {
                let spent = owned.spent(span.first);
                most.retries = most.retries.max(spent.retries);
                most.faults = most.faults.max(spent.faults);
            }
        }
        most
    }

    /// Adds this answer to what each partition of the batch has spent at its first record here; tells the most that any
    /// of them has now. Each counts for itself: one that shared a batch with a poisoned one does not inherit its failures.
    fn count(&mut self, batch: &Batch<R>, answer: &Answer) -> Spent {
        let (retries, faults) = match answer {
            Answer::Outcome(Outcome::Retryable { .. }) => (1, 0),
            Answer::Fault(_) => (0, 1),
            Answer::Outcome(Outcome::Ok | Outcome::Fatal { .. }) | Answer::Cancelled => return self.spent(batch),
        };
        let forget_faults = retries > 0 && self.planted(Bug::ResetFaultsOnRetryable);
        let (one_retry, no_fault) = (self.planted(Bug::UnlimitedRetries), self.planted(Bug::UnlimitedFaults));
        for span in &batch.spans {
            let Some(owned) = self.partitions.get_mut(&span.partition) else { continue };
            if owned.assigned != span.assigned {
                continue;
            }
            let mut spent = owned.spent(span.first);
            spent.retries = if one_retry { retries } else { spent.retries.saturating_add(retries) };
            spent.faults = if no_fault || forget_faults { 0 } else { spent.faults.saturating_add(faults) };
            owned.spend(span.first, spent);
        }
        self.spent(batch)
    }

    /// All of the batch is done: its parts of the partitions that are still owned are to be committed (B3).
    fn settle(&mut self, id: LaneId, out: &Out<R>, mut live: Vec<Span>) {
        self.report(Report::BatchOk { batch: out.batch.id, records: live.iter().map(|span| span.records).sum() });
        if self.planted(Bug::ForgetKeptPartOfBatch) && live.len() < out.batch.spans.len() {
            live.clear();
        }
        if self.planted(Bug::CommitFirstPartitionOnly) {
            live.truncate(1);
        }
        self.misplace(&mut live);
        for span in &live {
            if let Some(owned) = self.partitions.get_mut(&span.partition) {
                owned.clear_budget();
            }
        }
        if self.planted(Bug::ResetAttemptsOnOtherSuccess) {
            self.partitions.values_mut().for_each(crate::positions::Owned::clear_budget);
        }
        self.want_done(&live, out.plugin);
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.state = LaneState::Settling(live);
        }
    }

    /// A batch failed and does not come again here: nothing of it is committed.
    fn give_up(&mut self, batch: &Batch<R>, attempt: u32, reason: &str) {
        self.report(Report::GivenUp { batch: batch.id, attempt, reason: reason.to_owned() });
    }

    /// Wishes the commit of these parts of partitions, as far as they are still owned.
    pub(super) fn want_done(&mut self, spans: &[Span], plugin: PluginId) {
        let forget_passed = self.planted(Bug::ForgetPassedBehindBatch);
        for span in spans {
            if let Some(owned) = self.partitions.get_mut(&span.partition)
                && owned.assigned == span.assigned
            {
                let records = owned.commit.unconfirmed_records() + span.records;
                let (next, leader_epoch) = if forget_passed {
                    (span.next, span.leader_epoch)
                } else {
                    owned.position_behind(span.next, span.leader_epoch)
                };
                owned.commit.wanted = Some(Wanted { next, leader_epoch, plugin, records, behind: span.next });
                // Tries belong to one position; those of the start position are not this batch's.
                owned.commit.tries = 0;
            }
        }
    }

    /// Puts a failed batch in line again: from memory, or by reading it again.
    fn redeliver(&mut self, id: LaneId, batch: Batch<R>, delay: Duration) {
        let until = self.now.after(delay);
        let Some(mut front) = self.blocked_by(batch) else { return };
        match self.policy.retry.redeliver {
            Redeliver::Memory => front.batch = front.batch.map(|batch| self.shortened(batch)),
            Redeliver::Seek => {
                if let Some(batch) = front.batch.take() {
                    self.rewind_batch(&batch);
                    front.read_again.extend(batch.spans.iter().map(|span| span.partition));
                }
            }
        }
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.state = LaneState::Waiting { front, until };
        }
    }

    /// What blocks the lane after this batch failed: as much of it as will come again from here, and the partitions that
    /// are being read again already. `None` when all of it goes away.
    fn blocked_by(&self, batch: Batch<R>) -> Option<Blocked<R>> {
        let read_again = |span: &&Span| self.stays(span) && self.is_moving(span.partition);
        let read_again = batch.spans.iter().filter(read_again).map(|span| span.partition).collect();
        Blocked::by(batch.retain(|span| self.stays(span) && !self.is_moving(span.partition)), read_again)
    }

    /// What is lost or being revoked does not come again here.
    fn stays(&self, span: &Span) -> bool {
        self.owns_span(span) && self.partitions.get(&span.partition).is_some_and(|owned| owned.revoking.is_none())
    }

    fn is_moving(&self, partition: Partition) -> bool {
        self.partitions.get(&partition).is_some_and(|owned| matches!(owned.reading, Reading::Moving(_)))
    }

    fn hold(&mut self, id: LaneId, batch: Batch<R>, cause: &StopReason) {
        let reason = match cause {
            StopReason::Fatal { reason } => HeldReason::Fatal { batch: batch.id, reason: reason.clone() },
            StopReason::Exhausted { reason } => HeldReason::Exhausted { batch: batch.id, reason: reason.clone() },
            StopReason::Asked | StopReason::Abandoned { .. } | StopReason::Fenced | StopReason::CommitRefused => return,
        };
        let Some(front) = self.blocked_by(batch) else { return };
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.state = LaneState::Held { front, reason: reason.clone() };
            self.report(Report::Held { reason });
        }
    }
}
