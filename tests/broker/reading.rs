//! A topic is read from one end to the other beside its group: all that was there, nothing that came later, within a bound.

use std::ops::Range;
use std::time::{Duration, Instant};

use gristmill_kafka::{MockCluster, MockRecord, ReadError, RecordBody, RequestKind, TopicReader};

use crate::member::{PATIENCE, cluster, fill, set, settings, value_of};

const EVERYTHING: Range<i64> = 0..i64::MAX;

fn open(cluster: &MockCluster, topic: &str, window: impl Fn(i32) -> Range<i64>) -> Result<TopicReader, ReadError> {
    TopicReader::open(&settings(cluster, "pipeline", &["orders"]), topic, PATIENCE, window)
}

/// All that the reader gives, until its end.
fn read(mut reader: TopicReader) -> Vec<RecordBody> {
    let mut seen = Vec::new();
    while let Some(records) = reader.next(Duration::from_millis(100)).expect("it can be read") {
        seen.extend(records);
    }
    seen
}

fn offsets(seen: &[RecordBody], partition: i32) -> Vec<i64> {
    seen.iter().filter(|record| record.partition() == partition).map(RecordBody::offset).collect()
}

#[test]
fn everything_of_every_partition_comes_once_and_in_order_and_then_the_end() {
    let cluster = cluster("dead", 4);
    fill(&cluster, "dead", 3, 0, 1_500);
    let seen = read(open(&cluster, "dead", |_| EVERYTHING).expect("it is there"));
    for partition in 0..3 {
        assert_eq!(offsets(&seen, partition), (0..1_500).collect::<Vec<_>>(), "{partition}");
    }
    assert_eq!(seen.len(), 4_500, "partition 3 is empty");
    for record in &seen {
        assert_eq!(record.value(), Some(value_of(record.partition(), record.offset()).as_bytes()));
        assert_eq!(&**record.topic(), "dead");
    }
}

#[test]
fn what_comes_later_is_not_read() {
    let cluster = cluster("dead", 1);
    fill(&cluster, "dead", 1, 0, 100);
    let reader = open(&cluster, "dead", |_| EVERYTHING).expect("it is there");
    fill(&cluster, "dead", 1, 100, 100);
    assert_eq!(offsets(&read(reader), 0), (0..100).collect::<Vec<_>>());
}

#[test]
fn only_the_window_of_each_partition_is_read() {
    let cluster = cluster("dead", 3);
    fill(&cluster, "dead", 3, 0, 50);
    let window = |partition| if partition == 1 { 7..9 } else { 48..1_000 + i64::from(partition) };
    let seen = read(open(&cluster, "dead", window).expect("it is there"));
    assert_eq!((offsets(&seen, 0), offsets(&seen, 1), offsets(&seen, 2)), (vec![48, 49], vec![7, 8], vec![48, 49]));
    let nothing = read(open(&cluster, "dead", |_| 50..60).expect("it is there"));
    assert!(nothing.is_empty(), "{nothing:?}");
}

#[test]
fn headers_null_and_empty_come_as_they_are_whatever_the_pipeline_says() {
    let cluster = cluster("dead", 1);
    let headers: [(&[u8], Option<&[u8]>); 2] = [(b"\xff", None), (b"a", Some(b""))];
    let record = MockRecord { key: Some(b""), headers: &headers, ..MockRecord::default() };
    cluster.produce("dead", record).expect("accepted");
    cluster.flush().expect("acknowledged");
    let mut settings = settings(&cluster, "pipeline", &["orders"]);
    settings.headers = false;
    set(&mut settings, "group.instance.id", "one");
    let reader = TopicReader::open(&settings, "dead", PATIENCE, |_| EVERYTHING).expect("it is there");
    let seen = read(reader);
    assert_eq!((seen[0].key(), seen[0].value()), (Some(b"".as_slice()), None));
    assert_eq!(seen[0].headers().collect::<Vec<_>>(), headers);
}

#[test]
fn it_is_read_as_a_pipeline_of_any_protocol_would_and_nothing_is_committed() {
    let cluster = cluster("dead", 1);
    fill(&cluster, "dead", 1, 0, 10);
    let mut settings = settings(&cluster, "pipeline", &["orders"]);
    crate::member::consumer_protocol(&mut settings);
    let reader = TopicReader::open(&settings, "dead", PATIENCE, |_| EVERYTHING).expect("it is there");
    assert_eq!(read(reader).len(), 10);
    assert_eq!(cluster.committed("pipeline", "dead", 0).expect("an answer"), None);
}

#[test]
fn a_topic_that_is_not_there_is_named_and_not_made() {
    let cluster = cluster("dead", 1);
    for _ in 0..2 {
        let error = open(&cluster, "missing", |_| EVERYTHING).expect_err("it is not there");
        assert!(matches!(&error, ReadError::NoTopic { topic } if topic == "missing"), "{error}");
    }
}

#[test]
fn a_broker_that_says_nothing_ends_the_reading_in_time() {
    let cluster = MockCluster::start(1).expect("a mock cluster starts");
    cluster.create_topic("dead", 2).expect("the topic is new");
    fill(&cluster, "dead", 2, 0, 10);
    let wait = Duration::from_secs(2);
    let settings = settings(&cluster, "pipeline", &["orders"]);
    // No leader, for longer than anybody waits.
    cluster.fail_next(RequestKind::Fetch, &[5; 10_000]);
    let mut reader = TopicReader::open(&settings, "dead", wait, |_| EVERYTHING).expect("it is there");
    let began = Instant::now();
    let error = loop {
        match reader.next(Duration::from_millis(100)) {
            Ok(records) => assert!(records.is_some_and(|records| records.is_empty()) && began.elapsed() < PATIENCE),
            Err(error) => break error,
        }
    };
    let words = error.to_string();
    assert!(words.starts_with("nothing came of dead/0,1 for 2s") && words.contains("wait longer"), "{words}");
    cluster.set_broker_up(1, false).expect("there is one");
    let began = Instant::now();
    let error = TopicReader::open(&settings, "dead", wait, |_| EVERYTHING).expect_err("nobody is there");
    assert!(matches!(error, ReadError::Reach(_)), "{error}");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[test]
fn ends_that_are_refused_at_first_are_asked_for_again() {
    let cluster = cluster("dead", 1);
    fill(&cluster, "dead", 1, 0, 5);
    // Not the leader, which moves.
    cluster.fail_next(RequestKind::ListOffsets, &[6, 6]);
    assert_eq!(read(open(&cluster, "dead", |_| EVERYTHING).expect("it is there")).len(), 5);
}

#[test]
fn a_topic_that_is_not_for_this_user_is_named_at_once() {
    let cluster = cluster("dead", 1);
    fill(&cluster, "dead", 1, 0, 5);
    let is_denied = |error: &ReadError| matches!(error, ReadError::Denied { topic } if topic == "dead");
    // Topic authorization failed.
    cluster.fail_next(RequestKind::ListOffsets, &[29; 10]);
    let error = open(&cluster, "dead", |_| EVERYTHING).expect_err("it is denied");
    assert!(is_denied(&error), "{error}");
    cluster.stop_failing(RequestKind::ListOffsets);
    cluster.fail_next(RequestKind::Fetch, &[29; 1_000]);
    let mut reader = open(&cluster, "dead", |_| EVERYTHING).expect("it is there");
    let error = loop {
        match reader.next(PATIENCE / 10) {
            Ok(records) => assert!(records.is_some_and(|records| records.is_empty()), "nothing can be read"),
            Err(error) => break error,
        }
    };
    assert!(is_denied(&error), "{error}");
}
