//! A queue of a client: its reports, its records, or the ends of its commits.
//!
//! Each call is one call of librdkafka with its waits bounded by the caller.

use std::ptr::{NonNull, null_mut};
use std::time::Duration;

use rdkafka_sys as rd;

use super::event::{ClientEvent, take_event};
use super::{Batch, Client, millis};

/// A queue of a client, kept alive together with it.
pub(crate) struct Queue {
    raw: NonNull<rd::rd_kafka_queue_t>,
    _client: Client,
}

// SAFETY: librdkafka's queues may be used from any thread.
unsafe impl Send for Queue {}
// SAFETY: as above; librdkafka locks inside.
unsafe impl Sync for Queue {}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: owned, never used after, and the client is still there.
        unsafe { rd::rd_kafka_queue_destroy(self.raw.as_ptr()) }
    }
}

impl Queue {
    /// A queue that is given up to us.
    pub(super) fn of(raw: NonNull<rd::rd_kafka_queue_t>, client: Client) -> Self {
        Self { raw, _client: client }
    }

    /// The raw queue, for calls in the other files of this module.
    pub(super) fn raw(&self) -> *mut rd::rd_kafka_queue_t {
        self.raw.as_ptr()
    }

    /// The next event, or `None` after `wait` or a [`Queue::wake`].
    pub(crate) fn poll(&self, wait: Duration) -> Option<ClientEvent> {
        // SAFETY: the queue is valid; the event is ours and is taken over.
        unsafe {
            let event = rd::rd_kafka_queue_poll(self.raw.as_ptr(), millis(wait));
            (!event.is_null()).then(|| take_event(event))
        }
    }

    /// Takes up to `count` records. Waits for the first only: a wait for more would hold back those that are here.
    pub(crate) fn take(&self, wait: Duration, count: usize) -> Batch<'_> {
        let mut messages: Vec<*mut rd::rd_kafka_message_t> = vec![null_mut(); count.max(1)];
        // SAFETY: the array has room for as many messages as each call is told; those it fills are ours.
        unsafe {
            let first = rd::rd_kafka_consume_batch_queue(self.raw.as_ptr(), millis(wait), messages.as_mut_ptr(), 1);
            let mut filled = usize::try_from(first).unwrap_or(0);
            if filled == 1 && count > 1 {
                let rest = messages.as_mut_ptr().add(1);
                let more = rd::rd_kafka_consume_batch_queue(self.raw.as_ptr(), 0, rest, count - 1);
                filled += usize::try_from(more).unwrap_or(0);
            }
            messages.truncate(filled);
            Batch::new(messages)
        }
    }

    /// Ends a wait on this queue, the current or the next one.
    pub(crate) fn wake(&self) {
        // SAFETY: the queue is valid.
        unsafe { rd::rd_kafka_queue_yield(self.raw.as_ptr()) }
    }
}
