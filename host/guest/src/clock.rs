//! The time of one hand-over: wall clock, processor time, and the wish to cancel, around everything a guest does.
//!
//! An epoch interrupts a guest that computes; it does not reach one that waits in a host call. So the whole call is a future
//! polled by [`CallClock::run`]. Processor time is that of the thread, which does nothing else meanwhile: what the runtime spends
//! on a guest that lets itself be woken again and again is the guest's. While the process stands still, stopped by a signal for one,
//! the wall clock of a call does as well.
//!
//! Nothing here knows what the future does.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::cancel::Cancel;
use crate::engine::Engine;
use crate::limits::Limits;
use crate::ticker::Ticker;

/// Why a call was ended by the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Ended {
    /// The wall clock ran out.
    #[error("used all of its {0:?} of wall-clock time (plugin.limits.time)")]
    Wall(Duration),
    /// The instructions ran out that stand for processor time.
    #[error(
        "used all of its {0} instructions, which stand for its processor time (plugin.limits.cpu, plugin.deterministic)"
    )]
    Instructions(u64),
    /// The processor time ran out.
    #[error("used all of its {0:?} of processor time (plugin.limits.cpu)")]
    Cpu(Duration),
    /// Somebody cancelled the hand-over.
    #[error("the hand-over was cancelled")]
    Cancelled,
}

/// The time of one hand-over. Shared between the thread's outer loop and the guest's epoch callback.
#[derive(Debug)]
pub(crate) struct CallClock {
    started: Instant,
    wall: Duration,
    /// `None`: it is counted in instructions, elsewhere, and the guest is told no time that passes.
    cpu: Option<Duration>,
    cancel: Arc<Cancel>,
    ticker: Arc<Ticker>,
    /// What [`Ticker::stood_still`] said at the start.
    stood_still_before: Duration,
    /// The thread's processor time at the start.
    began_ns: u64,
}

impl CallClock {
    /// Starts the time of one hand-over, on the thread that runs it, during which the ticker of `engine` has to be kept ticking.
    pub(crate) fn start(limits: &Limits, cancel: Arc<Cancel>, engine: &Engine) -> Arc<Self> {
        let (started, ticker) = (Instant::now(), engine.ticker());
        Arc::new(Self {
            started,
            wall: limits.time,
            cpu: (!engine.is_deterministic()).then_some(limits.cpu),
            cancel,
            stood_still_before: ticker.stood_still(started),
            ticker,
            began_ns: thread_ns(),
        })
    }

    /// How long the hand-over has taken so far.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// How much processor time that took. Only the thread that runs the hand-over may ask.
    pub(crate) fn busy(&self) -> Duration {
        Duration::from_nanos(thread_ns().saturating_sub(self.began_ns))
    }

    /// How long until the host ends the call, as the guest is told it.
    pub(crate) fn time_left_told(&self) -> Duration {
        if self.cpu.is_some() { self.time_left() } else { self.wall }
    }

    /// How long until the host ends the call.
    pub(crate) fn time_left(&self) -> Duration {
        let now = Instant::now();
        self.ends_at(now).saturating_duration_since(now)
    }

    /// True once somebody asked for the end.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.ends_at().is_some()
    }

    /// Whether the call must end now, and why.
    pub(crate) fn ended(&self) -> Option<Ended> {
        let now = Instant::now();
        if self.cancel.ends_at().is_some_and(|end| end <= now) {
            Some(Ended::Cancelled)
        } else if self.wall_ends_at(now) <= now {
            Some(Ended::Wall(self.wall))
        } else {
            self.cpu.filter(|cpu| self.busy() >= *cpu).map(Ended::Cpu)
        }
    }

    /// Runs a future within the time of this hand-over.
    ///
    /// # Errors
    ///
    /// The time ran out, or the hand-over was cancelled. The future is dropped in the middle: whatever store it used is lost.
    pub(crate) async fn run<F: Future>(&self, future: F) -> Result<F::Output, Ended> {
        let mut future = pin!(future);
        let mut told = pin!(self.cancel.told());
        let mut alarm_at = self.ends_at(Instant::now());
        let mut alarm = pin!(tokio::time::sleep_until(alarm_at.into()));
        poll_fn(|cx| {
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(Ok(output));
            }
            if let Some(ended) = self.ended() {
                return Poll::Ready(Err(ended));
            }
            // A word that arrives later must find a waker, so a fresh wait is polled after each that ended.
            while told.as_mut().poll(cx).is_ready() {
                told.set(self.cancel.told());
            }
            loop {
                let ends_at = self.ends_at(Instant::now());
                if alarm_at != ends_at {
                    alarm_at = ends_at;
                    alarm.as_mut().reset(alarm_at.into());
                }
                if alarm.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
                // After the process stood still the alarm may come too soon; then it is set once more.
                let now = Instant::now();
                if let Some(ended) = self.ended().or((self.ends_at(now) <= alarm_at).then_some(Ended::Wall(self.wall)))
                {
                    return Poll::Ready(Err(ended));
                }
            }
        })
        .await
    }

    fn ends_at(&self, now: Instant) -> Instant {
        let wall = self.wall_ends_at(now);
        self.cancel.ends_at().map_or(wall, |cancelled| cancelled.min(wall))
    }

    /// When the wall clock runs out, as far as that is known: time in which the process stood still does not count.
    fn wall_ends_at(&self, now: Instant) -> Instant {
        self.started + self.wall + self.ticker.stood_still(now).saturating_sub(self.stood_still_before)
    }
}

/// The processor time that this thread has used so far, in nanoseconds.
fn thread_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let ns = i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec);
    u64::try_from(ns).unwrap_or(0)
}
