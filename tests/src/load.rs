//! Puts records into a topic and remembers which ones the broker acknowledged: those, and no others, must be handled.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;
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
    let made: Result<AdminClient<DefaultClientContext>, _> = settings(bootstrap).create();
    let admin = made.unwrap_or_else(|error| panic!("cannot make an admin client: {error}"));
    let new = NewTopic::new(topic, partitions, TopicReplication::Fixed(1));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.unwrap_or_else(|error| panic!("cannot make a runtime: {error}"));
    let results = runtime.block_on(admin.create_topics([&new], &AdminOptions::new().operation_timeout(Some(WITHIN))));
    match results.as_deref() {
        Ok([Ok(_)]) => {}
        other => panic!("cannot create topic {topic}: {other:?}"),
    }
}

/// What was put into a topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The acknowledged offsets of each partition: `first..end`.
    pub partitions: BTreeMap<i32, std::ops::Range<i64>>,
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

    fn acknowledge(&mut self, partition: i32, offset: i64) {
        let range = self.partitions.entry(partition).or_insert(offset..offset);
        assert_eq!(range.end, offset, "partition {partition}: acknowledged out of order");
        range.end = offset + 1;
    }
}

/// Puts `records` records of 100 bytes into each partition and waits until all are acknowledged.
///
/// # Panics
///
/// When one is not.
#[must_use]
pub fn load(bootstrap: &str, topic: &str, partitions: i32, records: u64) -> Loaded {
    let producer: Result<ThreadedProducer<Acknowledged>, _> = settings(bootstrap)
        .set("enable.idempotence", "true")
        .set("linger.ms", "20")
        .set("batch.num.messages", "10000")
        .set("queue.buffering.max.messages", "200000")
        .create_with_context(Acknowledged::default());
    let producer = producer.unwrap_or_else(|error| panic!("cannot make a producer: {error}"));
    for number in 0..records {
        let value = format!("{number:0100}");
        for partition in 0..partitions {
            let key = format!("{partition}-{number}");
            let mut record = BaseRecord::to(topic).partition(partition).key(&key).payload(&value);
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
    let context = producer.context();
    let loaded = context.loaded.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert_eq!(context.failure.lock().unwrap_or_else(PoisonError::into_inner).as_deref(), None);
    loaded
}

fn settings(bootstrap: &str) -> ClientConfig {
    let mut settings = ClientConfig::new();
    settings.set("bootstrap.servers", bootstrap);
    settings
}

#[derive(Default)]
struct Acknowledged {
    loaded: Mutex<Loaded>,
    failure: Mutex<Option<String>>,
}

impl ClientContext for Acknowledged {}

impl ProducerContext for Acknowledged {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        match result {
            Ok(message) => {
                let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
                loaded.acknowledge(message.partition(), message.offset());
            }
            Err((error, _)) => {
                *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
            }
        }
    }
}
