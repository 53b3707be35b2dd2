//! What the threads of one consumer share.
//!
//! Holds no logic. Every thread has an `Arc` of it; the handle that the host holds has only a weak one, so that the
//! client is destroyed by the thread that closes it and never by the host's.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gristmill_core::io::{Input, RevokeId};
use gristmill_core::record::{Epoch, NextOffset, Partition};
use gristmill_core::time::Moment;
use tokio::sync::mpsc::UnboundedSender;

use crate::arena::RecordBody;
use crate::command::CommitOrder;
use crate::credit::Credit;
use crate::event::Event;
use crate::history::History;
use crate::lookup::LookupOrder;
use crate::ownership::Ownership;
use crate::parking::Parking;
use crate::settings::ConsumerSettings;
use crate::share::Bell;
use crate::sys::{Client, List, Queue};
use crate::topics::Topics;
use crate::trouble::Refused;

/// Everything that more than one thread of a consumer needs.
pub(crate) struct Shared {
    pub(crate) settings: ConsumerSettings,
    pub(crate) client: Client,
    /// What the client reports; read by the event thread only.
    pub(crate) reports: Queue,
    /// The records of every assigned partition; read by the fetch thread only.
    pub(crate) records: Arc<Queue>,
    /// The ends of commits; read by the command thread only.
    pub(crate) commit_ends: Queue,
    pub(crate) topics: Arc<Topics>,
    pub(crate) ownership: Ownership,
    pub(crate) parking: Parking,
    pub(crate) credit: Arc<Credit>,
    /// Where partitions have shares of the buffer: what tells that one gave something back.
    pub(crate) bell: Option<Arc<Bell>>,
    pub(crate) revocations: Revocations,
    pub(crate) refused: Refused,
    pub(crate) history: History,
    /// For the command thread; wake it through `commit_ends` after sending.
    pub(crate) commit_orders: Sender<CommitOrder>,
    /// For the look-up thread.
    pub(crate) lookup_orders: Sender<LookupOrder>,
    /// Set once the group is being left: no look-up and no question to the core any more.
    pub(crate) closing: AtomicBool,
    /// Set while a revocation is being dealt with.
    pub(crate) revoking: AtomicBool,
    epochs: AtomicU64,
    outbox: UnboundedSender<Event>,
}

impl Shared {
    /// Puts the pieces together.
    pub(crate) fn new(
        settings: ConsumerSettings,
        client: Client,
        reports: Queue,
        topics: Arc<Topics>,
        commit_orders: Sender<CommitOrder>,
        lookup_orders: Sender<LookupOrder>,
        outbox: UnboundedSender<Event>,
    ) -> Self {
        let records = Arc::new(client.new_queue());
        let commit_ends = client.new_queue();
        let credit = Arc::new(Credit::new(settings.buffer_bytes_max));
        let parking = Parking::new(Arc::clone(&records), Arc::clone(&credit));
        let bell = settings.lanes_by_partition.then(Arc::<Bell>::default);
        Self {
            settings,
            client,
            reports,
            records,
            commit_ends,
            topics,
            ownership: Ownership::default(),
            parking,
            credit,
            bell,
            revocations: Revocations::default(),
            refused: Refused::default(),
            history: History::default(),
            commit_orders,
            lookup_orders,
            closing: AtomicBool::new(false),
            revoking: AtomicBool::new(false),
            epochs: AtomicU64::new(0),
            outbox,
        }
    }

    /// Tells the host. A host that no longer listens is on its way out, so nothing is lost with the news.
    pub(crate) fn tell(&self, event: Event) {
        let _ = self.outbox.send(event);
    }

    /// Tells the core.
    pub(crate) fn input(&self, input: Input<RecordBody>) {
        self.tell(Event::Input(input));
    }

    /// Sends a partition's records to the queue of all.
    pub(crate) fn forward(&self, partition: Partition) {
        let forwarded = self
            .topics
            .name(partition.topic)
            .is_some_and(|name| self.client.forward(&name.raw, partition.number, &self.records));
        if !forwarded {
            tracing::error!(?partition, "a partition has no queue and will stay silent");
        }
    }

    /// An epoch that was never given out before.
    pub(crate) fn next_epoch(&self) -> Epoch {
        Epoch(self.epochs.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// True once the group is being left.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// An instant as the core counts time.
    pub(crate) fn moment(&self, at: Instant) -> Moment {
        Moment::default().after(at.saturating_duration_since(self.settings.base))
    }

    /// A list of partitions, each at the offset that `offset` gives. A topic without a name is left out; there is none.
    pub(crate) fn list<'a>(&self, rows: impl IntoIterator<Item = (&'a Partition, i64)>) -> List {
        let mut list = List::new();
        for (partition, offset) in rows {
            if let Some(name) = self.topics.name(partition.topic) {
                list.push(&name.raw, partition.number, offset);
            }
        }
        list
    }

    /// A list of positions to seek to. With the epoch before a position, the client makes sure that the log still has that
    /// position's past.
    pub(crate) fn seek_list(&self, positions: impl IntoIterator<Item = (Partition, NextOffset)>) -> List {
        let mut list = List::new();
        for (partition, next) in positions {
            if let Some(name) = self.topics.name(partition.topic) {
                let epoch = self.history.before(partition, next);
                list.push_with_epoch(&name.raw, partition.number, next.0, epoch, &[]);
            }
        }
        list
    }

    /// Asks the look-up thread, which may wait for the client, to rejoin the group.
    pub(crate) fn ask_rejoin(&self, reason: &'static str) {
        // Without the thread the consumer is closing, and nothing is to be joined.
        let _ = self.lookup_orders.send(LookupOrder::Rejoin(reason));
    }

    /// Gives the whole assignment up and joins the group again. Has no effect while a rebalance runs: librdkafka then
    /// postpones the one, and forgets it at the other.
    pub(crate) fn rejoin(&self, reason: &'static str) {
        tracing::warn!(reason, "rejoined the group");
        let topics = List::of(self.settings.subscription().iter().map(|name| (name.as_c_str(), -1, 0)));
        if let Err(code) = self.client.unsubscribe().and_then(|()| self.client.subscribe(&topics)) {
            tracing::error!(?code, "rejoining failed");
        }
    }
}

/// Revocations that wait for the core's answer.
#[derive(Debug, Default)]
pub(crate) struct Revocations {
    state: Mutex<RevocationState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct RevocationState {
    last: u64,
    open: Option<RevokeId>,
    given_up: bool,
}

impl Revocations {
    /// Opens a question.
    pub(crate) fn open(&self) -> RevokeId {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.last += 1;
        let id = RevokeId(state.last);
        state.open = Some(id);
        id
    }

    /// Answers a question. An answer that comes too late finds no question and changes nothing.
    pub(crate) fn answer(&self, id: RevokeId) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.open == Some(id) {
            state.open = None;
            self.changed.notify_all();
        }
    }

    /// Stops waiting for answers, now and later.
    pub(crate) fn give_up(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).given_up = true;
        self.changed.notify_all();
    }

    /// Waits for the answer to the open question. False when it did not come in time.
    pub(crate) fn wait(&self, wait: Duration) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let open = |state: &mut RevocationState| state.open.is_some() && !state.given_up;
        let (mut state, _) = self.changed.wait_timeout_while(state, wait, open).unwrap_or_else(PoisonError::into_inner);
        state.open.take().is_none()
    }
}
