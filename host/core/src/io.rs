//! The whole language between the core and its edges: what happened ([`Input`]), what to do ([`Action`]).
//!
//! Every request carries an id and gets exactly one answer. Inputs reach the core in the order in which things happened:
//! the Kafka edge sends assignments, records and seek results through one channel, so that no record overtakes the
//! news that makes it valid.

mod bodies;

use std::sync::Arc;

use crate::outcome::{Answer, FaultClass};
use crate::record::{Epoch, LeaderEpoch, NextOffset, Offset, Partition, Record, RecordFacts};
pub use crate::report::{HeldReason, NOT_WRITTEN, Report, StopReason, Unfinished};
use crate::time::Moment;

/// Number of a batch, unique within the process. A redelivery from memory keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchId(pub u64);

/// Number of one hand-over of one batch. Every attempt has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryId(pub u64);

/// Number of one request to the Kafka edge (commit, look-up, seek).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// Number of one revocation that waits for its answer, given by the Kafka edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RevokeId(pub u64);

/// Which loaded plugin, in the order of loading. The guest edge knows its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PluginId(pub u64);

/// One partition as it was just assigned.
#[derive(Clone, Copy, Debug)]
pub struct Assignment {
    /// Which one.
    pub partition: Partition,
    /// The epoch its records carry from now on.
    pub epoch: Epoch,
    /// Where reading starts.
    pub start: StartPosition,
}

/// Where reading of an assigned partition starts, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartPosition {
    /// At the group's committed offset.
    Committed(NextOffset),
    /// Nothing was committed; the reset policy was resolved to this offset, which is committed once (C8).
    Reset(NextOffset),
    /// There is no usable position; the partition is held with this reason (O1).
    Unusable(OffsetTrouble),
}

/// Why a partition's position cannot be used (O1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetTrouble {
    /// Nothing is committed and the operator chose `error` as reset policy.
    NothingCommitted,
    /// The wanted offset is no longer, or not yet, in the log.
    OutOfRange {
        /// The offset that was asked for.
        wanted: NextOffset,
        /// First offset in the log, where known.
        low: Option<NextOffset>,
        /// End of the log, where known.
        high: Option<NextOffset>,
    },
    /// The same client error came at the same position for too long (corrupt or undecompressable data).
    Unreadable {
        /// The position that cannot be read.
        at: NextOffset,
    },
}

/// Why a commit, look-up or seek did not succeed, as far as it matters for what to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestError {
    /// Nothing was done; trying again later may help (C2).
    Temporary,
    /// It may or may not have been done (C5).
    Unknown,
    /// This member no longer owns the partitions (C3).
    NotOurs,
    /// Another process took over this static member id (B10).
    Fenced,
    /// The broker will never accept it: not authorised, message too large and the like.
    Refused,
}

/// Why a production did not succeed. Some of its records may have been written all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProduceError {
    /// Trying again may help (D2).
    Temporary(String),
    /// It never will: not authorised, no such topic, too large.
    Refused(String),
}

/// Something that happened outside the core.
#[derive(Debug)]
pub enum Input<R> {
    /// Nothing but time went by.
    Tick,
    /// Partitions were assigned; their records follow.
    Assigned(Vec<Assignment>),
    /// Partitions are being taken away. The core answers with [`Action::AnswerRevoke`] no later than `deadline` (B1, B4).
    Revoking {
        /// Names the answer.
        id: RevokeId,
        /// Which ones.
        partitions: Vec<Partition>,
        /// When the answer is due.
        deadline: Moment,
    },
    /// Partitions were taken away already; nothing may be committed for them (B2).
    Lost(Vec<Partition>),
    /// Records arrived, in offset order within each partition.
    Fetched(Vec<(RecordFacts, R)>),
    /// Reading went past offsets that hold no record and never will: the marks that end transactions, and what was aborted.
    /// Comes in order with the records.
    Passed(Passed),
    /// The partition cannot be read at its position (O1).
    PositionTrouble {
        /// Which one.
        partition: Partition,
        /// The epoch under which it was read.
        epoch: Epoch,
        /// What is wrong.
        trouble: OffsetTrouble,
    },
    /// The guest answered, or broke.
    Answered {
        /// Which hand-over.
        delivery: DeliveryId,
        /// What it said, or what broke instead.
        answer: Answer,
    },
    /// A commit ended.
    CommitEnded {
        /// Which one.
        id: RequestId,
        /// How. On an error all its partitions count as named by the error.
        result: Result<(), RequestError>,
    },
    /// Dead letters and emitted records were written, or not.
    Produced {
        /// Which production.
        id: RequestId,
        /// Ok: the brokers acknowledged every one of them. An unknown acknowledgement is none (D1).
        result: Result<(), ProduceError>,
    },
    /// The committed offsets were looked up. `None`: nothing is committed for that partition.
    CommittedKnown {
        /// Which look-up.
        id: RequestId,
        /// The offsets, or why they are not known.
        result: Result<Vec<(Partition, Option<NextOffset>)>, RequestError>,
    },
    /// A seek ended, with a result for each partition. On success the records that follow carry the given epoch.
    Sought {
        /// Which seek.
        id: RequestId,
        /// Each partition's result.
        results: Vec<(Partition, Result<Epoch, RequestError>)>,
    },
    /// A new plugin version is loaded, checked and initialised, and may take over (S4).
    PluginReady(PluginId),
    /// The operator wants no more hand-overs for now.
    PauseAsked,
    /// The operator wants hand-overs to go on.
    ResumeAsked,
    /// The operator wants held lanes and partitions tried again.
    RetryAsked,
    /// The operator wants batches that are held written to the dead-letter topic.
    SkipAsked {
        /// Why.
        reason: String,
        /// The partition whose lane is meant. `None`: every lane that is held.
        only: Option<Partition>,
    },
    /// Memory is short: lanes that wait give their records up and rewind by seek.
    MemoryShort,
    /// First signal: finish the running batch within the grace time, commit, leave (S1).
    StopAsked,
    /// Second signal: leave at once (S2).
    StopNowAsked,
    /// This member was fenced by a newer one with the same static id (B10).
    Fenced,
    /// The group was left after [`Action::Leave`].
    Left,
}

/// Offsets of one partition that were read and hold no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Which partition.
    pub partition: Partition,
    /// The reading it was fetched under.
    pub epoch: Epoch,
    /// The position behind them. Every record before it was sent already.
    pub next: NextOffset,
    /// Leader epoch of the log just before that position.
    pub leader_epoch: Option<LeaderEpoch>,
}

/// One partition's share of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitOffset {
    /// Which partition.
    pub partition: Partition,
    /// The assignment under which it is owned. The edge sends nothing for an older assignment.
    pub epoch: Epoch,
    /// The position to commit: last handled record + 1 (C1), or behind what follows it and holds no record (C10).
    pub next: NextOffset,
    /// Leader epoch of the log just before it (C7).
    pub leader_epoch: Option<LeaderEpoch>,
}

/// One partition's share of a seek.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeekTo {
    /// Which partition.
    pub partition: Partition,
    /// The epoch that ends with this seek.
    pub epoch: Epoch,
    /// Where reading goes on.
    pub next: NextOffset,
}

/// A batch as it is handed over.
#[derive(Debug)]
pub struct Delivery<R> {
    /// Names the answer.
    pub id: DeliveryId,
    /// Which batch.
    pub batch: BatchId,
    /// 1 more than the failed attempts since the last progress of these records (R4).
    pub attempt: u32,
    /// The version that runs this attempt, and no other (I-26).
    pub plugin: PluginId,
    /// The records: never empty (A6), in offset order within each partition (A9).
    pub records: Arc<[Record<R>]>,
    /// Where they lie: one for each partition, in the order of their first records.
    pub places: Vec<Place>,
    /// Their size in bytes as A5 counts.
    pub bytes: u64,
    /// Why the batch closed.
    pub closed_by: ClosedBy,
    /// True: a part of a batch, cut to find the record that breaks the plugin.
    pub part: bool,
}

/// Records to be written before a commit.
#[derive(Debug)]
pub struct Production<R> {
    /// Names the answer.
    pub id: RequestId,
    /// The batch that made them.
    pub batch: BatchId,
    /// Records that were put aside, in the order of the batch.
    pub letters: Vec<DeadLetter<R>>,
    /// The hand-over whose emitted records are to be written; those of every other answer are to be forgotten.
    pub emitted_of: Option<DeliveryId>,
    /// The version whose answer this follows.
    pub plugin: PluginId,
}

/// A record that leaves the straight road.
#[derive(Clone, Debug)]
pub struct DeadLetter<R> {
    /// The record as it was read.
    pub record: Record<R>,
    /// Why it is put aside.
    pub verdict: Verdict,
}

/// Why a record is put aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The kind.
    pub class: LetterClass,
    /// The plugin's own words, the fault's, or the operator's. Empty where whoever decoded the record knows them.
    pub reason: String,
    /// For what an operator skipped: why it was held, in the words of whoever caused that.
    pub said: Option<String>,
    /// How often its batch was handed over since the last progress, in vain or not. 0: never.
    pub attempts: u32,
    /// How many records were handed over in each failed attempt to find it, from the whole batch down to it alone.
    pub path: Vec<u32>,
}

/// The kinds of dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LetterClass {
    /// The plugin rejected it.
    Rejected,
    /// Its bytes are not what the operator says they are.
    Undecodable,
    /// It is larger than the plugin can ever take (A4).
    TooLarge,
    /// The plugin broke over it, alone, to the last attempt.
    Fault(FaultClass),
    /// The plugin said retryable to it, to the last attempt.
    Retries,
    /// The operator skipped it.
    Skipped,
}

impl LetterClass {
    /// The word for this class in headers, logs and metrics. A fault's own class stands beside it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::Undecodable => "undecodable",
            Self::TooLarge => "too-large",
            Self::Fault(_) => "fault",
            Self::Retries => "retries",
            Self::Skipped => "skipped",
        }
    }
}

/// Where a batch's records of one partition lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which partition.
    pub partition: Partition,
    /// Offset of the first of them.
    pub first: Offset,
    /// Offset of the last of them; not each offset between is one of theirs (A8).
    pub last: Offset,
}

/// Why a batch closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClosedBy {
    /// It held `records_max` records.
    Records,
    /// The next record would have exceeded `bytes_max`.
    Bytes,
    /// Its first record had waited for `wait_max`.
    Wait,
}

/// Something to be done outside the core.
#[derive(Debug)]
pub enum Action<R> {
    /// Hand a batch to the guest; answer with [`Input::Answered`].
    Deliver(Delivery<R>),
    /// End a hand-over early; its answer still has to come.
    Cancel(DeliveryId),
    /// Write; answer with [`Input::Produced`].
    Produce(Production<R>),
    /// Commit; answer with [`Input::CommitEnded`].
    Commit {
        /// Names the answer.
        id: RequestId,
        /// What to commit.
        offsets: Vec<CommitOffset>,
        /// The version whose answer made these records done, for the commit's metadata (C7).
        plugin: PluginId,
    },
    /// Look the committed offsets up; answer with [`Input::CommittedKnown`].
    AskCommitted {
        /// Names the answer.
        id: RequestId,
        /// For which partitions.
        partitions: Vec<Partition>,
    },
    /// Seek; answer with [`Input::Sought`].
    Seek {
        /// Names the answer.
        id: RequestId,
        /// Where to, for each partition.
        targets: Vec<SeekTo>,
    },
    /// The revoked partitions are settled or given up: the revocation may go on.
    AnswerRevoke(RevokeId),
    /// Leave the group and close the client; answer with [`Input::Left`].
    Leave,
    /// The machine has ended; nothing follows.
    Stopped(StopReason),
    /// Something that an operator or a metric may want to know. Needs no answer.
    Report(Report),
}
