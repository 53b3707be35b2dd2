//! Records that come from a file or a dead letter, decoded as a pipeline decodes those from Kafka.

use std::time::Instant;

use crate::decoding::{Formats, Outcome, decode};
use crate::exit::{self, Exit};
use crate::records::FileRecord;

/// The record as the plugin gets it, or why a pipeline would not hand it over.
///
/// # Errors
/// A registry that does not answer: nobody waits for it here.
pub(super) fn decoded(formats: Option<&Formats>, mut record: FileRecord) -> Result<Result<FileRecord, String>, Exit> {
    let Some(decoders) = formats.and_then(|formats| formats.of(&record.topic)) else { return Ok(Ok(record)) };
    let outcome = decode(decoders, record.key.as_deref(), record.value.as_deref(), Instant::now());
    let outcome = outcome.map_err(|unavailable| {
        let reason = unavailable.reason;
        Exit::because(exit::UNREACHABLE, format!("schema_registry: {reason}; call again when it answers"))
    })?;
    Ok(match outcome {
        Outcome::Decoded { key, value } => {
            record.key = key.or(record.key);
            record.value = value.or(record.value);
            Ok(record)
        }
        Outcome::Undecodable(reason) => Err(format!("it cannot be decoded: {reason}")),
    })
}
