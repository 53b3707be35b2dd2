//! Why records could not be decoded, for whoever has to be told: the first of each partition's reading, which is the one that
//! holds where there is no place for dead letters.

use std::collections::BTreeMap;

use gristmill_core::record::{Epoch, Offset, Partition, RecordFacts};

use super::Status;

/// The first record of each reading that could not be decoded, and why.
#[derive(Debug, Default)]
pub(super) struct Undecodable {
    first: BTreeMap<Partition, (Epoch, Offset, String)>,
}

impl Undecodable {
    /// Notes a record. True: it is the first of its reading, and was not that of the reading before.
    fn note(&mut self, facts: &RecordFacts, reason: &str) -> bool {
        let known = self.first.get(&facts.partition);
        if known.is_some_and(|(epoch, ..)| *epoch >= facts.epoch) {
            return false;
        }
        // Read again, as for each attempt of a batch that comes by seek, it is the same one.
        let is_news = known.is_none_or(|(_, offset, _)| *offset != facts.offset);
        self.first.insert(facts.partition, (facts.epoch, facts.offset, reason.to_owned()));
        is_news
    }

    pub(super) fn forget(&mut self, partition: Partition) {
        self.first.remove(&partition);
    }

    /// Why this one could not be decoded, if it is such a first one.
    pub(super) fn reason(&self, facts: &RecordFacts) -> Option<&str> {
        let (_, offset, reason) = self.first.get(&facts.partition)?;
        (*offset == facts.offset).then_some(reason)
    }
}

impl Status {
    /// Notes a record that could not be decoded. True: it is the first of this reading of its partition, and news.
    pub(crate) fn note_undecodable(&mut self, facts: &RecordFacts, reason: &str) -> bool {
        self.undecodable.note(facts, reason)
    }
}

#[cfg(test)]
mod tests {
    use gristmill_core::record::Topic;

    use super::*;

    fn facts(offset: i64, epoch: u64) -> RecordFacts {
        let partition = Partition { topic: Topic(1), number: 0 };
        let (offset, epoch) = (Offset(offset), Epoch(epoch));
        RecordFacts { partition, offset, epoch, leader_epoch: None, bytes: 70, undecodable: true }
    }

    #[test]
    fn the_first_of_each_reading_is_remembered() {
        let mut undecodable = Undecodable::default();
        assert!(undecodable.note(&facts(5, 1), "no json"));
        assert!(!undecodable.note(&facts(6, 1), "no utf-8"));
        assert_eq!(undecodable.reason(&facts(5, 1)), Some("no json"));
        assert_eq!(undecodable.reason(&facts(6, 1)), None);
        assert!(undecodable.note(&facts(3, 2), "again"), "after a rewind");
        assert_eq!(undecodable.reason(&facts(3, 2)), Some("again"));
        assert!(!undecodable.note(&facts(3, 3), "again"), "the same one, by another attempt");
        // What was on its way under the old reading.
        assert!(!undecodable.note(&facts(7, 1), "late"));
        undecodable.forget(facts(3, 2).partition);
        assert_eq!(undecodable.reason(&facts(3, 2)), None);
    }
}
