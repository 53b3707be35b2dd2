//! Rewind by seek: four steps, each of which may fail and none of which may be skipped (R3).
//!
//! Forget the partition's records; learn its committed offset; seek to it; check that partition's own result. Until the
//! last step has worked nothing is taken in, and whatever still arrives under the old epoch is dropped. A race that this
//! prevents: a record is fetched, a rewind is ordered, the record enters, its batch is committed, and the records between
//! the rewind's target and it are never handed over again.

use super::{Machine, Phase};
use crate::backoff;
use crate::batch::Batch;
use crate::io::{Action, HeldReason, OffsetTrouble, Report, RequestError, RequestId, SeekTo, StopReason};
use crate::planted::Bug;
use crate::positions::{Move, Owned, Reading, Step};
use crate::record::{Epoch, NextOffset, Partition};

impl<R: Clone> Machine<R> {
    /// Orders a rewind of every partition of a failed batch.
    pub(super) fn rewind_batch(&mut self, batch: &Batch<R>) {
        let only_first = self.planted(Bug::RewindFirstPartitionOnly);
        for span in batch.spans.iter().take(if only_first { 1 } else { usize::MAX }) {
            if self.owns_span(span) {
                self.rewind(span.partition);
            }
        }
    }

    /// Orders a rewind of one partition to its committed offset.
    pub(super) fn rewind(&mut self, partition: Partition) {
        let id = self.lane_of(partition);
        if !self.planted(Bug::KeepCollectedOnSeek)
            && let Some(lane) = self.lanes.get_mut(&id)
        {
            lane.forget_partition(partition);
            lane.give_up(partition);
        }
        let skip_lookup = self.planted(Bug::SeekWithoutLookup);
        let now = self.now;
        let Some(owned) = self.partitions.get_mut(&partition) else { return };
        if matches!(owned.reading, Reading::Moving(_)) {
            return;
        }
        owned.commit.forget_passed();
        let released = owned.held.take();
        let step = if skip_lookup { Step::Seek(owned.expected) } else { Step::Ask };
        owned.reading = Reading::Moving(Move { step, tries: 0, not_before: now });
        self.report_released(released);
    }

    /// Sends the look-ups and seeks that are due.
    pub(super) fn advance_rewinds(&mut self) {
        let now = self.now;
        let mut to_ask = Vec::new();
        let mut to_seek = Vec::new();
        for (&partition, owned) in &self.partitions {
            let Reading::Moving(moving) = &owned.reading else { continue };
            if moving.not_before > now || self.rewind_rests(owned) {
                continue;
            }
            match moving.step {
                Step::Ask if !self.rewind_waits(partition) => to_ask.push(partition),
                Step::Seek(next) => to_seek.push(SeekTo { partition, epoch: owned.epoch, next }),
                Step::Ask | Step::Asking(_) | Step::Seeking(..) => {}
            }
        }
        if !to_ask.is_empty() {
            let id = self.ids.request();
            to_ask.iter().for_each(|&partition| self.step(partition, Step::Asking(id)));
            self.act(Action::AskCommitted { id, partitions: to_ask });
        }
        if !to_seek.is_empty() {
            let id = self.ids.request();
            to_seek.iter().for_each(|target| self.step(target.partition, Step::Seeking(id, target.next)));
            self.act(Action::Seek { id, targets: to_seek });
        }
    }

    /// The committed offset means something only when nothing of ours can still move it: no commit on its way or due, no
    /// guest at work on records of the partition, nothing of it being written. Asked earlier, the answer would lead back
    /// behind what is done.
    pub(super) fn rewind_waits(&self, partition: Partition) -> bool {
        let Some(owned) = self.partitions.get(&partition) else { return false };
        self.is_at_work_on(partition)
            || owned.commit.in_flight()
            || !(owned.commit.settled() || owned.commit.only_start())
    }

    /// What is going away, or a machine that is ending, is not read again.
    pub(super) fn rewind_rests(&self, owned: &Owned) -> bool {
        self.phase != Phase::Running || owned.revoking.is_some()
    }

    fn step(&mut self, partition: Partition, step: Step) {
        if let Some(owned) = self.partitions.get_mut(&partition)
            && let Reading::Moving(moving) = &mut owned.reading
        {
            moving.step = step;
        }
    }

    /// A look-up ended: for commits whose outcome was unknown, and for rewinds.
    pub(super) fn handle_committed_known(
        &mut self,
        id: RequestId,
        result: Result<Vec<(Partition, Option<NextOffset>)>, RequestError>,
    ) {
        match &result {
            Err(RequestError::Fenced) => return self.abandon(StopReason::Fenced),
            Err(RequestError::Refused) => return self.abandon(StopReason::CommitRefused),
            Ok(_) | Err(RequestError::Temporary | RequestError::Unknown | RequestError::NotOurs) => {}
        }
        let partitions: Vec<Partition> = self.partitions.keys().copied().collect();
        for partition in partitions {
            let of_this = match &result {
                Ok(known) => known
                    .iter()
                    .find(|(named, _)| *named == partition)
                    .map_or(Err(RequestError::Unknown), |&(_, committed)| Ok(committed)),
                Err(error) => Err(*error),
            };
            self.learn_commit(id, partition, of_this);
            self.learn_target(id, partition, of_this);
        }
    }

    fn learn_target(
        &mut self,
        id: RequestId,
        partition: Partition,
        committed: Result<Option<NextOffset>, RequestError>,
    ) {
        let plugin = self.plugin;
        let to_start = self.planted(Bug::RewindToStart);
        let to_last = self.planted(Bug::RewindToLast);
        let Some(owned) = self.partitions.get_mut(&partition) else { return };
        let Reading::Moving(moving) = &mut owned.reading else { return };
        if moving.step != Step::Asking(id) {
            return;
        }
        let committed = match committed {
            Ok(committed) => committed,
            Err(RequestError::NotOurs) => return self.remove(partition, true),
            Err(error) => {
                moving.step = Step::Ask;
                return self.rewind_failed(id, partition, error);
            }
        };
        // Another owner's late commit may have set the offset back; what was confirmed to us was handled.
        let mut target = committed.max(owned.commit.confirmed).or(owned.commit.start);
        if to_start {
            target = owned.commit.start;
        }
        if to_last {
            target = Some(NextOffset(owned.expected.0 - 1).max(target.unwrap_or(owned.expected)));
        }
        match target {
            Some(next) => {
                moving.step = Step::Seek(next);
                moving.tries = 0;
                owned.commit.end_doubt();
                match committed {
                    Some(committed) if !to_start && !to_last => owned.commit.learn(committed),
                    Some(_) => {}
                    // A commit that was given up took the wish for the start with it: nothing is committed yet (C8).
                    None => owned.commit.wish_start(plugin),
                }
            }
            None => self.hold_partition(partition, OffsetTrouble::NothingCommitted),
        }
    }

    /// A seek ended. Each partition counts for itself (B05 in the field: the call succeeds, one entry has not).
    pub(super) fn handle_sought(&mut self, id: RequestId, results: &[(Partition, Result<Epoch, RequestError>)]) {
        let sought: Vec<(Partition, NextOffset)> = self
            .partitions
            .iter()
            .filter_map(|(&partition, owned)| match &owned.reading {
                Reading::Moving(Move { step: Step::Seeking(request, next), .. }) if *request == id => {
                    Some((partition, *next))
                }
                Reading::Moving(_) | Reading::Live | Reading::Stopped => None,
            })
            .collect();
        let mut rewound = Vec::new();
        for (partition, next) in sought {
            let result = results
                .iter()
                .find(|(named, _)| *named == partition)
                .map_or(Err(RequestError::Unknown), |(_, result)| *result);
            let result = self.misjudged_seek(partition, results, result);
            match result {
                Ok(epoch) => {
                    self.arrive(partition, epoch, next);
                    rewound.push(SeekTo { partition, epoch, next });
                }
                Err(RequestError::NotOurs) => self.remove(partition, true),
                Err(RequestError::Fenced) => return self.abandon(StopReason::Fenced),
                Err(error @ (RequestError::Temporary | RequestError::Unknown | RequestError::Refused)) => {
                    self.step(partition, Step::Seek(next));
                    self.rewind_failed(id, partition, error);
                }
            }
        }
        if !rewound.is_empty() {
            self.report(Report::Rewound { targets: rewound });
        }
    }

    fn arrive(&mut self, partition: Partition, epoch: Epoch, next: NextOffset) {
        if let Some(owned) = self.partitions.get_mut(&partition) {
            owned.reading = Reading::Live;
            owned.epoch = epoch;
            owned.commit.failing = false;
            owned.stand_at(next);
        }
    }

    /// The same step again, after a wait. Without a bound: until the position is known there is nothing else to do (B02).
    fn rewind_failed(&mut self, id: RequestId, partition: Partition, error: RequestError) {
        let Some(owned) = self.partitions.get_mut(&partition) else { return };
        let Reading::Moving(moving) = &mut owned.reading else { return };
        moving.tries = moving.tries.saturating_add(1);
        let wait = backoff::delay(&self.policy.commit.backoff, moving.tries, self.policy.jitter_seed ^ id.0);
        moving.not_before = self.now.after(wait);
        self.report(Report::RequestFailed { id, error, again_in: wait });
    }

    pub(super) fn hold_partition(&mut self, partition: Partition, trouble: OffsetTrouble) {
        let Some(owned) = self.partitions.get_mut(&partition) else { return };
        let reason = HeldReason::Offset { partition, trouble };
        owned.reading = Reading::Stopped;
        owned.held = Some(reason.clone());
        self.report(Report::Held { reason });
    }
}
