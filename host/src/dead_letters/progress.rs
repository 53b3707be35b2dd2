//! How far a replay came: what was acknowledged, what was not replayed, and where to go on.
//!
//! Acknowledgements come in any order. Where to go on lies before everything that was not settled, so that nothing is passed over;
//! what was acknowledged behind that is replayed again.

use std::collections::{BTreeMap, BTreeSet};

use super::Position;

/// The state of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// How many were acknowledged, or printed, or handed over.
    pub(crate) replayed: u64,
    /// How many were not replayed, each of which was named.
    pub(crate) refused: u64,
    /// What was taken and not settled, by partition.
    open: BTreeMap<i32, BTreeSet<i64>>,
    /// How far each partition was read: the offset behind the last record.
    read_to: BTreeMap<i32, i64>,
}

impl Progress {
    /// A record was read that is not meant.
    pub(crate) fn passed(&mut self, at: Position) {
        self.read_to.insert(at.partition, at.offset.saturating_add(1));
    }

    /// One was read that is meant; what becomes of it follows.
    pub(crate) fn taken(&mut self, at: Position) {
        self.passed(at);
        self.open.entry(at.partition).or_default().insert(at.offset);
    }

    /// What was taken is acknowledged.
    pub(crate) fn acknowledged(&mut self, at: Position) {
        self.settle(at);
        self.replayed += 1;
    }

    /// It was not replayed, and will not be by trying again.
    pub(crate) fn refused(&mut self, at: Position) {
        self.settle(at);
        self.refused += 1;
    }

    /// Where to go on in each partition that was read.
    pub(crate) fn next(&self) -> Vec<Position> {
        let next = |(&partition, &read_to): (&i32, &i64)| {
            let first = self.open.get(&partition).and_then(BTreeSet::first);
            Position { partition, offset: first.copied().unwrap_or(read_to) }
        };
        self.read_to.iter().map(next).collect()
    }

    /// The flags that go on there; nothing where nothing was read.
    pub(crate) fn flags(&self) -> String {
        let flags: Vec<String> = self.next().iter().map(|at| format!("--from {at}")).collect();
        flags.join(" ")
    }

    fn settle(&mut self, at: Position) {
        if let Some(offsets) = self.open.get_mut(&at.partition) {
            offsets.remove(&at.offset);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(partition: i32, offset: i64) -> Position {
        Position { partition, offset }
    }

    #[test]
    fn it_goes_on_before_what_was_not_settled_and_behind_what_was() {
        let mut progress = Progress::default();
        assert_eq!(progress.flags(), "");
        for position in [at(0, 4), at(0, 5), at(1, 0), at(0, 6)] {
            progress.taken(position);
        }
        progress.acknowledged(at(0, 6));
        progress.acknowledged(at(1, 0));
        assert_eq!(progress.flags(), "--from 0:4 --from 1:1");
        progress.acknowledged(at(0, 4));
        progress.refused(at(0, 5));
        progress.passed(at(1, 7));
        assert_eq!(progress.flags(), "--from 0:7 --from 1:8");
        assert_eq!((progress.replayed, progress.refused), (3, 1));
    }
}
