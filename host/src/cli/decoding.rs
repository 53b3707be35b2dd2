//! Records that come from a file or a dead letter, decoded as a pipeline decodes those from Kafka.

use std::time::Instant;

use crate::decoding::{Formats, Made, Unavailable, decode};
use crate::records::FileRecord;

/// Makes of a record what the plugin gets, or says why a pipeline would not hand it over. It was read at `read_at`, or before.
///
/// # Errors
/// A registry that does not answer; the record is as it was.
pub(super) fn decode_record(
    formats: Option<&Formats>,
    record: &mut FileRecord,
    read_at: Instant,
) -> Result<Result<(), String>, Unavailable> {
    let Some(decoders) = formats.and_then(|formats| formats.of(&record.topic)) else { return Ok(Ok(())) };
    match decode(decoders, record.key.as_deref(), record.value.as_deref(), read_at)? {
        Made::Decoded { key, value } => {
            record.key = key.or(record.key.take());
            record.value = value.or(record.value.take());
            Ok(Ok(()))
        }
        Made::Undecodable(reason) => Ok(Err(format!("it does not decode: {reason}"))),
    }
}
