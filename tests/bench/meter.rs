//! What a run cost: wall clock, and processor time of the whole process, which is the fairer figure on a shared machine; and what others
//! did on the machine meanwhile.

use std::time::{Duration, Instant};

use crate::sys::process::processor_time;

/// What one run took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) wall: Duration,
    pub(crate) processor: Duration,
    /// Processor time of the whole machine that was neither the run's nor the broker's nor this program's.
    pub(crate) others: Duration,
}

/// A run that has begun.
#[derive(Debug)]
pub(crate) struct Meter {
    process: u32,
    /// Those whose time is nobody else's: the process, the broker, this program.
    ours: [u32; 3],
    begun: Instant,
    processor: Duration,
    others: Duration,
}

impl Meter {
    /// Begins to measure a process that reads from a broker.
    pub(crate) fn of(process: u32, broker: u32) -> Self {
        let ours = [process, broker, std::process::id()];
        Self { process, ours, begun: Instant::now(), processor: processor_time(process), others: others(&ours) }
    }

    /// What it cost so far.
    pub(crate) fn read(&self) -> Cost {
        let processor = processor_time(self.process).saturating_sub(self.processor);
        Cost { wall: self.begun.elapsed(), processor, others: others(&self.ours).saturating_sub(self.others) }
    }

    pub(crate) fn begun(&self) -> Instant {
        self.begun
    }
}

/// What the machine did beside these processes, since it was started. In steps of a hundredth of a second.
fn others(ours: &[u32]) -> Duration {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    busy(&stat).saturating_sub(ours.iter().map(|process| processor_time(*process)).sum())
}

/// The time of all processors that was not idle: the first line says user, nice, system, idle, iowait, irq, softirq, steal.
fn busy(stat: &str) -> Duration {
    /// Ticks of `/proc` in a second, the same on every Linux that people run.
    const TICKS: u64 = 100;
    const IDLE: [usize; 2] = [3, 4];
    let fields = stat.lines().next().unwrap_or_default().split_whitespace().skip(1).take(8);
    let counted = fields.enumerate().filter(|(place, _)| !IDLE.contains(place));
    let ticks: u64 = counted.filter_map(|(_, field)| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 1000 / TICKS)
}

/// The machine's load over the last minute.
pub(crate) fn load_average() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or_default()
}

/// The memory of a process that is in use, now and at most so far, in MiB.
pub(crate) fn resident_mib(process: u32) -> (f64, f64) {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.split_whitespace().next().and_then(|kib| kib.parse::<f64>().ok()).unwrap_or_default() / 1024.0
    };
    (field("VmRSS:"), field("VmHWM:"))
}
