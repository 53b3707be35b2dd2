//! The only unsafe code of this crate: librdkafka's C functions behind small safe types, and one of the C library's.
//!
//! Decides nothing. Every type here owns what it wraps and frees it once; a [`Queue`] keeps its client alive, and a
//! [`Batch`] borrows the queue it came from, so the order in which librdkafka wants things destroyed is the only order
//! that compiles: records, then queues, then the client.
#![expect(
    unsafe_code,
    reason = "librdkafka is a C library, as malloc is; this module and its children are its only users"
)]

mod batch;
mod client;
mod event;
mod freed;
mod list;
mod mock;
mod producer;
mod queue;

pub(crate) use batch::{Batch, Message};
pub(crate) use client::{Client, ClientKind, LogSink, Protocol, Watermark, check_value};
pub(crate) use event::ClientEvent;
pub use freed::keep_freed_memory;
pub(crate) use list::{List, Row};
pub(crate) use mock::Mock;
pub(crate) use producer::{PARTITION_ANY, Producible, ProducibleHeader};
pub(crate) use queue::Queue;

/// librdkafka's error codes.
pub(crate) use rdkafka_sys::types::RDKafkaErrorCode as Code;

use std::ffi::{CStr, c_char};
use std::time::Duration;

use rdkafka_sys as rd;

/// The offset that stands for "from the first record" in librdkafka's lists.
pub(crate) const OFFSET_BEGINNING: i64 = rd::RD_KAFKA_OFFSET_BEGINNING as i64;
/// The offset that stands for "behind the last record" in librdkafka's lists.
pub(crate) const OFFSET_END: i64 = rd::RD_KAFKA_OFFSET_END as i64;
/// The offset that stands for "none".
pub(crate) const OFFSET_INVALID: i64 = rd::RD_KAFKA_OFFSET_INVALID as i64;

/// librdkafka's name of a code, such as `_TIMED_OUT`.
pub(crate) fn code_name(code: Code) -> String {
    let raw =
        rd::rd_kafka_resp_err_t::try_from(code as i32).unwrap_or(rd::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_UNKNOWN);
    // SAFETY: the function accepts any code and returns a static string.
    unsafe { text(rd::rd_kafka_err2name(raw)) }
}

/// A result code of a C function as a result.
fn check(code: rd::rd_kafka_resp_err_t) -> Result<(), Code> {
    match code {
        rd::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR => Ok(()),
        other => Err(other.into()),
    }
}

/// Takes an error object over, frees it and returns its code and text. Null is success.
///
/// # Safety
///
/// `error` is null or an error object that the caller owns.
unsafe fn take_error(error: *mut rd::rd_kafka_error_t) -> Result<(), (Code, String)> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: not null, and owned by the caller, who gives it up here.
    unsafe {
        let code = rd::rd_kafka_error_code(error).into();
        let words = text(rd::rd_kafka_error_string(error));
        rd::rd_kafka_error_destroy(error);
        Err((code, words))
    }
}

/// A C string as text, bytes that are no text replaced. Null gives an empty text.
///
/// # Safety
///
/// `chars` is null or points to a zero-terminated string.
unsafe fn text(chars: *const c_char) -> String {
    if chars.is_null() {
        return String::new();
    }
    // SAFETY: the caller promises a zero-terminated string.
    unsafe { CStr::from_ptr(chars) }.to_string_lossy().into_owned()
}

/// A wait as librdkafka counts it. Never negative, which would mean for ever.
fn millis(wait: Duration) -> i32 {
    i32::try_from(wait.as_millis()).unwrap_or(i32::MAX)
}
