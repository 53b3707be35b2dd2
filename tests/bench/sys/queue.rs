//! librdkafka's own batch loop, with nothing of ours around it: what the others are measured against.

use std::collections::BTreeMap;
use std::time::Duration;

use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::{Offset, TopicPartitionList};
use rdkafka_sys as rd;

use crate::loops::{Task, say_assigned};

const WAIT_MS: i32 = 1_000;
const KNOWN_WITHIN: Duration = Duration::from_secs(60);

/// Reads all of a task in batches, commits each one and waits for that. `each` gets the key and the value of each record, and `settle` is
/// called before each commit with the number of its records.
pub(crate) fn run_through(
    task: &Task,
    mut each: impl FnMut(Option<&[u8]>, Option<&[u8]>),
    mut settle: impl FnMut(usize),
) {
    let made = ClientConfig::new()
        .set("bootstrap.servers", &task.bootstrap)
        .set("group.id", &task.group)
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("fetch.queue.backoff.ms", "20")
        .create();
    let consumer: BaseConsumer = made.unwrap_or_else(|error| panic!("cannot make a consumer: {error}"));
    let mut assigned = TopicPartitionList::new();
    for partition in 0..task.partitions {
        let added = assigned.add_partition_offset(&task.topic, partition, Offset::Beginning);
        assert!(added.is_ok(), "cannot name partition {partition}");
    }
    // Whoever joins a group knows its coordinator and the leaders before it reads. This one would look for the first at its first commit,
    // and for the others when the client next looks for topics that it does not know, once a second.
    let coordinator = consumer.committed_offsets(assigned.clone(), KNOWN_WITHIN);
    let leaders = consumer.fetch_metadata(Some(&task.topic), KNOWN_WITHIN);
    assert!(coordinator.is_ok() && leaders.is_ok(), "the brokers do not tell who they are");
    say_assigned();
    let done = consumer.assign(&assigned);
    assert!(done.is_ok(), "cannot assign: {done:?}");
    let mut left = task.records;
    let mut messages: Vec<*mut rd::rd_kafka_message_t> = vec![std::ptr::null_mut(); task.batch];
    // SAFETY: the client lives as long as `consumer`; the queue is given back below.
    let queue = unsafe { rd::rd_kafka_queue_get_consumer(consumer.client().native_ptr()) };
    while left > 0 {
        let mut next: BTreeMap<i32, i64> = BTreeMap::new();
        let left_before = left;
        let filled = fill(queue, &mut messages, left);
        for message in messages.iter().take(filled) {
            // SAFETY: the queue handed this message over; it is read before, and never after, it is freed.
            unsafe {
                if (**message).err == rd::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
                    left -= 1;
                    each(bytes((**message).key, (**message).key_len), bytes((**message).payload, (**message).len));
                    next.insert((**message).partition, (**message).offset + 1);
                }
                rd::rd_kafka_message_destroy(*message);
            }
        }
        settle(left_before - left);
        commit(&consumer, &task.topic, &next);
    }
    // SAFETY: taken above, and not used any more.
    unsafe { rd::rd_kafka_queue_destroy(queue) };
}

/// Fills the buffer as far as there are records left, however long that takes. Returns how many messages are in it.
fn fill(queue: *mut rd::rd_kafka_queue_t, messages: &mut [*mut rd::rd_kafka_message_t], left: usize) -> usize {
    let wanted = messages.len().min(left);
    let mut filled = 0;
    while filled < wanted {
        let room = &mut messages[filled..wanted];
        // SAFETY: the queue is alive, and the buffer has room for what is asked for.
        let count = unsafe {
            // A call that waits holds everything back until all it asked for is there: so it waits for one only.
            match rd::rd_kafka_consume_batch_queue(queue, 0, room.as_mut_ptr(), room.len()) {
                0 => rd::rd_kafka_consume_batch_queue(queue, WAIT_MS, room.as_mut_ptr(), 1),
                count => count,
            }
        };
        filled += usize::try_from(count).unwrap_or(0);
    }
    filled
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
