//! The wish that a hand-over should end, as it travels from the host's threads to a running guest.
//!
//! Knows nothing of why.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

/// Says when a hand-over must have ended, once somebody wants it to.
#[derive(Debug, Default)]
pub(crate) struct Cancel {
    ends_at: Mutex<Option<Instant>>,
    told: Notify,
}

impl Cancel {
    /// Asks the hand-over to end, at `ends_at` by force. The earliest such moment counts.
    pub(crate) fn cancel(&self, ends_at: Instant) {
        let mut known = self.ends_at.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some(known.map_or(ends_at, |known| known.min(ends_at)));
        drop(known);
        self.told.notify_one();
    }

    /// When the hand-over must have ended. `None`: nobody asked.
    pub(crate) fn ends_at(&self) -> Option<Instant> {
        *self.ends_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends once somebody asked since the last time this ended. A word said while nobody waits is kept.
    pub(crate) async fn told(&self) {
        self.told.notified().await;
    }
}
