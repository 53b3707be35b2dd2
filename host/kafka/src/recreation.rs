//! Topics that were deleted and created again while we read them: their partitions begin anew.
//!
//! Whoever passes records on, commits or takes partitions over looks here first, under the ownership lock: so no record of the
//! new topic is passed on at the old position, and no position in the old one is committed for the new. The core hears that the
//! partitions are lost, as if another member had taken them, and gets them again once their start is known. For the
//! group nothing has changed.

use std::ffi::CStr;

use gristmill_core::io::Input;
use gristmill_core::record::{Epoch, NextOffset, Partition};

use crate::event::Event;
use crate::lookup::LookupOrder;
use crate::ownership::{Owned, Reading, Table};
use crate::shared::Shared;
use crate::sys::OFFSET_INVALID;

/// Lets partitions of topics begin anew that were recreated since this was last asked.
pub(crate) fn begin_anew(shared: &Shared, table: &mut Table) {
    for name in shared.topics.ids.take_recreated() {
        replace_and_tell(shared, table, &name, |partition| shared.topics.is_named(partition.topic, &name));
    }
}

/// Does the same for partitions that were put into the table just now, whose topics were recreated while their start was
/// looked up: others may have dealt with the recreation before these were there.
pub(crate) fn begin_new_ones_anew(shared: &Shared, table: &mut Table, new: &[Partition], heard: u64) {
    for name in shared.topics.ids.recreated_since(heard) {
        let is_meant =
            |partition: Partition| shared.topics.is_named(partition.topic, &name) && new.contains(&partition);
        replace_and_tell(shared, table, &name, is_meant);
    }
}

fn replace_and_tell(shared: &Shared, table: &mut Table, name: &CStr, is_meant: impl Fn(Partition) -> bool) {
    let begun = replace(table, is_meant, || shared.next_epoch());
    if !begun.is_empty() {
        tell(shared, name, &begun);
    }
}

/// A partition that begins anew.
struct Begun {
    partition: Partition,
    epoch: Epoch,
    /// Where it was read in the old topic.
    wanted: NextOffset,
    /// True when the core knew of it.
    announced: bool,
}

/// Makes the partitions wait for a start as after an assignment. Those on their way out are left to go.
fn replace(table: &mut Table, is_meant: impl Fn(Partition) -> bool, mut epoch: impl FnMut() -> Epoch) -> Vec<Begun> {
    let meant = table.iter_mut().filter(|(partition, owned)| is_meant(**partition) && !owned.leaving);
    meant
        .map(|(partition, owned)| {
            let epoch = epoch();
            let old = std::mem::replace(owned, Owned::new(epoch, NextOffset(0), Reading::Pending));
            owned.revoking = old.revoking;
            owned.account = old.account;
            // A position that librdkafka gave up stays given up, whatever the topic.
            if old.reading == Reading::Stranded {
                owned.strand();
            }
            Begun { partition: *partition, epoch, wanted: old.expected, announced: old.announced }
        })
        .collect()
}

fn tell(shared: &Shared, name: &CStr, begun: &[Begun]) {
    tracing::debug!(topic = %name.to_string_lossy(), partitions = begun.len(), "a topic has a new id");
    let list = shared.list(begun.iter().map(|one| (&one.partition, OFFSET_INVALID)));
    if let Err(code) = shared.client.pause(&list) {
        tracing::debug!(?code, "pausing partitions of a recreated topic failed");
    }
    let lost: Vec<Partition> = begun.iter().filter(|one| one.announced).map(|one| one.partition).collect();
    if !lost.is_empty() {
        shared.input(Input::Lost(lost));
    }
    let to_be_told = |one: &&Begun| one.announced && shared.topics.ids.is_to_be_told(one.partition, name);
    for one in begun.iter().filter(to_be_told) {
        shared.tell(Event::TopicRecreated { partition: one.partition, wanted: one.wanted });
    }
    let pending = begun.iter().map(|one| (one.partition, one.epoch)).collect();
    // Without the look-up thread the consumer is closing, and the partitions need no start.
    let _ = shared.lookup_orders.send(LookupOrder::FindStart(pending));
}

#[cfg(test)]
mod tests {
    use gristmill_core::record::Topic;

    use super::*;

    const P: Partition = Partition { topic: Topic(0), number: 3 };
    const LEAVING: Partition = Partition { topic: Topic(0), number: 4 };
    const OTHER: Partition = Partition { topic: Topic(1), number: 3 };

    fn table() -> Table {
        let mut table: Table =
            [P, LEAVING, OTHER].map(|one| (one, Owned::new(Epoch(5), NextOffset(100), Reading::On))).into();
        table.get_mut(&LEAVING).expect("just put in").leaving = true;
        table
    }

    #[test]
    fn partitions_of_a_recreated_topic_are_neither_read_nor_committed_until_they_begin_anew() {
        let mut table = table();
        let begun = replace(&mut table, |partition| partition.topic == P.topic, || Epoch(9));
        assert_eq!(begun.iter().map(|one| (one.partition, one.wanted)).collect::<Vec<_>>(), [(P, NextOffset(100))]);
        let owned = &table[&P];
        assert!(!owned.covers(Epoch(5)), "what was read before can no longer be committed");
        assert_eq!((owned.reading, owned.announced, owned.paused), (Reading::Pending, false, true));
        assert_eq!((table[&LEAVING].assigned, table[&OTHER].assigned), (Epoch(5), Epoch(5)));
    }

    #[test]
    fn a_partition_that_is_being_revoked_begins_anew_for_nobody() {
        let mut table = table();
        table.get_mut(&P).expect("just put in").revoking = true;
        let _ = replace(&mut table, |partition| partition == P, || Epoch(9));
        assert!(!table[&P].may_be_announced());
    }

    #[test]
    fn a_stranded_partition_stays_stranded_through_a_recreation() {
        let mut table = table();
        table.get_mut(&P).expect("just put in").strand();
        let _ = replace(&mut table, |partition| partition == P, || Epoch(9));
        assert_eq!(table[&P].reading, Reading::Stranded, "only a new assignment makes it readable");
    }
}
