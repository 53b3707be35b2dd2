//! How other threads reach the fetch thread: they park it, or leave it work.
//!
//! Whatever changes an epoch happens on the fetch thread or while it is parked; otherwise a record that it holds in its
//! hands would get the stamp of a reading that it does not come from. A recreated topic is no exception: until its partitions
//! are sought, on that thread, nothing of them is passed on. Makes no call of librdkafka but the wake-up.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use gristmill_core::io::{Assignment, RequestId, SeekTo};
use gristmill_core::record::Partition;

use crate::credit::Credit;
use crate::sys::Queue;

/// Work that only the fetch thread may do.
#[derive(Debug)]
pub(crate) enum Work {
    /// Seek, and answer.
    Seek {
        /// Names the answer.
        id: RequestId,
        /// Where to.
        targets: Vec<SeekTo>,
    },
    /// Begin to read partitions whose start position became known after the assignment.
    Begin(Vec<Assignment>),
    /// Read a partition again from the next expected offset, since librdkafka's own position is wrong.
    Repair(Partition),
    /// The same for partitions that were just assigned: their position may be in the log no more, which a seek finds out.
    Confirm(Vec<Partition>),
}

/// The meeting place.
pub(crate) struct Parking {
    state: Mutex<State>,
    changed: Condvar,
    /// Set while anything in `state` wants the fetch thread's attention; read by it where it waits for credit.
    pub(crate) attention: AtomicBool,
    queue: Arc<Queue>,
    credit: Arc<Credit>,
}

#[derive(Default)]
struct State {
    parks: u32,
    parked: bool,
    stop: bool,
    gone: bool,
    work: VecDeque<Work>,
}

/// What the fetch thread does next.
pub(crate) enum Next {
    /// Take records.
    Fetch,
    /// Do this first.
    Work(Work),
    /// End.
    Stop,
}

/// The fetch thread stands still while this lives.
pub(crate) struct Parked<'parking>(&'parking Parking);

/// Marks the fetch thread as gone when it ends in whatever way, so that nobody waits for it.
pub(crate) struct Attendance<'parking>(&'parking Parking);

impl Parking {
    /// A meeting place for the fetch thread that reads `queue` within `credit`.
    pub(crate) fn new(queue: Arc<Queue>, credit: Arc<Credit>) -> Self {
        Self {
            state: Mutex::new(State::default()),
            changed: Condvar::new(),
            attention: AtomicBool::new(false),
            queue,
            credit,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the fetch thread look here, wherever it waits.
    fn call(&self) {
        self.attention.store(true, Ordering::Release);
        self.changed.notify_all();
        self.queue.wake();
        self.credit.wake();
    }

    /// Waits until the fetch thread stands still. Everything it does is bounded, so this is.
    pub(crate) fn park(&self) -> Parked<'_> {
        let mut state = self.lock();
        state.parks += 1;
        self.call();
        let waiting = |state: &mut State| !state.parked && !state.gone;
        drop(self.changed.wait_while(state, waiting).unwrap_or_else(PoisonError::into_inner));
        Parked(self)
    }

    /// Leaves work for the fetch thread.
    pub(crate) fn leave_work(&self, work: Work) {
        let mut state = self.lock();
        state.work.push_back(work);
        self.call();
    }

    /// Ends the fetch thread.
    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        state.stop = true;
        self.call();
    }

    /// For the fetch thread: signs in.
    pub(crate) fn attend(&self) -> Attendance<'_> {
        Attendance(self)
    }

    /// For the fetch thread: stands still while somebody wants it to, then says what to do.
    pub(crate) fn next(&self) -> Next {
        if !self.attention.load(Ordering::Acquire) {
            return Next::Fetch;
        }
        let mut state = self.rest(self.lock());
        if state.stop {
            return Next::Stop;
        }
        let work = state.work.pop_front();
        if state.work.is_empty() {
            self.attention.store(false, Ordering::Release);
        }
        work.map_or(Next::Fetch, Next::Work)
    }

    fn rest<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        while state.parks > 0 {
            state.parked = true;
            self.changed.notify_all();
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.parked = false;
        state
    }
}

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.parks -= 1;
        if state.parks == 0 {
            // From here on the thread counts as running, so that the next park waits for it anew.
            state.parked = false;
        }
        drop(state);
        self.0.changed.notify_all();
    }
}

impl Drop for Attendance<'_> {
    fn drop(&mut self) {
        self.0.lock().gone = true;
        self.0.changed.notify_all();
    }
}
