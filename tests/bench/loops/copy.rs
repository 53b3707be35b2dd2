//! Copying a topic natively: librdkafka's own batch loop and its producer, which acknowledges each batch before it is committed. What
//! the host is measured against where the plugin emits.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rdkafka::ClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, DeliveryResult, Producer, ProducerContext};

use super::{Seen, Task};
use crate::sys::queue;

const WITHIN: Duration = Duration::from_secs(60);

/// Reads all of a task in batches, writes a copy of each record, and commits a batch once all of its copies are acknowledged.
pub(super) fn run_through(task: &Task, seen: &mut Seen) {
    let Some(sink) = task.sink.as_deref() else { panic!("it is not said where the copies go") };
    // What the host sets for its own.
    let made = ClientConfig::new()
        .set("bootstrap.servers", &task.bootstrap)
        .set("enable.idempotence", "true")
        .set("acks", "all")
        .set("partitioner", "murmur2_random")
        .set("batch.size", "131072")
        .set("linger.ms", "0")
        .set("queue.buffering.max.messages", "0")
        .create_with_context(Acknowledged::default());
    let producer: BaseProducer<Acknowledged> = made.unwrap_or_else(|error| panic!("cannot make a producer: {error}"));
    let mut sent = 0;
    let copy = |key: Option<&[u8]>, value: Option<&[u8]>| {
        seen.touch(value);
        let mut record: BaseRecord<'_, [u8], [u8]> = BaseRecord::to(sink);
        (record.key, record.payload) = (key, value);
        let taken = producer.send(record);
        assert!(taken.is_ok(), "cannot produce to {sink}");
    };
    let settle = |records: usize| {
        sent += records;
        let deadline = Instant::now() + WITHIN;
        // Not by flushing, for which the wrapper waits in steps of 100 ms: nothing else would be measured then.
        while producer.context().0.load(Ordering::Relaxed) < sent {
            assert!(Instant::now() < deadline, "not all of {sent} records are acknowledged within {WITHIN:?}");
            producer.poll(Duration::from_millis(1));
        }
    };
    queue::run_through(task, copy, settle);
}

/// How many records the brokers acknowledged.
#[derive(Default)]
struct Acknowledged(AtomicUsize);

impl ClientContext for Acknowledged {}

impl ProducerContext for Acknowledged {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        if result.is_ok() {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}
