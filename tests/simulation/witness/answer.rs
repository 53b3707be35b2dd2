//! What follows from an answer: which records are done once what they made is written, what comes again and when, and what ends,
//! holds, cuts or puts aside.

use gristmill_core::outcome::{Answer, Effects, Fault, FaultClass, Outcome};
use gristmill_core::policy::{Attempts, Exhausted, FatalPolicy, Redeliver};
use gristmill_core::record::Record;
use gristmill_core::time::Moment;

use super::produce::Finishing;
use super::stop::Cause;
use super::watched::{Handed, Part, Spent, Watched};
use super::{Witness, longest, shortest};
use crate::names::{Body, Place, place};

impl Witness {
    pub(super) fn hear_answer(&mut self, handed: &Handed, answer: &Answer) {
        let live: Vec<Part> = handed.parts.iter().filter(|part| self.lives(part)).copied().collect();
        let counts = !handed.cancelled && !live.is_empty() && !self.ending.left_ordered;
        let contradiction = match answer {
            Answer::Outcome(outcome) => outcome.contradiction(u32::try_from(handed.records.len()).expect("few")),
            Answer::Fault(_) | Answer::Cancelled => None,
        };
        let broken = contradiction.map(|detail| Answer::Fault(Fault { class: FaultClass::Contract, detail }));
        let answer = broken.as_ref().unwrap_or(answer);
        let (done, effects) = done_by(answer, handed.records.len());
        if !counts {
            // Whoever handles these records next begins where this batch did.
            self.fail_parts(handed, &live, 0);
            return self.block_after_failure(handed.lane);
        }
        if done > 0 {
            self.progress(handed, &live, done, effects);
        }
        if done < handed.records.len() {
            self.fail(handed, &live, done, answer);
        }
    }

    /// A part that is handed over to find the record that fails has one attempt, as far as that failure goes.
    fn last_resort(&self, handed: &Handed, done: usize, answer: &Answer) -> Option<Exhausted> {
        if !handed.part {
            return None;
        }
        if does_not_start(answer) {
            return None;
        }
        let over = *handed.records[done..].iter().find_map(|record| self.searched.get(&name_of(record)))?;
        match (answer, self.policy.retry.attempts) {
            (Answer::Fault(_), _) if over => Some(self.policy.fault.then),
            (Answer::Outcome(Outcome::Retryable { .. }), Attempts::Limited { then, .. }) if !over => Some(then),
            _ => None,
        }
    }

    pub(super) fn lives(&self, part: &Part) -> bool {
        self.watched.get(&part.place).is_some_and(|watched| watched.assigned == part.assigned)
    }

    /// The first `done` records of a hand-over are done as soon as their effects are.
    fn progress(&mut self, handed: &Handed, live: &[Part], done: usize, effects: &Effects) {
        let all = done == handed.records.len();
        let mut parts = Vec::new();
        for part in live {
            let here = |record: &&Record<Body>| place(record.facts.partition) == part.place;
            let last = handed.records[..done].iter().rfind(here).map(|record| record.facts.offset.0 + 1);
            // What no guest can take goes with what follows it; behind the last record it goes with the batch.
            let next = if all { Some(part.next) } else { last };
            let Some(next) = next else { continue };
            if let Some(watched) = self.watched.get_mut(&part.place) {
                watched.failed = false;
                if !all {
                    watched.budget = Spent::default();
                }
                parts.push(Part { next, ..*part });
            }
        }
        for name in handed.records[done..].iter().map(name_of) {
            if parts.iter().any(|part| part.place == name.0) {
                self.searched.remove(&name);
            }
        }
        let records = parts.iter().map(|part| self.count(part)).sum();
        self.ok_unreported.insert(handed.batch, records);
        let rejected = effects.rejected.iter().map(|rejection| name_of(&handed.records[rejection.index as usize]));
        // What is no longer ours is put aside by whoever has it now.
        let rejected = rejected.filter(|(at, _)| parts.iter().any(|part| part.place == *at)).collect();
        let finishing = Finishing {
            lane: handed.lane,
            parts,
            plugin: handed.plugin,
            delivery: Some(handed.delivery),
            rejected,
            emits: effects.emitted > 0,
            letters: Vec::new(),
            batch: Some((handed.batch, handed.records[..done].into())),
        };
        if self.has_to_write(&finishing) {
            self.finishing = Some(finishing);
        } else {
            self.finish(&finishing);
        }
    }

    /// What is left of a hand-over from record `done` on was not done.
    fn fail(&mut self, handed: &Handed, live: &[Part], done: usize, answer: &Answer) {
        self.fail_batch(handed.batch, handed.records[done..].into());
        let left = self.fail_parts(handed, live, done);
        self.block_after_failure(handed.lane);
        let mut spent = None;
        for part in &left {
            let Some(watched) = self.watched.get_mut(&part.place) else { continue };
            // What a version fails at that was replaced meanwhile is not the new one's (S4).
            if handed.plugin == self.plugin {
                fail(watched, part.first, answer, &self.policy, self.now);
            }
            watched.rewinding |= self.policy.retry.redeliver == Redeliver::Seek;
            spent = Some(watched.budget).and_then(|budget| self.is_spent(budget, answer)).or(spent);
        }
        if handed.plugin == self.plugin {
            spent = spent.or(self.last_resort(handed, done, answer));
        }
        self.follow(handed, &left, done, answer, spent);
    }

    /// The parts of what is not done, which come again from where they begin.
    fn fail_parts(&mut self, handed: &Handed, live: &[Part], done: usize) -> Vec<Part> {
        let mut left = Vec::new();
        for part in live {
            let Some(watched) = self.watched.get_mut(&part.place) else { continue };
            let here = |record: &&Record<Body>| place(record.facts.partition) == part.place;
            let before = handed.records[..done].iter().rfind(here);
            let begins = match before {
                Some(record) => {
                    let behind = record.facts.offset.0;
                    watched.arrivals.iter().map(|arrival| arrival.offset).find(|offset| *offset > behind)
                }
                None => Some(part.first),
            };
            let Some(first) = begins.filter(|first| *first < part.next) else { continue };
            watched.failed = true;
            watched.due = Some(first);
            left.push(Part { first, ..*part });
        }
        left
    }

    pub(super) fn block_after_failure(&mut self, lane: Place) {
        let (retry, fault) = (&self.policy.retry, &self.policy.fault);
        let wait = longest(&retry.backoff).max(longest(&fault.backoff)).max(retry.after_max);
        self.block(lane, self.now.after(wait));
    }

    /// Fatal answers and spent budgets end the machine, hold the lane, or have the batch cut or put aside.
    fn follow(&mut self, handed: &Handed, parts: &[Part], done: usize, answer: &Answer, spent: Option<Exhausted>) {
        let left = &handed.records[done..];
        let fatal = matches!(answer, Answer::Outcome(Outcome::Fatal { .. }));
        let starts = !does_not_start(answer);
        if fatal {
            match self.policy.fatal {
                FatalPolicy::Exit => self.must_end(Cause::Fatal),
                FatalPolicy::Hold => self.hold_parts(parts),
            }
            return;
        }
        let Some(then) = spent else { return };
        // Attempts are counted at the first record of a part, also where no guest can take that one.
        let firsts = parts.iter().map(|part| (part.place, part.first));
        let names: Vec<(Place, i64)> = left.iter().map(name_of).chain(firsts).collect();
        if self.policy.fault.isolate && left.len() > 1 && starts {
            let over = matches!(answer, Answer::Fault(_));
            self.searched.extend(names.into_iter().map(|name| (name, over)));
            return self.excuse_delays();
        }
        match then {
            Exhausted::Stop => self.must_end(Cause::Exhausted),
            Exhausted::DeadLetter if self.policy.dead_letters.is_some() && starts => {
                self.condemned.extend(names);
                self.excuse_delays();
            }
            Exhausted::DeadLetter | Exhausted::Hold => {
                self.exhausted = true;
                self.hold_parts(parts);
            }
        }
    }

    fn hold_parts(&mut self, parts: &[Part]) {
        for part in parts {
            if let Some(watched) = self.watched.get_mut(&part.place) {
                watched.held |= watched.assigned == part.assigned;
            }
        }
    }
}

/// No record is to blame for a guest that does not start.
fn does_not_start(answer: &Answer) -> bool {
    matches!(answer, Answer::Fault(Fault { class: FaultClass::Start, .. }))
}

static NOTHING: Effects = Effects::NONE;

/// How many records of a hand-over an answer says are done, and what they made.
fn done_by(answer: &Answer, records: usize) -> (usize, &Effects) {
    match answer {
        Answer::Outcome(Outcome::Ok(effects)) => (records, effects),
        Answer::Outcome(Outcome::Retryable { completed: Some(progress), .. }) => {
            (progress.records as usize, &progress.effects)
        }
        Answer::Outcome(Outcome::Retryable { .. } | Outcome::Fatal { .. }) | Answer::Fault(_) | Answer::Cancelled => {
            (0, &NOTHING)
        }
    }
}

fn name_of(record: &Record<Body>) -> (Place, i64) {
    (place(record.facts.partition), record.facts.offset.0)
}

/// A failed attempt is counted at the first record that is not done (R4), and the next one has to wait (R5).
fn fail(watched: &mut Watched, first: i64, answer: &Answer, policy: &gristmill_core::policy::Policy, now: Moment) {
    let counts = matches!(answer, Answer::Outcome(Outcome::Retryable { .. }) | Answer::Fault(_));
    if counts && watched.budget.first != Some(first) {
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
        Answer::Outcome(Outcome::Ok(_) | Outcome::Fatal { .. }) | Answer::Cancelled => return,
    };
    watched.not_before = now.after(wait);
}
