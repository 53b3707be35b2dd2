//! What an answer means: one total function from what the guest said, what was spent and the policy, to a decision.

use std::time::Duration;

use crate::backoff;
use crate::batch::Over;
use crate::io::{LetterClass, StopReason};
use crate::outcome::{Answer, Fault, FaultClass, Outcome};
use crate::policy::{Attempts, Exhausted, FatalPolicy, Policy};

/// Failed attempts that count against the budgets of one batch, the one being decided on included (R4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// Retryable answers.
    pub retries: u32,
    /// Faults.
    pub faults: u32,
}

/// What is known of a batch when its answer is decided on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) spent: Spent,
    /// How many records the guest was given.
    pub(crate) records: usize,
    /// Set where a part of a batch is handed over to find the record that fails: it has one attempt.
    pub(crate) search: Option<Over>,
    /// Makes the jitter of the wait.
    pub(crate) seed: u64,
}

/// What to do with a batch, or with what is left of it, after its guest answered or broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Carry its effects out and commit all of it.
    Commit,
    /// Hand it over again after a wait.
    Redeliver {
        /// How long to wait.
        delay: Duration,
        /// The plugin's own words, or the fault's.
        reason: String,
    },
    /// Cut it in parts to find the record that fails.
    Cut {
        /// What fails.
        over: Over,
        /// What it failed with.
        reason: String,
    },
    /// Write it to the dead-letter topic.
    PutAside {
        /// As what.
        class: LetterClass,
        /// What it failed with.
        reason: String,
    },
    /// Block the lane on purpose.
    Hold(StopReason),
    /// Leave the group and end.
    Stop(StopReason),
}

/// Decides from the answer, what was spent before it and with it, and what the operator wants. Asks nobody else.
#[must_use]
pub(crate) fn decide(answer: &Answer, case: Case, policy: &Policy) -> Decision {
    match answer {
        Answer::Outcome(Outcome::Ok(_)) => Decision::Commit,
        Answer::Outcome(Outcome::Retryable { reason, after, .. }) => retry(reason, *after, case, policy),
        Answer::Outcome(Outcome::Fatal { reason }) => {
            let cause = StopReason::Fatal { reason: reason.clone() };
            match policy.fatal {
                FatalPolicy::Exit => Decision::Stop(cause),
                FatalPolicy::Hold => Decision::Hold(cause),
            }
        }
        Answer::Fault(fault) => broken(fault, case, policy),
        // Nobody asked for it to end, and the guest did not break: nothing is spent.
        Answer::Cancelled => Decision::Redeliver { delay: Duration::ZERO, reason: "cancelled".to_owned() },
    }
}

fn retry(reason: &str, after: Option<Duration>, case: Case, policy: &Policy) -> Decision {
    let retry = &policy.retry;
    let spent = case.spent.retries;
    if let Attempts::Limited { max, then } = retry.attempts
        && (spent >= max.get() || case.search == Some(Over::Retries))
    {
        return exhausted(then, LetterClass::Retries, reason.to_owned(), case, policy);
    }
    let delay = match after {
        Some(wish) => wish.clamp(retry.after_min, retry.after_max.max(retry.after_min)),
        None => backoff::delay(&retry.backoff, spent, case.seed),
    };
    Decision::Redeliver { delay, reason: reason.to_owned() }
}

fn broken(fault: &Fault, case: Case, policy: &Policy) -> Decision {
    let reason = format!("{}: {}", fault.class.as_str(), fault.detail);
    let spent = case.spent.faults;
    // No record is to blame for a guest that does not even start: not the one that is searched for, and none is put aside,
    // which would drain the topic.
    let starts = fault.class != FaultClass::Start;
    let searched = starts && case.search == Some(Over::Faults);
    if spent < policy.fault.attempts_max.get() && !searched {
        return Decision::Redeliver { delay: backoff::delay(&policy.fault.backoff, spent, case.seed), reason };
    }
    let then = policy.fault.then;
    if starts {
        return exhausted(then, LetterClass::Fault(fault.class), reason, case, policy);
    }
    let cause = StopReason::Exhausted { reason: told(spent, "faults", &reason, case) };
    if then == Exhausted::Stop { Decision::Stop(cause) } else { Decision::Hold(cause) }
}

fn exhausted(then: Exhausted, class: LetterClass, reason: String, case: Case, policy: &Policy) -> Decision {
    let (over, spent, what) = match class {
        LetterClass::Retries => (Over::Retries, case.spent.retries, "retryable answers"),
        LetterClass::Rejected
        | LetterClass::Undecodable
        | LetterClass::TooLarge
        | LetterClass::Fault(_)
        | LetterClass::Skipped => (Over::Faults, case.spent.faults, "faults"),
    };
    if policy.fault.isolate && case.records > 1 {
        return Decision::Cut { over, reason };
    }
    let cause = StopReason::Exhausted { reason: told(spent, what, &reason, case) };
    match then {
        Exhausted::DeadLetter if policy.dead_letters.is_some() => Decision::PutAside { class, reason },
        Exhausted::Stop => Decision::Stop(cause),
        Exhausted::Hold | Exhausted::DeadLetter => Decision::Hold(cause),
    }
}

/// The words for what spent a budget. A part of a batch has one attempt, however many the whole one had.
fn told(spent: u32, what: &str, last: &str, case: Case) -> String {
    if case.search.is_some() || spent <= 1 { last.to_owned() } else { format!("{spent} {what}, last: {last}") }
}
