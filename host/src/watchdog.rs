//! Ends the process when the run loop stops turning. librdkafka's own watchdog (max.poll.interval) cannot see that: any
//! poll of any of its queues feeds it, also those of threads that go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// A thread that watches one loop.
#[derive(Debug)]
pub(crate) struct Watchdog {
    beat: Arc<Beat>,
}

#[derive(Debug, Default)]
struct Beat {
    turns: AtomicU64,
    /// True while the loop waits for something to happen, which may take for ever.
    idle: AtomicBool,
    over: AtomicBool,
}

impl Watchdog {
    /// Calls `bite` once when a turn takes longer than `limit`.
    pub(crate) fn watch(limit: Duration, bite: impl FnOnce() + Send + 'static) -> std::io::Result<Self> {
        let beat = Arc::new(Beat { idle: AtomicBool::new(true), ..Beat::default() });
        let watched = Arc::clone(&beat);
        std::thread::Builder::new().name("watchdog".to_owned()).spawn(move || {
            if watched.stalls(limit) {
                bite();
            }
        })?;
        Ok(Self { beat })
    }

    /// The loop begins a turn.
    pub(crate) fn busy(&self) {
        self.beat.turns.fetch_add(1, Ordering::Relaxed);
        self.beat.idle.store(false, Ordering::Release);
    }

    /// The loop waits.
    pub(crate) fn idle(&self) {
        self.beat.idle.store(true, Ordering::Release);
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.beat.over.store(true, Ordering::Release);
    }
}

impl Beat {
    /// Watches until a turn takes longer than `limit` (true) or the loop is over (false).
    fn stalls(&self, limit: Duration) -> bool {
        let pause = (limit / 4).min(Duration::from_secs(1));
        let mut seen = (self.turns.load(Ordering::Relaxed), Duration::ZERO);
        while !self.over.load(Ordering::Acquire) {
            std::thread::park_timeout(pause);
            let turns = self.turns.load(Ordering::Relaxed);
            if turns != seen.0 || self.idle.load(Ordering::Acquire) {
                seen = (turns, Duration::ZERO);
                continue;
            }
            // Looks are counted and not time: while the process is stopped, neither it nor the loop gets on.
            seen.1 += pause;
            if seen.1 > limit {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_turn_that_takes_too_long_is_noticed() {
        let (bitten, bites) = mpsc::channel();
        let watchdog = Watchdog::watch(Duration::from_millis(40), move || bitten.send(()).unwrap_or_default()).unwrap();
        watchdog.busy();
        bites.recv_timeout(Duration::from_secs(20)).expect("the stalled turn was noticed");
    }

    #[test]
    fn a_loop_that_waits_is_not_stuck() {
        let (bitten, bites) = mpsc::channel();
        let watchdog = Watchdog::watch(Duration::from_millis(20), move || bitten.send(()).unwrap_or_default()).unwrap();
        watchdog.busy();
        watchdog.idle();
        assert_eq!(bites.recv_timeout(Duration::from_millis(200)), Err(mpsc::RecvTimeoutError::Timeout));
        drop(watchdog);
        // The thread ends without having bitten, and with it the sender.
        assert_eq!(bites.recv_timeout(Duration::from_secs(20)), Err(mpsc::RecvTimeoutError::Disconnected));
    }
}
