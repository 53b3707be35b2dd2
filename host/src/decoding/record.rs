//! One record: what the plugin gets, or why it gets nothing.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use gristmill_decode::{Decoder, Failure};

use super::formats::Decoders;

/// What decoding made of a record's key and value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// The plugin gets these in the place of the original ones, where there are any.
    Decoded { key: Option<Vec<u8>>, value: Option<Vec<u8>> },
    /// One of them is not what it should be, in words.
    Undecodable(String),
}

impl Made {
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
) -> Result<Made, Unavailable> {
    let key = match part(&decoders.key, key, read_at)? {
        Ok(key) => key,
        Err(reason) => return Ok(Made::Undecodable(format!("the key: {reason}"))),
    };
    Ok(match part(&decoders.value, value, read_at)? {
        Ok(value) => Made::Decoded { key, value },
        Err(reason) => Made::Undecodable(format!("the value: {reason}")),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoding::Formats;
    use crate::decoding::formats::tests::{config, load};

    fn json() -> Formats {
        load(&config("[topics.orders]\nkey_format = \"utf8\"\nvalue_format = \"json\"")).unwrap().unwrap()
    }

    fn decoded(key: Option<&[u8]>, value: Option<&[u8]>) -> Made {
        decode(json().of("orders").unwrap(), key, value, Instant::now()).unwrap()
    }

    #[test]
    fn d9_null_is_handed_over_as_null_and_the_empty_value_is_no_json() {
        assert_eq!(decoded(None, None), Made::AS_IT_IS);
        assert_eq!(decoded(Some(b"k"), None), Made::AS_IT_IS);
        let Made::Undecodable(reason) = decoded(None, Some(b"")) else { panic!("the empty value is no JSON") };
        assert!(reason.starts_with("the value: "), "{reason}");
    }

    #[test]
    fn what_keeps_its_bytes_is_not_copied() {
        assert_eq!(decoded(Some(b"k"), Some(b"{\"a\": 1}")), Made::AS_IT_IS);
    }

    #[test]
    fn a_bad_key_is_named_as_such() {
        let Made::Undecodable(reason) = decoded(Some(b"\xff"), Some(b"nor this")) else { panic!("it is no UTF-8") };
        assert!(reason.starts_with("the key: "), "{reason}");
    }

    #[test]
    fn a_registry_that_is_not_there_says_nothing_about_the_record() {
        let text = "[topics.orders]\nvalue_format = \"avro\"\n[schema_registry]\nurl = \"http://127.0.0.1:1\"";
        let formats = load(&config(text)).unwrap().unwrap();
        let decoders = formats.of("orders").unwrap();
        let unavailable = decode(decoders, None, Some(b"\0\0\0\0\x07\x0e"), Instant::now()).unwrap_err();
        assert!(
            unavailable
                .reason
                .contains("schema 7: the registry at http://127.0.0.1:1 cannot be reached: connection refused"),
            "{unavailable:?}"
        );
        // What has no schema's id in front needs no registry to be wrong.
        let outcome = decode(decoders, None, Some(b"\x07"), Instant::now()).unwrap();
        assert!(matches!(outcome, Made::Undecodable(_)), "{outcome:?}");
    }
}
