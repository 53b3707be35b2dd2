//! The leader epochs under which the records before committed offsets were written.
//!
//! A log that lost its end in a change of leaders and was written anew has the same offsets and other records. A seek that
//! names the epoch lets the client ask the brokers whether its position belongs to the log as it is now (B79).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use gristmill_core::record::{NextOffset, Partition};

/// What the latest look-up found for each partition.
#[derive(Debug, Default)]
pub(crate) struct History(Mutex<HashMap<Partition, (NextOffset, i32)>>);

impl History {
    /// Notes a committed offset and its epoch. Older commits, and those of other tools, have none.
    pub(crate) fn note(&self, partition: Partition, next: NextOffset, leader_epoch: Option<i32>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match leader_epoch {
            Some(epoch) => known.insert(partition, (next, epoch)),
            None => known.remove(&partition),
        };
    }

    /// The epoch before a position, if it is that of the committed offset.
    pub(crate) fn before(&self, partition: Partition, position: NextOffset) -> Option<i32> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&partition).filter(|(next, _)| *next == position).map(|(_, epoch)| *epoch)
    }
}

#[cfg(test)]
mod tests {
    use gristmill_core::record::Topic;

    use super::*;

    #[test]
    fn an_epoch_is_known_for_the_offset_that_was_committed_with_it_and_no_other() {
        let history = History::default();
        let partition = Partition { topic: Topic(0), number: 1 };
        history.note(partition, NextOffset(100), Some(3));
        assert_eq!(history.before(partition, NextOffset(100)), Some(3));
        assert_eq!(history.before(partition, NextOffset(99)), None);
        history.note(partition, NextOffset(100), None);
        assert_eq!(history.before(partition, NextOffset(100)), None, "somebody moved the offset without an epoch");
    }
}
