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
    /// The whole batch is done.
    Ok,
    /// Nothing of the batch is done; try again.
    Retryable {
        /// The plugin's own words.
        reason: String,
        /// The wait that the plugin wishes for; the host clamps it.
        after: Option<Duration>,
    },
    /// Nothing of the batch is done, and trying again will not help.
    Fatal {
        /// The plugin's own words.
        reason: String,
    },
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
