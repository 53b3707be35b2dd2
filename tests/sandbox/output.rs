//! What a guest prints becomes bounded log lines that cannot forge others.

use std::time::{Duration, Instant};

use gristmill_core::outcome::{Answer, Outcome};
use gristmill_guest::Limits;

use crate::journal;
use crate::mill::{Batch, Mill, Record, with_limits};

#[test]
fn output_becomes_events_of_its_own_target_with_digest_and_stream() {
    journal::listen();
    let mut mill = Mill::strict();
    let answered = mill.run(Batch::told("paint:words of the painter"));
    assert_eq!(answered.answer, Answer::Outcome(Outcome::OK));
    let event = journal::event_with("words of the painter", "stream=\"stderr\"");
    assert!(event.starts_with("gristmill::plugin ") && event.contains(&mill.plugin.digest().short()), "{event}");
}

#[test]
fn output_cannot_move_a_terminal_or_forge_a_line() {
    journal::listen();
    Mill::strict().tell("paint:words of the forger");
    let event = journal::event_with("words of the forger", "gristmill::plugin");
    assert!(event.contains(r"\u{1b}[2J") && event.contains(r"\rERROR forged"), "{event}");
    assert!(!event.contains(char::is_control), "{event}");
}

/// T-15: a flood of lines neither fills the log nor stops the guest.
#[test]
fn a_flood_is_dropped_and_counted() {
    let mut settings = with_limits(|limits| limits.time = Duration::from_secs(20));
    settings.limits.cpu = settings.limits.time;
    let answered = Mill::with(&settings).tell("print:50000");
    assert_eq!(answered.answer, Answer::Outcome(Outcome::OK));
    // "line 0\n" to "line 49999\n".
    let written: u64 = 50_000 * 6 + 10 + 90 * 2 + 900 * 3 + 9_000 * 4 + 40_000 * 5;
    let seconds = 1 + answered.facts.duration.as_secs();
    let kept = written - answered.facts.output_dropped_bytes;
    assert!(kept <= seconds * Limits::STRICT.output_bytes_per_second, "kept {kept} bytes in {seconds} s");
    assert!(kept > 0, "nothing was kept");
}

/// T-15: what is dropped is not looked at, so that it cannot use the call's time up.
#[test]
fn a_hundred_mebibytes_are_dropped_within_the_strict_limits() {
    let answered = Mill::strict().tell("gush:100");
    assert_eq!(answered.answer, Answer::Outcome(Outcome::OK));
    assert!(answered.facts.output_dropped_bytes > 99 << 20, "{:?}", answered.facts);
    assert!(answered.facts.busy < Duration::from_secs(1), "{:?}", answered.facts);
}

/// What is kept of output is bounded for the plugin: that the default is a fresh instance for each batch changes nothing.
#[test]
fn a_flood_in_every_batch_is_bounded_as_one_flood_is() {
    let mut mill = Mill::strict();
    let began = Instant::now();
    let mut kept = 0;
    for _ in 0..20 {
        let answered = mill.tell("print:5000");
        assert_eq!(answered.answer, Answer::Outcome(Outcome::OK));
        assert!(answered.facts.instance_fresh);
        // "line 0\n" to "line 4999\n".
        kept += 5_000 * 6 + 10 + 90 * 2 + 900 * 3 + 4_000 * 4 - answered.facts.output_dropped_bytes;
    }
    let windows = 1 + began.elapsed().as_secs();
    // Ten bytes are the longest line, and each counts as 64.
    let most = windows * Limits::STRICT.output_bytes_per_second / 64 * 10;
    assert!((1..=most).contains(&kept), "kept {kept} bytes in {windows} windows");
}

#[test]
fn a_flood_of_empty_lines_is_no_cheaper_than_others() {
    let mut settings = with_limits(|limits| limits.time = Duration::from_secs(20));
    settings.limits.cpu = settings.limits.time;
    let answered = Mill::with(&settings).tell("print-nothing:50000");
    assert_eq!(answered.answer, Answer::Outcome(Outcome::OK));
    let windows = 1 + answered.facts.duration.as_secs();
    let kept_lines = 50_000 - answered.facts.output_dropped_bytes;
    assert!((1..=windows * 1_024).contains(&kept_lines), "kept {kept_lines} lines in {windows} windows");
}

#[test]
fn a_line_that_is_too_long_is_cut_with_a_mark() {
    journal::listen();
    let answered = Mill::strict().run(Batch::told_with("paint:x", [Record::at(1)]));
    assert_eq!(answered.facts.output_dropped_bytes, 10_000 - 4_096);
    journal::event_with("(5904 bytes cut)", "xxxx");
}
