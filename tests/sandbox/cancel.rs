//! A hand-over that nobody wants any more ends, whatever the guest does, and costs the instance and nothing else.

use std::time::{Duration, Instant};

use gristmill_core::io::DeliveryId;
use gristmill_core::outcome::{Answer, Outcome};

use crate::mill::{Batch, Mill, reuse, with_limits};

const SOON: Duration = Duration::from_secs(3);

/// Cancels `key` once it runs for a while, and gives how long the answer took from then on.
fn cancelled(mill: &mut Mill, key: &str, after: Duration) -> Duration {
    let delivery = mill.deliver(Batch::told(key));
    // How far the guest has got by then is what the caller varies; nothing is waited for.
    std::thread::sleep(after);
    let began = Instant::now();
    mill.worker.cancel(delivery);
    let answered = mill.next_answer();
    assert_eq!((answered.delivery, answered.answer), (delivery, Answer::Cancelled), "{key}");
    began.elapsed()
}

#[test]
fn a_guest_that_spins_or_waits_is_cancelled_soon() {
    let mut mill = Mill::strict();
    for key in ["spin", "sleep:60000"] {
        let took = cancelled(&mut mill, key, Duration::from_millis(50));
        assert!(took < SOON, "{key}: {took:?}");
        mill.still_works();
    }
}

#[test]
fn a_guest_that_listens_returns_within_the_grace() {
    let settings = with_limits(|limits| {
        limits.cancel_grace = Duration::from_secs(20);
        limits.time = Duration::from_secs(25);
        limits.cpu = Duration::from_secs(25);
    });
    let took = cancelled(&mut Mill::with(&settings), "wait-for-cancel", Duration::from_millis(50));
    assert!(took < Duration::from_secs(10), "{took:?}");
}

/// B65: cancel at many different moments; the next batch works every time, also where one instance serves many batches.
#[test]
fn the_batch_after_a_cancel_at_any_moment_works() {
    let mut settings = reuse(u32::MAX);
    settings.limits.cancel_grace = Duration::ZERO;
    let mut mill = Mill::with(&settings);
    for round in 0..500_u64 {
        let key = if round % 2 == 0 { "spin" } else { "sleep:60000" };
        cancelled(&mut mill, key, Duration::from_micros(round * 7_919 % 4_000));
        mill.still_works();
    }
}

#[test]
fn a_waiting_job_is_cancelled_without_being_run() {
    let mut mill = Mill::strict();
    let running = mill.deliver(Batch::told("sleep:300"));
    let waiting = mill.deliver(Batch::told("panic:must not run"));
    mill.worker.cancel(waiting);
    let first = mill.next_answer();
    assert_eq!((first.delivery, first.answer), (running, Answer::Outcome(Outcome::OK)));
    let second = mill.next_answer();
    assert_eq!((second.delivery, second.answer), (waiting, Answer::Cancelled));
}

#[test]
fn cancelling_what_is_answered_or_unknown_changes_nothing() {
    let mut mill = Mill::strict();
    mill.still_works();
    mill.worker.cancel(DeliveryId(1));
    mill.worker.cancel(DeliveryId(99));
    mill.still_works();
}

#[test]
fn dropping_a_worker_ends_its_guest_within_a_bound() {
    for key in ["spin", "sleep:60000"] {
        let mut mill = Mill::strict();
        mill.deliver(Batch::told(key));
        mill.deliver(Batch::told(key));
        let began = Instant::now();
        drop(mill.worker);
        assert!(began.elapsed() < SOON, "{key}: {:?}", began.elapsed());
    }
}
