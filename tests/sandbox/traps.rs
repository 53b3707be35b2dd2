//! A guest that traps or exits costs its instance and nothing more, and says why it did.

use gristmill_core::outcome::{Answer, FaultClass};
use gristmill_guest::Timestamp;

use crate::journal;
use crate::mill::{Batch, Mill, Record, reuse};

/// B23: the panic's own output goes through a host call, which must not hide the trap.
#[test]
fn a_panic_ends_as_a_trap_with_the_guests_own_words() {
    let mut mill = Mill::strict();
    let fault = mill.breaks("panic:field amount is missing", FaultClass::Trap);
    assert!(
        fault.detail.starts_with("panicked at ") && fault.detail.ends_with(": field amount is missing"),
        "{fault:?}"
    );
    mill.still_works();
}

/// B108: one event has cause, words, frames, positions and digest.
#[test]
fn the_event_of_a_trap_says_all_that_is_needed_to_debug_it() {
    journal::listen();
    let mut mill = Mill::strict();
    let records =
        [3, 7, 9].map(|offset| Record { partition: 5, timestamp: Timestamp::CreateTime(1), ..Record::at(offset) });
    let answer = mill.run(Batch::told_with("panic:the words of b108", records)).answer;
    assert!(matches!(answer, Answer::Fault(_)), "{answer:?}");
    let event = journal::event_with("the words of b108", "guest broke");
    let digest = mill.plugin.digest().to_string();
    for wanted in ["unreachable", "orders/0 0", "orders/5 3..9", &digest, " frames=gristmill", "class=\"trap\""] {
        assert!(event.contains(wanted), "no {wanted} in: {event}");
    }
    for noise in ["panic_fmt", "__rust", "RUST_BACKTRACE"] {
        assert!(!event.contains(noise), "{noise} in: {event}");
    }
}

#[test]
fn endless_recursion_ends_as_a_trap() {
    let mut mill = Mill::strict();
    let fault = mill.breaks("deep", FaultClass::Trap);
    assert!(
        fault.detail.contains("call stack exhausted") || fault.detail.contains("out of bounds"),
        "{}",
        fault.detail
    );
    mill.still_works();
}

/// F4: exit(0) is no answer. Of the code nothing reaches the host but whether it was 0.
#[test]
fn exit_is_no_answer_whatever_the_code() {
    let mut mill = Mill::strict();
    for (key, with) in [("exit0", "success"), ("exit3", "failure")] {
        let fault = mill.breaks(key, FaultClass::Exit);
        let wanted = format!("the guest called exit, with {with}, instead of answering");
        assert!(fault.detail.contains(&wanted), "{key}: {}", fault.detail);
        mill.still_works();
    }
}

#[test]
fn a_host_call_that_asks_too_much_ends_as_a_trap() {
    let mut mill = Mill::strict();
    assert_eq!(mill.ask("random:65536"), "65536");
    // T-17: as much as fits in no memory is refused before it is made.
    for key in ["random:65537", "random:1099511627776", "random:9223372036854775808"] {
        let fault = mill.breaks(key, FaultClass::Trap);
        assert!(fault.detail.contains("host call"), "{key}: {}", fault.detail);
        mill.still_works();
    }
}

/// T-12: what the host keeps for a guest is bounded.
#[test]
fn a_flood_of_resources_ends_as_a_trap() {
    let mut mill = Mill::strict();
    // A pollable and what it waits for are two.
    assert_eq!(mill.ask("pollables:500"), "500");
    for key in ["pollables:520", "pollables:1100", "pollables:1000000"] {
        let fault = mill.breaks(key, FaultClass::Trap);
        assert!(fault.detail.contains("host call"), "{key}: {}", fault.detail);
        mill.still_works();
    }
}

/// T-13: a poll of nothing could never end.
#[test]
fn a_poll_of_nothing_ends_as_a_trap() {
    let mut mill = Mill::strict();
    let fault = mill.breaks("poll-nothing", FaultClass::Trap);
    assert!(fault.detail.contains("empty poll list"), "{}", fault.detail);
    mill.still_works();
}

/// B64, F2: with one instance for many batches, a trap costs that instance, a thousand times over, and memory stays flat.
#[test]
fn a_thousand_alternations_of_trap_and_ok_leave_memory_flat() {
    let mut mill = Mill::with(&reuse(u32::MAX));
    let mut alternate = |rounds: usize| {
        for _ in 0..rounds {
            mill.breaks("panic:again", FaultClass::Trap);
            mill.still_works();
        }
    };
    alternate(100);
    let before = resident_bytes();
    alternate(900);
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 64 << 20, "the process grew by {grown} bytes over 900 alternations");
}

/// Bytes of memory that the process holds, as Linux counts them. Other tests run beside this one, so only a leak shows.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = status.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4_096
}
