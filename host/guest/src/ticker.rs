//! The ticker makes guests interruptible: an OS thread of its own raises the engine's epoch, so that no guest can keep it from
//! being raised. It rests while no guest runs. A second thread watches it: without ticks a guest that computes would never end.
//!
//! Ticks also show when the whole process stood still, stopped by a signal or with its machine: they stay away then. That time is
//! no guest's fault. Ticks that come late because guests use the processor up are: while the process computed it did not stand
//! still, or many guests on one core would give each other time.
//!
//! Neither knows what a tick does to a guest.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// How often a running guest can be interrupted: a limit of its time that is shorter cannot be kept to.
pub const TICK: Duration = Duration::from_millis(10);

/// A tick comes no later than this after the one before it, or the process stood still for the rest of the time.
const LATE_MAX: Duration = Duration::from_millis(100);

/// How often the watch looks.
const LOOK: Duration = Duration::from_millis(100);

/// How many looks in a row may find no tick: a second's worth. They are counted instead of the time, since a process that was
/// stopped, or a machine that is crowded, holds up the watch as well.
const SILENT_LOOKS_MAX: u32 = 10;

/// One ticker. Threads share it.
#[derive(Debug, Default)]
pub(crate) struct Ticker {
    work: Mutex<Work>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Work {
    running: usize,
    /// True from the moment a guest begins until a tick finds none: ticks are owed.
    wanted: bool,
    ticks: u64,
    /// When the last tick came that was wanted, or when ticks began to be wanted.
    ticked: Option<Moment>,
    /// How long the process stood still so far, while ticks were wanted.
    stood_still: Duration,
    over: bool,
}

/// A moment on the clock, and how much processor time the process had used by then.
#[derive(Clone, Copy, Debug)]
struct Moment {
    at: Instant,
    used: Duration,
}

impl Moment {
    fn now() -> Self {
        Self { at: Instant::now(), used: process_time() }
    }
}

impl Work {
    /// Somebody wants ticks.
    fn want(&mut self, now: Moment) {
        self.running += 1;
        if !self.wanted {
            self.ticked = Some(now);
        }
        self.wanted = true;
    }

    /// A tick came.
    fn note_tick(&mut self, now: Moment) {
        self.stood_still = self.stood_still(now.at, || now.used);
        self.ticked = Some(now);
        self.ticks += 1;
        self.wanted = self.running > 0;
    }

    /// As much of it as is known, and what a tick that is late already will add.
    fn stood_still(&self, now: Instant, used: impl FnOnce() -> Duration) -> Duration {
        let Some(ticked) = self.ticked.filter(|_| self.wanted) else { return self.stood_still };
        let late = now.saturating_duration_since(ticked.at).saturating_sub(LATE_MAX);
        if late.is_zero() {
            return self.stood_still;
        }
        self.stood_still + late.saturating_sub(used().saturating_sub(ticked.used))
    }
}

impl Ticker {
    /// Starts ticking, and watching. `tick` gives false when there is nothing left to interrupt. When ticks stay away the
    /// watching thread panics, which a host takes as its end.
    ///
    /// # Errors
    ///
    /// The system gives no thread.
    pub(crate) fn start(tick: impl Fn() -> bool + Send + 'static) -> std::io::Result<Arc<Self>> {
        let ticker = Arc::new(Self::default());
        let ticking = Arc::clone(&ticker);
        std::thread::Builder::new().name("guest-ticker".to_owned()).spawn(move || ticking.tick(tick))?;
        let watched = Arc::clone(&ticker);
        let watch = move || {
            assert!(!watched.stalls(LOOK), "guests cannot be interrupted: the ticker has stood still for a second");
        };
        if let Err(error) = std::thread::Builder::new().name("ticker-watch".to_owned()).spawn(watch) {
            ticker.end();
            return Err(error);
        }
        Ok(ticker)
    }

    /// Ends both threads.
    pub(crate) fn end(&self) {
        self.lock().over = true;
        self.changed.notify_all();
    }

    /// Keeps the ticker running for as long as the value lives.
    pub(crate) fn ticking(self: &Arc<Self>) -> Ticking {
        self.lock().want(Moment::now());
        self.changed.notify_all();
        Ticking { ticker: Arc::clone(self) }
    }

    /// How long the process stood still up to `now`, since the ticker was made and while guests ran.
    pub(crate) fn stood_still(&self, now: Instant) -> Duration {
        self.lock().stood_still(now, process_time)
    }

    fn tick(&self, tick: impl Fn() -> bool) {
        while self.wait_until_wanted().is_some() {
            std::thread::sleep(TICK);
            if !tick() {
                return self.end();
            }
            self.lock().note_tick(Moment::now());
        }
    }

    /// Watches until ticks stay away (true) or the ticker is over (false).
    fn stalls(&self, look: Duration) -> bool {
        let mut watch = Watch::default();
        while let Some(ticks) = self.wait_until_wanted() {
            if watch.is_too_silent(ticks) {
                return true;
            }
            std::thread::sleep(look);
        }
        false
    }

    /// Rests until ticks are wanted, and gives how many there were. `None`: the ticker is over.
    fn wait_until_wanted(&self) -> Option<u64> {
        let resting = |work: &mut Work| !work.wanted && !work.over;
        let work = self.changed.wait_while(self.lock(), resting).unwrap_or_else(PoisonError::into_inner);
        (!work.over).then_some(work.ticks)
    }

    fn lock(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The processor time that the process has used so far, with all of its threads.
fn process_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Counts looks that find no tick. Only looks at a moment when ticks are wanted count: as long as none comes they stay wanted,
/// so that two such looks with the same number have a silent time between them.
#[derive(Default)]
struct Watch {
    ticks: Option<u64>,
    silent_looks: u32,
}

impl Watch {
    fn is_too_silent(&mut self, ticks: u64) -> bool {
        let silent = self.ticks.replace(ticks) == Some(ticks);
        self.silent_looks = if silent { self.silent_looks + 1 } else { 0 };
        self.silent_looks >= SILENT_LOOKS_MAX
    }
}

/// Says that a guest runs.
pub(crate) struct Ticking {
    ticker: Arc<Ticker>,
}

impl Drop for Ticking {
    fn drop(&mut self) {
        self.ticker.lock().running -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    /// Watches a ticker and says how it went.
    fn watch(ticker: &Arc<Ticker>, look: Duration) -> mpsc::Receiver<bool> {
        let (said, heard) = mpsc::channel();
        let ticker = Arc::clone(ticker);
        std::thread::spawn(move || said.send(ticker.stalls(look)));
        heard
    }

    #[test]
    fn silence_is_counted_in_looks_and_ends_with_a_tick() {
        let mut watch = Watch::default();
        for ticks in [7, 8] {
            for _ in 0..SILENT_LOOKS_MAX {
                assert!(!watch.is_too_silent(ticks));
            }
        }
        assert!(watch.is_too_silent(8));
    }

    #[test]
    fn what_a_late_tick_shows_is_known_before_it_comes_and_after() {
        let (began, ms) = (Instant::now(), Duration::from_millis);
        let idle = |at| Moment { at: began + ms(at), used: Duration::ZERO };
        let stood_still = |work: &Work, at| work.stood_still(began + ms(at), Duration::default);
        let mut work = Work::default();
        work.want(idle(0));
        work.note_tick(idle(10));
        work.note_tick(idle(60));
        assert_eq!(stood_still(&work, 160), Duration::ZERO, "late, as on a crowded machine");
        assert_eq!(stood_still(&work, 5_160), ms(5_000));
        work.note_tick(idle(5_160));
        assert_eq!(stood_still(&work, 5_170), ms(5_000));
        work.note_tick(idle(6_260));
        assert_eq!(stood_still(&work, 6_260), ms(6_000));
    }

    /// Thirty-two guests that spin on one core hold up the ticker as well, and none may win time by it.
    #[test]
    fn while_the_process_computes_it_does_not_stand_still() {
        let (began, ms) = (Instant::now(), Duration::from_millis);
        let mut work = Work::default();
        work.want(Moment { at: began, used: ms(500) });
        assert_eq!(work.stood_still(began + ms(400), || ms(900)), Duration::ZERO);
        work.note_tick(Moment { at: began + ms(400), used: ms(900) });
        assert_eq!(work.stood_still(began + ms(400), || ms(900)), Duration::ZERO);
        // It computes for a while and is stopped then.
        assert_eq!(work.stood_still(began + ms(2_400), || ms(1_000)), ms(1_800));
        // Two cores' worth.
        work.note_tick(Moment { at: began + ms(2_400), used: ms(4_900) });
        assert_eq!(work.stood_still(began + ms(2_400), || ms(4_900)), Duration::ZERO);
    }

    #[test]
    fn a_ticker_that_rests_does_not_stand_still() {
        let (began, ms) = (Instant::now(), Duration::from_millis);
        let idle = |at| Moment { at: began + ms(at), used: Duration::ZERO };
        let mut work = Work::default();
        work.want(idle(0));
        work.running -= 1;
        work.note_tick(idle(10));
        assert_eq!(work.stood_still(began + ms(60_000), Duration::default), Duration::ZERO);
        work.want(idle(60_000));
        work.note_tick(idle(60_010));
        assert_eq!(work.stood_still(began + ms(60_010), Duration::default), Duration::ZERO);
    }

    #[test]
    fn a_ticker_that_stands_still_while_a_guest_runs_is_noticed() {
        let ticker = Arc::new(Ticker::default());
        let stalled = watch(&ticker, Duration::from_millis(1));
        let _ticking = ticker.ticking();
        assert_eq!(stalled.recv_timeout(LONG), Ok(true));
    }

    #[test]
    fn ticks_that_a_guest_no_longer_waits_for_are_owed_all_the_same() {
        let ticker = Arc::new(Ticker::default());
        drop(ticker.ticking());
        assert_eq!(watch(&ticker, Duration::from_millis(1)).recv_timeout(LONG), Ok(true));
    }

    #[test]
    fn a_ticker_that_ticks_or_rests_is_left_alone_until_its_end() {
        let (ticked, ticks) = mpsc::channel();
        let ticker = Ticker::start(move || ticked.send(()).is_ok()).unwrap();
        let stalled = watch(&ticker, LOOK / 2);
        let ticking = ticker.ticking();
        for _ in 0..100 {
            ticks.recv_timeout(LONG).unwrap();
        }
        drop(ticking);
        // It rests once a tick has found nobody.
        let began = Instant::now();
        while ticker.lock().wanted {
            assert!(began.elapsed() < LONG, "it never rests");
            std::thread::yield_now();
        }
        assert_eq!(stalled.recv_timeout(LOOK * (SILENT_LOOKS_MAX + 2) / 2), Err(mpsc::RecvTimeoutError::Timeout));
        ticker.end();
        assert_eq!(stalled.recv_timeout(LONG), Ok(false));
    }
}
