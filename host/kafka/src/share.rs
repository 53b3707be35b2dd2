//! What one partition may hold of the buffer, where each has batches of its own: one that is slow or blocked does not take what the
//! others need.
//!
//! A partition that holds its share is *withheld*: its queue is taken out of the queue of all, so that its records stay in the
//! client, nothing is fetched twice, and the others flow past it. Once it has given half of that back it is let in again. What had
//! passed into the queue of all by then still comes, and counts; the share is small enough for that. Knows nothing of batches.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use gristmill_core::record::Partition;

use crate::ownership::Owned;
use crate::shared::Shared;
use crate::sys::Queue;

/// All partitions together may hold this part of the buffer before they are withheld; the rest is for what had passed into the queue
/// of all by then.
const SHARED_PART: u64 = 2;

/// What one partition holds, and whether it is withheld.
#[derive(Debug)]
pub(crate) struct Account {
    held: AtomicU64,
    withheld: AtomicBool,
    bell: Arc<Bell>,
}

/// Bytes that a partition holds; given back on drop.
#[derive(Debug)]
pub(crate) struct Holding {
    account: Arc<Account>,
    bytes: u64,
}

/// Tells the fetch thread that a partition that is withheld gave something back.
pub(crate) struct Bell {
    rung: AtomicBool,
    /// What the fetch thread waits on. Whoever holds records does not keep the client.
    queue: Weak<Queue>,
}

impl std::fmt::Debug for Bell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bell").field("rung", &self.rung).finish_non_exhaustive()
    }
}

impl Bell {
    /// A bell for whoever waits on `queue`.
    pub(crate) fn of(queue: &Arc<Queue>) -> Self {
        Self { rung: AtomicBool::new(false), queue: Arc::downgrade(queue) }
    }

    fn ring(&self) {
        self.rung.store(true, Ordering::Release);
        if let Some(queue) = self.queue.upgrade() {
            queue.wake();
        }
    }
}

impl Account {
    /// Of a partition that holds nothing.
    pub(crate) fn new(bell: &Arc<Bell>) -> Self {
        Self { held: AtomicU64::new(0), withheld: AtomicBool::new(false), bell: Arc::clone(bell) }
    }

    /// Takes so many bytes.
    pub(crate) fn hold(self: &Arc<Self>, bytes: u64) -> Holding {
        self.held.fetch_add(bytes, Ordering::AcqRel);
        Holding { account: Arc::clone(self), bytes }
    }

    /// True when it is to be withheld now, and was not.
    fn becomes_withheld(&self, share: u64) -> bool {
        self.held.load(Ordering::Acquire) >= share && !self.withheld.swap(true, Ordering::AcqRel)
    }

    /// True when it is withheld, and need not be any more.
    fn becomes_free(&self, share: u64) -> bool {
        self.withheld.load(Ordering::Acquire)
            && self.held.load(Ordering::Acquire) <= share / 2
            && self.withheld.swap(false, Ordering::AcqRel)
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.account.held.fetch_sub(self.bytes, Ordering::AcqRel);
        if self.account.withheld.load(Ordering::Acquire) {
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
        account.bell.rung.store(true, Ordering::Release);
    }
}

/// Lets partitions in again that have given enough back.
pub(crate) fn let_in(shared: &Shared) {
    if !shared.bell.as_ref().is_some_and(|bell| bell.rung.swap(false, Ordering::AcqRel)) {
        return;
    }
    let table = shared.ownership.lock();
    let share = share(shared, table.len());
    for (partition, owned) in &*table {
        if owned.account.as_ref().is_some_and(|account| account.becomes_free(share)) {
            tracing::debug!(?partition, "let a partition in again");
            shared.forward(*partition);
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
        Arc::new(Account::new(&Arc::new(Bell { rung: AtomicBool::new(false), queue: Weak::new() })))
    }

    fn has_rung(account: &Account) -> bool {
        account.bell.rung.swap(false, Ordering::AcqRel)
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

    /// More partitions make a smaller share, and fewer a larger one.
    #[test]
    fn a_share_that_changes_counts_from_the_next_look() {
        let account = account();
        let _held = account.hold(60);
        assert!(!account.becomes_withheld(100) && account.becomes_withheld(50));
        assert!(!account.becomes_free(50) && account.becomes_free(120));
    }
}
