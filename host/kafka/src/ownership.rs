//! What this member owns: one value for each assigned partition, created on assignment and gone on revocation.
//!
//! Epochs, the next expected offset, trouble and commits on their way hang off that value and nowhere else, so none of
//! them can outlive the assignment. Pure data behind one lock; makes no call of librdkafka.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gristmill_core::record::{Epoch, NextOffset, Offset, Partition};

use crate::share::Account;
use crate::sys::Code;

/// What is read from a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Records are passed on.
    On,
    /// A seek was ordered and has not succeeded: the position is unknown and nothing is passed on (R3).
    Seeking,
    /// Paused by us since there is no usable position; a seek brings it back (O1).
    Held,
    /// Paused by us while its committed offset is being looked up; the core does not know of it yet (B02).
    Pending,
    /// librdkafka gave its position up at run time and answers no seek until the next assignment (B56).
    Stranded,
}

/// An error that keeps coming at one position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trouble {
    /// Which error.
    pub(crate) code: Code,
    /// Since when.
    pub(crate) since: Instant,
    /// True once it was told.
    pub(crate) reported: bool,
}

/// One assigned partition.
#[derive(Debug)]
pub(crate) struct Owned {
    /// The epoch of the assignment.
    pub(crate) assigned: Epoch,
    /// The epoch of the current reading: that of the assignment or of the latest seek.
    pub(crate) current: Epoch,
    /// The next offset to pass on. What lies below was read already (rule 3).
    pub(crate) expected: NextOffset,
    /// What is read.
    pub(crate) reading: Reading,
    /// True while it is paused by us. A pause outlives the assignment, so it has to be undone in any case (B5).
    pub(crate) paused: bool,
    /// True while the core knows of it.
    pub(crate) announced: bool,
    /// An error that keeps coming.
    pub(crate) trouble: Option<Trouble>,
    /// True until the client was put where we are, after an error or an assignment: what it gives meanwhile may lie behind
    /// records that were not read, and its position may be that of an older assignment.
    pub(crate) astray: bool,
    /// What it holds of the buffer, where it has a share of that.
    pub(crate) account: Option<Arc<Account>>,
    /// Commits on their way.
    pub(crate) commits_out: u32,
    /// True once its revocation began: it may still be committed, but is announced no more.
    pub(crate) revoking: bool,
    /// True once it is on its way out: no further commit may be sent.
    pub(crate) leaving: bool,
}

impl Owned {
    /// A partition as it is assigned now.
    pub(crate) fn new(epoch: Epoch, expected: NextOffset, reading: Reading) -> Self {
        Self {
            assigned: epoch,
            current: epoch,
            expected,
            reading,
            paused: matches!(reading, Reading::Held | Reading::Pending),
            announced: reading != Reading::Pending,
            trouble: None,
            astray: false,
            account: None,
            commits_out: 0,
            revoking: false,
            leaving: false,
        }
    }

    /// True while the core may be told of it.
    pub(crate) fn may_be_announced(&self) -> bool {
        !self.announced && !self.revoking && !self.leaving
    }

    /// True when an epoch that the core names belongs to this assignment. Epochs rise within the process, so whatever
    /// is not older than the assignment was given out under it.
    pub(crate) fn covers(&self, epoch: Epoch) -> bool {
        epoch >= self.assigned
    }

    /// True while the client stands where the reading does, so that what it gives follows what was passed on.
    pub(crate) fn is_on_course(&self) -> bool {
        self.reading == Reading::On && !self.astray
    }

    /// True when a record at this offset is to be passed on.
    pub(crate) fn wants(&self, offset: Offset) -> bool {
        self.is_on_course() && self.expected.reaches(offset)
    }

    /// Notes that librdkafka gave its position up, which happens in every state and ends what was known of it: no seek
    /// is answered before the next assignment. Gives what was read until then.
    pub(crate) fn strand(&mut self) -> Reading {
        std::mem::replace(&mut self.reading, Reading::Stranded)
    }
}

/// All assigned partitions.
pub(crate) type Table = HashMap<Partition, Owned>;

/// Withdraws partitions of which records came past the private queue: nothing of them is passed on or committed any more
/// until they are assigned again. Gives those that the core has to be told of. They stay in the table, since a commit of
/// theirs may be on its way and a pause has to be undone.
pub(crate) fn withdraw_strayed(table: &mut Table, strayed: impl IntoIterator<Item = Partition>) -> Vec<Partition> {
    let mut told = Vec::new();
    for partition in strayed {
        let Some(owned) = table.get_mut(&partition) else { continue };
        owned.strand();
        owned.leaving = true;
        if std::mem::take(&mut owned.announced) {
            told.push(partition);
        }
    }
    told
}

/// Notes that partitions are being taken away, after which none of them is announced. Says which the core knows of.
pub(crate) fn begin_revocation(table: &mut Table, partitions: &[Partition]) -> Vec<Partition> {
    let mut announced = Vec::new();
    for partition in partitions {
        if let Some(owned) = table.get_mut(partition) {
            owned.revoking = true;
            if owned.announced {
                announced.push(*partition);
            }
        }
    }
    announced
}

/// Removes partitions; gives those that are paused.
pub(crate) fn remove(table: &mut Table, partitions: &[Partition]) -> Vec<Partition> {
    let removed = partitions.iter().filter_map(|partition| table.remove(partition).map(|owned| (*partition, owned)));
    removed.filter(|(_, owned)| owned.paused).map(|(partition, _)| partition).collect()
}

/// The table behind its lock. The lock is also the commit lock: whether a partition is owned is checked and its commit
/// sent under it, and a revocation waits until no commit of its partitions is on its way.
#[derive(Debug, Default)]
pub(crate) struct Ownership {
    table: Mutex<Table>,
    commit_ended: Condvar,
}

impl Ownership {
    /// Locks the table.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a commit of these partitions ended.
    pub(crate) fn end_commit(&self, partitions: &[(Partition, Epoch)]) {
        let mut table = self.lock();
        for (partition, assigned) in partitions {
            if let Some(owned) = table.get_mut(partition).filter(|owned| owned.assigned == *assigned) {
                owned.commits_out = owned.commits_out.saturating_sub(1);
            }
        }
        drop(table);
        self.commit_ended.notify_all();
    }

    /// Lets no further commit of these partitions through, and waits for those on their way, at most `wait`. False when
    /// some did not end: the broker is slow, and a revocation must not take for ever (B35).
    pub(crate) fn close_commits(&self, partitions: &[Partition], wait: Duration) -> bool {
        let mut table = self.lock();
        for partition in partitions {
            if let Some(owned) = table.get_mut(partition) {
                owned.leaving = true;
            }
        }
        let is_out = |table: &mut Table| {
            partitions.iter().any(|partition| table.get(partition).is_some_and(|owned| owned.commits_out > 0))
        };
        let (mut table, _) =
            self.commit_ended.wait_timeout_while(table, wait, is_out).unwrap_or_else(PoisonError::into_inner);
        !is_out(&mut table)
    }
}

#[cfg(test)]
mod tests {
    use gristmill_core::record::Topic;

    use super::*;

    const P: Partition = Partition { topic: Topic(0), number: 3 };

    #[test]
    fn a_revocation_waits_for_commits_but_not_for_ever() {
        let ownership = Ownership::default();
        let mut owned = Owned::new(Epoch(1), NextOffset(0), Reading::On);
        owned.commits_out = 1;
        ownership.lock().insert(P, owned);
        assert!(!ownership.close_commits(&[P], Duration::from_millis(5)));
        assert!(ownership.lock()[&P].leaving);
        ownership.end_commit(&[(P, Epoch(1))]);
        assert!(ownership.close_commits(&[P], Duration::from_millis(5)));
    }

    #[test]
    fn the_end_of_an_older_assignments_commit_does_not_count_for_the_new_one() {
        let ownership = Ownership::default();
        let mut owned = Owned::new(Epoch(7), NextOffset(0), Reading::On);
        owned.commits_out = 1;
        ownership.lock().insert(P, owned);
        ownership.end_commit(&[(P, Epoch(1))]);
        assert_eq!(ownership.lock()[&P].commits_out, 1);
    }

    #[test]
    fn a_position_is_given_up_in_every_state_and_a_pause_is_not_forgotten() {
        for reading in [Reading::On, Reading::Seeking, Reading::Held, Reading::Pending, Reading::Stranded] {
            let mut table = Table::from([(P, Owned::new(Epoch(1), NextOffset(0), reading))]);
            let owned = table.get_mut(&P).expect("just put in");
            assert_eq!((owned.strand(), owned.reading), (reading, Reading::Stranded));
            assert_eq!(owned.announced, reading != Reading::Pending, "{reading:?}");
            let paused = matches!(reading, Reading::Held | Reading::Pending);
            assert_eq!(remove(&mut table, &[P]) == [P], paused, "{reading:?}");
        }
    }

    #[test]
    fn a_partition_with_stray_records_is_told_lost_once_and_commits_nothing_more() {
        let mut owned = Owned::new(Epoch(1), NextOffset(0), Reading::On);
        owned.commits_out = 1;
        let ownership = Ownership::default();
        ownership.lock().insert(P, owned);
        let other = Partition { number: 4, ..P };
        assert_eq!(withdraw_strayed(&mut ownership.lock(), [P, P, other]), [P], "each once, and only what is ours");
        let table = ownership.lock();
        assert_eq!((table[&P].reading, table[&P].leaving), (Reading::Stranded, true), "a new assignment is asked for");
        drop(table);
        assert!(begin_revocation(&mut ownership.lock(), &[P]).is_empty(), "the core has heard of it");
        assert!(!ownership.close_commits(&[P], Duration::ZERO), "a commit that is out is still waited for");
    }

    #[test]
    fn what_was_not_announced_before_a_revocation_is_not_announced_during_it() {
        let mut table = Table::from([(P, Owned::new(Epoch(1), NextOffset(0), Reading::Pending))]);
        assert!(table[&P].may_be_announced());
        assert!(begin_revocation(&mut table, &[P]).is_empty());
        assert!(!table[&P].may_be_announced());
    }

    #[test]
    fn an_epoch_from_before_the_assignment_is_not_covered() {
        let owned = Owned::new(Epoch(7), NextOffset(0), Reading::On);
        assert!(!owned.covers(Epoch(6)));
        assert!(owned.covers(Epoch(7)) && owned.covers(Epoch(9)));
    }
}
