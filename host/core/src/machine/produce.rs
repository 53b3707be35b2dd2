//! From a batch that is done to its commit: what it made is written first, and acknowledged (D1).

use super::answer::Done;
use super::{Machine, Phase};
use crate::backoff;
use crate::batch::{Batch, Span, is_same};
use crate::io::{
    Action, DeadLetter, HeldReason, LetterClass, NOT_WRITTEN, PluginId, ProduceError, Production, Report, RequestId,
    StopReason,
};
use crate::lane::{Blocked, LaneState, Producing};
use crate::letters::Tally;
use crate::planted::Bug;
use crate::positions::LaneId;
use crate::record::RecordFacts;
use crate::time::Moment;

/// What a batch ends for that has dead letters on the way out, where none are written.
const NOWHERE: &str = "there is no place for its dead letters";

impl<R: Clone> Machine<R> {
    /// A batch is done: what it made is written, then its parts of the partitions that are still owned are committed (B3).
    pub(super) fn finish(&mut self, id: LaneId, done: Done<R>, then: LaneState<R>) {
        let Done { batch, effects, delivery, plugin } = done;
        let mut letters = self.misaddressed(batch.letters(&effects.rejected));
        if !batch.spans.iter().all(|span| self.owns_span(span)) {
            // What is no longer ours is put aside by whoever has it now.
            let ours = |facts: &RecordFacts| batch.spans.iter().any(|span| self.owns_span(span) && span.holds(facts));
            letters.retain(|letter| ours(&letter.record.facts));
        }
        if let Some(reason) = self.nowhere_to_put(&batch, &letters) {
            if self.phase != Phase::Running {
                return self.give_up(&batch, NOWHERE);
            }
            return self.hold_with_rest(id, batch, then, reason);
        }
        let tallies = self.tally(&batch, &letters);
        if let Some(cause) = self.too_many(&batch, &tallies) {
            self.give_up(&batch, cause.words());
            return self.drain(cause);
        }
        if delivery.is_some() {
            let live = batch.spans.iter().filter(|span| self.owns_span(span)).map(|span| span.records).sum();
            self.report(Report::BatchOk { batch: batch.id, records: live });
        }
        let emitted_of = delivery.filter(|_| effects.emitted > 0 && !self.planted(Bug::ForgetEmitted));
        if letters.is_empty() && emitted_of.is_none() {
            return self.settle(id, &batch, plugin, &tallies, then);
        }
        let request = self.ids.request();
        if self.planted(Bug::CommitBeforeProduced) {
            let live: Vec<Span> = batch.spans.iter().filter(|span| self.owns_span(span)).copied().collect();
            self.want_done(&live, plugin);
            self.send_commits();
        }
        let made = Report::Produced {
            batch: batch.id,
            letters: letters.iter().map(|letter| letter.verdict.class).collect(),
            emitted: emitted_of.map_or(0, |_| u64::from(effects.emitted)),
        };
        self.act(Action::Produce(Production { id: request, batch: batch.id, letters, emitted_of, plugin }));
        self.set_state(
            id,
            LaneState::Producing(Box::new(Producing { id: request, plugin, batch, tallies, made, then })),
        );
    }

    /// A record that has to be put aside where there is no place for it holds its lane.
    fn nowhere_to_put(&self, batch: &Batch<R>, letters: &[DeadLetter<R>]) -> Option<HeldReason> {
        let first = letters.first().filter(|_| self.policy.dead_letters.is_none())?;
        let facts = first.record.facts;
        Some(match first.verdict.class {
            LetterClass::Undecodable => HeldReason::Undecodable { facts },
            LetterClass::TooLarge => HeldReason::RecordTooLarge { facts },
            LetterClass::Rejected | LetterClass::Fault(_) | LetterClass::Retries | LetterClass::Skipped => {
                HeldReason::Rejected { batch: batch.id, facts, reason: first.verdict.reason.clone() }
            }
        })
    }

    /// What a batch adds to the dead letters of its partitions: one tally for each of its spans.
    fn tally(&self, batch: &Batch<R>, letters: &[DeadLetter<R>]) -> Vec<Tally> {
        let begin = |span: &Span| match self.partitions.get(&span.partition) {
            Some(owned) if owned.assigned == span.assigned => owned.letters.begin(),
            Some(_) | None => Tally::default(),
        };
        let mut tallies: Vec<Tally> = batch.spans.iter().map(begin).collect();
        let all_new = batch.spans.iter().zip(&tallies).all(|(span, tally)| tally.counts(span.first));
        if letters.is_empty() && all_new {
            // The straight road: no look at each record.
            batch.spans.iter().zip(&mut tallies).for_each(|(span, tally)| tally.add_good(span.records, span.next));
            return tallies;
        }
        let mut letters = letters.iter().map(|letter| &letter.record).peekable();
        for (record, span) in batch.records.iter().zip(batch.spans_of_records()) {
            let is_letter = letters.next_if(|letter| is_same(letter, record)).is_some();
            tallies[span].add(record.facts.offset, is_letter);
        }
        tallies
    }

    /// So many dead letters that something else must be wrong: nothing of the batch is written or committed (D8).
    fn too_many(&self, batch: &Batch<R>, tallies: &[Tally]) -> Option<StopReason> {
        let policy = self.policy.dead_letters.as_ref().filter(|_| !self.planted(Bug::IgnoreLetterLimit))?;
        batch.spans.iter().zip(tallies).filter(|(span, _)| self.owns_span(span)).find_map(|(span, tally)| {
            let reason = self.partitions.get(&span.partition)?.letters.too_many(tally, policy)?;
            Some(StopReason::TooManyDeadLetters { partition: span.partition, reason })
        })
    }

    /// What became of a production.
    pub(super) fn handle_produced(&mut self, request: RequestId, result: Result<(), ProduceError>) {
        let asked = |state: &LaneState<R>| matches!(state, LaneState::Producing(producing) if producing.id == request);
        let result = self.misproduced(result);
        let Some((&id, lane)) = self.lanes.iter_mut().find(|(_, lane)| asked(&lane.state)) else { return };
        let LaneState::Producing(producing) = std::mem::replace(&mut lane.state, LaneState::Filling) else { return };
        let Producing { plugin, batch, tallies, made, then, .. } = *producing;
        match result {
            Ok(()) => {
                lane.produce_failures = 0;
                self.report(made);
                self.settle(id, &batch, plugin, &tallies, then);
            }
            Err(_) if self.phase != Phase::Running => self.give_up(&batch, NOT_WRITTEN),
            Err(ProduceError::Temporary(reason)) => self.produce_again(id, batch, then, &reason),
            Err(ProduceError::Refused(reason)) => {
                let reason = HeldReason::NotWritten { batch: batch.id, reason };
                self.hold_with_rest(id, batch, then, reason);
            }
        }
    }

    /// What could not be written makes its batch retryable (D2): from memory, and without end, since whatever else could be
    /// done with it would have to be written as well.
    fn produce_again(&mut self, id: LaneId, batch: Batch<R>, then: LaneState<R>, reason: &str) {
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        lane.produce_failures = lane.produce_failures.saturating_add(1);
        let delay =
            backoff::delay(&self.policy.retry.backoff, lane.produce_failures, self.policy.jitter_seed ^ batch.id.0);
        let tries = lane.produce_failures;
        self.report(Report::WriteFailed { batch: batch.id, tries, delay, reason: reason.to_owned() });
        let until = self.now.after(delay);
        self.block_again(id, batch, then, |front, rest_until| LaneState::Waiting {
            front,
            until: until.max(rest_until),
        });
    }

    fn hold_with_rest(&mut self, id: LaneId, batch: Batch<R>, then: LaneState<R>, reason: HeldReason) {
        let held = reason.clone();
        if self.block_again(id, batch, then, |front, _| LaneState::Held { front, reason }) {
            self.report(Report::Held { reason: held });
        }
    }

    /// A batch is not done after all: it blocks the lane, and what was to follow comes behind it. False when nothing of the
    /// batch will come again from here; what was to follow follows then.
    fn block_again(
        &mut self,
        id: LaneId,
        batch: Batch<R>,
        then: LaneState<R>,
        by: impl FnOnce(Blocked<R>, Moment) -> LaneState<R>,
    ) -> bool {
        let Some(mut front) = self.blocked_by(batch) else {
            self.set_state(id, then);
            return false;
        };
        let (rest, until) = match then {
            LaneState::Waiting { front, until } => (Some(front), until),
            LaneState::Held { front, reason } => {
                self.report_released([reason]);
                (Some(front), self.now)
            }
            LaneState::Filling | LaneState::Out(_) | LaneState::Producing(_) | LaneState::Settling { .. } => {
                (None, self.now)
            }
        };
        if let Some(Blocked { batch, read_again }) = rest {
            self.line_up(id, batch);
            front.read_again.extend(read_again);
        }
        self.set_state(id, by(front, until));
        true
    }

    /// Everything that has to be written is: the commit is wished for. The lane goes on meanwhile, unless the batch before is not
    /// known to be committed either.
    pub(super) fn settle(
        &mut self,
        id: LaneId,
        batch: &Batch<R>,
        plugin: PluginId,
        tallies: &[Tally],
        then: LaneState<R>,
    ) {
        let mut live: Vec<Span> = batch.spans.iter().filter(|span| self.owns_span(span)).copied().collect();
        if self.planted(Bug::ForgetKeptPartOfBatch) && live.len() < batch.spans.len() {
            live.clear();
        }
        if self.planted(Bug::CommitFirstPartitionOnly) {
            live.truncate(1);
        }
        self.misplace(&mut live);
        for span in &live {
            if let Some(owned) = self.partitions.get_mut(&span.partition) {
                owned.clear_budget_before(span.next);
            }
        }
        if self.planted(Bug::ResetAttemptsOnOtherSuccess) {
            self.partitions.values_mut().for_each(crate::positions::Owned::clear_budget);
        }
        if let Some(policy) = &self.policy.dead_letters {
            for (span, tally) in batch.spans.iter().zip(tallies) {
                if let Some(owned) = self.partitions.get_mut(&span.partition)
                    && owned.assigned == span.assigned
                {
                    owned.letters.add(tally, policy);
                }
            }
        }
        self.want_done(&live, plugin);
        self.set_state(id, LaneState::Settling { spans: live, then: Box::new(then) });
        self.advance_settling();
    }
}
