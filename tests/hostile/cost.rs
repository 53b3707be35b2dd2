//! What a run cost: wall clock, and processor time of the whole process, which is the fairer figure on a shared machine.

use std::time::{Duration, Instant};

/// What one run took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) wall: Duration,
    pub(crate) processor: Duration,
}

/// A run that has begun.
#[derive(Debug)]
pub(crate) struct Meter {
    process: u32,
    begun: Instant,
    processor: Duration,
}

impl Meter {
    /// Begins to measure a process.
    pub(crate) fn of(process: u32) -> Self {
        Self { process, begun: Instant::now(), processor: processor_time(process) }
    }

    /// What it cost so far.
    pub(crate) fn read(&self) -> Cost {
        let processor = processor_time(self.process).saturating_sub(self.processor);
        Cost { wall: self.begun.elapsed(), processor }
    }

    pub(crate) fn begun(&self) -> Instant {
        self.begun
    }
}

/// User and system time of all threads of a process, in steps of a hundredth of a second.
fn processor_time(process: u32) -> Duration {
    /// Ticks of `/proc` in a second, the same on every Linux that people run.
    const TICKS: u64 = 100;
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name in parentheses may hold blanks; utime and stime are the 12th and 13th field behind it.
    let behind = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = behind.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 1000 / TICKS)
}
