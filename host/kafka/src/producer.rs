//! The handle of one producer: starts its thread, passes requests on, closes.
//!
//! Waits for no broker, with one exception that says so. Every request is answered once by [`Event::Produced`], in one channel
//! with everything else.

use std::ffi::CString;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gristmill_core::io::RequestId;
use tokio::sync::mpsc::UnboundedSender;

use crate::error::{ClientErrorKind, ProduceFailure, StartError};
use crate::event::Event;
use crate::outgoing::Outgoing;
use crate::produce::{self, Order, Wire};
use crate::producer_settings::ProducerSettings;
use crate::sys::{Code, Queue};

/// How long a producer that is dropped without closing tries to settle what it has.
const DROP_WAIT: Duration = Duration::from_secs(5);

/// Writes records to topics and hears of each whether it was acknowledged.
///
/// An acknowledgement is one of all replicas that are in sync. The client repeats by itself what a broker did not take, without
/// repeating or swapping records, until [`ProducerSettings::message_timeout`] ends it.
pub struct Producer {
    /// None once it is closing: no order comes after that one.
    orders: Mutex<Option<Sender<Order>>>,
    line: Arc<Line>,
    outbox: UnboundedSender<Event>,
}

/// What the handle and the thread share.
#[derive(Default)]
pub(crate) struct Line {
    /// The client of the moment, and where it reports. None when there is none.
    wire: Mutex<Option<Arc<Wire>>>,
    bytes_out: AtomicU64,
    records_out: AtomicUsize,
}

impl Line {
    /// Puts another client in the place of the one that was there.
    pub(crate) fn set_wire(&self, wire: Option<Arc<Wire>>) {
        let before = std::mem::replace(&mut *self.wire.lock().unwrap_or_else(PoisonError::into_inner), wire);
        drop(before);
    }

    /// Says how much the client has.
    pub(crate) fn set_load(&self, bytes: u64, records: usize) {
        self.bytes_out.store(bytes, Ordering::Relaxed);
        self.records_out.store(records, Ordering::Relaxed);
    }

    fn wire(&self) -> Option<Arc<Wire>> {
        self.wire.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Producer {
    /// Creates the client and starts its thread. Everything that happens from then on is told through `outbox`.
    ///
    /// # Errors
    ///
    /// Settings that are refused, properties that librdkafka does not accept, or no thread to be had. Unreachable brokers are
    /// no error here.
    pub fn start(settings: ProducerSettings, outbox: UnboundedSender<Event>) -> Result<Self, StartError> {
        let (orders, inbox) = channel();
        let line = Arc::new(Line::default());
        produce::spawn(settings, inbox, Arc::clone(&line), outbox.clone())?;
        Ok(Self { orders: Mutex::new(Some(orders)), line, outbox })
    }

    /// Produces; answered by one [`Event::Produced`] with this id. Returns at once: what does not fit into the client's queue
    /// waits in the request. Requests, and the records in each, go out in the order of the calls.
    pub fn produce(&self, id: RequestId, records: Vec<Outgoing>) {
        if !self.order(Order::Produce { id, records }) {
            let result = Err(ProduceFailure::of(Code::BrokerDestroy, 0));
            // A host that no longer listens is on its way out.
            let _ = self.outbox.send(Event::Produced { id, result });
        }
    }

    /// Settles what it can within `wait`, gives the rest up, and ends. Answered by [`Event::ProducerClosed`] no later than that;
    /// every open request is answered before it.
    pub fn close(&self, wait: Duration) {
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(orders) = orders {
            // The thread ends for this order only.
            let _ = orders.send(Order::Close { deadline: Instant::now() + wait });
            self.wake();
        }
    }

    /// Asks the brokers how many partitions a topic has; creates none. *Waits*, at most for `wait`: not for a loop that has
    /// other things to do.
    ///
    /// # Errors
    ///
    /// What kept the answer away: no broker, no permission, or no such topic.
    pub fn partitions(&self, topic: &str, wait: Duration) -> Result<usize, ClientErrorKind> {
        let wire = self.line.wire().ok_or(ClientErrorKind::Other)?;
        let name = CString::new(topic).map_err(|_| ClientErrorKind::UnknownTopic)?;
        let found = wire.client.count_partitions(&name, wait).map_err(ClientErrorKind::of)?;
        found.map_err(ClientErrorKind::of)
    }

    /// The bytes of the records that the client has and that have not ended, as they are in a batch.
    #[must_use]
    pub fn queued_bytes(&self) -> u64 {
        self.line.bytes_out.load(Ordering::Relaxed)
    }

    /// How many records the client has that have not ended.
    #[must_use]
    pub fn queued_records(&self) -> usize {
        self.line.records_out.load(Ordering::Relaxed)
    }

    /// False when nobody is there any more to take the order.
    fn order(&self, order: Order) -> bool {
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = orders.as_ref().is_some_and(|orders| orders.send(order).is_ok());
        drop(orders);
        self.wake();
        taken
    }

    fn wake(&self) {
        if let Some(wire) = self.line.wire() {
            Queue::wake(&wire.reports);
        }
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.close(DROP_WAIT);
    }
}

impl std::fmt::Debug for Producer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Producer").field("queued_records", &self.queued_records()).finish_non_exhaustive()
    }
}
