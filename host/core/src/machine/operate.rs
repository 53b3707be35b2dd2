//! What an operator asks for while the machine runs: pause, resume, retry, skip, another plugin version; and memory pressure.

use std::collections::BTreeSet;

use super::{Machine, Phase};
use crate::io::{HeldReason, PluginId, Report};
use crate::lane::{Blocked, LaneState};
use crate::planted::Bug;
use crate::positions::{LaneId, Owned, Reading};
use crate::record::Partition;

impl<R: Clone> Machine<R> {
    /// The new version takes over from the next hand-over on. What waits or is held because of the old one's answers is
    /// handed over at once, with a fresh budget (S4, R2).
    pub(super) fn handle_plugin_ready(&mut self, plugin: PluginId) {
        if plugin == self.plugin || self.phase != Phase::Running {
            return;
        }
        let waits = self.lanes.values().any(|lane| matches!(lane.state, LaneState::Waiting { .. }));
        if waits && self.planted(Bug::KeepOldPluginInBackoff) {
            return;
        }
        let from = std::mem::replace(&mut self.plugin, plugin);
        self.report(Report::PluginSwitched { from, to: plugin });
        if !self.planted(Bug::KeepAttemptsOnSwap) {
            self.partitions.values_mut().for_each(Owned::clear_budget);
        }
        self.release_lanes();
    }

    pub(super) fn handle_resume(&mut self) {
        if !self.planted(Bug::ForgetResume) {
            self.paused = false;
        }
    }

    /// Held lanes are handed over again; held partitions are read again from their committed offset.
    pub(super) fn handle_retry(&mut self) {
        if self.phase != Phase::Running {
            return;
        }
        self.partitions.values_mut().for_each(Owned::clear_budget);
        self.release_lanes();
        let held: Vec<Partition> = self
            .partitions
            .iter()
            .filter(|(_, owned)| matches!(owned.reading, Reading::Stopped))
            .map(|(&partition, _)| partition)
            .collect();
        for partition in held {
            self.rewind(partition);
        }
    }

    /// Ends every back-off and every hold of a lane.
    fn release_lanes(&mut self) {
        let now = self.now;
        let mut released = Vec::new();
        for lane in self.lanes.values_mut() {
            released.extend(lane.release(now, |front| front));
            // What is tried anew is searched anew, if it has to be.
            lane.forget_search();
        }
        self.report_released(released);
    }

    /// Batches that are held are put aside, all of them or that of one partition's lane: what they hold is written to the dead-letter
    /// topic, for the operator's reason. Without such a topic nothing is skipped.
    pub(super) fn handle_skip(&mut self, reason: &str, only: Option<Partition>) {
        if self.phase != Phase::Running || self.policy.dead_letters.is_none() {
            return;
        }
        let mut released = Vec::new();
        let only = only.filter(|_| !self.planted(Bug::SkipEveryLane)).map(|partition| self.lane_of(partition));
        let meant = |id: &LaneId| only.is_none_or(|only| only == *id);
        for (_, lane) in self.lanes.iter_mut().filter(|(id, lane)| meant(id) && lane.is_held()) {
            let said = lane.held_for().and_then(HeldReason::words).map(str::to_owned);
            // What is not in memory any more has to come, and to fail, once again.
            released.extend(lane.release(self.now, |front| Blocked {
                batch: front.batch.map(|batch| batch.skip(reason, said.as_deref(), self.plugin)),
                ..front
            }));
        }
        self.report_released(released);
    }

    /// Tells what is held no longer.
    pub(super) fn report_released(&mut self, released: impl IntoIterator<Item = HeldReason>) {
        released.into_iter().for_each(|reason| self.report(Report::Released { reason }));
    }

    /// Lanes that only wait give their records up; these are read again from the committed offset.
    pub(super) fn handle_memory_short(&mut self) {
        let mut given_up = BTreeSet::new();
        for lane in self.lanes.values() {
            if let LaneState::Waiting { front, .. } | LaneState::Held { front, .. } = &lane.state {
                let batches = front.batch.iter().chain(&lane.parts);
                given_up.extend(batches.flat_map(|batch| &batch.spans).map(|span| span.partition));
            }
        }
        for partition in given_up {
            self.rewind(partition);
        }
    }

    /// Hands failed batches over again whose delay is over.
    pub(super) fn finish_waiting(&mut self) {
        let now = self.now;
        let due: Vec<_> = self
            .lanes
            .iter()
            .filter(|(_, lane)| matches!(lane.state, LaneState::Waiting { until, .. } if until <= now))
            .map(|(&id, _)| id)
            .collect();
        for id in due {
            let may_deliver = self.may_deliver() && self.lanes.get(&id).is_some_and(|lane| self.commits_flow(lane));
            let Some(lane) = self.lanes.get_mut(&id) else { continue };
            match std::mem::replace(&mut lane.state, LaneState::Filling) {
                LaneState::Waiting { front: Blocked { batch: Some(batch), .. }, .. } if may_deliver => {
                    self.begin(id, batch);
                }
                LaneState::Waiting { front: Blocked { batch: None, .. }, .. } => {}
                state => lane.state = state,
            }
        }
    }
}
