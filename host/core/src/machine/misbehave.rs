//! Everything that planted bugs do: what the decision sites would get wrong, if one were planted. Without one nothing here
//! changes anything, and a reader of the machine may skip this file.

use std::num::NonZeroU64;
use std::time::Duration;

use super::Machine;
use crate::batch::{Batch, Span};
use crate::decide::{Decision, Spent};
use crate::io::{DeadLetter, LetterClass, ProduceError, RequestError};
use crate::outcome::{Answer, FaultClass, Outcome};
use crate::planted::Bug;
use crate::policy::BatchLimits;
use crate::positions::{LaneId, Owned, Reading, Wanted};
use crate::record::{Epoch, NextOffset, Partition, RecordFacts};
use crate::time::Moment;
impl<R: Clone> Machine<R> {
    #[cfg(feature = "planted")]
    pub(super) fn planted(&self, bug: Bug) -> bool {
        self.planted == Some(bug)
    }

    #[cfg(not(feature = "planted"))]
    #[expect(clippy::unused_self, reason = "the decision sites read the same with and without planted bugs")]
    pub(super) fn planted(&self, _bug: Bug) -> bool {
        false
    }

    #[cfg(feature = "planted")]
    pub(super) fn remember_gone(&mut self, partition: Partition, next: NextOffset) {
        self.gone.insert(partition, next);
    }

    #[cfg(feature = "planted")]
    pub(super) fn position_when_gone(&self, partition: Partition) -> Option<NextOffset> {
        self.gone.get(&partition).copied().filter(|_| self.planted(Bug::ReuseOldPositions))
    }

    #[cfg(not(feature = "planted"))]
    #[expect(clippy::unused_self, reason = "as `planted`")]
    pub(super) fn remember_gone(&mut self, _partition: Partition, _next: NextOffset) {}

    #[cfg(not(feature = "planted"))]
    #[expect(clippy::unused_self, reason = "as `planted`")]
    pub(super) fn position_when_gone(&self, _partition: Partition) -> Option<NextOffset> {
        None
    }

    #[cfg(feature = "planted")]
    pub(super) fn planted_bug(&self) -> Option<Bug> {
        self.planted
    }

    #[cfg(not(feature = "planted"))]
    #[expect(clippy::unused_self, reason = "as `planted`")]
    pub(super) fn planted_bug(&self) -> Option<Bug> {
        None
    }

    /// Switches one planted bug on. The simulation must find it.
    #[cfg(feature = "planted")]
    #[must_use]
    pub fn with_planted(mut self, bug: Bug) -> Self {
        self.planted = Some(bug);
        self
    }

    pub(super) fn limits(&self) -> BatchLimits {
        let mut limits = self.limits_of_lane();
        if self.planted(Bug::CloseOneRecordLate) {
            limits.records_max = limits.records_max.saturating_add(1);
        }
        if self.planted(Bug::ExceedBytes) {
            limits.bytes_max = NonZeroU64::new(limits.bytes_max.get().saturating_mul(2)).unwrap_or(limits.bytes_max);
        }
        if self.planted(Bug::AgeFromLastFlush) {
            limits.wait_max = Duration::ZERO;
        }
        limits
    }

    /// The batch that would have been handed over lost all its records: only a planted bug hands it over.
    pub(super) fn batch_was_taken_away(&self, id: LaneId) -> bool {
        self.lanes.get(&id).is_some_and(|lane| lane.collected().next().is_none() && lane.flushed > Moment::default())
            && !self.revokes.is_empty()
    }

    pub(super) fn any_lane_out_by_planted_bug(&self) -> Option<LaneId> {
        let stale = self.planted(Bug::AcceptStaleAnswer);
        self.lanes.iter().find(|(_, lane)| stale && lane.is_out()).map(|(&id, _)| id)
    }

    pub(super) fn shortened(&self, mut batch: Batch<R>) -> Batch<R> {
        if self.planted(Bug::LoseLastOnRedelivery) && batch.records.len() > 1 {
            batch.records = batch.records[..batch.records.len() - 1].into();
        }
        batch
    }

    pub(super) fn misheard(&self, answer: Answer) -> Answer {
        let ok = Answer::Outcome(Outcome::OK);
        match answer {
            Answer::Outcome(Outcome::Retryable { .. }) if self.planted(Bug::TreatRetryableAsOk) => ok,
            Answer::Fault(fault) if fault.class == FaultClass::Exit && self.planted(Bug::TreatExitAsOk) => ok,
            Answer::Outcome(Outcome::Fatal { reason }) if self.planted(Bug::TreatFatalAsRetryable) => {
                Answer::Outcome(Outcome::retryable(reason, None))
            }
            Answer::Outcome(_) | Answer::Fault(_) | Answer::Cancelled => answer,
        }
    }

    pub(super) fn misdecided(&self, decision: Decision) -> Decision {
        match decision {
            Decision::Cut { reason, .. } if self.planted(Bug::PutWholeBatchAside) => {
                Decision::PutAside { class: LetterClass::Retries, reason }
            }
            decision => decision,
        }
    }

    /// How much of a batch counts as done when the plugin says that a part of it is.
    pub(super) fn miscounted(&self, completed: usize, batch: &Batch<R>) -> usize {
        if completed > 0 && self.planted(Bug::CommitAllOfPartial) { batch.handed.len() } else { completed }
    }

    pub(super) fn misaddressed(&self, mut letters: Vec<DeadLetter<R>>) -> Vec<DeadLetter<R>> {
        letters.retain(|letter| match letter.verdict.class {
            LetterClass::Undecodable | LetterClass::TooLarge => !self.planted(Bug::ForgetUndecodable),
            LetterClass::Rejected => !self.planted(Bug::ForgetRejected),
            LetterClass::Skipped => !self.planted(Bug::SkipWithoutLetter),
            LetterClass::Fault(_) | LetterClass::Retries => true,
        });
        letters
    }

    pub(super) fn misproduced(&self, result: Result<(), ProduceError>) -> Result<(), ProduceError> {
        if self.planted(Bug::TreatFailedProduceAsDone) { Ok(()) } else { result }
    }

    pub(super) fn misjudged(&self, delay: Duration, spent: Spent) -> Duration {
        let attempt = spent.retries.max(spent.faults);
        let initial = self.policy.retry.backoff.initial;
        if self.planted(Bug::RedeliverAtOnce) || (self.planted(Bug::BackoffOverflow) && attempt > 3) {
            return Duration::ZERO;
        }
        if self.planted(Bug::BackoffWithoutCap) {
            return initial.saturating_mul(1 << attempt.min(24));
        }
        delay
    }

    pub(super) fn misplace(&self, spans: &mut [Span]) {
        let highest = spans.iter().map(|span| span.next).max();
        for span in spans {
            if self.planted(Bug::CommitOffsetInsteadOfNext) {
                span.next.0 -= 1;
            }
            if let (true, Some(highest)) = (self.planted(Bug::CommitHighestOfBatch), highest) {
                span.next = highest;
            }
            if let (true, Some(owned)) =
                (self.planted(Bug::CommitFetchedPosition), self.partitions.get(&span.partition))
            {
                span.next = owned.expected;
            }
        }
    }

    /// What two planted bugs do: commit what was read, whether handled or not.
    pub(super) fn commit_as_fetched(&mut self, partition: Partition) {
        let plugin = self.plugin;
        if let Some(owned) = self.partitions.get_mut(&partition)
            && !owned.commit.in_flight()
        {
            let next = owned.expected;
            owned.commit.wanted = Some(Wanted { next, leader_epoch: None, plugin, records: 0, behind: next });
        }
    }

    pub(super) fn misread(&self, result: Result<(), RequestError>) -> Result<(), RequestError> {
        match result {
            Err(RequestError::Unknown) if self.planted(Bug::TreatUnknownCommitAsDone) => Ok(()),
            Err(RequestError::Temporary) if self.planted(Bug::TreatFailedCommitAsDone) => Ok(()),
            Err(RequestError::NotOurs) if self.planted(Bug::TreatNotOursAsTemporary) => Err(RequestError::Temporary),
            Ok(()) | Err(_) => result,
        }
    }

    pub(super) fn misjudged_seek(
        &self,
        partition: Partition,
        results: &[(Partition, Result<Epoch, RequestError>)],
        result: Result<Epoch, RequestError>,
    ) -> Result<Epoch, RequestError> {
        let owned = self.partitions.get(&partition);
        let any = results.iter().find_map(|(_, result)| result.ok());
        match (result, owned) {
            (Err(RequestError::Temporary | RequestError::Unknown), Some(owned)) => {
                if self.planted(Bug::ForgetFailedSeek) || (self.planted(Bug::SeekSuccessCountsForAll) && any.is_some())
                {
                    return Ok(owned.epoch);
                }
                result
            }
            (Ok(_) | Err(_), _) => result,
        }
    }
}

/// What a planted bug makes of taking a record in; `right` is what the machine would do.
pub(super) fn misjudged_intake(
    bug: Option<Bug>,
    right: bool,
    owned: &Owned,
    facts: &RecordFacts,
    lane_waits: bool,
) -> bool {
    let Some(bug) = bug else { return right };
    let stays = owned.revoking.is_none();
    let fresh = owned.expected.reaches(facts.offset);
    let current = owned.epoch == facts.epoch;
    match bug {
        Bug::IgnoreEpoch => right || (fresh && stays),
        Bug::KeepEpochOnRewind => right || (matches!(owned.reading, Reading::Moving(_)) && current && fresh && stays),
        Bug::AcceptBelowNext => right || (matches!(owned.reading, Reading::Live) && current && stays),
        Bug::AcceptWhileRevoking => right || (matches!(owned.reading, Reading::Live) && current && fresh),
        Bug::DropOnGap => {
            let follows = owned.expected == NextOffset(facts.offset.0);
            right && (follows || Some(owned.expected) == owned.commit.start)
        }
        Bug::DropWhileWaiting => right && !lane_waits,
        _ => right,
    }
}
