//! What a guest said about a batch, and what broke instead of an answer.

use std::time::Duration;

/// How one hand-over ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The guest returned an outcome.
    Outcome(Outcome),
    /// The guest broke; its instance is gone.
    Fault(Fault),
    /// The hand-over was cancelled before the guest answered. Nothing it did counts.
    Cancelled,
}

/// What the guest said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The whole batch is done, once its effects are.
    Ok(Effects),
    /// The batch is not done, or only a beginning of it; try the rest again.
    Retryable {
        /// The plugin's own words.
        reason: String,
        /// The wait that the plugin wishes for; the host clamps it.
        after: Option<Duration>,
        /// A beginning of the batch that is done.
        completed: Option<Progress>,
        /// Index in the batch, as it was handed over, of the record that the plugin blames. It is believed once: should it be
        /// the wrong one, the search for the right one takes up to three calls more.
        suspect: Option<u32>,
    },
    /// Nothing of the batch is done, and trying again will not help.
    Fatal {
        /// The plugin's own words.
        reason: String,
    },
}

/// What the guest wants done before the commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Records that it will never be able to handle.
    pub rejected: Vec<Rejection>,
    /// How many records it wants written. Whoever carries the effects out has them.
    pub emitted: u32,
}

/// One record of the batch that the guest put aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Its index in the batch as it was handed over.
    pub index: u32,
    /// The plugin's own words.
    pub reason: String,
}

/// A beginning of a batch that is done, once its effects are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The first so many records.
    pub records: u32,
    /// Effects of these only.
    pub effects: Effects,
}

impl Effects {
    /// Nothing but the commit.
    pub const NONE: Self = Self { rejected: Vec::new(), emitted: 0 };
}

impl Outcome {
    /// The plain answer: done, and nothing to do but to commit.
    pub const OK: Self = Self::Ok(Effects::NONE);

    /// The plain wish to try all of it again.
    #[must_use]
    pub fn retryable(reason: impl Into<String>, after: Option<Duration>) -> Self {
        Self::Retryable { reason: reason.into(), after, completed: None, suspect: None }
    }

    /// What makes this answer to a batch of so many records contradict itself. Such an answer is a fault: to do a part of it
    /// would be a guess.
    #[must_use]
    pub fn contradiction(&self, records: u32) -> Option<String> {
        match self {
            Self::Ok(effects) => effects.contradiction(records, "the batch holds"),
            Self::Retryable { completed, suspect, .. } => {
                let blamed = suspect.filter(|index| *index >= records);
                if let Some(index) = blamed {
                    return Some(format!("it blames record {index}; the batch holds {records}"));
                }
                let progress = completed.as_ref()?;
                if progress.records > records {
                    return Some(format!("it completed {} records; the batch holds {records}", progress.records));
                }
                progress.effects.contradiction(progress.records, "completed are")
            }
            Self::Fatal { .. } => None,
        }
    }
}

impl Effects {
    fn contradiction(&self, records: u32, what: &str) -> Option<String> {
        let mut indexes: Vec<u32> = self.rejected.iter().map(|rejection| rejection.index).collect();
        indexes.sort_unstable();
        if let Some(index) = indexes.iter().rev().find(|index| **index >= records) {
            return Some(format!("it rejected record {index}; {what} {records}"));
        }
        let twice = indexes.windows(2).find(|pair| pair[0] == pair[1])?;
        Some(format!("it rejected record {} twice", twice[0]))
    }
}

/// What broke instead of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind, kept apart in logs and metrics.
    pub class: FaultClass,
    /// What happened, for people.
    pub detail: String,
}

/// The kinds of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultClass {
    /// The guest trapped: a panic, unreachable code, an access out of bounds, a stack overflow.
    Trap,
    /// The guest used more time than it has.
    Timeout,
    /// The guest wanted more memory than it has.
    Memory,
    /// The guest called exit inside `process-batch`, which is no answer (F4).
    Exit,
    /// The answer contradicts itself or asks for what is not configured.
    Contract,
    /// The guest could not be started: instantiation or `init` failed.
    Start,
}

impl FaultClass {
    /// The word for this class in logs, metrics and documentation.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trap => "trap",
            Self::Timeout => "timeout",
            Self::Memory => "memory",
            Self::Exit => "exit",
            Self::Contract => "contract",
            Self::Start => "start",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejecting(indexes: &[u32]) -> Effects {
        let rejected = indexes.iter().map(|&index| Rejection { index, reason: String::new() }).collect();
        Effects { rejected, emitted: 0 }
    }

    fn partly(records: u32, effects: Effects, suspect: Option<u32>) -> Outcome {
        Outcome::Retryable {
            reason: String::new(),
            after: None,
            completed: Some(Progress { records, effects }),
            suspect,
        }
    }

    #[test]
    fn an_answer_that_is_possible_is_no_contradiction() {
        for outcome in [
            Outcome::OK,
            Outcome::Ok(rejecting(&[2, 0, 1])),
            Outcome::retryable("later", None),
            partly(3, rejecting(&[2]), Some(2)),
            partly(0, Effects::NONE, None),
            Outcome::Fatal { reason: String::new() },
        ] {
            assert_eq!(outcome.contradiction(3), None, "{outcome:?}");
        }
    }

    #[test]
    fn a_contradiction_is_told_with_its_numbers() {
        for (outcome, words) in [
            (Outcome::Ok(rejecting(&[0, 3])), "it rejected record 3; the batch holds 3"),
            (Outcome::Ok(rejecting(&[1, 0, 1])), "it rejected record 1 twice"),
            (partly(4, Effects::NONE, None), "it completed 4 records; the batch holds 3"),
            (partly(2, rejecting(&[2]), None), "it rejected record 2; completed are 2"),
            (partly(1, Effects::NONE, Some(3)), "it blames record 3; the batch holds 3"),
        ] {
            assert_eq!(outcome.contradiction(3).as_deref(), Some(words));
        }
    }
}
