//! The memory that this process holds, as Linux counts it.
//!
//! Must not know what uses it.

use std::time::Duration;

/// Bytes that are resident now, and the most that were since [`forget_most`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resident {
    pub(crate) now: u64,
    pub(crate) most: u64,
}

/// Begins to count the most anew.
///
/// # Panics
///
/// When the system does not let us.
pub(crate) fn forget_most() {
    std::fs::write("/proc/self/clear_refs", "5")
        .unwrap_or_else(|error| panic!("cannot reset the high-water mark: {error}"));
}

/// How much is resident.
///
/// # Panics
///
/// When the system does not say.
pub(crate) fn resident() -> Resident {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    Resident { now: bytes_in(&status, "VmRSS:"), most: bytes_in(&status, "VmHWM:") }
}

fn bytes_in(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kibibytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or_else(|| panic!("the system does not say {name}")) << 10
}

/// Milliseconds, for tables.
pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
