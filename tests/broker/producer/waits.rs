//! Brokers that are away or slow: the time limit is the last word, the queue is bounded, closing ends.

use std::time::{Duration, Instant};

use gristmill_core::io::RequestId;
use gristmill_kafka::{Outgoing, OutgoingBody, ProduceFailureKind};

use super::mill::{Mill, failure, read_all, record, records};
use crate::member::cluster;

/// What a busy machine may add to a wait.
const SLACK: Duration = Duration::from_secs(3);

/// B62: nothing that was told to have failed is delivered later.
#[test]
fn what_failed_while_the_broker_was_down_is_not_delivered_later() {
    let cluster = cluster("out", 1);
    let limit = Duration::from_secs(2);
    let mut mill = Mill::start(&cluster, |settings| settings.message_timeout = limit);
    assert_eq!(mill.settle(records("out", &["before"])), Ok(()));
    cluster.set_broker_up(1, false).expect("there is a broker");
    let start = Instant::now();
    for number in 0..20 {
        mill.produce(records("out", &["lost", "lost too", &number.to_string()]));
    }
    mill.until_answered(21);
    let took = start.elapsed();
    assert!((limit..limit + SLACK).contains(&took), "{took:?}");
    for (_, result) in &mill.answers[1..] {
        assert_eq!(failure(result).map(|(kind, _)| kind), Some(ProduceFailureKind::Temporary), "{result:?}");
    }
    assert_eq!((mill.producer.queued_records(), mill.producer.queued_bytes()), (0, 0));
    cluster.set_broker_up(1, true).expect("there is a broker");
    mill.until_written("after");
    let written = read_all(&cluster, "out", 2);
    assert_eq!(written[0], "before");
    assert!(written[1..].iter().all(|value| value == "after"), "{written:?}");
    mill.hears_nothing_more();
}

/// A request that has no room in the queue while the broker is away fails as the first does, and not later for each record.
#[test]
fn a_request_larger_than_the_queue_fails_as_a_whole_after_one_time_limit() {
    let cluster = cluster("out", 1);
    let limit = Duration::from_secs(2);
    let mut mill = Mill::start(&cluster, |settings| {
        settings.message_timeout = limit;
        settings.queue_bytes_max = 10_000;
    });
    cluster.set_broker_up(1, false).expect("there is a broker");
    let start = Instant::now();
    let answer = mill.settle((0..5_000).map(|number| record("out", &number.to_string())).collect());
    assert_eq!(failure(&answer).map(|(kind, _)| kind), Some(ProduceFailureKind::Temporary), "{answer:?}");
    assert!(start.elapsed() < limit + SLACK, "{:?}", start.elapsed());
}

/// D1: silence is no acknowledgement.
#[test]
fn a_broker_that_does_not_answer_is_no_acknowledgement() {
    let cluster = cluster("out", 1);
    let limit = Duration::from_secs(2);
    let mut mill = Mill::start(&cluster, |settings| settings.message_timeout = limit);
    assert_eq!(mill.settle(records("out", &["before"])), Ok(()));
    cluster.set_round_trip(1, Duration::from_secs(30)).expect("there is a broker");
    let start = Instant::now();
    let answer = mill.settle(records("out", &["unknown"]));
    assert_eq!(failure(&answer).map(|(kind, _)| kind), Some(ProduceFailureKind::Temporary), "{answer:?}");
    assert!(start.elapsed() < limit + SLACK, "{:?}", start.elapsed());
    assert_eq!(mill.producer.queued_records(), 0);
}

#[test]
fn the_queue_keeps_its_bound_while_the_broker_is_slow() {
    let cluster = cluster("out", 1);
    let bound = 50_000;
    let mut mill = Mill::start(&cluster, |settings| settings.queue_bytes_max = bound);
    cluster.set_round_trip(1, Duration::from_millis(20)).expect("there is a broker");
    let value = "x".repeat(1_000);
    let values: Vec<String> = (0..500).map(|number| format!("{number}:{value}")).collect();
    for chunk in values.chunks(50) {
        mill.produce(chunk.iter().map(|value| record("out", value)).collect());
    }
    let mut most = 0;
    mill.until("all requests were answered", |mill| {
        most = most.max(mill.producer.queued_bytes());
        mill.answers.len() == 10
    });
    assert!((bound / 2..=bound).contains(&most), "{most} bytes queued");
    assert!(mill.answers.iter().all(|(_, result)| result.is_ok()), "{:?}", mill.answers);
    let in_order: Vec<u64> = mill.answers.iter().map(|(id, _)| *id).collect();
    assert_eq!(in_order, (1..=10).collect::<Vec<_>>());
    assert_eq!(read_all(&cluster, "out", 500), values);
}

#[test]
fn a_record_larger_than_the_queue_travels_alone() {
    let cluster = cluster("out", 1);
    let mut mill = Mill::start(&cluster, |settings| settings.queue_bytes_max = 100);
    let body = OutgoingBody::Owned { key: None, value: Some(vec![b'y'; 500_000]), headers: Vec::new() };
    let large = Outgoing { body, ..record("out", "") };
    assert_eq!(mill.settle(vec![record("out", "a"), large, record("out", "b")]), Ok(()));
    let sizes: Vec<usize> = read_all(&cluster, "out", 3).iter().map(String::len).collect();
    assert_eq!(sizes, [1, 500_000, 1]);
}

#[test]
fn closing_settles_what_is_on_its_way_first() {
    let cluster = cluster("out", 1);
    let mut mill = Mill::start(&cluster, |_| ());
    cluster.set_round_trip(1, Duration::from_millis(300)).expect("there is a broker");
    for _ in 0..5 {
        mill.produce(records("out", &["a", "b"]));
    }
    mill.producer.close(Duration::from_secs(20));
    mill.until("it was closed", |mill| mill.closed.is_some());
    assert_eq!(mill.closed, Some(true));
    assert_eq!(mill.answers.len(), 5);
    assert!(mill.answers.iter().all(|(_, result)| result.is_ok()), "{:?}", mill.answers);
}

/// S3: closing has a deadline whatever the broker does.
#[test]
fn closing_ends_in_time_when_the_broker_is_gone_and_everything_is_answered_before() {
    for silent in [false, true] {
        let cluster = cluster("out", 1);
        let mut mill = Mill::start(&cluster, |_| ());
        assert_eq!(mill.settle(records("out", &["before"])), Ok(()));
        if silent {
            cluster.set_round_trip(1, Duration::from_secs(60)).expect("there is a broker");
        } else {
            cluster.set_broker_up(1, false).expect("there is a broker");
        }
        for _ in 0..5 {
            mill.produce(records("out", &["a", "b"]));
        }
        let (wait, start) = (Duration::from_secs(1), Instant::now());
        mill.producer.close(wait);
        mill.until("it was closed", |mill| mill.closed.is_some());
        let took = start.elapsed();
        assert!(took < wait + SLACK, "silent {silent}: {took:?}");
        assert_eq!(mill.closed, Some(false));
        assert_eq!(mill.answers.len(), 6, "all answers come before the end");
        for (_, result) in &mill.answers[1..] {
            assert_eq!(failure(result).map(|(kind, _)| kind), Some(ProduceFailureKind::Temporary), "{result:?}");
        }
        mill.hears_nothing_more();
    }
}

#[test]
fn a_request_after_closing_is_answered_too() {
    let cluster = cluster("out", 1);
    let mut mill = Mill::start(&cluster, |_| ());
    mill.producer.close(Duration::from_secs(5));
    let answer = mill.settle(records("out", &["late"]));
    assert_eq!(failure(&answer), Some((ProduceFailureKind::Temporary, 0)));
    mill.until("it was closed", |mill| mill.closed == Some(true));
}

#[test]
fn ordering_waits_for_nobody() {
    let cluster = cluster("out", 1);
    let mut mill = Mill::start(&cluster, |settings| {
        settings.queue_bytes_max = 1_000;
        settings.message_timeout = Duration::from_secs(1);
    });
    cluster.set_broker_up(1, false).expect("there is a broker");
    let all: Vec<Vec<Outgoing>> = (0..20).map(|_| (0..1_000).map(|_| record("out", "x")).collect()).collect();
    let start = Instant::now();
    for (number, records) in (1..).zip(all) {
        mill.producer.produce(RequestId(1_000 + number), records);
    }
    assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
    mill.producer.close(Duration::from_secs(1));
    mill.until("it was closed", |mill| mill.closed.is_some());
    assert_eq!(mill.answers.len(), 20);
}

impl Mill {
    /// Produces until it is acknowledged, which takes the client's next attempt to connect.
    fn until_written(&mut self, value: &str) {
        let deadline = Instant::now() + crate::member::PATIENCE;
        while self.settle(records("out", &[value])).is_err() {
            assert!(Instant::now() < deadline, "the broker is not found again");
        }
    }
}
