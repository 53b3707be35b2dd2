//! What a client's queue reports, copied out of librdkafka's event objects.
//!
//! Decides nothing; an event that is not listed here keeps its name and nothing else.

use rdkafka_sys as rd;

use super::list::{Row, rows_of};
use super::{Code, text};

/// One event of a client.
#[derive(Debug)]
pub(crate) enum ClientEvent {
    /// The group gives partitions to this member; answer by assigning.
    Assign(Vec<Row>),
    /// The group takes partitions from this member; answer by unassigning.
    Revoke(Vec<Row>),
    /// A commit ended.
    Committed {
        /// The number that was given with the commit.
        ticket: usize,
        /// How it ended.
        result: Result<(), Code>,
    },
    /// Records were acknowledged, or given up: the number that was given with each, and how it ended.
    Delivered(Vec<(usize, Result<(), Code>)>),
    /// Something went wrong.
    Error {
        /// What.
        code: Code,
        /// In librdkafka's words.
        text: String,
        /// True: the client will never work again.
        fatal: bool,
    },
    /// Statistics as JSON.
    Statistics(String),
    /// Records on a queue that should have none.
    StrayRecords(Vec<(Vec<u8>, i32)>),
    /// Anything else.
    Other(String),
}

/// Takes an event over, copies it and frees it.
///
/// # Safety
///
/// `event` is a valid event that the caller owns and gives up.
pub(super) unsafe fn take_event(event: *mut rd::rd_kafka_event_t) -> ClientEvent {
    // SAFETY: the event is valid until it is destroyed at the end; each accessor fits the kind that was asked for.
    unsafe {
        let code = rd::rd_kafka_event_error(event);
        let result = super::check(code);
        let copy = match rd::rd_kafka_event_type(event) {
            rd::RD_KAFKA_EVENT_REBALANCE => {
                let rows = rows_of(rd::rd_kafka_event_topic_partition_list(event));
                match Code::from(code) {
                    Code::AssignPartitions => ClientEvent::Assign(rows),
                    _ => ClientEvent::Revoke(rows),
                }
            }
            rd::RD_KAFKA_EVENT_OFFSET_COMMIT => {
                ClientEvent::Committed { ticket: rd::rd_kafka_event_opaque(event).addr(), result }
            }
            rd::RD_KAFKA_EVENT_ERROR => ClientEvent::Error {
                code: code.into(),
                text: text(rd::rd_kafka_event_error_string(event)),
                fatal: rd::rd_kafka_event_error_is_fatal(event) != 0,
            },
            rd::RD_KAFKA_EVENT_DR => take_deliveries(event),
            rd::RD_KAFKA_EVENT_STATS => ClientEvent::Statistics(text(rd::rd_kafka_event_stats(event))),
            rd::RD_KAFKA_EVENT_FETCH => take_stray(event),
            _ => ClientEvent::Other(text(rd::rd_kafka_event_name(event))),
        };
        rd::rd_kafka_event_destroy(event);
        copy
    }
}

/// Reads how records ended that were to be produced.
///
/// # Safety
///
/// `event` is a valid delivery event.
unsafe fn take_deliveries(event: *mut rd::rd_kafka_event_t) -> ClientEvent {
    let mut ended = Vec::new();
    // SAFETY: the records belong to the event and live until it is destroyed; what goes with each is a number.
    unsafe {
        loop {
            let message = rd::rd_kafka_event_message_next(event);
            if message.is_null() {
                return ClientEvent::Delivered(ended);
            }
            ended.push(((*message)._private.addr(), super::check((*message).err)));
        }
    }
}

/// Notes where records came from that nobody asked for.
///
/// # Safety
///
/// `event` is a valid fetch event.
unsafe fn take_stray(event: *mut rd::rd_kafka_event_t) -> ClientEvent {
    let mut places = Vec::new();
    // SAFETY: the records belong to the event and live until it is destroyed.
    unsafe {
        loop {
            let message = rd::rd_kafka_event_message_next(event);
            if message.is_null() {
                return ClientEvent::StrayRecords(places);
            }
            let name = rd::rd_kafka_topic_name((*message).rkt);
            let name = if name.is_null() { Vec::new() } else { std::ffi::CStr::from_ptr(name).to_bytes().to_vec() };
            places.push((name, (*message).partition));
        }
    }
}
