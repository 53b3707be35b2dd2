//! Assignment, revocation and loss: partitions come and go, and everything about them comes and goes with them.

use super::{Machine, Phase, Revoke};
use crate::io::{Action, Assignment, HeldReason, OffsetTrouble, Report, RevokeId, StartPosition};
use crate::lane::{Lane, LaneState};
use crate::planted::Bug;
use crate::policy::Scope;
use crate::positions::{Owned, Reading};
use crate::record::{Epoch, Partition};
use crate::time::Moment;

impl<R: Clone> Machine<R> {
    pub(super) fn handle_assigned(&mut self, assignments: &[Assignment]) {
        for assignment in assignments {
            let partition = assignment.partition;
            if self.partitions.get(&partition).is_some_and(|owned| owned.assigned == assignment.epoch) {
                continue;
            }
            self.remove(partition, true);
            let mut owned = Owned::new(assignment, self.plugin);
            if self.planted(Bug::ForgetStartCommit) {
                owned.commit.wanted = None;
            }
            if let Some(next) = self.position_when_gone(partition) {
                owned.stand_at(next);
            }
            self.partitions.insert(partition, owned);
            self.report(Report::Assigned { partition, start: assignment.start });
            if let StartPosition::Unusable(trouble) = assignment.start {
                self.report(Report::Held { reason: HeldReason::Offset { partition, trouble } });
            }
        }
        self.share_memory_anew();
    }

    /// With other partitions each lane's share of the memory is another one.
    fn share_memory_anew(&mut self) {
        if let Scope::Partition { .. } = self.policy.scope {
            self.lanes.values_mut().for_each(Lane::count_anew);
        }
    }

    /// Forgets what waits, and lets what is out or being committed end within the deadline (B1).
    pub(super) fn handle_revoking(&mut self, id: RevokeId, partitions: Vec<Partition>, deadline: Moment) {
        for &partition in &partitions {
            let Some(owned) = self.partitions.get_mut(&partition) else { continue };
            owned.revoking = Some(id);
            owned.commit.hurry(self.now);
            if self.planted(Bug::CommitOnRevoke) {
                self.commit_as_fetched(partition);
            }
            if self.planted(Bug::KeepCollectedOnRevoke) {
                continue;
            }
            self.forget_collected_of_revoked(partition);
        }
        self.revokes.push(Revoke { id, partitions, deadline });
    }

    fn forget_collected_of_revoked(&mut self, partition: Partition) {
        let lose_tail = self.planted(Bug::LoseTailOnRevoke);
        let drop_kept = self.planted(Bug::DropKeptOnRevoke);
        let id = self.lane_of(partition);
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        let mut met = drop_kept;
        lane.forget(|record| {
            let revoked = record.facts.partition == partition;
            met |= revoked && lose_tail;
            !revoked && !met
        });
        let released = lane.unblock(partition).1;
        self.report_released(released);
    }

    /// As revoked, but at once and without any commit (B2).
    pub(super) fn handle_lost(&mut self, partitions: &[Partition]) {
        for &partition in partitions {
            if self.planted(Bug::CommitOnLost) {
                self.commit_as_fetched(partition);
                self.send_commits();
            }
            self.remove(partition, true);
        }
    }

    /// Ends the ownership of a partition: everything that hung off it goes.
    pub(super) fn remove(&mut self, partition: Partition, lost: bool) {
        let Some(owned) = self.partitions.remove(&partition) else { return };
        self.remember_gone(partition, owned.expected);
        let id = self.lane_of(partition);
        let mut records = 0;
        let mut released = None;
        if let Some(lane) = self.lanes.get_mut(&id) {
            let blocked;
            (blocked, released) = lane.unblock(partition);
            records = lane.forget_partition(partition) + blocked;
        }
        self.share_memory_anew();
        self.report(Report::Removed { partition, lost, records });
        self.report_released(released);
        self.cancel_orphans();
    }

    /// Ends hand-overs of which nothing is owned any more.
    fn cancel_orphans(&mut self) {
        let partitions = &self.partitions;
        let actions = &mut self.actions;
        for lane in self.lanes.values_mut() {
            if let LaneState::Out(out) = &mut lane.state
                && !out.cancelled
                && !out.batch.spans.iter().any(|span| owns(partitions.get(&span.partition), span.assigned))
            {
                out.cancelled = true;
                actions.push_back(Action::Cancel(out.delivery));
            }
        }
    }

    /// Answers each revocation whose partitions are settled, or whose time is over.
    pub(super) fn answer_revokes(&mut self) {
        let mut open = std::mem::take(&mut self.revokes);
        open.retain(|revoke| {
            let late = revoke.deadline <= self.now && !self.planted(Bug::IgnoreRevokeDeadline);
            if !late && revoke.partitions.iter().any(|&partition| self.unsettled(partition)) {
                return true;
            }
            if !self.planted(Bug::CommitAfterRevokeAnswered) {
                for &partition in &revoke.partitions {
                    // Assigned again under another revocation's eyes: not ours to take.
                    if self.partitions.get(&partition).is_some_and(|owned| owned.revoking == Some(revoke.id)) {
                        self.remove(partition, false);
                    }
                }
            }
            self.act(Action::AnswerRevoke(revoke.id));
            false
        });
        self.revokes.append(&mut open);
    }

    /// True while something of the partition is with the guest or on its way to being committed.
    fn unsettled(&self, partition: Partition) -> bool {
        let Some(owned) = self.partitions.get(&partition) else { return false };
        if matches!(self.phase, Phase::Leaving { .. } | Phase::Stopped) {
            return false;
        }
        let lane = self.lanes.get(&self.lane_of(partition));
        let blind = self.planted(Bug::AnswerRevokeBeforeProduced);
        let at_work = lane.is_some_and(|lane| {
            if blind { lane.is_out() && lane.is_at_work_on(partition) } else { lane.is_at_work_on(partition) }
        });
        at_work || !(owned.commit.settled() || self.planted(Bug::AnswerRevokeBeforeCommitEnded))
    }

    /// The partition cannot be read at its position: held until an operator decides (O1).
    pub(super) fn handle_trouble(&mut self, partition: Partition, epoch: Epoch, trouble: OffsetTrouble) {
        let ignored = self.planted(Bug::IgnorePositionTrouble);
        let Some(owned) = self.partitions.get(&partition) else { return };
        if ignored || !matches!(owned.reading, Reading::Live) || owned.epoch != epoch {
            return;
        }
        self.hold_partition(partition, trouble);
    }
}

/// True when the partition is owned under this very assignment.
pub(super) fn owns(owned: Option<&Owned>, assigned: Epoch) -> bool {
    owned.is_some_and(|owned| owned.assigned == assigned)
}
