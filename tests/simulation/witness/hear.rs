//! What follows from each input, as the rules say.

use gristmill_core::io::{Input, RequestError, RequestId};
use gristmill_core::outcome::{Answer, Outcome};
use gristmill_core::policy::{Exhausted, FatalPolicy, Redeliver};
use gristmill_core::record::{Epoch, NextOffset, Partition};
use gristmill_core::time::Moment;

use super::stop::Cause;
use super::watched::{Handed, Spent, Watched};
use super::{Witness, longest, shortest};
use crate::names::{Body, place};

type Sought = [(Partition, Result<Epoch, RequestError>)];

impl Witness {
    /// Hears an input before the machine does.
    pub(crate) fn hear(&mut self, now: Moment, input: &Input<Body>) {
        self.now = now;
        match input {
            Input::Tick => {}
            Input::MemoryShort => {
                self.watched.values_mut().for_each(|watched| watched.rewinding |= watched.failed);
            }
            // What was read before the trouble is as good as ever.
            Input::PositionTrouble { partition, epoch, .. } => {
                if let Some(watched) = self.watched.get_mut(&place(*partition)) {
                    watched.troubled |= watched.live == Some(*epoch);
                }
            }
            Input::Fetched(records) => self.hear_fetched(records),
            Input::Passed(passed) => self.hear_passed(passed),
            Input::Assigned(assignments) => {
                for assignment in assignments {
                    self.watched.insert(place(assignment.partition), Watched::new(assignment));
                }
            }
            Input::Revoking { id, partitions, deadline } => {
                for partition in partitions {
                    if let Some(watched) = self.watched.get_mut(&place(*partition)) {
                        watched.revoking = Some(*id);
                    }
                }
                self.excuse_delays();
                self.revokes.insert(*id, (partitions.iter().map(|&at| place(at)).collect(), *deadline));
            }
            Input::Lost(partitions) => {
                for partition in partitions {
                    self.watched.remove(&place(*partition));
                }
                self.excuse_delays();
            }
            Input::Answered { delivery, answer } => {
                if let Some(handed) = self.out.remove(delivery) {
                    self.hear_answer(&handed, answer);
                }
            }
            Input::CommitEnded { id, result } => self.hear_commit_ended(*id, *result),
            Input::CommittedKnown { id, result } => self.hear_committed_known(*id, result),
            Input::Sought { id, results } => self.hear_sought(*id, results),
            Input::PluginReady(plugin) => {
                self.plugin = *plugin;
                self.fresh_start();
            }
            Input::PauseAsked => self.paused = true,
            Input::ResumeAsked => self.paused = false,
            Input::RetryAsked => {
                self.held = false;
                self.watched.values_mut().for_each(|watched| watched.rewinding |= watched.troubled);
                self.fresh_start();
            }
            Input::StopAsked => self.must_end(Cause::Asked),
            Input::StopNowAsked => {
                self.ending.insisted = true;
                self.must_end(Cause::Insisted);
            }
            Input::Fenced => self.must_end_at_once(Cause::Fenced),
            Input::Left => self.ending.left = true,
        }
    }

    fn excuse_delays(&mut self) {
        self.watched.values_mut().for_each(|watched| watched.not_before = Moment::default());
    }

    /// The operator or a new version clears budgets, delays and holds.
    fn fresh_start(&mut self) {
        self.blocked.clear();
        for watched in self.watched.values_mut() {
            watched.not_before = Moment::default();
            watched.seek_not_before = Moment::default();
            watched.budget = Spent::default();
            watched.held &= watched.start.is_none();
        }
    }

    fn hear_answer(&mut self, handed: &Handed, answer: &Answer) {
        let live: Vec<_> = handed
            .parts
            .iter()
            .filter(|part| self.watched.get(&part.place).is_some_and(|watched| watched.assigned == part.assigned))
            .copied()
            .collect();
        let ok = *answer == Answer::Outcome(Outcome::Ok) && !handed.cancelled;
        if !ok {
            self.failed.insert(handed.batch, std::sync::Arc::clone(&handed.records));
        }
        let counts = !handed.cancelled && !live.is_empty() && !self.ending.left_ordered;
        if ok && counts {
            self.ok_unreported.insert(handed.batch, live.iter().map(|part| part.records).sum());
        }
        if !ok {
            let (retry, fault) = (&self.policy.retry, &self.policy.fault);
            let wait = longest(&retry.backoff).max(longest(&fault.backoff)).max(retry.after_max);
            self.block(handed.lane, self.now.after(wait));
        }
        let mut spent = None;
        for part in &live {
            let Some(watched) = self.watched.get_mut(&part.place) else { continue };
            watched.failed = !ok;
            if !ok {
                watched.due = Some(part.first);
            }
            if !counts {
                continue;
            }
            if ok {
                watched.done = part.next;
                watched.done_by = Some((handed.plugin, part.leader_epoch));
                watched.budget = Spent::default();
            } else {
                // What a version fails at that was replaced meanwhile is not the new one's (S4).
                if handed.plugin == self.plugin {
                    fail(watched, part.first, answer, &self.policy, self.now);
                }
                watched.rewinding |= self.policy.retry.redeliver == Redeliver::Seek;
                spent = Some(watched.budget).and_then(|budget| self.is_spent(budget)).or(spent);
            }
        }
        if counts && !ok {
            self.follow(handed, answer, spent);
        }
    }

    /// Fatal answers and spent budgets end the machine or hold the lane.
    fn follow(&mut self, handed: &Handed, answer: &Answer, spent: Option<Exhausted>) {
        let fatal = matches!(answer, Answer::Outcome(Outcome::Fatal { .. }));
        let (stops, cause) = match (fatal, spent) {
            (true, _) => (self.policy.fatal == FatalPolicy::Exit, Cause::Fatal),
            (false, Some(then)) => (then == Exhausted::Stop, Cause::Exhausted),
            (false, None) => return,
        };
        if stops {
            self.must_end(cause);
            return;
        }
        for part in &handed.parts {
            if let Some(watched) = self.watched.get_mut(&part.place) {
                watched.held |= watched.assigned == part.assigned;
            }
        }
    }

    fn hear_commit_ended(&mut self, id: RequestId, result: Result<(), RequestError>) {
        let Some(sent) = self.commits.remove(&id) else { return };
        let policy = self.policy.commit;
        for (here, value) in sent {
            let Some(watched) = self.watched.get_mut(&here) else { continue };
            if watched.commit != Some((id, value)) {
                continue;
            }
            watched.commit = None;
            match result {
                Ok(()) => {
                    watched.confirmed = watched.confirmed.max(Some(value));
                    watched.tries = 0;
                }
                Err(RequestError::Temporary) => {
                    watched.tries += 1;
                    watched.commit_not_before = self.now.after(shortest(&policy.backoff, 1));
                    watched.commit_not_after = self.now.after(longest(&policy.backoff));
                }
                Err(RequestError::Unknown) => {
                    watched.tries += 1;
                    watched.unknown = true;
                    watched.commit_not_after = self.now.after(longest(&policy.backoff));
                }
                Err(RequestError::NotOurs) => {
                    self.watched.remove(&here);
                    self.excuse_delays();
                }
                Err(RequestError::Fenced) => self.must_end_at_once(Cause::Fenced),
                Err(RequestError::Refused) => self.must_end_at_once(Cause::Refused),
            }
        }
    }

    fn hear_committed_known(
        &mut self,
        id: RequestId,
        result: &Result<Vec<(Partition, Option<NextOffset>)>, RequestError>,
    ) {
        let Some(mut asked) = self.lookups.remove(&id) else { return };
        asked.retain(|(here, assigned)| self.watched.get(here).is_some_and(|watched| watched.assigned == *assigned));
        match result {
            Ok(known) => {
                for (partition, committed) in known {
                    let here = place(*partition);
                    let Some(watched) =
                        self.watched.get_mut(&here).filter(|_| asked.iter().any(|(asked, _)| *asked == here))
                    else {
                        continue;
                    };
                    let committed = committed.map(|next| next.0);
                    watched.looked_up = Some(committed);
                    watched.unknown = false;
                    watched.confirmed = watched.confirmed.max(committed);
                }
            }
            Err(RequestError::NotOurs) => {
                for (here, _) in asked {
                    self.watched.remove(&here);
                }
                self.excuse_delays();
            }
            Err(RequestError::Fenced) => self.must_end_at_once(Cause::Fenced),
            Err(RequestError::Refused) => self.must_end_at_once(Cause::Refused),
            Err(RequestError::Temporary | RequestError::Unknown) => {
                for (here, _) in asked {
                    if let Some(watched) = self.watched.get_mut(&here) {
                        watched.tries += u32::from(watched.unknown);
                    }
                }
            }
        }
    }

    fn hear_sought(&mut self, id: RequestId, results: &Sought) {
        let Some(sent) = self.seeks.remove(&id) else { return };
        for (here, next) in sent {
            let result = results.iter().find(|(partition, _)| place(*partition) == here).map(|(_, result)| *result);
            let Some(watched) = self.watched.get_mut(&here).filter(|watched| watched.seek == Some(id)) else {
                continue;
            };
            watched.seek = None;
            match result {
                Some(Ok(epoch)) => {
                    watched.live = Some(epoch);
                    watched.moving = false;
                    watched.asked = false;
                    watched.rewinding = false;
                    watched.troubled = false;
                    watched.due = Some(next);
                    watched.fetched = Some(next);
                    watched.arrived = Some(next);
                    watched.beyond = (next, None);
                    watched.done = next;
                    watched.done_by = None;
                    watched.confirmed = watched.looked_up.flatten().or(watched.confirmed);
                    watched.held &= watched.start.is_some();
                    watched.start = watched.start.or(Some(next));
                    watched.tried = None;
                    watched.tries = 0;
                    watched.commit_not_before = Moment::default();
                    watched.unknown = false;
                    watched.seek_failures = 0;
                    watched.looked_up = None;
                }
                Some(Err(RequestError::NotOurs)) => {
                    self.watched.remove(&here);
                    self.excuse_delays();
                }
                Some(Err(RequestError::Fenced)) => self.must_end_at_once(Cause::Fenced),
                Some(Err(RequestError::Refused)) => self.must_end_at_once(Cause::Refused),
                Some(Err(RequestError::Temporary | RequestError::Unknown)) | None => {
                    watched.seek_failures += 1;
                    let wait = shortest(&self.policy.commit.backoff, watched.seek_failures);
                    watched.seek_not_before = self.now.after(wait);
                }
            }
        }
    }
}

/// A failed attempt is counted at the first record that is not done (R4), and the next one has to wait (R5).
fn fail(watched: &mut Watched, first: i64, answer: &Answer, policy: &gristmill_core::policy::Policy, now: Moment) {
    if watched.budget.first != Some(first) {
        watched.budget = Spent { first: Some(first), retries: 0, faults: 0 };
    }
    let wait = match answer {
        Answer::Outcome(Outcome::Retryable { after, .. }) => {
            watched.budget.retries += 1;
            match after {
                Some(wish) => (*wish).clamp(policy.retry.after_min, policy.retry.after_max),
                None => shortest(&policy.retry.backoff, watched.budget.retries),
            }
        }
        Answer::Fault(_) => {
            watched.budget.faults += 1;
            shortest(&policy.fault.backoff, watched.budget.faults)
        }
        Answer::Outcome(Outcome::Ok | Outcome::Fatal { .. }) | Answer::Cancelled => return,
    };
    watched.not_before = now.after(wait);
}
