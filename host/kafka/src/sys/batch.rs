//! Records taken at once from a queue, readable until the batch is dropped.
//!
//! Never assumes that a name is UTF-8: keys, values, header names and topic names are bytes.

use std::ffi::CStr;
use std::marker::PhantomData;

use rdkafka_sys as rd;

use super::{Code, check, text};
use crate::arena::Timestamp;

/// True for a librdkafka whose source was read for where it leaves values. With another one nothing breaks, but it has to be looked at:
/// `rd_kafka_msgset_reader_msg_v2` in `rdkafka_msgset_reader.c`.
const VALUES_IN_PLACE: bool = rd::RD_KAFKA_VERSION == 0x02_0c_01_ff;

/// Bytes of the smallest page there is.
const PAGE_BYTES: usize = 4096;

/// Records that came out of one queue. Dropping it frees them and lets go of the network buffers they pin.
pub(crate) struct Batch<'queue> {
    messages: Vec<*mut rd::rd_kafka_message_t>,
    queue: PhantomData<&'queue ()>,
}

/// One record, or an error about a partition that came in a record's place.
#[derive(Clone, Copy)]
pub(crate) struct Message<'batch>(&'batch rd::rd_kafka_message_t);

impl Batch<'_> {
    /// Takes messages over.
    ///
    /// # Safety
    ///
    /// Every pointer is a valid message that the caller owns and gives up.
    pub(super) unsafe fn new(messages: Vec<*mut rd::rd_kafka_message_t>) -> Self {
        Self { messages, queue: PhantomData }
    }

    /// How many.
    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    /// The record at an index.
    pub(crate) fn message(&self, index: usize) -> Message<'_> {
        // SAFETY: valid until the batch is dropped, which the lifetime of the result forbids before.
        Message(unsafe { &*self.messages[index] })
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        for message in &self.messages {
            // SAFETY: owned, and never used after.
            unsafe { rd::rd_kafka_message_destroy(*message) }
        }
    }
}

impl<'batch> Message<'batch> {
    /// An error about the partition, where this is none of its records.
    pub(crate) fn error(self) -> Result<(), Code> {
        check(self.0.err)
    }

    /// The words of that error.
    pub(crate) fn error_text(self) -> String {
        // SAFETY: the message is valid.
        unsafe { text(rd::rd_kafka_message_errstr(self.0)) }
    }

    /// A number that is the same for all records of one topic within one batch, cheaper to compare than the name.
    pub(crate) fn topic_token(self) -> usize {
        self.0.rkt.addr()
    }

    /// The topic's name. Empty where an error names no topic.
    pub(crate) fn topic(self) -> &'batch CStr {
        if self.0.rkt.is_null() {
            return c"";
        }
        // SAFETY: the topic lives as long as the message; its name is zero-terminated.
        unsafe {
            let name = rd::rd_kafka_topic_name(self.0.rkt);
            if name.is_null() { c"" } else { CStr::from_ptr(name) }
        }
    }

    /// The partition's number.
    pub(crate) fn partition(self) -> i32 {
        self.0.partition
    }

    /// The offset.
    pub(crate) fn offset(self) -> i64 {
        self.0.offset
    }

    /// The key; `None` is null.
    pub(crate) fn key(self) -> Option<&'batch [u8]> {
        // SAFETY: the message's own pointer and length.
        unsafe { bytes(self.0.key.cast(), self.0.key_len) }
    }

    /// The value; `None` is null.
    pub(crate) fn value(self) -> Option<&'batch [u8]> {
        // SAFETY: the message's own pointer and length.
        unsafe { bytes(self.0.payload.cast(), self.0.len) }
    }

    /// When it was written.
    pub(crate) fn timestamp(self) -> Timestamp {
        let mut kind = rd::rd_kafka_timestamp_type_t::RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
        // SAFETY: the message is valid and `kind` is ours.
        let millis = unsafe { rd::rd_kafka_message_timestamp(self.0, &raw mut kind) };
        match kind {
            rd::rd_kafka_timestamp_type_t::RD_KAFKA_TIMESTAMP_NOT_AVAILABLE => Timestamp::None,
            rd::rd_kafka_timestamp_type_t::RD_KAFKA_TIMESTAMP_CREATE_TIME => Timestamp::CreateTime(millis),
            rd::rd_kafka_timestamp_type_t::RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME => Timestamp::LogAppendTime(millis),
        }
    }

    /// The leader epoch of the log at this record.
    pub(crate) fn leader_epoch(self) -> Option<i32> {
        // SAFETY: the message is valid.
        let epoch = unsafe { rd::rd_kafka_message_leader_epoch(self.0) };
        (epoch >= 0).then_some(epoch)
    }

    /// True where the record has no headers for certain. False says nothing.
    ///
    /// librdkafka parses also where there are none, with two allocations (measured: 82–99 ns, a fifth of what a record of 100 bytes
    /// cost the whole process). It leaves values where they came, though, in the brokers' own layout, and there the number of
    /// headers follows the value: the byte behind it tells. Not so where a value has no place in that layout: the empty one is
    /// elsewhere, and a record without a leader epoch may be in an older one.
    fn lacks_headers(self) -> bool {
        let value = self.0.payload.cast::<u8>();
        if !VALUES_IN_PLACE || value.is_null() || self.0.len == 0 || self.leader_epoch().is_none() {
            return false;
        }
        let behind = value.wrapping_add(self.0.len);
        // SAFETY: the record goes on behind its value in the same buffer, which lives as long as the message. Where a broker cut it
        // off there, the byte is somebody else's, but on a page of ours, and whatever it is says nothing wrong about such a record.
        !behind.addr().is_multiple_of(PAGE_BYTES) && unsafe { behind.read() } == 0
    }

    /// Calls `visit` with the name and value of each header in order.
    pub(crate) fn for_each_header(self, mut visit: impl FnMut(&'batch [u8], Option<&'batch [u8]>)) {
        if self.lacks_headers() {
            return;
        }
        let mut headers = std::ptr::null_mut();
        // SAFETY: the headers belong to the message and live as long as it does; name and value as `get_all` gives them.
        unsafe {
            if check(rd::rd_kafka_message_headers(self.0, &raw mut headers)).is_err() {
                return;
            }
            let (mut name, mut value, mut size, mut index) = (std::ptr::null(), std::ptr::null(), 0, 0);
            while check(rd::rd_kafka_header_get_all(headers, index, &raw mut name, &raw mut value, &raw mut size))
                .is_ok()
            {
                visit(CStr::from_ptr(name).to_bytes(), bytes(value.cast(), size));
                index += 1;
            }
        }
    }
}

/// A pointer and a length as bytes; null stays apart from empty.
///
/// # Safety
///
/// `start` is null or points to `length` bytes that live for `'a`.
unsafe fn bytes<'a>(start: *const u8, length: usize) -> Option<&'a [u8]> {
    // SAFETY: the caller's promise.
    (!start.is_null()).then(|| unsafe { std::slice::from_raw_parts(start, length) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A new one has to be read first, see there.
    #[test]
    fn librdkafka_is_the_one_that_was_read_for_where_it_leaves_values() {
        const { assert!(VALUES_IN_PLACE) };
    }
}
