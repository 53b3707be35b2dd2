//! What follows from an answer: the decision of [`crate::decide`], applied to the lane.

use std::time::Duration;

use super::isolate::suspect;
use super::{Machine, Phase};
use crate::batch::{Batch, Span};
use crate::decide::{Case, Decision, Spent, decide};
use crate::io::{DeliveryId, HeldReason, PluginId, Report, StopReason};
use crate::lane::{Blocked, Lane, LaneState, Out};
use crate::outcome::{Answer, Effects, Fault, FaultClass, Outcome};
use crate::planted::Bug;
use crate::policy::Redeliver;
use crate::positions::{LaneId, Reading, Wanted};
use crate::record::Partition;

/// A batch that is done, once what it made is written.
pub(super) struct Done<R> {
    pub(super) batch: Batch<R>,
    pub(super) effects: Effects,
    /// The hand-over that did it. `None`: there was nothing in it for a guest.
    pub(super) delivery: Option<DeliveryId>,
    pub(super) plugin: PluginId,
}

/// A batch after its answer.
struct Divided<R> {
    /// The part that is done as soon as its effects are.
    done: Option<Batch<R>>,
    effects: Effects,
    /// The part that is not.
    left: Option<Batch<R>>,
}

impl<R: Clone> Machine<R> {
    pub(super) fn handle_answered(&mut self, delivery: DeliveryId, answer: Answer) {
        let asked = |lane: &Lane<R>| lane.out().is_some_and(|out| out.delivery == delivery);
        let found = self.lanes.iter().find(|(_, lane)| asked(lane)).map(|(&id, _)| id);
        let Some(id) = found.or_else(|| self.any_lane_out_by_planted_bug()) else {
            self.report(Report::LateAnswer(delivery));
            return;
        };
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        let LaneState::Out(out) = std::mem::replace(&mut lane.state, LaneState::Filling) else { return };
        let live = out.batch.spans.iter().any(|span| self.owns_span(span));
        let counts = !out.cancelled && live && !matches!(self.phase, Phase::Leaving { .. } | Phase::Stopped);
        if !counts && !self.planted(Bug::AcceptStaleAnswer) {
            self.report(Report::LateAnswer(delivery));
            return;
        }
        let Out { delivery, plugin, batch, .. } = out;
        let mut answer = self.misheard(sound(answer, &batch));
        let Divided { done, effects, left } = self.divide(batch, &mut answer);
        let done = done.map(|batch| Done { batch, effects, delivery: Some(delivery), plugin });
        let (then, stop) = match left {
            Some(left) => self.decide_on(id, plugin, left, &answer),
            None => (LaneState::Filling, None),
        };
        match done {
            Some(done) => self.finish(id, done, then),
            None => self.set_state(id, then),
        }
        if let Some(cause) = stop {
            self.drain(cause);
        }
    }

    /// Divides a batch by what its answer says is done (R7), and takes the effects out of the answer. Progress clears what was
    /// spent.
    fn divide(&mut self, batch: Batch<R>, answer: &mut Answer) -> Divided<R> {
        match answer {
            Answer::Outcome(Outcome::Ok(effects)) => {
                Divided { done: Some(batch), effects: std::mem::take(effects), left: None }
            }
            Answer::Outcome(Outcome::Retryable { completed: Some(progress), .. }) => {
                let records = self.miscounted(progress.records as usize, &batch);
                if records >= batch.handed.len() {
                    // All of it: the same as ok, whatever becomes of what it made.
                    return Divided { done: Some(batch), effects: std::mem::take(&mut progress.effects), left: None };
                }
                let (done, mut left) = batch.split(records);
                if let (Some(done), false) = (&done, self.planted(Bug::KeepAttemptsOnProgress)) {
                    self.clear_budgets(&done.spans);
                    // A search ends where all that is left got further, as an attempt budget does (R4).
                    let got_further = |left: &&mut Batch<R>| left.spans.iter().all(|span| done.covers(span.partition));
                    left.iter_mut().filter(got_further).for_each(|left| left.search = None);
                }
                let left = left.filter(|_| !self.planted(Bug::ForgetRestOfPartial));
                Divided { done, effects: std::mem::take(&mut progress.effects), left }
            }
            Answer::Outcome(Outcome::Retryable { .. } | Outcome::Fatal { .. })
            | Answer::Fault(_)
            | Answer::Cancelled => Divided { done: None, effects: Effects::NONE, left: Some(batch) },
        }
    }

    /// What becomes of a batch, or of the rest of one, that is not done: how the lane goes on, and whether the machine ends.
    fn decide_on(
        &mut self,
        id: LaneId,
        plugin: PluginId,
        batch: Batch<R>,
        answer: &Answer,
    ) -> (LaneState<R>, Option<StopReason>) {
        let replaced = self.was_replaced(plugin);
        // What a version that was replaced meanwhile fails at spends nothing of the new one's budget (S4).
        let spent = if replaced { self.spent(&batch) } else { self.count(&batch, answer) };
        let search = batch.search.as_ref().filter(|_| !replaced).map(|search| search.over);
        let seed = self.policy.jitter_seed ^ batch.id.0;
        let decision = decide(answer, Case { spent, records: batch.handed.len(), search, seed }, &self.policy);
        let running = self.phase == Phase::Running;
        match self.misdecided(decision) {
            Decision::Commit => {}
            Decision::Redeliver { delay, reason } if running => {
                // Nor does the new version wait for what the old one failed at.
                let delay = if replaced { Duration::ZERO } else { self.misjudged(delay, spent) };
                self.report(Report::Waiting {
                    batch: batch.id,
                    attempt: batch.attempt,
                    delay,
                    fault: matches!(answer, Answer::Fault(_)),
                    reason,
                });
                return (self.redeliver(batch, delay), None);
            }
            Decision::Cut { over, reason } if running => {
                let whole = batch.handed.len();
                let Some(batch) = self.what_stays(batch) else { return (LaneState::Filling, None) };
                // The index that the plugin names is one of the batch as it was. Named again in each part it could make the search
                // as long as the batch, if it is the wrong one.
                let first_cut = batch.search.is_none() && batch.handed.len() == whole;
                let suspect = suspect(answer).filter(|_| first_cut);
                self.cut(id, batch, over, reason, suspect);
            }
            Decision::PutAside { class, reason } if running => {
                let Some(batch) = self.what_stays(batch) else { return (LaneState::Filling, None) };
                self.line_up(id, [batch.condemn(class, &reason, plugin)]);
            }
            Decision::Hold(cause) if running => return (self.hold(batch, &cause), None),
            Decision::Stop(cause) => {
                if self.planted(Bug::CommitOnFatal) {
                    let live: Vec<Span> = batch.spans.iter().filter(|span| self.owns_span(span)).copied().collect();
                    self.want_done(&live, self.plugin);
                    self.send_commits();
                }
                self.give_up(&batch, cause.words());
                return (LaneState::Filling, Some(cause));
            }
            Decision::Redeliver { reason, .. } | Decision::Cut { reason, .. } | Decision::PutAside { reason, .. } => {
                self.give_up(&batch, &reason);
            }
            Decision::Hold(cause) => self.give_up(&batch, cause.words()),
        }
        (LaneState::Filling, None)
    }

    pub(super) fn set_state(&mut self, id: LaneId, state: LaneState<R>) {
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.state = state;
        }
    }

    fn clear_budgets(&mut self, spans: &[Span]) {
        for span in spans {
            if let Some(owned) = self.partitions.get_mut(&span.partition) {
                owned.clear_budget();
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
            Answer::Outcome(Outcome::Ok(_) | Outcome::Fatal { .. }) | Answer::Cancelled => return self.spent(batch),
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

    /// A batch failed and does not come again here: nothing of it is committed.
    pub(super) fn give_up(&mut self, batch: &Batch<R>, reason: &str) {
        self.report(Report::GivenUp { batch: batch.id, attempt: batch.attempt, reason: reason.to_owned() });
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
    fn redeliver(&mut self, batch: Batch<R>, delay: Duration) -> LaneState<R> {
        let until = self.now.after(delay);
        let Some(mut front) = self.blocked_by(batch) else { return LaneState::Filling };
        match self.policy.retry.redeliver {
            Redeliver::Memory => front.batch = front.batch.map(|batch| self.shortened(batch)),
            Redeliver::Seek => {
                if let Some(batch) = front.batch.take() {
                    self.rewind_batch(&batch);
                    front.read_again.extend(batch.spans.iter().map(|span| span.partition));
                }
            }
        }
        LaneState::Waiting { front, until }
    }

    /// What blocks the lane after this batch failed: as much of it as will come again from here, and the partitions that
    /// are being read again already. `None` when all of it goes away.
    pub(super) fn blocked_by(&self, batch: Batch<R>) -> Option<Blocked<R>> {
        let read_again = |span: &&Span| self.stays(span) && self.is_moving(span.partition);
        let read_again = batch.spans.iter().filter(read_again).map(|span| span.partition).collect();
        Blocked::by(self.what_stays(batch), read_again)
    }

    /// As much of a batch as will come again from here.
    fn what_stays(&self, batch: Batch<R>) -> Option<Batch<R>> {
        batch.retain(|span| self.stays(span) && !self.is_moving(span.partition))
    }

    /// What is lost or being revoked does not come again here.
    fn stays(&self, span: &Span) -> bool {
        self.owns_span(span) && self.partitions.get(&span.partition).is_some_and(|owned| owned.revoking.is_none())
    }

    fn is_moving(&self, partition: Partition) -> bool {
        self.partitions.get(&partition).is_some_and(|owned| matches!(owned.reading, Reading::Moving(_)))
    }

    fn hold(&mut self, batch: Batch<R>, cause: &StopReason) -> LaneState<R> {
        let reason = match cause {
            StopReason::Fatal { reason } => HeldReason::Fatal { batch: batch.id, reason: reason.clone() },
            StopReason::Exhausted { reason } => HeldReason::Exhausted { batch: batch.id, reason: reason.clone() },
            StopReason::Asked
            | StopReason::Abandoned { .. }
            | StopReason::Fenced
            | StopReason::CommitRefused
            | StopReason::TooManyDeadLetters { .. } => return LaneState::Filling,
        };
        self.hold_for(batch, reason)
    }

    /// Blocks the lane on purpose with as much of a batch as will come again from here.
    pub(super) fn hold_for(&mut self, batch: Batch<R>, reason: HeldReason) -> LaneState<R> {
        let Some(front) = self.blocked_by(batch) else { return LaneState::Filling };
        self.report(Report::Held { reason: reason.clone() });
        LaneState::Held { front, reason }
    }
}

/// An answer that contradicts itself is a fault, whatever it says: nothing of it is guessed.
fn sound<R>(answer: Answer, batch: &Batch<R>) -> Answer {
    let records = u32::try_from(batch.handed.len()).unwrap_or(u32::MAX);
    let contradiction = match &answer {
        Answer::Outcome(outcome) => outcome.contradiction(records),
        Answer::Fault(_) | Answer::Cancelled => None,
    };
    match contradiction {
        Some(detail) => Answer::Fault(Fault { class: FaultClass::Contract, detail }),
        None => answer,
    }
}
