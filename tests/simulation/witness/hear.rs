//! What follows from each input, as the rules say.

use gristmill_core::io::{Input, RequestError, RequestId};
use gristmill_core::policy::Scope;
use gristmill_core::record::{Epoch, NextOffset, Partition};
use gristmill_core::time::Moment;

use super::stop::Cause;
use super::watched::{Spent, Watched};
use super::{Witness, longest, shortest};
use crate::names::{Body, Place, place};

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
            Input::Lost(partitions) => self.hear_lost(partitions),
            Input::Answered { delivery, answer } => {
                if let Some(handed) = self.out.remove(delivery) {
                    self.hear_answer(&handed, answer);
                }
            }
            Input::Produced { id, result } => self.hear_produced(*id, result),
            Input::SkipAsked { only, .. } => self.hear_skip(only.map(place)),
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

    fn hear_lost(&mut self, partitions: &[Partition]) {
        for partition in partitions {
            self.watched.remove(&place(*partition));
        }
        self.excuse_delays();
    }

    fn hear_skip(&mut self, only: Option<Place>) {
        if self.policy.dead_letters.is_some() && !self.ending.has_cause() {
            self.skipping = true;
            self.excuse_delays();
            let only = only.filter(|_| matches!(self.policy.scope, Scope::Partition { .. }));
            for (_, watched) in self.watched.iter_mut().filter(|(here, _)| only.is_none_or(|only| only == **here)) {
                watched.held &= watched.start.is_none();
            }
        }
    }

    pub(super) fn excuse_delays(&mut self) {
        self.watched.values_mut().for_each(|watched| watched.not_before = Moment::default());
    }

    /// The operator or a new version clears budgets, delays and holds.
    fn fresh_start(&mut self) {
        self.blocked.clear();
        self.searched.clear();
        self.excused.clear();
        for watched in self.watched.values_mut() {
            watched.not_before = Moment::default();
            watched.seek_not_before = Moment::default();
            watched.budget = Spent::default();
            watched.held &= watched.start.is_none();
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
                    watched.failing = false;
                }
                Err(RequestError::Temporary) => {
                    watched.tries += 1;
                    watched.failing = true;
                    watched.commit_not_before = self.now.after(shortest(&policy.backoff, 1));
                    watched.commit_not_after = self.now.after(longest(&policy.backoff));
                }
                Err(RequestError::Unknown) => {
                    watched.tries += 1;
                    watched.failing = true;
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
                    // It was done after all.
                    watched.failing &= committed < watched.tried;
                }
            }
            Err(RequestError::NotOurs) => {
                // Where another look-up has said meanwhile what this one was to say, nobody waits for it any more.
                asked.retain(|(here, _)| self.watched.get(here).is_some_and(Watched::waits_for_look_up));
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
                        if watched.unknown {
                            watched.commit_not_after = self.now.after(longest(&self.policy.commit.backoff));
                        }
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
                    watched.stand_at(next);
                    watched.confirmed = watched.looked_up.flatten().or(watched.confirmed);
                    watched.held &= watched.start.is_some();
                    watched.start = watched.start.or(Some(next));
                    watched.tried = None;
                    watched.tries = 0;
                    watched.commit_not_before = Moment::default();
                    watched.unknown = false;
                    watched.failing = false;
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
