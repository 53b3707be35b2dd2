//! Workers beside each other, and a worker that is asked too much.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use gristmill_core::io::DeliveryId;
use gristmill_core::outcome::{Answer, FaultClass};
use gristmill_guest::{BatchSource, DeliverError, HeaderView, Job, RecordView, Worker, WorkerSettings, catches_panics};

use crate::mill::{Batch, Mill, mischief, with_limits};

#[test]
fn a_worker_that_is_full_gives_the_job_back() {
    let mut mill = Mill::strict();
    mill.deliver(Batch::told("sleep:1000"));
    let mut taken = 1;
    let refused = loop {
        match mill.try_deliver(Batch::told("ok")) {
            Ok(_) => taken += 1,
            Err(error) => break error,
        }
        assert!(taken < 1_000, "a worker must not take jobs without a bound");
    };
    let DeliverError::Busy(job) = refused else { panic!("{refused}") };
    assert_eq!(job.batch.len(), 1);
    for _ in 0..taken {
        mill.next_answer();
    }
    mill.still_works();
}

/// B66, B68: guests that spin on every worker still end in time, and none of them holds up a tick.
#[test]
fn guests_that_spin_on_every_worker_end_in_time() {
    let settings = with_limits(|limits| limits.time = Duration::from_secs(1));
    let mut mills: Vec<Mill> = (0..4).map(|_| Mill::with(&settings)).collect();
    let began = Instant::now();
    for mill in &mut mills {
        mill.deliver(Batch::told("spin"));
    }
    for mill in &mut mills {
        let Answer::Fault(fault) = mill.next_answer().answer else { panic!("a guest that spins must not answer") };
        assert_eq!(fault.class, FaultClass::Timeout, "{}", fault.detail);
    }
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    mills.iter_mut().for_each(Mill::still_works);
}

/// B17: calls dropped in the middle, eight at a time.
#[test]
fn calls_dropped_in_the_middle_beside_each_other_leave_every_worker_alive() {
    let settings = with_limits(|limits| limits.cancel_grace = Duration::ZERO);
    let mut mills: Vec<Mill> = (0..8).map(|_| Mill::with(&settings)).collect();
    for round in 0..40_u64 {
        let deliveries: Vec<_> = mills.iter_mut().map(|mill| mill.deliver(Batch::told("sleep:60000"))).collect();
        // How far the guests have got by then is what varies; nothing is waited for.
        std::thread::sleep(Duration::from_micros(round * 631 % 5_000));
        for (mill, delivery) in mills.iter().zip(deliveries) {
            mill.worker.cancel(delivery);
        }
        for mill in &mills {
            assert_eq!(mill.next_answer().answer, Answer::Cancelled);
        }
    }
    mills.iter_mut().for_each(Mill::still_works);
}

/// A batch whose records cannot be read while a guest runs, which is a bug of the host.
struct Broken(Batch);

impl BatchSource for Broken {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn record(&self, index: usize) -> RecordView<'_> {
        assert!(!catches_panics(), "a bug of the host, as the test wants");
        self.0.record(index)
    }

    fn headers<'a>(&'a self, index: usize, headers: &mut Vec<HeaderView<'a>>) {
        self.0.headers(index, headers);
    }
}

#[test]
fn a_panic_of_the_host_while_a_guest_runs_costs_the_batch_and_not_the_worker() {
    let mut mill = Mill::strict();
    for _ in 0..3 {
        let Answer::Fault(fault) = mill.run(Broken(Batch::told("ok"))).answer else { panic!("the batch must break") };
        assert!(fault.detail.contains("the host itself panicked"), "{}", fault.detail);
        mill.still_works();
    }
}

/// A panic hook must not let the process go on when a panic would end the worker: its batch would never be answered.
#[test]
fn a_panic_of_whoever_takes_the_answer_is_not_said_to_be_caught() {
    let (said, heard) = mpsc::channel();
    let settings = WorkerSettings { name: "guest-under-test".to_owned() };
    let worker = Worker::spawn(settings, move |_| said.send(catches_panics()).unwrap()).unwrap();
    let plugin = mischief(&with_limits(|_| {})).unwrap();
    let (delivery, pipeline, batch) = (DeliveryId(1), "orders".into(), Box::new(Batch::told("ok")));
    let sinks = Arc::default();
    worker.deliver(Job { delivery, attempt: 1, part: false, pipeline, plugin, sinks, batch }).unwrap();
    assert_eq!(heard.recv_timeout(Duration::from_secs(30)), Ok(false));
}
