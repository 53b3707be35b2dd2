//! The words in which the core speaks of records: partitions, offsets, epochs, and the facts it needs of one record.
//!
//! Nothing here knows what a record contains. The bytes travel as an opaque body `R` that the core only keeps and returns.

use std::fmt;

use crate::time::Moment;

/// Number of a topic, given by the Kafka edge when it first sees the topic's name. Stable for the life of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Topic(pub u32);

/// One partition of one topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition {
    /// The topic.
    pub topic: Topic,
    /// The partition's number within the topic.
    pub number: i32,
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.topic.0, self.number)
    }
}

/// Offset of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Offset(pub i64);

impl Offset {
    /// The position just behind this record: what a commit says when this record was the last one handled.
    #[must_use]
    pub fn next(self) -> NextOffset {
        NextOffset(self.0.saturating_add(1))
    }
}

/// A position between records: the offset at which reading goes on. One past the last handled record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NextOffset(pub i64);

impl NextOffset {
    /// True when `offset` lies at or behind this position, so that reading from here would meet it.
    #[must_use]
    pub fn reaches(self, offset: Offset) -> bool {
        offset.0 >= self.0
    }
}

/// Which reading of a partition a record comes from. Raised by the Kafka edge on every assignment and on every seek;
/// unique within the process, so that no old record can be mistaken for a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

/// The leader epoch that the broker stamped on a record, for the commit that covers it. `None`: the client offers none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaderEpoch(pub i32);

/// What the core knows of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordFacts {
    /// Where it comes from.
    pub partition: Partition,
    /// Its offset there.
    pub offset: Offset,
    /// The reading it was fetched under.
    pub epoch: Epoch,
    /// The leader epoch of the log at this record.
    pub leader_epoch: Option<LeaderEpoch>,
    /// Its size in bytes as rule A5 counts: key, value, header names and values, and a fixed overhead per record.
    pub bytes: u64,
    /// True where its bytes are not what the operator says they are: no guest gets to see it.
    pub undecodable: bool,
}

/// One record on its way through the core: facts to decide by, and a body that only the edges understand.
#[derive(Clone, Debug)]
pub struct Record<R> {
    /// What the core decides by.
    pub facts: RecordFacts,
    /// When the core took it in. A batch's age counts from its first record's arrival (A1).
    pub arrived: Moment,
    /// The record itself, as the edges keep it.
    pub body: R,
}
