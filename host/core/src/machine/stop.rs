//! The ways to the end: drain what runs, leave the group, say why.

use super::{Machine, Phase};
use crate::io::{Action, StopReason, Unfinished};
use crate::lane::{Lane, LaneState};
use crate::planted::Bug;

impl<R: Clone> Machine<R> {
    /// No new hand-overs. What is out may end and be committed within the grace time; the rest is dropped uncommitted (S1).
    pub(super) fn drain(&mut self, reason: StopReason) {
        let last_wins = self.planted(Bug::ReportLastCause);
        match &mut self.phase {
            Phase::Running => {}
            // The first cause wins (I-35).
            Phase::Draining { reason: first, .. } | Phase::Leaving { reason: first } => {
                if last_wins {
                    *first = reason;
                }
                return;
            }
            Phase::Stopped => return,
        }
        self.phase = Phase::Draining { reason, deadline: self.now.after(self.policy.shutdown_grace) };
        // A commit's next try may lie behind the grace time; what is done should not be done again elsewhere.
        self.partitions.values_mut().for_each(|owned| owned.commit.hurry(self.now));
        let wait_for_backoff = self.planted(Bug::IgnoreStopInBackoff);
        let keep = self.planted(Bug::DeliverAfterStop);
        for lane in self.lanes.values_mut() {
            lane.forget(|_| keep);
            lane.parts.clear();
            match &mut lane.state {
                LaneState::Waiting { .. } if wait_for_backoff => {}
                LaneState::Waiting { .. } | LaneState::Held { .. } => lane.state = LaneState::Filling,
                LaneState::Producing(producing) => producing.then = LaneState::Filling,
                LaneState::Settling { then, .. } => **then = LaneState::Filling,
                LaneState::Filling | LaneState::Out(_) => {}
            }
        }
    }

    /// Leaves once nothing is in flight any more, or when the grace time is over.
    pub(super) fn advance_stop(&mut self) {
        let Phase::Draining { reason, deadline } = &self.phase else { return };
        let (reason, late) = (reason.clone(), *deadline <= self.now && !self.planted(Bug::IgnoreGrace));
        let unfinished = self.unfinished();
        let commits_open = self.partitions.values().any(|owned| !owned.commit.settled());
        let early = self.planted(Bug::LeaveBeforeCommitEnded) && !self.lanes.values().any(|lane| lane.is_out());
        if early || (unfinished.is_none() && !commits_open) {
            self.leave(reason);
        } else if late {
            self.leave(match (unfinished, reason) {
                (Some(unfinished), StopReason::Asked) => StopReason::Abandoned { insisted: false, unfinished },
                (Some(_) | None, reason) => reason,
            });
        }
    }

    /// What is in flight: a batch with the guest, or else what one made, or the commit of one.
    fn unfinished(&self) -> Option<Unfinished> {
        let with_guest = self.lanes.values().any(|lane| match &lane.state {
            LaneState::Out(out) => !out.cancelled,
            LaneState::Waiting { .. } => self.planted(Bug::IgnoreStopInBackoff),
            LaneState::Filling | LaneState::Producing(_) | LaneState::Settling { .. } | LaneState::Held { .. } => false,
        });
        if with_guest {
            Some(Unfinished::Batch)
        } else if self.lanes.values().any(Lane::is_producing) {
            Some(Unfinished::Writing)
        } else {
            self.lanes.values().any(Lane::is_settling).then_some(Unfinished::Commit)
        }
    }

    /// The second signal: what is unfinished stays uncommitted (S2).
    pub(super) fn handle_stop_now(&mut self) {
        if self.planted(Bug::IgnoreSecondSignal) && self.phase != Phase::Running {
            return;
        }
        match &self.phase {
            Phase::Running | Phase::Draining { reason: StopReason::Asked, .. } => {
                let abandoned = |unfinished| StopReason::Abandoned { insisted: true, unfinished };
                self.leave(self.unfinished().map_or(StopReason::Asked, abandoned));
            }
            Phase::Draining { reason, .. } => self.leave(reason.clone()),
            Phase::Leaving { .. } | Phase::Stopped => {}
        }
    }

    /// Ends at once, without any commit: the broker no longer takes this member's word.
    ///
    /// Having been asked to stop is no cause of trouble, so trouble on the way out is what gets reported.
    pub(super) fn abandon(&mut self, cause: StopReason) {
        match &self.phase {
            Phase::Running | Phase::Draining { reason: StopReason::Asked, .. } => self.leave(cause),
            Phase::Draining { reason, .. } => self.leave(reason.clone()),
            Phase::Leaving { .. } | Phase::Stopped => {}
        }
    }

    fn leave(&mut self, reason: StopReason) {
        let actions = &mut self.actions;
        for lane in self.lanes.values_mut() {
            lane.forget(|_| false);
            lane.parts.clear();
            lane.unconfirmed.clear();
            match &mut lane.state {
                LaneState::Out(out) if !out.cancelled => {
                    out.cancelled = true;
                    actions.push_back(Action::Cancel(out.delivery));
                }
                LaneState::Out(_) => {}
                state @ (LaneState::Filling
                | LaneState::Producing(_)
                | LaneState::Settling { .. }
                | LaneState::Waiting { .. }
                | LaneState::Held { .. }) => *state = LaneState::Filling,
            }
        }
        self.phase = Phase::Leaving { reason };
        self.act(Action::Leave);
    }

    pub(super) fn handle_left(&mut self) {
        let reason = match std::mem::replace(&mut self.phase, Phase::Stopped) {
            Phase::Stopped => return,
            Phase::Running => StopReason::Asked,
            Phase::Draining { reason, .. } | Phase::Leaving { reason } => reason,
        };
        self.act(Action::Stopped(reason));
    }

    pub(super) fn is_leaving(&self) -> bool {
        matches!(self.phase, Phase::Leaving { .. } | Phase::Stopped)
    }
}
