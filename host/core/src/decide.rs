//! What an answer means: one total function from what the guest said, what was spent and the policy, to a decision.

use std::time::Duration;

use crate::backoff;
use crate::io::StopReason;
use crate::outcome::{Answer, Outcome};
use crate::policy::{Attempts, Exhausted, FatalPolicy, Policy};

/// Failed attempts that count against the budgets of one batch, the one being decided on included (R4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Retryable answers.
    pub retries: u32,
    /// Faults.
    pub faults: u32,
}

/// What to do with a batch after its guest answered or broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Commit all of it.
    Commit,
    /// Hand it over again after a wait.
    Redeliver {
        /// How long to wait.
        delay: Duration,
        /// The plugin's own words, or the fault's.
        reason: String,
    },
    /// Block the lane on purpose.
    Hold(StopReason),
    /// Leave the group and end.
    Stop(StopReason),
}

/// Decides. `seed` makes the jitter of the wait.
#[must_use]
pub fn decide(answer: &Answer, spent: Spent, policy: &Policy, seed: u64) -> Decision {
    match answer {
        Answer::Outcome(Outcome::Ok) => Decision::Commit,
        Answer::Outcome(Outcome::Retryable { reason, after }) => {
            let retry = &policy.retry;
            if let Attempts::Limited { max, then } = retry.attempts
                && spent.retries >= max.get()
            {
                return exhausted(then, format!("{} retryable answers, last: {reason}", spent.retries));
            }
            let delay = match after {
                Some(wish) => (*wish).clamp(retry.after_min, retry.after_max.max(retry.after_min)),
                None => backoff::delay(&retry.backoff, spent.retries, seed),
            };
            Decision::Redeliver { delay, reason: reason.clone() }
        }
        Answer::Outcome(Outcome::Fatal { reason }) => {
            let cause = StopReason::Fatal { reason: reason.clone() };
            match policy.fatal {
                FatalPolicy::Exit => Decision::Stop(cause),
                FatalPolicy::Hold => Decision::Hold(cause),
            }
        }
        Answer::Fault(fault) => {
            let reason = format!("{}: {}", fault.class.as_str(), fault.detail);
            if spent.faults >= policy.fault.attempts_max.get() {
                return exhausted(policy.fault.then, format!("{} faults, last: {reason}", spent.faults));
            }
            Decision::Redeliver { delay: backoff::delay(&policy.fault.backoff, spent.faults, seed), reason }
        }
        // Nobody asked for it to end, and the guest did not break: nothing is spent.
        Answer::Cancelled => Decision::Redeliver { delay: Duration::ZERO, reason: "cancelled".to_owned() },
    }
}

fn exhausted(then: Exhausted, reason: String) -> Decision {
    match then {
        Exhausted::Stop => Decision::Stop(StopReason::Exhausted { reason }),
        Exhausted::Hold => Decision::Hold(StopReason::Exhausted { reason }),
    }
}
