//! Answers without effects, and what the guest was given as an answer.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use gristmill_plugin::bindings::plugin::gristmill::plugin::types::{
    BatchInfo, Effects, KafkaRecord, Outcome, Retry, Stop, Timestamp,
};

pub(crate) fn nothing() -> Effects {
    Effects { rejected: Vec::new(), emitted: Vec::new() }
}

pub(crate) fn ok() -> Outcome {
    Outcome::Ok(nothing())
}

pub(crate) fn retry(reason: &str, after_ms: Option<u64>) -> Outcome {
    Outcome::Retryable(Retry { reason: reason.to_owned(), after_ms, completed: None, suspect: None })
}

pub(crate) fn fatal(reason: &str) -> Outcome {
    Outcome::Fatal(Stop { reason: reason.to_owned() })
}

/// Fatal to the first batch of an instance, ok to whatever follows.
pub(crate) fn fatal_once(reason: &str) -> Outcome {
    static SAID: AtomicBool = AtomicBool::new(false);
    if SAID.swap(true, Ordering::Relaxed) { ok() } else { fatal(reason) }
}

/// A reason of so many mebibytes.
pub(crate) fn verbose(mebibytes: u64) -> Outcome {
    let bytes = usize::try_from(mebibytes << 20).unwrap_or(usize::MAX);
    retry(&"x".repeat(bytes), None)
}

/// Writes down all that the guest was given, one line for the batch and one per record, as the tests compare it.
pub(crate) fn dump(info: &BatchInfo, records: &[KafkaRecord]) -> String {
    let mut text = format!(
        "{} attempt={} limit={} part={} {}",
        info.pipeline, info.attempt, info.time_limit_ms, info.part, info.plugin_digest
    );
    for record in records {
        let timestamp = match record.timestamp {
            Timestamp::None => "none".to_owned(),
            Timestamp::CreateTime(ms) => format!("create({ms})"),
            Timestamp::LogAppendTime(ms) => format!("append({ms})"),
        };
        let headers: Vec<String> =
            record.headers.iter().map(|header| format!("{}={}", header.key, bytes(header.value.as_deref()))).collect();
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n{}/{}/{} {timestamp} {} {} [{}]",
            record.topic,
            record.partition,
            record.offset,
            bytes(record.key.as_deref()),
            bytes(record.value.as_deref()),
            headers.join(",")
        );
    }
    text
}

/// Null, empty, short and long bytes, each in its own way.
fn bytes(bytes: Option<&[u8]>) -> String {
    match bytes {
        None => "null".to_owned(),
        Some(bytes) if bytes.len() > 64 => {
            let sum = bytes.iter().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
            format!("<{} bytes, sum {sum}>", bytes.len())
        }
        Some(bytes) => format!("'{}'", String::from_utf8_lossy(bytes)),
    }
}
