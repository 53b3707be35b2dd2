//! The hostile corpus (`tests/guests/hostile`): each guest alone, all of them in a crowd on one core, and storms of the same end.
//!
//! The guests run in processes of their own, started from here; what they have to come to stands in the corpus' table.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "what was measured is for whoever asks for the output")]

mod cost;
mod paced;

use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One at a time: what is measured here would measure the others as well.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a command of the corpus' own program, and fails with all that it said unless it is content.
#[track_caller]
fn hostile(words: &[&str]) {
    let _turn = turn();
    let output = Command::new(env!("CARGO_BIN_EXE_gristmill-hostile")).args(words).output();
    let output = output.unwrap_or_else(|error| panic!("cannot start the corpus: {error}"));
    let (told, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{words:?}: {}\n{told}\n{complained}", output.status);
    println!("{told}");
}

/// A number of times, and another one where the long form is wanted.
fn times(short: usize, long: usize) -> String {
    let wants_long = std::env::var_os("GRISTMILL_LONG").is_some_and(|value| value == "1");
    (if wants_long { long } else { short }).to_string()
}

/// Every T-row that a guest can be: the class right, in time, within its memory, and the next batch works.
#[test]
fn every_hostile_guest_alone_ends_as_it_should() {
    hostile(&["alone", &times(2, 20)]);
}

#[test]
fn thirty_two_hostile_guests_on_one_core_end_as_they_should() {
    hostile(&["crowd"]);
}

/// The neighbour gets 20,000 records a second, less than it could handle alone: what it does not get done, guests took from it.
#[test]
fn an_honest_consumer_beside_hostile_guests_keeps_its_throughput_and_its_membership() {
    hostile(&["beside"]);
}

/// T-25: cancelled at any point, before it began, while it starts, computes or waits.
#[test]
fn a_hundred_thousand_cancels_leave_memory_flat() {
    hostile(&["storm", "cancels", &times(3_000, 100_000)]);
}

/// T-18: trap after trap, as fast as they come.
#[test]
fn ten_thousand_traps_in_a_row_leave_memory_flat() {
    hostile(&["storm", "traps", &times(2_000, 10_000)]);
}

/// T-14: batch after batch sleeps until its limit, which is short here.
#[test]
fn a_thousand_batches_that_sleep_to_their_limit_leave_memory_flat() {
    hostile(&["storm", "timeouts", &times(100, 1_000)]);
}
