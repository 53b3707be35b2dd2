//! Free ports on the loopback interface.
//!
//! It must not know who listens on them.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};

/// Ports to choose from: below those that the kernel gives to outgoing connections. A client that keeps trying to
/// reach a broker that is down could otherwise be given the broker's own port, connect to itself, and keep the broker
/// from coming back.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// Returns a port on which nobody listens right now. Somebody else may take it before the caller does: try again then.
pub(crate) fn free() -> Result<u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = start();
    for _ in 0..COUNT {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = FIRST + (start.wrapping_add(step) % COUNT);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no port is free between {FIRST} and {}", FIRST + COUNT)
}

/// Where to start looking: different in each process, so that they seldom meet.
fn start() -> u16 {
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.subsec_nanos());
    let mixed = nanos.wrapping_mul(2_654_435_761) ^ std::process::id().wrapping_mul(40_503);
    u16::try_from(mixed % u32::from(COUNT)).unwrap_or(0)
}
