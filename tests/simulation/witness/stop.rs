//! Rules for the end: the first cause, nothing new after it, the way out in time.

use gristmill_core::io::{HeldReason, StopReason, Unfinished};
use gristmill_core::outcome::{Answer, Outcome};
use gristmill_core::policy::{Attempts, Exhausted, FatalPolicy};
use gristmill_core::time::Moment;

use super::{Violation, Witness, require};

/// Why the machine has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Asked,
    Insisted,
    Fatal,
    Exhausted,
    Fenced,
    Refused,
    DeadLetters,
}

/// How far the end is.
#[derive(Debug, Default)]
pub(super) struct Ending {
    /// The first cause and when it came.
    pub(super) cause: Option<(Cause, Moment)>,
    pub(super) insisted: bool,
    /// The broker no longer takes this member's word: nothing is left to wait for.
    trouble: Option<Cause>,
    pub(super) left_ordered: bool,
    /// Something was done and not known to be committed when the group was left.
    left_unsettled: bool,
    left_writing: bool,
    pub(super) left: bool,
    pub(super) stopped: bool,
}

impl Ending {
    pub(super) fn has_cause(&self) -> bool {
        self.cause.is_some()
    }

    fn is(&self, cause: Cause) -> bool {
        self.cause.is_some_and(|(first, _)| first == cause)
    }
}

impl Witness {
    pub(super) fn must_end(&mut self, cause: Cause) {
        if self.ending.cause.is_none() {
            self.ending.cause = Some((cause, self.now));
        }
    }

    /// Trouble on the way out is what gets reported, unless there was trouble before.
    pub(super) fn must_end_at_once(&mut self, cause: Cause) {
        self.must_end(cause);
        if self.ending.is(Cause::Asked) && !self.ending.left_ordered {
            self.ending.cause = Some((cause, self.now));
        }
        self.ending.trouble.get_or_insert(cause);
    }

    /// True when something is under way, be it the end.
    pub(crate) fn is_busy(&self) -> bool {
        let unsettled = self.watched.values().any(super::watched::Watched::unsettled);
        self.ending.has_cause()
            || unsettled
            || !self.out.is_empty()
            || !self.commits.is_empty()
            || !self.productions.is_empty()
    }

    fn end_due(&self) -> Option<Moment> {
        self.ending.cause.map(|(_, since)| since.after(self.policy.shutdown_grace))
    }

    pub(super) fn settle_ending(&self, wakeup: Option<Moment>) -> Result<(), Violation> {
        let Some(due) = self.end_due() else { return Ok(()) };
        if self.ending.left_ordered {
            return Ok(());
        }
        let at_once = self.ending.insisted || self.ending.trouble.is_some();
        require!(!at_once, "S2", "the machine has to leave at once and does not");
        require!(self.now < due, "I-35", "the machine does not leave, though the grace time ended at {due:?}");
        require!(wakeup.is_some_and(|at| at <= due), "I-35", "nothing wakes the machine at {due:?}: {wakeup:?}");
        Ok(())
    }

    pub(super) fn see_leave(&mut self) -> Result<(), Violation> {
        require!(!self.ending.left_ordered, "I-15", "the machine leaves twice");
        require!(self.ending.has_cause(), "I-35", "the machine leaves without a cause");
        let patient =
            !self.ending.insisted && self.ending.trouble.is_none() && self.end_due().is_some_and(|due| self.now < due);
        if patient {
            let busy = self.watched.iter().find(|(_, watched)| watched.commit.is_some());
            require!(
                busy.is_none(),
                "S1",
                "the machine leaves while a commit of {:?} is under way",
                busy.map(|(at, _)| at)
            );
            let out = self.out.iter().find(|(_, handed)| !handed.cancelled);
            require!(out.is_none(), "S1", "the machine leaves while {:?} is out", out.map(|(id, _)| id));
            let written = self.productions.keys().next();
            require!(written.is_none(), "S1", "the machine leaves while {written:?} is being written");
            let tries_max = self.policy.commit.tries_max.get();
            let given_up =
                |watched: &super::watched::Watched| watched.moving || watched.asked || watched.tries >= tries_max;
            let ready = self.watched.iter().find(|(_, watched)| watched.unsettled() && !given_up(watched));
            require!(ready.is_none(), "S1", "the machine leaves without committing {:?}", ready.map(|(at, _)| at));
        }
        self.ending.left_ordered = true;
        self.ending.left_writing = !self.productions.is_empty();
        self.ending.left_unsettled = self.watched.values().any(super::watched::Watched::unsettled);
        Ok(())
    }

    pub(super) fn see_stopped(&mut self, reason: &StopReason) -> Result<(), Violation> {
        require!(self.ending.left, "I-35", "the machine ends before it left");
        let grace_over = self.end_due().is_some_and(|due| self.now >= due);
        let asked = self.ending.is(Cause::Asked) || self.ending.is(Cause::Insisted);
        let fits = match reason {
            // Insisting on the end of a machine that has nothing in flight abandons nothing.
            StopReason::Asked => asked,
            StopReason::Abandoned { unfinished: Unfinished::Commit, .. } if !self.ending.left_unsettled => false,
            StopReason::Abandoned { unfinished: Unfinished::Writing, .. } if !self.ending.left_writing => false,
            StopReason::Abandoned { insisted: true, .. } => self.ending.insisted && asked,
            StopReason::Abandoned { insisted: false, .. } => self.ending.is(Cause::Asked) && grace_over,
            StopReason::Fatal { .. } => self.ending.is(Cause::Fatal),
            StopReason::Exhausted { .. } => self.ending.is(Cause::Exhausted),
            StopReason::TooManyDeadLetters { .. } => self.ending.is(Cause::DeadLetters),
            StopReason::Fenced => self.ending.is(Cause::Fenced),
            StopReason::CommitRefused => self.ending.is(Cause::Refused),
        };
        require!(fits, "I-35", "the machine ends with {reason:?}; the first cause was {:?}", self.ending.cause);
        self.ending.stopped = true;
        Ok(())
    }

    /// A lane may only be held by what really happened.
    pub(super) fn see_held(&self, reason: &HeldReason) -> Result<(), Violation> {
        match reason {
            HeldReason::Fatal { .. } => {
                require!(self.policy.fatal == FatalPolicy::Hold, "I-32", "held by fatal against the policy");
            }
            HeldReason::Exhausted { .. } => {
                require!(self.exhausted, "I-17", "held as exhausted before the budget is spent");
            }
            HeldReason::RecordTooLarge { facts } => {
                let cap = self.policy.batch.record_bytes_max.get();
                require!(facts.bytes > cap, "A4", "held by a record of {} bytes, the cap is {cap}", facts.bytes);
            }
            HeldReason::Undecodable { .. }
            | HeldReason::Rejected { .. }
            | HeldReason::NotWritten { .. }
            | HeldReason::Offset { .. } => {}
        }
        Ok(())
    }

    /// What follows when this much is spent and this answer comes. `None`: the budget is not exhausted.
    pub(super) fn is_spent(&self, spent: super::watched::Spent, answer: &Answer) -> Option<Exhausted> {
        match (answer, self.policy.retry.attempts) {
            (Answer::Fault(_), _) if spent.faults >= self.policy.fault.attempts_max.get() => {
                Some(self.policy.fault.then)
            }
            (Answer::Outcome(Outcome::Retryable { .. }), Attempts::Limited { max, then })
                if spent.retries >= max.get() =>
            {
                Some(then)
            }
            _ => None,
        }
    }
}
