//! Puts records into a topic and remembers which ones the broker acknowledged: those, and no others, must be handled.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rdkafka::ClientContext;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::error::KafkaError;
use rdkafka::message::{DeliveryResult, Message};
use rdkafka::producer::{BaseRecord, Producer, ProducerContext, ThreadedProducer};
use rdkafka::types::RDKafkaErrorCode;

const WITHIN: Duration = Duration::from_secs(60);

/// Creates a topic.
///
/// # Panics
///
/// When the broker refuses it.
pub fn create_topic(bootstrap: &str, topic: &str, partitions: i32) {
    let results = as_admin(bootstrap, async |admin| {
        let new = NewTopic::new(topic, partitions, TopicReplication::Fixed(1));
        admin.create_topics([&new], &AdminOptions::new().operation_timeout(Some(WITHIN))).await
    });
    match results.as_deref() {
        Ok([Ok(_)]) => {}
        other => panic!("cannot create topic {topic}: {other:?}"),
    }
}

/// Deletes a topic and creates it again at once: nobody who reads it finds it missing in between.
///
/// # Panics
///
/// When the broker refuses it.
pub fn recreate_topic(bootstrap: &str, topic: &str, partitions: i32) {
    as_admin(bootstrap, async |admin| {
        let options = AdminOptions::new().operation_timeout(Some(WITHIN));
        let deleted = admin.delete_topics(&[topic], &options).await;
        assert!(matches!(deleted.as_deref(), Ok([Ok(_)])), "cannot delete topic {topic}: {deleted:?}");
        let new = NewTopic::new(topic, partitions, TopicReplication::Fixed(1));
        let created = admin.create_topics([&new], &options).await;
        assert!(matches!(created.as_deref(), Ok([Ok(_)])), "cannot create topic {topic} again: {created:?}");
    });
}

fn as_admin<T>(bootstrap: &str, act: impl AsyncFnOnce(AdminClient<DefaultClientContext>) -> T) -> T {
    let admin: Result<AdminClient<DefaultClientContext>, _> = settings(bootstrap).create();
    let admin = admin.unwrap_or_else(|error| panic!("cannot make an admin client: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.unwrap_or_else(|error| panic!("cannot make a runtime: {error}"));
    runtime.block_on(act(admin))
}

/// What was put into a topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The acknowledged offsets of each partition: `first..end`.
    pub partitions: BTreeMap<i32, Range<i64>>,
}

impl Loaded {
    /// How many records were acknowledged.
    #[must_use]
    pub fn records(&self) -> i64 {
        self.partitions.values().map(|range| range.end - range.start).sum()
    }

    /// The end of each partition.
    #[must_use]
    pub fn end_offsets(&self) -> BTreeMap<i32, i64> {
        self.partitions.iter().map(|(partition, range)| (*partition, range.end)).collect()
    }
}

/// Puts `records` records of 100 bytes into each partition of an empty topic and waits until all are acknowledged.
///
/// # Panics
///
/// When one is not.
#[must_use]
pub fn load(bootstrap: &str, topic: &str, partitions: i32, records: u64) -> Loaded {
    let mut loaded = Loaded { partitions: (0..partitions).map(|partition| (partition, 0..0)).collect() };
    load_more(bootstrap, topic, &mut loaded, records);
    loaded
}

/// Puts `records` more records into each partition of a topic that holds nothing but what was loaded.
///
/// The key of each record is `PARTITION-OFFSET`, so that whoever reads it can tell whether it is where it belongs.
///
/// # Panics
///
/// When one is not acknowledged, or not at the offset that it names.
pub fn load_more(bootstrap: &str, topic: &str, loaded: &mut Loaded, records: u64) {
    load_compressed(bootstrap, topic, loaded, records, "none");
}

/// Puts `records` more records with values of so many bytes into each partition.
///
/// # Panics
///
/// As [`load_more`].
pub fn load_large(bootstrap: &str, topic: &str, loaded: &mut Loaded, records: u64, value_bytes: usize) {
    load_values(bootstrap, topic, loaded, records, "none", |number| format!("{number:0value_bytes$}").into_bytes());
}

/// The same, in batches that are compressed with a codec, by librdkafka's name of it.
///
/// # Panics
///
/// As [`load_more`].
pub fn load_compressed(bootstrap: &str, topic: &str, loaded: &mut Loaded, records: u64, codec: &str) {
    load_values(bootstrap, topic, loaded, records, codec, |number| format!("{number:0100}").into_bytes());
}

/// The same, with values of the caller's, by the number of each record within this call and its partition.
///
/// # Panics
///
/// As [`load_more`].
pub fn load_values(
    bootstrap: &str,
    topic: &str,
    loaded: &mut Loaded,
    records: u64,
    codec: &str,
    value: impl Fn(i64) -> Vec<u8>,
) {
    let producer: Result<ThreadedProducer<Acknowledged>, _> = settings(bootstrap)
        .set("enable.idempotence", "true")
        .set("compression.type", codec)
        .set("linger.ms", "20")
        .set("batch.num.messages", "10000")
        .set("queue.buffering.max.messages", "200000")
        .create_with_context(Acknowledged::default());
    let producer = producer.unwrap_or_else(|error| panic!("cannot make a producer: {error}"));
    for number in 0..i64::try_from(records).unwrap_or(i64::MAX) {
        let value = value(number);
        for (partition, range) in &loaded.partitions {
            let key = format!("{partition}-{}", range.end + number);
            let mut record = BaseRecord::to(topic).partition(*partition).key(&key).payload(&value);
            while let Err((error, back)) = producer.send(record) {
                match error {
                    KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull) => record = back,
                    other => panic!("cannot produce to {topic}: {other}"),
                }
                // The queue empties by acknowledgements only: give the threads that take them the core.
                std::thread::yield_now();
            }
        }
    }
    if let Err(error) = producer.flush(WITHIN) {
        panic!("not all records were acknowledged within {WITHIN:?}: {error}");
    }
    let acknowledgements = producer.context().lock();
    assert_eq!(acknowledgements.failure.as_deref(), None);
    for (partition, acknowledged) in acknowledgements.ranges() {
        let range = loaded.partitions.entry(partition).or_insert(0..0);
        assert_eq!(acknowledged.start, range.end, "somebody else wrote to partition {partition} of {topic}");
        range.end = acknowledged.end;
    }
}

/// Puts one record with a key of the caller's into partition 0 and waits until it is acknowledged.
///
/// # Panics
///
/// When it is not.
pub fn put(bootstrap: &str, topic: &str, key: &str) {
    put_value(bootstrap, topic, key, "put");
}

/// Puts one record with this key and this value into partition 0.
///
/// # Panics
///
/// As [`put`].
pub fn put_value(bootstrap: &str, topic: &str, key: &str, value: &str) {
    let producer: Result<ThreadedProducer<Acknowledged>, _> =
        settings(bootstrap).create_with_context(Acknowledged::default());
    let producer = producer.unwrap_or_else(|error| panic!("cannot make a producer: {error}"));
    let sent = producer.send(BaseRecord::to(topic).partition(0).key(key).payload(value));
    assert!(sent.is_ok(), "cannot produce to {topic}");
    let flushed = producer.flush(WITHIN);
    assert!(flushed.is_ok() && producer.context().lock().failure.is_none(), "the record was not acknowledged");
}

/// How a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its records count.
    Committed,
    /// They do not.
    Aborted,
}

/// Puts records into partition 0 within one transaction. Its end takes an offset of its own.
///
/// # Panics
///
/// When the broker does not take them, or does not end the transaction.
pub fn put_in_transaction(bootstrap: &str, topic: &str, records: u64, ending: Ending) {
    let producer: Result<ThreadedProducer<Acknowledged>, _> =
        settings(bootstrap).set("transactional.id", topic).create_with_context(Acknowledged::default());
    let producer = producer.unwrap_or_else(|error| panic!("cannot make a producer: {error}"));
    let begun = producer.init_transactions(WITHIN).and_then(|()| producer.begin_transaction());
    assert!(begun.is_ok(), "cannot begin a transaction: {begun:?}");
    let word = format!("{ending:?}");
    for _ in 0..records {
        let sent = producer.send(BaseRecord::to(topic).partition(0).key(&word).payload(&word));
        assert!(sent.is_ok(), "cannot produce to {topic}");
    }
    let ended = producer.flush(WITHIN).and_then(|()| match ending {
        Ending::Committed => producer.commit_transaction(WITHIN),
        Ending::Aborted => producer.abort_transaction(WITHIN),
    });
    assert!(ended.is_ok(), "cannot end the transaction: {ended:?}");
}

fn settings(bootstrap: &str) -> ClientConfig {
    let mut settings = ClientConfig::new();
    settings.set("bootstrap.servers", bootstrap);
    settings
}

/// What the broker said about each record, in whatever order it came: flushing takes answers on a second thread.
#[derive(Default)]
struct Acknowledged(Mutex<Acknowledgements>);

#[derive(Default)]
struct Acknowledgements {
    offsets: BTreeMap<i32, Vec<i64>>,
    failure: Option<String>,
}

impl Acknowledged {
    fn lock(&self) -> MutexGuard<'_, Acknowledgements> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Acknowledgements {
    /// The acknowledged offsets as ranges.
    fn ranges(&self) -> BTreeMap<i32, Range<i64>> {
        let range = |offsets: &[i64]| {
            let mut sorted = offsets.to_vec();
            sorted.sort_unstable();
            let (first, last) = (sorted[0], sorted[sorted.len() - 1]);
            assert!((first..=last).eq(sorted), "acknowledged offsets have gaps or come twice");
            first..last + 1
        };
        self.offsets.iter().map(|(partition, offsets)| (*partition, range(offsets))).collect()
    }
}

impl ClientContext for Acknowledged {}

impl ProducerContext for Acknowledged {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        let mut acknowledgements = self.lock();
        match result {
            Ok(message) => acknowledgements.offsets.entry(message.partition()).or_default().push(message.offset()),
            Err((error, _)) => acknowledgements.failure = Some(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgements_out_of_order_make_a_range() {
        let offsets = BTreeMap::from([(0, vec![2, 0, 1]), (1, vec![7])]);
        let ranges = Acknowledgements { offsets, failure: None }.ranges();
        assert_eq!(ranges, BTreeMap::from([(0, 0..3), (1, 7..8)]));
    }

    #[test]
    #[should_panic(expected = "gaps")]
    fn a_record_that_was_not_acknowledged_is_noticed() {
        let _ = Acknowledgements { offsets: BTreeMap::from([(0, vec![0, 2])]), failure: None }.ranges();
    }
}
