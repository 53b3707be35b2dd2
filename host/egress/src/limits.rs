//! How much time and how many bytes a request may take, and how many a guest may have at once.
//!
//! It knows no request.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The bounds of one request. What happens at each is an error of its own (see [`crate::SendError`]); nothing is cut short silently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For look-up, connection and TLS handshake together.
    pub connect: Duration,
    /// From handing the request to a connection until the answer's headers are there.
    pub first_byte: Duration,
    /// The bytes of the request's body.
    pub request_bytes: u64,
    /// The bytes of the answer's body.
    pub response_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(2),
            first_byte: Duration::from_secs(5),
            request_bytes: 8 * 1024 * 1024,
            response_bytes: 8 * 1024 * 1024,
        }
    }
}

/// The requests that one guest has at once: from sending until the answer's body is read or dropped. Clones count together.
#[derive(Clone, Debug)]
pub struct InFlight {
    free: Arc<Semaphore>,
    most: usize,
}

/// One request of those.
pub(crate) type Place = OwnedSemaphorePermit;

impl InFlight {
    /// As many at once as that. One more is refused, not kept waiting, since a guest that waits for its place holds its batch up unseen.
    pub fn new(most: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(most)), most }
    }

    /// How many there may be.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    pub(crate) fn enter(&self) -> Option<Place> {
        Arc::clone(&self.free).try_acquire_owned().ok()
    }
}

impl Default for InFlight {
    fn default() -> Self {
        Self::new(8)
    }
}
