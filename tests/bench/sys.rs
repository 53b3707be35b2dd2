//! librdkafka's own batch loop, with nothing of ours around it: what the host is measured against. The only unsafe code of
//! the measurements, because no safe interface offers that loop.

#![expect(unsafe_code, reason = "librdkafka's batch calls are C functions")]

use std::collections::BTreeMap;
use std::time::Duration;

use gristmill_tests::{Loaded, unique};
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::{Offset, TopicPartitionList};
use rdkafka_sys as rd;

use crate::cost::{Cost, Meter};

const BATCH: usize = 10_000;
const WAIT_MS: i32 = 1_000;

/// Reads all that was loaded in batches, commits each one and waits for that, from the assignment to the last commit.
pub(crate) fn read_all(bootstrap: &str, topic: &str, loaded: &Loaded) -> Cost {
    run_through(bootstrap, topic, loaded, |_, _| {}, |_| {})
}

/// The same, with something done to the key and the value of each record, and something before each commit of so many records.
pub(crate) fn run_through(
    bootstrap: &str,
    topic: &str,
    loaded: &Loaded,
    mut each: impl FnMut(Option<&[u8]>, Option<&[u8]>),
    mut settle: impl FnMut(u64),
) -> Cost {
    let made = ClientConfig::new()
        .set("bootstrap.servers", bootstrap)
        .set("group.id", unique("bench-loop"))
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
    let meter = Meter::of(std::process::id());
    let done = consumer.assign(&assigned);
    assert!(done.is_ok(), "cannot assign: {done:?}");
    let mut left = loaded.records();
    let mut messages: Vec<*mut rd::rd_kafka_message_t> = vec![std::ptr::null_mut(); BATCH];
    // SAFETY: the client lives as long as `consumer`; the queue is given back below.
    let queue = unsafe { rd::rd_kafka_queue_get_consumer(consumer.client().native_ptr()) };
    while left > 0 {
        let mut next: BTreeMap<i32, i64> = BTreeMap::new();
        let mut filled = 0;
        let left_before = left;
        while filled < BATCH && filled < usize::try_from(left).unwrap_or(0) {
            let room = &mut messages[filled..];
            // SAFETY: the queue is alive, and the buffer has room for what is asked for.
            let count = unsafe {
                // A call that waits holds everything back until all it asked for is there: so it waits for one only.
                match rd::rd_kafka_consume_batch_queue(queue, 0, room.as_mut_ptr(), room.len()) {
                    0 => rd::rd_kafka_consume_batch_queue(queue, WAIT_MS, room.as_mut_ptr(), 1),
                    count => count,
                }
            };
            filled += usize::try_from(count).unwrap_or(0);
            assert!(meter.begun().elapsed() < Duration::from_secs(300), "the loop still misses {left} records");
        }
        for message in messages.iter().take(filled) {
            // SAFETY: the calls above handed this message over; it is read before, and never after, it is freed.
            unsafe {
                if (**message).err == rd::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
                    left -= 1;
                    each(bytes((**message).key, (**message).key_len), bytes((**message).payload, (**message).len));
                    next.insert((**message).partition, (**message).offset + 1);
                }
                rd::rd_kafka_message_destroy(*message);
            }
        }
        settle((left_before - left).unsigned_abs());
        commit(&consumer, topic, &next);
    }
    let cost = meter.read();
    // SAFETY: taken above, and not used any more.
    unsafe { rd::rd_kafka_queue_destroy(queue) };
    cost
}

/// Bytes of a message; null is nothing.
///
/// # Safety
///
/// They are there for as long as `'m` says.
unsafe fn bytes<'m>(start: *const std::ffi::c_void, length: usize) -> Option<&'m [u8]> {
    // SAFETY: as the caller says.
    (!start.is_null()).then(|| unsafe { std::slice::from_raw_parts(start.cast(), length) })
}

fn commit(consumer: &BaseConsumer, topic: &str, next: &BTreeMap<i32, i64>) {
    let mut offsets = TopicPartitionList::new();
    for (partition, offset) in next {
        let added = offsets.add_partition_offset(topic, *partition, Offset::Offset(*offset));
        assert!(added.is_ok(), "cannot name partition {partition}");
    }
    let done = consumer.commit(&offsets, CommitMode::Sync);
    assert!(done.is_ok(), "cannot commit: {done:?}");
}
