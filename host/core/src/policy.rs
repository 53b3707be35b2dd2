//! The operator's wishes, as a type that only holds legal combinations. The host's configuration parses into it.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use crate::record::RecordFacts;

/// Everything the operator decides about batches, retries, faults and stopping.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Which records share one head-of-line sequence.
    pub scope: Scope,
    /// When a batch closes.
    pub batch: BatchLimits,
    /// What a retryable answer means.
    pub retry: RetryPolicy,
    /// What a fault means.
    pub fault: FaultPolicy,
    /// What a fatal answer means.
    pub fatal: FatalPolicy,
    /// How commits that fail are tried again.
    pub commit: CommitPolicy,
    /// Where there is a place for dead letters: how many are too many. `None`: a record that cannot be handled holds its lane.
    pub dead_letters: Option<DeadLetterPolicy>,
    /// How long a running batch may go on after a stop was asked.
    pub shutdown_grace: Duration,
    /// Seed of the jitter in back-offs, so that many hosts do not retry in step.
    pub jitter_seed: u64,
}

/// Which partitions share a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One lane over all assigned partitions: a batch holds records of any of them.
    Consumer,
    /// A lane for each partition, at most `workers` of them with the guest at once.
    Partition {
        /// How many batches may be out at once.
        workers: NonZeroU32,
        /// What the batches of all lanes may hold together, in bytes as A5 counts. A batch closes at a quarter of its lane's share: it is
        /// handed over while the next one fills, and each may take twice its bytes in memory.
        lanes_bytes_max: NonZeroU64,
    },
}

impl Scope {
    /// How many batches may be out at once.
    #[must_use]
    pub fn workers(self) -> NonZeroU32 {
        match self {
            Self::Consumer => NonZeroU32::MIN,
            Self::Partition { workers, .. } => workers,
        }
    }
}

/// When a batch closes: whichever comes first.
#[derive(Clone, Copy, Debug)]
pub struct BatchLimits {
    /// At this many records, at once (A2).
    pub records_max: NonZeroU32,
    /// Before the record that would exceed this many bytes (A3). A larger record travels alone (A4).
    pub bytes_max: NonZeroU64,
    /// This long after its first record arrived (A1). Zero: as soon as there is a record and the lane is free (A11).
    pub wait_max: Duration,
    /// The plugin's hard cap: a record above it can never be handed over. It becomes a dead letter, or holds its lane where
    /// there is no place for those (A4).
    pub record_bytes_max: NonZeroU64,
}

impl BatchLimits {
    /// True when a guest can be given this record at all.
    #[must_use]
    pub fn can_be_handed_over(&self, facts: &RecordFacts) -> bool {
        !facts.undecodable && facts.bytes <= self.record_bytes_max.get()
    }
}

/// How a batch is redelivered after it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redeliver {
    /// From memory: the same bytes again (A10).
    Memory,
    /// By asking for the committed offsets and seeking to them (R3).
    Seek,
}

/// Bounds and shape of the wait between attempts (R5).
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// Wait before the second attempt.
    pub initial: Duration,
    /// No wait is longer than this, jitter aside.
    pub max: Duration,
    /// Share of the wait that chance may add or take away, in thousandths: 200 means ± 20 %. At most 1000.
    pub jitter_permille: u32,
}

/// What happens when a budget of attempts is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exhausted {
    /// Leave the group and end the process.
    Stop,
    /// Keep the membership and block the lane until an operator decides.
    Hold,
    /// Write the records to the dead-letter topic and go on. Where there is none, the lane is held.
    DeadLetter,
}

/// How many attempts a batch gets, and what follows the last one. Unlimited retries cannot have an exhausted policy (R6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempts {
    /// Try again for ever.
    Unlimited,
    /// Try this many times in all.
    Limited {
        /// Attempts in all, the first one included.
        max: NonZeroU32,
        /// What follows the last failed one.
        then: Exhausted,
    },
}

/// What a retryable answer means.
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy {
    /// The wait between attempts.
    pub backoff: Backoff,
    /// How many.
    pub attempts: Attempts,
    /// From where.
    pub redeliver: Redeliver,
    /// Lower bound of a wait that the plugin wishes for.
    pub after_min: Duration,
    /// Upper bound of a wait that the plugin wishes for.
    pub after_max: Duration,
}

/// What a fault means. There is always a budget: a poison batch must end in a policy (F5).
#[derive(Clone, Copy, Debug)]
pub struct FaultPolicy {
    /// Faults in all before `then`.
    pub attempts_max: NonZeroU32,
    /// True: what fails to the last is cut in halves until one record fails alone, and `then` concerns only that one. Also
    /// for retryable answers.
    pub isolate: bool,
    /// What follows the last one.
    pub then: Exhausted,
    /// The wait between attempts.
    pub backoff: Backoff,
}

/// What a fatal answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FatalPolicy {
    /// Leave the group and end the process.
    Exit,
    /// Stay in the group, blocked on purpose.
    Hold,
}

/// How commits, look-ups and seeks that fail are tried again.
#[derive(Clone, Copy, Debug)]
pub struct CommitPolicy {
    /// The wait between tries.
    pub backoff: Backoff,
    /// Tries of one commit before the host gives up on it and reads the records again from the committed offset (C2).
    pub tries_max: NonZeroU32,
}

/// How many dead letters of one partition are so many that something else is wrong (D8).
#[derive(Clone, Copy, Debug, Default)]
pub struct DeadLetterPolicy {
    /// So many records of a partition, one after the other.
    pub consecutive_max: Option<NonZeroU32>,
    /// So large a share of a partition's last records.
    pub share_max: Option<Share>,
}

/// A share of the last records of a partition.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// The share, in thousandths. More than that is too many.
    pub permille: u32,
    /// Of so many records. Fewer are not judged.
    pub of_last: NonZeroU32,
}
