//! Copying a topic natively: librdkafka's own batch loop and its producer, which acknowledges each batch before it is committed. What
//! the host is measured against where the plugin emits.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gristmill_tests::Loaded;
use rdkafka::ClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, DeliveryResult, Producer, ProducerContext};

use crate::cost::Cost;
use crate::sys;

const WITHIN: Duration = Duration::from_secs(60);

/// Reads all that was loaded in batches, writes a copy of each record, and commits a batch once all of its copies are acknowledged.
pub(crate) fn copy_all(bootstrap: &str, topic: &str, loaded: &Loaded, sink: &str) -> Cost {
    // What the host sets for its own.
    let made = ClientConfig::new()
        .set("bootstrap.servers", bootstrap)
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
        let mut record: BaseRecord<'_, [u8], [u8]> = BaseRecord::to(sink);
        (record.key, record.payload) = (key, value);
        let taken = producer.send(record);
        assert!(taken.is_ok(), "cannot produce to {sink}");
    };
    let settle = |records: u64| {
        sent += records;
        let deadline = Instant::now() + WITHIN;
        // Not by flushing, for which the wrapper waits in steps of 100 ms: nothing else would be measured then.
        while producer.context().0.load(Ordering::Relaxed) < sent {
            assert!(Instant::now() < deadline, "not all of {sent} records are acknowledged within {WITHIN:?}");
            producer.poll(Duration::from_millis(1));
        }
    };
    sys::run_through(bootstrap, topic, loaded, copy, settle)
}

/// How many records the brokers acknowledged.
#[derive(Default)]
struct Acknowledged(AtomicU64);

impl ClientContext for Acknowledged {}

impl ProducerContext for Acknowledged {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        if result.is_ok() {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}
