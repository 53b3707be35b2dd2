//! The broker: logs with gaps, expiry and compaction, and the group's committed offsets.
//!
//! It checks membership but never ownership, like the real one. Must not know what a member is doing.

use gristmill_core::record::LeaderEpoch;

/// Bytes of a record that no guest can take, where there are such.
pub(crate) const TOO_LARGE: u64 = 190;

/// One record in a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) offset: i64,
    pub(crate) bytes: u64,
    pub(crate) leader_epoch: i32,
    pub(crate) undecodable: bool,
    /// Removed from the middle of the log; whoever read it before may still have it.
    pub(crate) compacted: bool,
}

impl Entry {
    /// True when no guest can take it.
    pub(crate) fn is_bad(&self) -> bool {
        self.undecodable || self.bytes == TOO_LARGE
    }
}

/// One partition's log.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) entries: Vec<Entry>,
    /// First offset that can be read.
    pub(crate) low: i64,
    /// End of the log.
    pub(crate) high: i64,
}

impl Log {
    /// Appends one record behind `gap` unused offsets.
    pub(crate) fn append(&mut self, gap: i64, bytes: u64, undecodable: bool) {
        let offset = self.high + gap;
        let leader_epoch = leader_epoch_before(offset + 1).0;
        self.entries.push(Entry { offset, bytes, leader_epoch, undecodable, compacted: false });
        self.high = offset + 1;
    }

    /// Index of the first entry at or behind `offset`.
    pub(crate) fn at(&self, offset: i64) -> usize {
        self.entries.partition_point(|entry| entry.offset < offset)
    }

    /// The first entry at or behind `offset` that can still be read.
    pub(crate) fn next_visible(&self, offset: i64) -> Option<&Entry> {
        self.entries[self.at(offset.max(self.low))..].iter().find(|entry| !entry.compacted)
    }
}

/// The leader epoch of every log just before an offset: one for every seven offsets.
pub(crate) fn leader_epoch_before(next: i64) -> LeaderEpoch {
    LeaderEpoch(i32::try_from((next - 1) / 7).expect("small logs"))
}

/// All logs and committed offsets.
#[derive(Debug)]
pub(crate) struct Broker {
    pub(crate) logs: Vec<Log>,
    pub(crate) committed: Vec<Option<i64>>,
}

impl Broker {
    pub(crate) fn new(partitions: usize) -> Self {
        Self { logs: (0..partitions).map(|_| Log::default()).collect(), committed: vec![None; partitions] }
    }
}
