//! Ways to use up what the host keeps for a guest, and to keep the host busy with calls.

use std::hint::black_box;

use gristmill_plugin::bindings::plugin::gristmill::plugin::types::Outcome;

use crate::answer;
use crate::wasi::wasi::clocks::monotonic_clock::subscribe_duration;
use crate::wasi::wasi::io::poll::poll;

/// Long enough that nothing becomes ready by itself.
const HOUR_NS: u64 = 3_600_000_000_000;

/// Holds so many pollables at once.
pub(crate) fn pollables(count: u64) -> Outcome {
    let held: Vec<_> = (0..count).map(|_| subscribe_duration(HOUR_NS)).collect();
    answer::retry(&black_box(held).len().to_string(), None)
}

/// Waits for one of no pollables.
pub(crate) fn poll_nothing() -> Outcome {
    answer::retry(&format!("{:?}", poll(&[])), None)
}

/// Waits for no time, again and again: the guest is hardly ever in its own code.
pub(crate) fn poll_without_end() -> Outcome {
    loop {
        let ready = subscribe_duration(0);
        black_box(poll(&[&ready]));
    }
}
