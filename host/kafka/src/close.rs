//! Leaving the group and destroying the client, on a side thread, within a deadline.
//!
//! The order is what a prototype found not to hang: no more work taken, close the queue and serve it until the group is
//! left or time is short, stop the other threads, let go of the queues, then destroy; when the group was not left, answer
//! a possibly unserved assignment with nothing and destroy without leaving. Nobody waits for the last step.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gristmill_core::io::Input;
use tokio::sync::mpsc::UnboundedSender;

use crate::command::CommitOrder;
use crate::event::Event;
use crate::lookup::LookupOrder;
use crate::shared::Shared;
use crate::sys::{List, Protocol};

/// What is kept of the deadline for the steps behind leaving.
const RESERVE: Duration = Duration::from_millis(300);

/// When leaving has to be over; unset until leaving is asked for.
#[derive(Debug, Default)]
pub(crate) struct CloseBy(Mutex<Option<Instant>>);

impl CloseBy {
    fn set(&self, deadline: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(deadline);
    }

    /// True while there is time to leave in peace.
    pub(crate) fn is_ahead(&self, now: Instant) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_none_or(|deadline| now < deadline)
    }
}

/// How leaving the group went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// The group was left.
    Left,
    /// The client failed for good, by being fenced for one: it is no member any more, and there is nothing to leave.
    NoMember,
    /// Not in time.
    Late,
}

/// The threads of one consumer.
pub(crate) struct Threads {
    pub(crate) events: JoinHandle<Leaving>,
    pub(crate) fetch: JoinHandle<()>,
    pub(crate) command: JoinHandle<()>,
    pub(crate) lookup: JoinHandle<()>,
    pub(crate) close_by: Arc<CloseBy>,
}

/// Begins to close what is marked as closing; the host hears [`Input::Left`] or [`Event::CloseTimedOut`] by the deadline, whatever happens.
pub(crate) fn begin(shared: Arc<Shared>, threads: Threads, wait: Duration, outbox: UnboundedSender<Event>) {
    let deadline = Instant::now() + wait;
    threads.close_by.set(deadline.checked_sub(RESERVE.min(wait / 2)).unwrap_or(deadline));
    let (left, has_left) = channel();
    let without_threads = outbox.clone();
    let closer = std::thread::Builder::new().name("kafka-close".into()).spawn(move || close(shared, threads, &left));
    let watch = move || {
        let news = match has_left.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(true) => Event::Input(Input::Left),
            Ok(false) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Event::CloseTimedOut,
        };
        let _ = outbox.send(news);
    };
    if closer.is_err() || std::thread::Builder::new().name("kafka-close-watch".into()).spawn(watch).is_err() {
        tracing::error!("no thread for closing could be started; the client is left as it is");
        let _ = without_threads.send(Event::CloseTimedOut);
    }
}

/// Ends the threads that take orders; the event thread ends by itself when the group is left.
pub(crate) fn stop_threads(shared: &Shared) {
    shared.parking.stop();
    // A thread that is gone needs no order.
    let _ = shared.commit_orders.send(CommitOrder::Stop);
    let _ = shared.lookup_orders.send(LookupOrder::Stop);
    shared.commit_ends.wake();
}

/// Does it. Says through `left` whether this is no member any more, as soon as that is known; what follows only frees memory.
fn close(shared: Arc<Shared>, threads: Threads, left: &Sender<bool>) {
    shared.revocations.give_up();
    shared.reports.wake();
    let leaving = threads.events.join().unwrap_or(Leaving::Late);
    if leaving != Leaving::Late {
        // A watch that is gone has given its word already.
        let _ = left.send(true);
    }
    // The fetch thread was there until now since each answer to a rebalance parks it.
    stop_threads(&shared);
    let joined = [threads.fetch.join(), threads.command.join(), threads.lookup.join()];
    if joined.iter().any(Result::is_err) {
        tracing::error!("a thread of the kafka edge panicked");
    }
    if leaving != Leaving::Left {
        shared.client.abandon();
        if shared.client.protocol() == Protocol::Cooperative
            && let Err((code, text)) = shared.client.assign_more(&List::new())
        {
            tracing::debug!(?code, text, "answering a possible assignment failed");
        }
    }
    // The host may hold a reference for the length of one call; the last one destroys the client, which is to be here.
    while Arc::strong_count(&shared) > 1 {
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(shared);
    if leaving == Leaving::Late {
        let _ = left.send(false);
    }
}
