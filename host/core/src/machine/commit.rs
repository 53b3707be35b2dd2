//! Commits: from the wish to the broker's word. Explicit positions only, one request at a time for each partition.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Machine, Phase};
use crate::backoff;
use crate::batch::Span;
use crate::io::{Action, CommitOffset, PluginId, Report, RequestError, RequestId, StopReason};
use crate::lane::{Lane, LaneState};
use crate::planted::Bug;
use crate::positions::CommitPhase;
use crate::record::{NextOffset, Partition};

impl<R: Clone> Machine<R> {
    /// Sends every commit that is due, one request for each plugin version whose answers are behind it (C7).
    pub(super) fn send_commits(&mut self) {
        if self.is_leaving() {
            return;
        }
        self.ask_unknown();
        let mut due: BTreeMap<PluginId, Vec<CommitOffset>> = BTreeMap::new();
        let twice = self.planted(Bug::TwoCommitsInFlight);
        let idle_too = self.planted(Bug::RewriteIdleCommits);
        for (&partition, owned) in &mut self.partitions {
            let ready = match owned.commit.phase {
                CommitPhase::Idle => true,
                CommitPhase::InFlight(_, sent) => twice && owned.commit.due().is_some_and(|due| due.next > sent),
                CommitPhase::Backoff(_) | CommitPhase::Asking(..) | CommitPhase::Unknown { .. } => false,
            };
            let wish = owned.commit.due().or(owned.commit.wanted.filter(|_| idle_too));
            if let (true, Some(wish)) = (ready, wish) {
                due.entry(wish.plugin).or_default().push(CommitOffset {
                    partition,
                    epoch: owned.assigned,
                    next: wish.next,
                    leader_epoch: wish.leader_epoch,
                });
            }
        }
        if self.planted(Bug::RewriteIdleCommits) && !due.values().flatten().any(|offset| self.is_due(offset)) {
            return;
        }
        for (plugin, offsets) in due {
            let id = self.ids.request();
            for offset in &offsets {
                if let Some(owned) = self.partitions.get_mut(&offset.partition) {
                    owned.commit.send(id, offset.next);
                }
            }
            self.act(Action::Commit { id, offsets, plugin });
        }
    }

    /// Ends the waits that are over. What was tried too often while the guest was at work is given up then, once it is not.
    pub(super) fn end_backoffs_of_commits(&mut self) {
        if self.is_leaving() {
            return;
        }
        let (now, tries_max) = (self.now, self.policy.commit.tries_max.get());
        let mut overdue = Vec::new();
        for (&partition, owned) in &mut self.partitions {
            owned.commit.end_backoff(now);
            if owned.commit.phase == CommitPhase::Idle && owned.commit.tries >= tries_max {
                overdue.push(partition);
            }
        }
        overdue.retain(|&partition| self.may_give_commit_up(partition) && !self.planted(Bug::RetryCommitForEver));
        overdue.into_iter().for_each(|partition| self.give_commit_up(partition));
    }

    fn is_due(&self, offset: &CommitOffset) -> bool {
        self.partitions.get(&offset.partition).is_some_and(|owned| owned.commit.due().is_some())
    }

    /// Asks for the committed offset where a commit's outcome is unknown (I-06).
    fn ask_unknown(&mut self) {
        let mut asked = Vec::new();
        for (&partition, owned) in &self.partitions {
            if let CommitPhase::Unknown { not_before, .. } = owned.commit.phase
                && not_before <= self.now
            {
                asked.push(partition);
            }
        }
        if asked.is_empty() {
            return;
        }
        let id = self.ids.request();
        for partition in &asked {
            if let Some(owned) = self.partitions.get_mut(partition)
                && let CommitPhase::Unknown { sent, .. } = owned.commit.phase
            {
                owned.commit.phase = CommitPhase::Asking(id, sent);
            }
        }
        self.act(Action::AskCommitted { id, partitions: asked });
    }

    pub(super) fn handle_commit_ended(&mut self, id: RequestId, result: Result<(), RequestError>) {
        let sent: Vec<(Partition, NextOffset)> = self
            .partitions
            .iter()
            .filter_map(|(&partition, owned)| match owned.commit.phase {
                CommitPhase::InFlight(request, next) if request == id => Some((partition, next)),
                CommitPhase::InFlight(..)
                | CommitPhase::Idle
                | CommitPhase::Unknown { .. }
                | CommitPhase::Asking(..)
                | CommitPhase::Backoff(_) => None,
            })
            .collect();
        if sent.is_empty() {
            return;
        }
        let result = self.misread(result);
        match result {
            Ok(()) => self.confirm(&sent),
            Err(RequestError::Temporary) => self.commits_failed(id, &sent, RequestError::Temporary),
            Err(RequestError::Unknown) => self.commits_failed(id, &sent, RequestError::Unknown),
            // Not a member any more: these partitions are lost, and come again with the next assignment (C3).
            Err(RequestError::NotOurs) => sent.iter().for_each(|&(partition, _)| self.remove(partition, true)),
            Err(RequestError::Fenced) => self.abandon(StopReason::Fenced),
            Err(RequestError::Refused) => self.abandon(StopReason::CommitRefused),
        }
    }

    fn confirm(&mut self, sent: &[(Partition, NextOffset)]) {
        let mut offsets = Vec::with_capacity(sent.len());
        let mut records = 0;
        for &(partition, next) in sent {
            let Some(owned) = self.partitions.get_mut(&partition) else { continue };
            let wanted = owned.commit.wanted.filter(|wanted| wanted.next == next);
            let leader_epoch = wanted.and_then(|wanted| wanted.leader_epoch);
            offsets.push(CommitOffset { partition, epoch: owned.assigned, next, leader_epoch });
            records += owned.commit.confirm(next);
        }
        self.report(Report::Committed { offsets, records });
    }

    /// Tries again after a wait; after too many tries reads the records again from the committed offset (C2).
    fn commits_failed(&mut self, id: RequestId, sent: &[(Partition, NextOffset)], error: RequestError) {
        let mut longest = Duration::ZERO;
        let mut given_up = Vec::new();
        for &(partition, next) in sent {
            let spacing = !self.planted(Bug::RetryCommitWithoutSpacing);
            let for_ever = self.planted(Bug::RetryCommitForEver);
            let skip_lookup = self.planted(Bug::SkipLookupAfterUnknown);
            let tries_max = self.policy.commit.tries_max.get();
            let seed = self.policy.jitter_seed ^ id.0;
            let Some(owned) = self.partitions.get_mut(&partition) else { continue };
            // A try of what nobody wants any more is not a try of what is wanted now.
            let wanted = owned.commit.wanted.is_none_or(|wanted| wanted.next == next);
            owned.commit.tries = owned.commit.tries.saturating_add(u32::from(wanted));
            owned.commit.failing = true;
            let wait = backoff::delay(&self.policy.commit.backoff, owned.commit.tries, seed);
            let wait = if spacing { wait } else { Duration::ZERO };
            longest = longest.max(wait);
            let again = self.now.after(wait);
            // What is wanted now may lie before what was sent: that may have been done, whatever the error says.
            let in_doubt =
                error == RequestError::Unknown || owned.commit.wanted.is_some_and(|wanted| wanted.next < next);
            owned.commit.phase = if in_doubt && !skip_lookup {
                CommitPhase::Unknown { sent: next, not_before: again }
            } else {
                CommitPhase::Backoff(again)
            };
            if owned.commit.tries >= tries_max && error == RequestError::Temporary && !for_ever {
                given_up.push(partition);
            }
        }
        self.report(Report::RequestFailed { id, error, again_in: longest });
        given_up.retain(|&partition| self.may_give_commit_up(partition));
        for partition in given_up {
            self.give_commit_up(partition);
        }
    }

    /// Whoever is on the way out will not read anything again, and tries until the time is up. What the guest works on meanwhile may
    /// be done, and is committed with what is done already then.
    fn may_give_commit_up(&self, partition: Partition) -> bool {
        let at_work = self.is_at_work_on(partition) && !self.planted(Bug::GiveCommitUpAtWork);
        let Some(owned) = self.partitions.get(&partition) else { return false };
        self.phase == Phase::Running && owned.revoking.is_none() && !owned.commit.is_of_no_record() && !at_work
    }

    /// The wish is dropped and the partition read again from wherever the broker says it stands: the records of the
    /// batch come a second time, none is lost.
    fn give_commit_up(&mut self, partition: Partition) {
        if let Some(owned) = self.partitions.get_mut(&partition) {
            owned.commit.give_up();
        }
        let id = self.lane_of(partition);
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.unconfirmed.retain(|span| span.partition != partition);
            if let LaneState::Settling { spans, .. } = &mut lane.state {
                spans.retain(|span| span.partition != partition);
            }
        }
        self.rewind(partition);
    }

    /// The answer to a look-up that a commit of unknown outcome asked for.
    pub(super) fn learn_commit(
        &mut self,
        id: RequestId,
        partition: Partition,
        result: Result<Option<NextOffset>, RequestError>,
    ) {
        let Some(owned) = self.partitions.get_mut(&partition) else { return };
        let CommitPhase::Asking(request, sent) = owned.commit.phase else { return };
        if request != id {
            return;
        }
        match result {
            Ok(Some(committed)) if committed >= sent => self.confirm(&[(partition, committed)]),
            // It was not done. The tries go on counting, and so does the spacing between them.
            Ok(committed) => {
                if let Some(committed) = committed {
                    owned.commit.learn(committed);
                }
                let exhausted = owned.commit.tries >= self.policy.commit.tries_max.get();
                owned.commit.phase = CommitPhase::Idle;
                if exhausted && self.may_give_commit_up(partition) {
                    self.give_commit_up(partition);
                }
            }
            // Not a member any more: lost, as for a commit (C3).
            Err(RequestError::NotOurs) => self.remove(partition, true),
            Err(_) => {
                owned.commit.tries = owned.commit.tries.saturating_add(1);
                let wait =
                    backoff::delay(&self.policy.commit.backoff, owned.commit.tries, self.policy.jitter_seed ^ id.0);
                owned.commit.phase = CommitPhase::Unknown { sent, not_before: self.now.after(wait) };
            }
        }
    }

    /// Each lane goes on of whose last two batches one is committed. A partition that is gone has nothing left to wait for.
    pub(super) fn advance_settling(&mut self) {
        let partitions = &self.partitions;
        let is_open = |span: &Span| match partitions.get(&span.partition) {
            Some(owned) if owned.assigned == span.assigned => {
                owned.commit.confirmed.is_none_or(|confirmed| confirmed < span.next)
            }
            Some(_) | None => false,
        };
        for lane in self.lanes.values_mut() {
            lane.unconfirmed.retain(is_open);
            let LaneState::Settling { spans, then } = &mut lane.state else { continue };
            spans.retain(is_open);
            if lane.unconfirmed.is_empty() || spans.is_empty() {
                lane.unconfirmed.append(spans);
                lane.state = std::mem::replace(&mut **then, LaneState::Filling);
            }
        }
    }

    /// True when what the lane has done is committed, or on its way there without a failure. After one nothing more is handed over
    /// until it is known what became of it: otherwise nobody could say how much a crash repeats.
    pub(super) fn commits_flow(&self, lane: &Lane<R>) -> bool {
        let wait = self.planted(Bug::WaitForCommit);
        lane.unconfirmed.iter().all(|span| match self.partitions.get(&span.partition) {
            Some(owned) => (owned.commit.is_on_its_way() && !wait) || self.planted(Bug::DeliverOverFailedCommit),
            None => true,
        })
    }
}
