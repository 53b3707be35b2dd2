//! What a failed request is told to have failed for, and what is true afterwards.

use gristmill_kafka::{Outgoing, OutgoingBody, ProduceFailureKind, ProducerSettings, RequestKind};

use super::mill::{Mill, failure, read_all, record, records};
use crate::member::cluster;

/// Kafka's numbers.
const UNKNOWN_TOPIC_OR_PARTITION: i32 = 3;
const MESSAGE_TOO_LARGE: i32 = 10;
const NOT_ENOUGH_REPLICAS: i32 = 19;
const NOT_ENOUGH_REPLICAS_AFTER_APPEND: i32 = 20;
const TOPIC_AUTHORIZATION_FAILED: i32 = 29;
const OUT_OF_ORDER_SEQUENCE_NUMBER: i32 = 45;
const INVALID_PRODUCER_EPOCH: i32 = 47;
const INVALID_RECORD: i32 = 87;
const NOT_LEADER: i32 = 6;

#[test]
fn what_passes_is_repeated_by_the_client_and_nobody_hears_of_it() {
    let cluster = cluster("out", 1);
    let mut mill = Mill::start(&cluster, |_| ());
    cluster.fail_next(RequestKind::Produce, &[NOT_ENOUGH_REPLICAS, NOT_LEADER, NOT_ENOUGH_REPLICAS_AFTER_APPEND]);
    assert_eq!(mill.settle(records("out", &["a", "b", "c"])), Ok(()));
    assert_eq!(read_all(&cluster, "out", 3), ["a", "b", "c"]);
}

#[test]
fn too_few_replicas_for_longer_than_the_time_limit_are_temporary() {
    let cluster = cluster("out", 1);
    let mut mill = Mill::start(&cluster, |settings| settings.message_timeout = std::time::Duration::from_secs(1));
    cluster.fail_next(RequestKind::Produce, &[NOT_ENOUGH_REPLICAS; 1000]);
    let answer = mill.settle(records("out", &["a", "b"]));
    assert_eq!(failure(&answer), Some((ProduceFailureKind::Temporary, 0)), "{answer:?}");
    cluster.stop_failing(RequestKind::Produce);
    assert_eq!(mill.settle(records("out", &["c"])), Ok(()));
    assert_eq!(read_all(&cluster, "out", 1), ["c"]);
}

#[test]
fn a_missing_permission_is_told_as_such_and_passes_when_it_is_given() {
    let cluster = cluster("out", 1);
    let mut mill = Mill::start(&cluster, |_| ());
    cluster.fail_next(RequestKind::Produce, &[TOPIC_AUTHORIZATION_FAILED]);
    let answer = mill.settle(records("out", &["a"]));
    assert_eq!(failure(&answer), Some((ProduceFailureKind::NotAuthorised, 0)), "{answer:?}");
    // Of itself the client would refuse the topic for minutes.
    assert_eq!(mill.settle(records("out", &["a"])), Ok(()), "it asks again");
}

#[test]
fn a_topic_that_is_not_there_is_told_as_such_and_not_made() {
    let cluster = cluster("out", 1);
    let mut mill = Mill::start(&cluster, |settings| settings.message_timeout = std::time::Duration::from_secs(8));
    let answer = mill.settle(records("missing", &["a"]));
    assert_eq!(failure(&answer), Some((ProduceFailureKind::UnknownTopic, 0)), "{answer:?}");
    let there = mill.producer.partitions("missing", crate::member::PATIENCE);
    assert_eq!(there, Err(gristmill_kafka::ClientErrorKind::UnknownTopic));
    cluster.create_topic("missing", 1).expect("nobody made it");
    // Of itself the client would go on missing it for minutes.
    assert_eq!(mill.settle(records("missing", &["a"])), Ok(()), "it asks again");
}

#[test]
fn a_partition_that_is_not_there_is_told_as_such() {
    let cluster = cluster("out", 1);
    let mut mill = Mill::start(&cluster, |_| ());
    assert_eq!(mill.settle(records("out", &["a"])), Ok(()));
    let lost = Outgoing { partition: Some(9), ..record("out", "b") };
    let answer = mill.settle(vec![record("out", "c"), lost, record("out", "d")]);
    assert_eq!(failure(&answer), Some((ProduceFailureKind::UnknownTopic, 1)), "{answer:?}");
    // What came before it went out, what comes behind it did not.
    assert_eq!(read_all(&cluster, "out", 2), ["a", "c"]);
}

#[test]
fn a_broker_that_forgets_the_topic_is_asked_again() {
    let cluster = cluster("out", 1);
    let mut mill = Mill::start(&cluster, |_| ());
    cluster.fail_next(RequestKind::Produce, &[UNKNOWN_TOPIC_OR_PARTITION]);
    assert_eq!(mill.settle(records("out", &["a"])), Ok(()));
}

#[test]
fn a_record_that_the_client_finds_too_large_is_named() {
    let cluster = cluster("out", 1);
    let mut mill = Mill::start(&cluster, |_| ());
    let body = OutgoingBody::Owned { key: None, value: Some(vec![7; 1_000_001]), headers: Vec::new() };
    let large = Outgoing { body, ..record("out", "") };
    let answer = mill.settle(vec![record("out", "a"), large, record("out", "b")]);
    assert_eq!(failure(&answer), Some((ProduceFailureKind::TooLarge, 1)), "{answer:?}");
    assert_eq!(mill.settle(records("out", &["c"])), Ok(()));
}

#[test]
fn a_record_of_exactly_the_largest_size_is_taken() {
    let cluster = cluster("out", 1);
    let mut mill = Mill::start(&cluster, |_| ());
    let sized = |bytes: usize| {
        let body = OutgoingBody::Owned { key: None, value: Some(vec![7; bytes]), headers: Vec::new() };
        Outgoing { body, ..record("out", "") }
    };
    let overhead = usize::try_from(sized(0).wire_bytes()).expect("small");
    assert_eq!(mill.settle(vec![sized(1_000_000 - overhead)]), Ok(()));
    let answer = mill.settle(vec![sized(1_000_001 - overhead)]);
    assert_eq!(failure(&answer), Some((ProduceFailureKind::TooLarge, 0)), "{answer:?}");
}

/// A broker's limit is about a batch, which may be too large although none of its records is.
#[test]
fn a_batch_that_the_broker_finds_too_large_goes_out_record_by_record() {
    let cluster = cluster("out", 1);
    let mut mill = Mill::start(&cluster, in_one_batch);
    cluster.fail_next(RequestKind::Produce, &[MESSAGE_TOO_LARGE]);
    let values: Vec<String> = (0..30).map(|number| number.to_string()).collect();
    assert_eq!(mill.settle(values.iter().map(|value| record("out", value)).collect()), Ok(()));
    assert_eq!(read_all(&cluster, "out", 30), values);
}

#[test]
fn a_record_that_the_broker_finds_too_large_by_itself_is_named() {
    let cluster = cluster("out", 1);
    let mut mill = Mill::start(&cluster, in_one_batch);
    // The batch, then of its records the third.
    cluster.fail_next(RequestKind::Produce, &[MESSAGE_TOO_LARGE, 0, 0, MESSAGE_TOO_LARGE]);
    let answer = mill.settle(records("out", &["a", "b", "c", "d"]));
    assert_eq!(failure(&answer), Some((ProduceFailureKind::TooLarge, 2)), "{answer:?}");
    assert_eq!(read_all(&cluster, "out", 2), ["a", "b"]);
}

#[test]
fn a_record_that_the_broker_refuses_is_not_worth_another_try() {
    let cluster = cluster("out", 1);
    let mut mill = Mill::start(&cluster, |_| ());
    cluster.fail_next(RequestKind::Produce, &[INVALID_RECORD]);
    let answer = mill.settle(records("out", &["a"]));
    assert_eq!(failure(&answer), Some((ProduceFailureKind::Refused, 0)), "{answer:?}");
    let answer = mill.settle(records("no such name/", &["a"]));
    assert!(answer.is_err(), "{answer:?}");
    assert_eq!(mill.settle(records("out", &["b"])), Ok(()));
}

/// The client's own word for it is *fatal*: it never works again, so another one has to take its place.
#[test]
fn a_client_that_lost_count_is_replaced() {
    let cluster = cluster("out", 1);
    let mut mill = Mill::start(&cluster, |_| ());
    assert_eq!(mill.settle(records("out", &["a"])), Ok(()));
    for round in 0..3 {
        cluster.fail_next(RequestKind::Produce, &[OUT_OF_ORDER_SEQUENCE_NUMBER]);
        let answer = mill.settle(records("out", &["lost"]));
        assert_eq!(failure(&answer), Some((ProduceFailureKind::ClientLost, 0)), "{round}: {answer:?}");
        assert_eq!(mill.settle(records("out", &["b"])), Ok(()), "{round}");
    }
    assert_eq!(read_all(&cluster, "out", 4), ["a", "b", "b", "b"]);
}

/// What the lost client still had queued is answered too, and what was ordered meanwhile goes through the next one.
#[test]
fn requests_that_wait_while_the_client_is_lost_are_each_answered_once() {
    let cluster = cluster("out", 1);
    let mut mill = Mill::start(&cluster, |settings| settings.queue_bytes_max = 2_000);
    cluster.set_round_trip(1, std::time::Duration::from_millis(50)).expect("there is a broker");
    cluster.fail_next(RequestKind::Produce, &[OUT_OF_ORDER_SEQUENCE_NUMBER]);
    for number in 0..100 {
        mill.produce((0..10).map(|index| record("out", &format!("{number}:{index}"))).collect());
    }
    mill.until_answered(100);
    mill.hears_nothing_more();
    let failed = mill.answers.iter().filter(|(_, result)| result.is_err()).count();
    assert!((1..100).contains(&failed), "{failed} failed");
    for (id, result) in &mill.answers {
        let kind = failure(result).map(|(kind, _)| kind);
        assert!(kind.is_none_or(|kind| kind == ProduceFailureKind::ClientLost), "{id}: {result:?}");
    }
    let written = read_all(&cluster, "out", (100 - failed) * 10);
    for (id, _) in mill.answers.iter().filter(|(_, result)| result.is_ok()) {
        let number = id - 1;
        assert!((0..10).all(|index| written.contains(&format!("{number}:{index}"))), "request {id} is not whole");
    }
}

#[test]
fn a_producer_that_the_brokers_no_longer_know_goes_on() {
    let cluster = cluster("out", 1);
    let mut mill = Mill::start(&cluster, |_| ());
    assert_eq!(mill.settle(records("out", &["a"])), Ok(()));
    cluster.fail_next(RequestKind::Produce, &[INVALID_PRODUCER_EPOCH]);
    let answer = mill.settle(records("out", &["b"]));
    assert!(failure(&answer).is_none_or(|(kind, _)| kind == ProduceFailureKind::ClientLost), "{answer:?}");
    assert_eq!(mill.settle(records("out", &["c"])), Ok(()));
}

/// Lets the client wait until all records of a small request are in one batch.
fn in_one_batch(settings: &mut ProducerSettings) {
    settings.properties.push(("linger.ms".to_owned(), "50".to_owned()));
}
