//! librdkafka's own batch loop, with nothing of ours around it: what the host is measured against. The only unsafe code of
//! the measurements, because no safe interface offers that loop.

#![expect(unsafe_code, reason = "librdkafka's batch calls are C functions")]

use std::time::{Duration, Instant};

use gristmill_tests::Loaded;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{Offset, TopicPartitionList};
use rdkafka_sys as rd;

const BATCH: usize = 10_000;
const WAIT_MS: i32 = 1_000;

/// Reads all that was loaded, from the assignment to the last record, and returns how long it took.
pub(crate) fn read_all(bootstrap: &str, topic: &str, loaded: &Loaded) -> Duration {
    let made = ClientConfig::new()
        .set("bootstrap.servers", bootstrap)
        .set("group.id", "bench-loop")
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("fetch.queue.backoff.ms", "20")
        .create();
    let consumer: BaseConsumer = made.unwrap_or_else(|error| panic!("cannot make a consumer: {error}"));
    let mut assigned = TopicPartitionList::new();
    for partition in loaded.partitions.keys() {
        let added = assigned.add_partition_offset(topic, *partition, Offset::Beginning);
        assert!(added.is_ok(), "cannot name partition {partition}");
    }
    let begun = Instant::now();
    let done = consumer.assign(&assigned);
    assert!(done.is_ok(), "cannot assign: {done:?}");
    let mut left = loaded.records();
    let mut messages: Vec<*mut rd::rd_kafka_message_t> = vec![std::ptr::null_mut(); BATCH];
    // SAFETY: the client lives as long as `consumer`; the queue is given back below.
    let queue = unsafe { rd::rd_kafka_queue_get_consumer(consumer.client().native_ptr()) };
    while left > 0 {
        // SAFETY: the queue is alive, and the buffer has room for `BATCH` messages.
        let count = unsafe { rd::rd_kafka_consume_batch_queue(queue, WAIT_MS, messages.as_mut_ptr(), BATCH) };
        for message in messages.iter().take(usize::try_from(count).unwrap_or(0)) {
            // SAFETY: the call above handed this message over; it is read before, and never after, it is freed.
            unsafe {
                left -= i64::from((**message).err == rd::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR);
                rd::rd_kafka_message_destroy(*message);
            }
        }
        assert!(begun.elapsed() < Duration::from_secs(300), "the loop still misses {left} records");
    }
    let took = begun.elapsed();
    // SAFETY: taken above, and not used any more.
    unsafe { rd::rd_kafka_queue_destroy(queue) };
    took
}
