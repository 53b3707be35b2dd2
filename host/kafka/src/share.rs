//! What one partition may hold of the buffer, where each has batches of its own: one that is slow or blocked does not take what the
//! others need.
//!
//! A partition that holds its share is *withheld*: its queue is taken out of the queue of all, so that its records stay in the
//! client, nothing is fetched twice, and the others flow past it. Once it has given half of that back it is let in again. What had
//! passed into the queue of all by then still comes, and counts; where that makes memory short it is thrown away, and read again later.
//! Knows nothing of batches.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use gristmill_core::record::Partition;

use crate::ownership::Owned;
use crate::seek::SeekJobs;
use crate::shared::Shared;

/// All partitions together may hold this part of the buffer before they are withheld; the rest is for what had passed into the queue
/// of all by then.
const SHARED_PART: u64 = 2;

/// What one partition holds, and whether it is withheld. Each side writes one of the two and then reads the other; so that neither
/// misses the other's word, all of it is in one order.
#[derive(Debug)]
pub(crate) struct Account {
    held: AtomicU64,
    withheld: AtomicBool,
    /// Records of it were thrown away for want of memory; they have to be read again.
    spilt: AtomicBool,
    bell: Arc<Bell>,
}

/// Bytes that a partition holds; given back on drop.
#[derive(Debug)]
pub(crate) struct Holding {
    account: Arc<Account>,
    bytes: u64,
}

/// Tells the fetch thread that a partition that is withheld gave something back.
#[derive(Default)]
pub(crate) struct Bell {
    rung: AtomicBool,
    /// Whose fetch thread it is. Whoever holds records does not keep the client: its closing waits for the length of a ring.
    shared: OnceLock<Weak<Shared>>,
}

impl std::fmt::Debug for Bell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bell").field("rung", &self.rung).finish_non_exhaustive()
    }
}

impl Bell {
    /// Makes it known whom to wake.
    pub(crate) fn wakes(&self, shared: &Arc<Shared>) {
        self.shared.get_or_init(|| Arc::downgrade(shared));
    }

    fn ring(&self) {
        self.rung.store(true, Ordering::SeqCst);
        if let Some(shared) = self.shared.get().and_then(Weak::upgrade) {
            shared.records.wake();
        }
    }
}

impl Account {
    /// Of a partition that holds nothing.
    pub(crate) fn new(bell: &Arc<Bell>) -> Self {
        Self {
            held: AtomicU64::new(0),
            withheld: AtomicBool::new(false),
            spilt: AtomicBool::new(false),
            bell: Arc::clone(bell),
        }
    }

    /// Takes so many bytes.
    pub(crate) fn hold(self: &Arc<Self>, bytes: u64) -> Holding {
        self.held.fetch_add(bytes, Ordering::SeqCst);
        Holding { account: Arc::clone(self), bytes }
    }

    /// True when it is to be withheld now, and was not.
    fn becomes_withheld(&self, share: u64) -> bool {
        // What was thrown away comes again only where it is let in, whatever was given back meanwhile.
        let is_full = self.held.load(Ordering::SeqCst) >= share || self.spilt.load(Ordering::SeqCst);
        is_full && !self.withheld.swap(true, Ordering::SeqCst)
    }

    /// True when it is withheld, and need not be any more.
    fn becomes_free(&self, share: u64) -> bool {
        self.withheld.load(Ordering::SeqCst)
            && self.held.load(Ordering::SeqCst) <= share / 2
            && self.withheld.swap(false, Ordering::SeqCst)
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.account.held.fetch_sub(self.bytes, Ordering::SeqCst);
        if self.account.withheld.load(Ordering::SeqCst) {
            self.account.bell.ring();
        }
    }
}

/// Withholds a partition that holds its share, of so many.
pub(crate) fn withhold_when_full(shared: &Shared, partition: Partition, owned: &Owned, partitions: usize) {
    let Some(account) = &owned.account else { return };
    if account.becomes_withheld(share(shared, partitions)) {
        tracing::debug!(?partition, "withheld a partition that holds its share of the buffer");
        let name = shared.topics.name(partition.topic);
        if !name.is_some_and(|name| shared.client.withhold(&name.raw, partition.number)) {
            tracing::error!(?partition, "a partition has no queue and cannot be withheld");
        }
        // What it gave back meanwhile rang no bell.
        account.bell.rung.store(true, Ordering::SeqCst);
    }
}

/// Throws away what comes of a partition that holds its share, where memory is short: it is read again once the partition is let in.
/// What had passed into the queue of all before partitions were withheld could fill the buffer otherwise, and the others would starve.
pub(crate) fn spill_when_short(shared: &Shared, owned: &mut Owned, partitions: usize) {
    let Some(account) = &owned.account else { return };
    let is_short = || shared.credit.used() >= shared.settings.buffer_bytes_max / 4 * 3;
    if account.held.load(Ordering::SeqCst) >= share(shared, partitions) && is_short() {
        owned.astray = true;
        account.spilt.store(true, Ordering::SeqCst);
    }
}

/// Lets partitions in again that have given enough back. Where records of one were thrown away it is sought first.
pub(crate) fn let_in(shared: &Shared, jobs: &mut SeekJobs) {
    if !shared.bell.as_ref().is_some_and(|bell| bell.rung.swap(false, Ordering::SeqCst)) {
        return;
    }
    let table = shared.ownership.lock();
    let share = share(shared, table.len());
    for (partition, owned) in &*table {
        if let Some(account) = owned.account.as_ref().filter(|account| account.becomes_free(share)) {
            let spilt = account.spilt.swap(false, Ordering::SeqCst);
            tracing::debug!(?partition, spilt, "let a partition in again");
            shared.forward(*partition);
            if spilt {
                jobs.add_repair(&table, *partition);
            }
        }
    }
}

fn share(shared: &Shared, partitions: usize) -> u64 {
    shared.settings.buffer_bytes_max / (SHARED_PART * partitions.max(1) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account() -> Arc<Account> {
        Arc::new(Account::new(&Arc::default()))
    }

    fn has_rung(account: &Account) -> bool {
        account.bell.rung.swap(false, Ordering::SeqCst)
    }

    #[test]
    fn a_partition_is_withheld_at_its_share_and_free_again_at_half_of_it() {
        let account = account();
        let first = account.hold(60);
        assert!(!account.becomes_withheld(100));
        let second = account.hold(40);
        assert!(account.becomes_withheld(100));
        assert!(!account.becomes_withheld(100), "it is already");
        assert!(!account.becomes_free(100));
        drop(second);
        assert!(!account.becomes_free(100), "60 are more than half");
        drop(first);
        assert!(account.becomes_free(100));
        assert!(!account.becomes_free(100), "it is already");
    }

    #[test]
    fn what_is_given_back_is_told_while_the_partition_is_withheld_and_not_otherwise() {
        let account = account();
        let (first, second, third) = (account.hold(50), account.hold(50), account.hold(1));
        drop(third);
        assert!(!has_rung(&account));
        assert!(account.becomes_withheld(100));
        drop(first);
        assert!(has_rung(&account));
        assert!(account.becomes_free(100));
        drop(second);
        assert!(!has_rung(&account));
    }

    #[test]
    fn what_was_thrown_away_is_waited_for_though_all_was_given_back_meanwhile() {
        let account = account();
        account.spilt.store(true, Ordering::SeqCst);
        assert!(account.becomes_withheld(100) && account.becomes_free(100));
    }

    /// More partitions make a smaller share, and fewer a larger one.
    #[test]
    fn a_share_that_changes_counts_from_the_next_look() {
        let account = account();
        let _held = account.hold(60);
        assert!(!account.becomes_withheld(100) && account.becomes_withheld(50));
        assert!(!account.becomes_free(50) && account.becomes_free(120));
    }
}
