//! One record: what the plugin gets, or why it gets nothing.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use gristmill_decode::{Decoder, Failure};

use super::formats::Decoders;

/// What decoding made of a record's key and value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The plugin gets these in the place of the original ones, where there are any.
    Decoded { key: Option<Vec<u8>>, value: Option<Vec<u8>> },
    /// One of them is not what it should be, in words.
    Undecodable(String),
}

impl Outcome {
    /// A record that the plugin gets as it is.
    pub(crate) const AS_IT_IS: Self = Self::Decoded { key: None, value: None };
}

/// Why a record has to wait.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unavailable {
    pub(crate) reason: String,
    pub(crate) again_in: Duration,
}

/// Decodes a record. Null is not decoded: a record without a value is none that cannot be decoded (D9).
///
/// # Errors
/// A schema cannot be had now, which says nothing about the record.
pub(crate) fn decode(
    decoders: &Decoders,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    read_at: Instant,
) -> Result<Outcome, Unavailable> {
    let key = match part(&decoders.key, key, read_at)? {
        Ok(key) => key,
        Err(reason) => return Ok(Outcome::Undecodable(format!("the key: {reason}"))),
    };
    Ok(match part(&decoders.value, value, read_at)? {
        Ok(value) => Outcome::Decoded { key, value },
        Err(reason) => Outcome::Undecodable(format!("the value: {reason}")),
    })
}

/// What the plugin gets instead of these bytes, where it is not they; or why they are not what they should be.
fn part(
    decoder: &Decoder,
    bytes: Option<&[u8]>,
    read_at: Instant,
) -> Result<Result<Option<Vec<u8>>, String>, Unavailable> {
    let Some(bytes) = bytes else { return Ok(Ok(None)) };
    match decoder.decode(bytes, read_at) {
        Ok(Cow::Owned(decoded)) => Ok(Ok(Some(decoded))),
        // With a registry's JSON Schema it is a part of them: what stands in front of the text is not the plugin's.
        Ok(Cow::Borrowed(kept)) => Ok(Ok((kept.len() != bytes.len()).then(|| kept.to_vec()))),
        Err(Failure::Undecodable(reason)) => Ok(Err(reason.to_string())),
        Err(Failure::Unavailable { reason, again_in }) => Err(Unavailable { reason: reason.to_string(), again_in }),
    }
}
