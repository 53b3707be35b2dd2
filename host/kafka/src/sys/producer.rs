//! What a producer's handle can do beside what every client can.
//!
//! Each call is one call of librdkafka. Names are bytes, null and empty stay apart, and everything that is handed over is
//! copied by the call. What a failure means is not decided here.

use std::ffi::{CStr, c_void};
use std::ptr::{NonNull, null, null_mut};

use rdkafka_sys as rd;

use super::{Client, Code, Queue, check};

/// One header of a record to produce.
pub(crate) type ProducibleHeader<'a> = (&'a [u8], Option<&'a [u8]>);

/// One record to produce, without its headers.
pub(crate) struct Producible<'a> {
    /// To which topic.
    pub(crate) topic: &'a CStr,
    /// To which of its partitions; [`PARTITION_ANY`] leaves it to the partitioner.
    pub(crate) partition: i32,
    /// The key; `None` is null.
    pub(crate) key: Option<&'a [u8]>,
    /// The value; `None` is null.
    pub(crate) value: Option<&'a [u8]>,
    /// Milliseconds since 1970; zero means now.
    pub(crate) timestamp_ms: i64,
    /// Comes back with the record's end.
    pub(crate) ticket: usize,
}

/// The partition that stands for "as the partitioner says"; a macro in librdkafka's header.
pub(crate) const PARTITION_ANY: i32 = -1;

impl Client {
    /// The queue that a producer reports on.
    pub(crate) fn deliveries(&self) -> Queue {
        // SAFETY: gives a new reference to the client's own queue, which is never null.
        Queue::of(unsafe { NonNull::new_unchecked(rd::rd_kafka_queue_get_main(self.raw())) }, self.clone())
    }

    /// Queues a record for producing; waits for nothing. Its end comes out of [`Client::deliveries`].
    ///
    /// # Errors
    ///
    /// The record was not queued, and no end follows. `QueueFull` passes.
    pub(crate) fn produce<'a>(
        &self,
        record: &Producible<'a>,
        headers: impl IntoIterator<Item = ProducibleHeader<'a>>,
    ) -> Result<(), Code> {
        let (key, key_size) = parts(record.key);
        let (value, value_size) = parts(record.value);
        let headers = header_list(headers);
        // SAFETY: each argument is of the type that its tag names; all bytes are copied by the call, the ticket is a number
        // that nobody follows; the headers are null or ours, taken over on success and still ours on failure.
        unsafe {
            let produced = check(rd::rd_kafka_producev(
                self.raw(),
                rd::rd_kafka_vtype_t::RD_KAFKA_VTYPE_TOPIC,
                record.topic.as_ptr(),
                rd::rd_kafka_vtype_t::RD_KAFKA_VTYPE_PARTITION,
                record.partition,
                rd::rd_kafka_vtype_t::RD_KAFKA_VTYPE_KEY,
                key,
                key_size,
                rd::rd_kafka_vtype_t::RD_KAFKA_VTYPE_VALUE,
                value,
                value_size,
                rd::rd_kafka_vtype_t::RD_KAFKA_VTYPE_MSGFLAGS,
                rd::RD_KAFKA_MSG_F_COPY,
                rd::rd_kafka_vtype_t::RD_KAFKA_VTYPE_TIMESTAMP,
                record.timestamp_ms,
                rd::rd_kafka_vtype_t::RD_KAFKA_VTYPE_OPAQUE,
                null_mut::<c_void>().with_addr(record.ticket),
                rd::rd_kafka_vtype_t::RD_KAFKA_VTYPE_HEADERS,
                headers,
                rd::rd_kafka_vtype_t::RD_KAFKA_VTYPE_END,
            ));
            if produced.is_err() && !headers.is_null() {
                rd::rd_kafka_headers_destroy(headers);
            }
            produced
        }
    }

    /// Gives everything up that was queued or is on its way; the ends come out of [`Client::deliveries`]. What is on its
    /// way may be written nevertheless.
    pub(crate) fn give_up_deliveries(&self) -> Result<(), Code> {
        let all = rd::RD_KAFKA_PURGE_F_QUEUE | rd::RD_KAFKA_PURGE_F_INFLIGHT | rd::RD_KAFKA_PURGE_F_NON_BLOCKING;
        // SAFETY: no argument but the handle and flags.
        check(unsafe { rd::rd_kafka_purge(self.raw(), all) })
    }
}

/// Headers as a list of librdkafka's, null when there are none. The caller owns it.
fn header_list<'a>(headers: impl IntoIterator<Item = ProducibleHeader<'a>>) -> *mut rd::rd_kafka_headers_t {
    let mut headers = headers.into_iter().peekable();
    if headers.peek().is_none() {
        return null_mut();
    }
    // SAFETY: the list is ours; name and value are copied, and as long as they say.
    unsafe {
        let list = rd::rd_kafka_headers_new(headers.size_hint().0);
        for (name, value) in headers {
            let (name, name_size) = parts(Some(name));
            let (value, value_size) = parts(value);
            // Fails for read-only lists only, which this is not.
            rd::rd_kafka_header_add(list, name.cast(), name_size.cast_signed(), value, value_size.cast_signed());
        }
        list
    }
}

/// Bytes as a pointer and a length. Null stays apart from empty, whose pointer is never null.
fn parts(bytes: Option<&[u8]>) -> (*const c_void, usize) {
    bytes.map_or((null(), 0), |bytes| (bytes.as_ptr().cast(), bytes.len()))
}
