//! Ways to use up time, memory, stack and output.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gristmill_plugin::bindings::plugin::gristmill::plugin::{control, types::Outcome};

use crate::answer;

pub(crate) fn spin() -> Outcome {
    loop {
        std::hint::spin_loop();
    }
}

/// Spins until the host says that the answer is no longer wanted, then answers.
pub(crate) fn wait_for_cancel() -> Outcome {
    while !control::cancelled() {
        std::hint::spin_loop();
    }
    answer::ok()
}

/// Allocates and touches `mebibytes`, in pieces. 0: without end.
pub(crate) fn grow(mebibytes: u64) -> Outcome {
    let mut held: Vec<Vec<u8>> = Vec::new();
    while mebibytes == 0 || (held.len() as u64) < mebibytes {
        held.push(vec![1; 1 << 20]);
        black_box(&held);
    }
    answer::ok()
}

pub(crate) fn deep() -> Outcome {
    fn down(level: u64) -> u64 {
        let frame = black_box([level; 64]);
        if level == u64::MAX { 0 } else { down(level + 1) + frame[(level % 64) as usize] }
    }
    answer::retry(&down(0).to_string(), None)
}

/// Waits in a host call, where no epoch reaches the guest.
pub(crate) fn sleep(ms: u64) -> Outcome {
    std::thread::sleep(Duration::from_millis(ms));
    answer::ok()
}

/// Says so, then waits in many short host calls, one after the other.
pub(crate) fn nap(times: u64) -> Outcome {
    println!("napping");
    for _ in 0..times {
        std::thread::sleep(Duration::from_millis(10));
    }
    answer::ok()
}

pub(crate) fn print(lines: u64) -> Outcome {
    for line in 0..lines {
        println!("line {line}");
    }
    answer::ok()
}

/// Prints so many mebibytes at once, as one line without an end.
pub(crate) fn gush(mebibytes: u64) -> Outcome {
    let text = "x".repeat(1 << 20);
    for _ in 0..mebibytes {
        print!("{text}");
    }
    answer::ok()
}

pub(crate) fn print_nothing(lines: u64) -> Outcome {
    for _ in 0..lines {
        println!();
    }
    answer::ok()
}

/// Writes to standard error what would move a terminal's cursor, forge a line, or be far too long.
pub(crate) fn paint(text: &str) -> Outcome {
    eprintln!("\u{1b}[2J\u{1b}[31m{text}\u{7}\rERROR forged");
    eprintln!("{}", "x".repeat(10_000));
    answer::ok()
}

/// Answers how many batches this instance has seen before.
pub(crate) fn canary() -> Outcome {
    static SEEN: AtomicU64 = AtomicU64::new(0);
    answer::retry(&SEEN.fetch_add(1, Ordering::Relaxed).to_string(), None)
}

pub(crate) fn time_left() -> Outcome {
    answer::retry(&control::time_left_ms().to_string(), None)
}
