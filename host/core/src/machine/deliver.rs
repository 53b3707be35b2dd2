//! From records to hand-overs: what is taken in, when a batch closes, which lane is next.

use super::answer::Done;
use super::assign::owns;
use super::misbehave::misjudged_intake;
use super::{Machine, Phase};
use crate::batch::Batch;
use crate::io::{Action, BatchId, ClosedBy, Delivery, HeldReason, Passed, Report};
use crate::lane::{Blocked, Front, Lane, LaneState, Out};
use crate::outcome::Effects;
use crate::planted::Bug;
use crate::policy::Scope;
use crate::positions::{LaneId, Owned, Reading};
use crate::record::{Partition, Record, RecordFacts};
use crate::time::Moment;

impl<R: Clone> Machine<R> {
    /// Takes records in. A record is dropped when it belongs to an old epoch or was read before, and for no other reason
    /// as long as hand-overs are to come at all (I-13).
    pub(super) fn handle_fetched(&mut self, records: Vec<(RecordFacts, R)>) {
        let mut dropped = 0;
        let mut records = records.into_iter().peekable();
        while let Some((first, _)) = records.peek() {
            // Records come in runs of one partition: look its state up once for each run.
            let partition = first.partition;
            let run = std::iter::from_fn(|| records.next_if(|(facts, _)| facts.partition == partition));
            dropped += self.take_run(partition, run);
        }
        if dropped > 0 {
            self.report(Report::DroppedStale { records: dropped });
        }
    }

    /// Takes in records of one partition; tells how many were dropped.
    fn take_run(&mut self, partition: Partition, run: impl Iterator<Item = (RecordFacts, R)>) -> u64 {
        let bug = self.planted_bug();
        let (id, now) = (self.lane_of(partition), self.now);
        let keep = self.phase == Phase::Running || self.planted(Bug::DeliverAfterStop);
        let Some(owned) = self.partitions.get_mut(&partition) else { return run.count() as u64 };
        let lane = self.lanes.entry(id).or_insert_with(|| Lane::new(now));
        let lane_waits = matches!(lane.state, LaneState::Waiting { .. });
        let mut dropped = 0;
        for (facts, body) in run {
            if !misjudged_intake(bug, takes(owned, &facts), owned, &facts, lane_waits) {
                dropped += 1;
                continue;
            }
            owned.stand_at(facts.offset.next());
            if keep {
                lane.push(Record { facts, arrived: now, body });
            }
        }
        dropped
    }

    /// Reading went past offsets without a record. What is done up to them is done beyond them (C10).
    pub(super) fn handle_passed(&mut self, passed: &Passed) {
        let plugin = self.plugin;
        let any_epoch = self.planted(Bug::PassUnderOldEpoch);
        let unfinished = self.planted(Bug::PassUnfinishedRecords);
        let forget = self.planted(Bug::ForgetPassed);
        let Some(owned) = self.partitions.get_mut(&passed.partition) else { return };
        let current = matches!(owned.reading, Reading::Live) && owned.epoch == passed.epoch;
        if !(current || any_epoch) || owned.revoking.is_some() || passed.next <= owned.expected || forget {
            return;
        }
        let all_done = owned.commit.done().is_some_and(|done| done >= owned.taken) || unfinished;
        owned.pass(passed.next, passed.leader_epoch);
        if all_done {
            owned.commit.wish_passed(passed.next, passed.leader_epoch, plugin);
        }
    }

    /// Hands over from every lane that can, as far as there are workers.
    pub(super) fn deliver_ready(&mut self) {
        while self.may_deliver() {
            let Some(lane) = self.next_ready_lane() else { return };
            self.turn = Some(lane);
            self.deliver_from(lane);
        }
    }

    pub(super) fn may_deliver(&self) -> bool {
        let running = self.phase == Phase::Running || self.planted(Bug::DeliverAfterStop);
        let paused = self.paused && !self.planted(Bug::DeliverWhilePaused);
        running && !paused && self.has_worker()
    }

    fn has_worker(&self) -> bool {
        match self.policy.scope {
            Scope::Consumer => true,
            Scope::Partition { workers, .. } => {
                let (workers, mut out, mut written) = (workers.get() as usize, 0, 0);
                for lane in self.lanes.values() {
                    out += usize::from(lane.is_out());
                    written += usize::from(lane.is_producing());
                }
                // What has to be written is in memory: no more of it than one batch for each worker, beside those that are out.
                let room = out + written < 2 * workers || self.planted(Bug::IgnoreWriting);
                (out < workers && room) || self.planted(Bug::IgnoreWorkers)
            }
        }
    }

    /// The first lane behind the one that handed over last whose front is ready.
    fn next_ready_lane(&mut self) -> Option<LaneId> {
        let ids: Vec<LaneId> = self.lanes.keys().copied().collect();
        let start = self.turn.map_or(0, |turn| ids.partition_point(|id| *id <= turn));
        (0..ids.len()).map(|step| ids[(start + step) % ids.len()]).find(|&id| self.is_ready(id))
    }

    /// True when the lane is free and its front is a batch. Blocks the lane when its front can never be one (A4).
    fn is_ready(&mut self, id: LaneId) -> bool {
        let now = self.now;
        let limits = self.limits();
        let put_aside = self.policy.dead_letters.is_some();
        let two_out = self.planted(Bug::TwoBatchesOut);
        let unsettled = self.planted(Bug::DeliverWhileSettling);
        let flows = self.lanes.get(&id).is_some_and(|lane| self.commits_flow(lane));
        let Some(lane) = self.lanes.get_mut(&id) else { return false };
        let free = match lane.state {
            LaneState::Filling => flows,
            LaneState::Out(_) => two_out,
            LaneState::Settling { .. } => unsettled,
            LaneState::Producing(_) | LaneState::Waiting { .. } | LaneState::Held { .. } => false,
        };
        if !free {
            return false;
        }
        if !lane.parts.is_empty() {
            return true;
        }
        match lane.front(now, &limits, put_aside) {
            Front::Ready(..) => true,
            Front::Empty | Front::DueAt(_) => self.planted(Bug::DeliverEmptyBatch) && self.batch_was_taken_away(id),
            Front::Impossible(facts) => {
                self.hold_impossible(id, facts);
                false
            }
        }
    }

    /// The lane's next record can never be handed over, and there is no place to put it aside.
    fn hold_impossible(&mut self, id: LaneId, facts: RecordFacts) {
        let skip = self.planted(Bug::SkipOversizedRecord);
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        if skip {
            lane.cut(1);
            return;
        }
        let reason =
            if facts.undecodable { HeldReason::Undecodable { facts } } else { HeldReason::RecordTooLarge { facts } };
        let front = Blocked { batch: None, read_again: vec![facts.partition] };
        lane.state = LaneState::Held { front, reason: reason.clone() };
        self.report(Report::Held { reason });
    }

    fn deliver_from(&mut self, id: LaneId) {
        let now = self.now;
        let limits = self.limits();
        let put_aside = self.policy.dead_letters.is_some();
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        if let Some(part) = lane.parts.pop_front() {
            return self.begin(id, part);
        }
        let (records, closed_by) = match lane.front(now, &limits, put_aside) {
            Front::Ready(records, closed_by) => (records, closed_by),
            Front::Empty | Front::DueAt(_) | Front::Impossible(_) => (0, ClosedBy::Wait),
        };
        let records = lane.cut(records);
        if closed_by == ClosedBy::Bytes && self.planted(Bug::LoseRecordThatDidNotFit) {
            self.lanes.get_mut(&id).map(|lane| lane.cut(1));
        }
        self.ids.batch += 1;
        let takes_all = self.planted(Bug::HandOverUndecodable);
        let takes = |facts: &RecordFacts| takes_all || limits.can_be_handed_over(facts);
        let partitions = &self.partitions;
        let assigned = |partition| partitions.get(&partition).map(|owned| owned.assigned);
        let batch = Batch::close(BatchId(self.ids.batch), records, closed_by, takes, assigned);
        self.begin(id, batch);
    }

    /// Gives a batch to the guest, or what is left for others where it holds nothing for one (A6).
    pub(super) fn begin(&mut self, id: LaneId, batch: Batch<R>) {
        if batch.handed.is_empty() && !batch.records.is_empty() && !self.planted(Bug::HandOverWhatIsPutAside) {
            let plugin = batch.condemned_after().unwrap_or(self.plugin);
            let done = Done { batch, effects: Effects::NONE, delivery: None, plugin };
            self.finish(id, done, LaneState::Filling);
        } else {
            self.hand_over(id, batch);
        }
    }

    /// Gives a batch to the guest.
    fn hand_over(&mut self, id: LaneId, mut batch: Batch<R>) {
        let delivery = self.ids.delivery();
        let spent = self.spent(&batch);
        batch.attempt = spent.retries.saturating_add(spent.faults).saturating_add(1);
        if self.planted(Bug::CommitBeforeOk) {
            self.want_done(&batch.spans, self.plugin);
            self.send_commits();
        }
        self.act(Action::Deliver(Delivery {
            id: delivery,
            batch: batch.id,
            attempt: batch.attempt,
            plugin: self.plugin,
            records: std::sync::Arc::clone(&batch.handed),
            places: batch.places(),
            bytes: batch.bytes,
            closed_by: batch.closed_by,
            part: batch.part,
        }));
        let now = self.now;
        let lane = self.lanes.entry(id).or_insert_with(|| Lane::new(now));
        lane.flushed = now;
        lane.state = LaneState::Out(Out { delivery, plugin: self.plugin, batch, cancelled: false });
    }

    /// When a lane that could hand over is due by its age, or a failed batch by its delay.
    pub(super) fn lanes_wakeup(&mut self) -> Option<Moment> {
        let may_deliver = self.may_deliver();
        let limits = self.limits();
        let by_record_only = self.planted(Bug::WaitNeedsRecord);
        let put_aside = self.policy.dead_letters.is_some();
        let now = self.now;
        if !may_deliver {
            return None;
        }
        // Where a commit is in the way its end is what wakes.
        let free: Vec<LaneId> =
            self.lanes.iter().filter(|(_, lane)| self.commits_flow(lane)).map(|(&id, _)| id).collect();
        let of_free = self.lanes.iter_mut().filter(|(id, _)| free.binary_search(id).is_ok());
        of_free
            .filter_map(|(_, lane)| match lane.state {
                LaneState::Waiting { until, .. } => Some(until),
                LaneState::Filling if !lane.parts.is_empty() => Some(now),
                LaneState::Filling if !by_record_only => match lane.front(now, &limits, put_aside) {
                    Front::DueAt(due) => Some(due),
                    Front::Ready(..) => Some(now),
                    Front::Empty | Front::Impossible(_) => None,
                },
                LaneState::Filling
                | LaneState::Out(_)
                | LaneState::Producing(_)
                | LaneState::Settling { .. }
                | LaneState::Held { .. } => None,
            })
            .min()
    }

    /// True when the batch's partition still belongs to this member under the assignment it was read in.
    pub(super) fn owns_span(&self, span: &crate::batch::Span) -> bool {
        owns(self.partitions.get(&span.partition), span.assigned)
    }
}

/// True when the record is of the current reading, was not read before, and its partition is not about to go (I-13, B9).
fn takes(owned: &Owned, facts: &RecordFacts) -> bool {
    matches!(owned.reading, Reading::Live)
        && owned.epoch == facts.epoch
        && owned.expected.reaches(facts.offset)
        && owned.revoking.is_none()
}
