//! A guest that takes too long ends at its limit, whether it computes or waits, and costs nothing but itself.

use std::time::{Duration, Instant};

use gristmill_core::outcome::{Answer, FaultClass};
use gristmill_guest::PluginSettings;

use crate::mill::{Mill, with_limits};

/// How long after its limit a guest may end, on a machine that does other things as well.
const SLACK: Duration = Duration::from_secs(3);

fn quick(wall_ms: u64, cpu_ms: u64) -> PluginSettings {
    with_limits(|limits| {
        limits.time = Duration::from_millis(wall_ms);
        limits.cpu = Duration::from_millis(cpu_ms);
    })
}

/// Runs what must end as a timeout, and gives the text and how long it took.
fn times_out(mill: &mut Mill, key: &str) -> (String, Duration) {
    let began = Instant::now();
    let fault = mill.breaks(key, FaultClass::Timeout);
    (fault.detail, began.elapsed())
}

#[test]
fn a_guest_that_spins_ends_at_its_processor_time() {
    let mut mill = Mill::with(&quick(20_000, 500));
    let (detail, took) = times_out(&mut mill, "spin");
    assert!(detail.contains("500ms of processor time") && detail.contains("process-batch"), "{detail}");
    assert!(took >= Duration::from_millis(500), "{took:?}");
    mill.still_works();
}

#[test]
fn a_guest_that_spins_ends_at_its_wall_clock_time() {
    let mut mill = Mill::with(&quick(500, 20_000));
    let (detail, took) = times_out(&mut mill, "spin");
    assert!(detail.contains("500ms of wall-clock time"), "{detail}");
    assert!(took < Duration::from_millis(500) + SLACK, "{took:?}");
    mill.still_works();
}

/// B18: an epoch does not fire while a guest waits in a host call.
#[test]
fn a_guest_that_waits_in_a_host_call_ends_at_its_wall_clock_time() {
    let mut mill = Mill::with(&quick(500, 20_000));
    let (detail, took) = times_out(&mut mill, "sleep:3600000");
    assert!(detail.contains("wall-clock"), "{detail}");
    assert!((Duration::from_millis(500)..Duration::from_millis(500) + SLACK).contains(&took), "{took:?}");
    mill.still_works();
}

/// T-11, T-13: a guest that is hardly ever in its own code is ended all the same.
#[test]
fn a_loop_of_host_calls_that_wait_for_nothing_ends_at_its_limits() {
    for (settings, wanted) in [(quick(500, 20_000), "wall-clock"), (quick(20_000, 500), "processor time")] {
        let mut mill = Mill::with(&settings);
        let (detail, took) = times_out(&mut mill, "poll-without-end");
        assert!(detail.contains(wanted), "{detail}");
        assert!(took >= Duration::from_millis(500), "{took:?}");
        mill.still_works();
    }
}

#[test]
fn waiting_costs_no_processor_time() {
    let answered = Mill::with(&quick(20_000, 1_000)).tell("sleep:1500");
    assert!(answered.facts.duration >= Duration::from_millis(1_500), "{:?}", answered.facts);
    assert!(answered.facts.busy < Duration::from_millis(1_000), "{:?}", answered.facts);
}

/// B68, F2: the hundredth timeout in a row costs no more than the first.
#[test]
fn a_hundred_timeouts_leave_the_worker_as_it_was() {
    let limit = Duration::from_millis(150);
    let mut mill = Mill::with(&quick(150, 20_000));
    for round in 0..100 {
        let key = if round % 5 == 0 { "spin" } else { "sleep:60000" };
        let began = Instant::now();
        let Answer::Fault(fault) = mill.tell(key).answer else { panic!("{key} must not answer") };
        // On a busy machine the start of the instance may use up the time already.
        let expected = matches!(fault.class, FaultClass::Timeout | FaultClass::Start);
        assert!(expected && fault.detail.contains("wall-clock"), "round {round}, {key}: {}", fault.detail);
        assert!(began.elapsed() < limit + SLACK, "round {round}, {key}: {:?}", began.elapsed());
    }
    mill.still_works();
}

#[test]
fn a_guest_can_ask_how_much_time_is_left() {
    let mut mill = Mill::with(&quick(4_000, 4_000));
    let left_ms: u64 = mill.ask("time-left").parse().unwrap();
    assert!((1..=4_000).contains(&left_ms), "{left_ms}");
}
