//! What the machine says about itself: news for logs and metrics, and why it ended. Nothing here needs an answer.

use std::time::Duration;

use crate::io::{
    BatchId, CommitOffset, DeliveryId, LetterClass, OffsetTrouble, PluginId, RequestError, RequestId, SeekTo,
    StartPosition,
};
use crate::record::{Partition, RecordFacts};

/// What a batch fails of, or ends for, when the brokers did not take what it made.
pub const NOT_WRITTEN: &str = "what has to be written before the commit was not";

/// Why the machine ended. The first cause wins (I-35).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Asked to stop, and everything in flight was settled in time.
    Asked,
    /// Asked to stop, but what was in flight did not end within the grace time, or a second signal came.
    Abandoned {
        /// True: the operator insisted. False: the grace time passed.
        insisted: bool,
        /// What was in flight.
        unfinished: Unfinished,
    },
    /// The plugin said fatal.
    Fatal {
        /// The plugin's own words.
        reason: String,
    },
    /// The budget of retries or faults was spent.
    Exhausted {
        /// What spent it.
        reason: String,
    },
    /// Fenced by another member with the same static id.
    Fenced,
    /// The broker refuses this member's commits for good.
    CommitRefused,
    /// So many records of a partition would become dead letters that something else must be wrong (D8).
    TooManyDeadLetters {
        /// Which partition.
        partition: Partition,
        /// How many, of how many.
        reason: String,
    },
}

/// What a stop did not wait for any longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// A batch that the plugin had. It was not committed.
    Batch,
    /// What a batch made that the plugin said ok to. It was not committed.
    Writing,
    /// The commit of a batch that the plugin said ok to. Nobody knows whether it was done.
    Commit,
}

impl StopReason {
    /// The words of whoever caused it; empty where there are none.
    #[must_use]
    pub fn words(&self) -> &str {
        match self {
            Self::Fatal { reason } | Self::Exhausted { reason } | Self::TooManyDeadLetters { reason, .. } => reason,
            Self::Asked | Self::Abandoned { .. } | Self::Fenced | Self::CommitRefused => "",
        }
    }
}

/// News for logs and metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// A partition now belongs to this member.
    Assigned {
        /// Which one.
        partition: Partition,
        /// Where reading starts.
        start: StartPosition,
    },
    /// A partition is gone.
    Removed {
        /// Which one.
        partition: Partition,
        /// True: lost without a chance to commit.
        lost: bool,
        /// Records of it that were here, handed over or not, and may come again elsewhere.
        records: u64,
    },
    /// Records were dropped because they belong to an old epoch or were read twice (I-13).
    DroppedStale {
        /// How many.
        records: u64,
    },
    /// An answer came for a hand-over that no longer counts (I-14).
    LateAnswer(DeliveryId),
    /// Offsets were committed.
    Committed {
        /// What.
        offsets: Vec<CommitOffset>,
        /// How many records that the plugin said ok to are thereby committed.
        records: u64,
    },
    /// A commit, look-up or seek failed and will be tried again.
    RequestFailed {
        /// Which request.
        id: RequestId,
        /// Why.
        error: RequestError,
        /// When it is tried again, from now.
        again_in: Duration,
    },
    /// A batch finished: handled and about to be committed.
    BatchOk {
        /// Which one.
        batch: BatchId,
        /// How many records.
        records: u64,
    },
    /// A batch failed and waits for its next attempt.
    Waiting {
        /// Which one.
        batch: BatchId,
        /// The attempt that failed.
        attempt: u32,
        /// How long it waits.
        delay: Duration,
        /// True after a fault, false after a retryable answer.
        fault: bool,
        /// The plugin's own words, or the fault's.
        reason: String,
    },
    /// The brokers did not acknowledge what a batch made; it waits for its next attempt.
    WriteFailed {
        /// Which one.
        batch: BatchId,
        /// How often that was so since something was last written.
        tries: u32,
        /// How long it waits.
        delay: Duration,
        /// Why.
        reason: String,
    },
    /// A batch failed and is not handed over again: the process is ending, or ends because of it.
    GivenUp {
        /// Which one.
        batch: BatchId,
        /// The attempt that failed.
        attempt: u32,
        /// The plugin's own words, or the fault's.
        reason: String,
    },
    /// A batch failed to the last and is cut in parts, to find the record that it fails on.
    Cut {
        /// Which batch.
        batch: BatchId,
        /// How many records each part hands over.
        parts: Vec<u32>,
        /// What it failed with.
        reason: String,
    },
    /// Dead letters and emitted records were acknowledged by the brokers.
    Produced {
        /// The batch that made them.
        batch: BatchId,
        /// The dead letters, by class.
        letters: Vec<LetterClass>,
        /// Those that the plugin wanted written.
        emitted: u64,
    },
    /// Partitions are read again from their committed offsets.
    Rewound {
        /// Which ones, and from where.
        targets: Vec<SeekTo>,
    },
    /// A lane is blocked on purpose (S5).
    Held {
        /// Why.
        reason: HeldReason,
    },
    /// What was held goes on, or went away.
    Released {
        /// Why it was held.
        reason: HeldReason,
    },
    /// A new version runs from the next hand-over on.
    PluginSwitched {
        /// The version before.
        from: PluginId,
        /// The version now.
        to: PluginId,
    },
}

/// Why something is blocked on purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeldReason {
    /// The plugin said fatal and the policy is to hold.
    Fatal {
        /// Which batch.
        batch: BatchId,
        /// The plugin's own words.
        reason: String,
    },
    /// The budget of retries or faults is spent and the policy is to hold.
    Exhausted {
        /// Which batch.
        batch: BatchId,
        /// What spent it.
        reason: String,
    },
    /// A record is larger than the plugin can ever take.
    RecordTooLarge {
        /// Where it is.
        facts: RecordFacts,
    },
    /// A record cannot be decoded, and there is no place for dead letters.
    Undecodable {
        /// Where it is.
        facts: RecordFacts,
    },
    /// The plugin rejected a record, and there is no place for dead letters.
    Rejected {
        /// Which batch.
        batch: BatchId,
        /// The first such record.
        facts: RecordFacts,
        /// The plugin's own words.
        reason: String,
    },
    /// What has to be written before the commit will never be taken by the brokers.
    NotWritten {
        /// Which batch.
        batch: BatchId,
        /// Why.
        reason: String,
    },
    /// The partition's position cannot be used.
    Offset {
        /// Which partition.
        partition: Partition,
        /// What is wrong with its position.
        trouble: OffsetTrouble,
    },
}

impl HeldReason {
    /// The words of whoever caused it, where there are any.
    #[must_use]
    pub fn words(&self) -> Option<&str> {
        match self {
            Self::Fatal { reason, .. }
            | Self::Exhausted { reason, .. }
            | Self::Rejected { reason, .. }
            | Self::NotWritten { reason, .. } => Some(reason),
            Self::RecordTooLarge { .. } | Self::Undecodable { .. } | Self::Offset { .. } => None,
        }
    }
}
