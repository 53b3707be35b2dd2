//! A budget of bytes: whoever keeps bytes takes a lease on it, and whoever makes more of them waits until something is left.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The budget of bytes that records may use. When it is spent nobody makes more of them. For what is fetched that means: the fetch
/// thread takes no more records; librdkafka's own bounded queue then fills, and the brokers are asked for less.
#[derive(Debug)]
pub struct Credit {
    max: u64,
    used: Mutex<u64>,
    returned: Condvar,
}

impl Credit {
    /// A budget.
    #[must_use]
    pub fn new(max: u64) -> Self {
        Self { max, used: Mutex::new(0), returned: Condvar::new() }
    }

    /// Bytes in use.
    #[must_use]
    pub fn used(&self) -> u64 {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something is left of the budget, for at most `wait`, or until `interrupt` is set and
    /// [`Credit::wake`] called. True when something is left.
    pub fn wait(&self, wait: Duration, interrupt: &AtomicBool) -> bool {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let blocked = |used: &mut u64| *used >= self.max && !interrupt.load(Ordering::Acquire);
        let (used, _) = self.returned.wait_timeout_while(used, wait, blocked).unwrap_or_else(PoisonError::into_inner);
        *used < self.max
    }

    /// Ends a wait whose interrupt was set before.
    pub(crate) fn wake(&self) {
        // Taking the lock orders this after a waiter's look at the interrupt: it either sees it or is asleep by now.
        drop(self.used.lock().unwrap_or_else(PoisonError::into_inner));
        self.returned.notify_all();
    }
}

/// A part of the budget, given back on drop. It may be more than what was left: nobody knows before how much something takes.
#[derive(Debug)]
pub struct Lease {
    credit: Arc<Credit>,
    bytes: u64,
}

impl Lease {
    /// Nothing, until [`Lease::take`].
    #[must_use]
    pub fn nothing(credit: &Arc<Credit>) -> Self {
        Self { credit: Arc::clone(credit), bytes: 0 }
    }

    /// Takes so much more.
    pub fn take(&mut self, bytes: u64) {
        self.bytes += bytes;
        *self.credit.used.lock().unwrap_or_else(PoisonError::into_inner) += bytes;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.bytes > 0 {
            let mut used = self.credit.used.lock().unwrap_or_else(PoisonError::into_inner);
            *used = used.saturating_sub(self.bytes);
            drop(used);
            self.credit.returned.notify_all();
        }
    }
}
