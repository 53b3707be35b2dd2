//! One record as one line of JSON.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gristmill_guest::Timestamp;
use serde::de::{Error, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize};

use super::{FileHeader, FileRecord};

/// A line that is no record.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct LineError {
    /// Where in the line, from 1.
    pub column: usize,
    /// What is wrong with it.
    pub message: String,
}

impl LineError {
    fn new(message: String) -> Self {
        Self { column: 1, message }
    }
}

/// A record as it is written; text and base64 exclude each other.
#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct Line {
    topic: Option<String>,
    partition: Option<i32>,
    offset: Option<i64>,
    timestamp: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp_type: Option<TimestampType>,
    #[serde(skip_serializing_if = "left_out")]
    key: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_b64: Option<String>,
    #[serde(skip_serializing_if = "left_out")]
    value: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_b64: Option<String>,
    headers: Vec<HeaderLine>,
}

/// A header as it is written: an object, or a pair of name and value.
#[derive(Default, Serialize)]
pub(super) struct HeaderLine {
    #[serde(skip_serializing_if = "left_out")]
    key: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_b64: Option<String>,
    #[serde(skip_serializing_if = "left_out")]
    value: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_b64: Option<String>,
}

impl HeaderLine {
    pub(super) fn of(name: &[u8], value: Option<&[u8]>) -> Self {
        let (key, key_b64) = written(Some(name));
        let (value, value_b64) = written(value);
        Self { key, key_b64, value, value_b64 }
    }
}

/// Text that may be null, and whether it was written at all.
#[derive(Default)]
pub(super) enum Text {
    #[default]
    Absent,
    Null,
    Given(String),
}

pub(super) fn left_out(text: &Text) -> bool {
    matches!(text, Text::Absent)
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ReadText)
    }
}

struct ReadText;

/// What stands in the place of a text, and the way to write it as one.
fn no_text<E: Error>(what: &str) -> Result<Text, E> {
    Err(E::custom(format!(
        "{what} is no text; write it as a string, such as \"{{\\\"id\\\": 1}}\", or as base64 in key_b64 or value_b64"
    )))
}

impl<'de> Visitor<'de> for ReadText {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or null")
    }

    fn visit_unit<E: Error>(self) -> Result<Text, E> {
        Ok(Text::Null)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
        Ok(Text::Given(text.to_owned()))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Text, E> {
        no_text("true or false")
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Text, E> {
        no_text("a number")
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Text, E> {
        no_text("a number")
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Text, E> {
        no_text("a number")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Text, A::Error> {
        no_text("a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<Text, A::Error> {
        no_text("an object")
    }
}

impl Serialize for Text {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Absent | Self::Null => serializer.serialize_none(),
            Self::Given(text) => serializer.serialize_str(text),
        }
    }
}

/// Whose clock a timestamp is.
#[derive(Clone, Copy, Deserialize, Serialize)]
enum TimestampType {
    #[serde(rename = "create")]
    CreateTime,
    #[serde(rename = "log_append")]
    LogAppendTime,
}

impl<'de> Deserialize<'de> for HeaderLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Default, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        struct Object {
            key: Text,
            key_b64: Option<String>,
            value: Text,
            value_b64: Option<String>,
        }
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = HeaderLine;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a header: {\"key\": …, \"value\": …} or [key, value]")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<HeaderLine, A::Error> {
                let Object { key, key_b64, value, value_b64 } = Object::deserialize(MapAccessDeserializer::new(map))?;
                Ok(HeaderLine { key, key_b64, value, value_b64 })
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<HeaderLine, A::Error> {
                let key = seq.next_element()?.ok_or_else(|| A::Error::invalid_length(0, &self))?;
                let value = seq.next_element()?.ok_or_else(|| A::Error::invalid_length(1, &self))?;
                if seq.next_element::<serde::de::IgnoredAny>()?.is_some() {
                    return Err(A::Error::invalid_length(3, &self));
                }
                Ok(HeaderLine { key, value, ..HeaderLine::default() })
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// A record whose left-out fields are still open.
pub(super) struct Parsed {
    topic: Option<String>,
    partition: Option<i32>,
    offset: Option<i64>,
    rest: Rest,
}

struct Rest {
    timestamp: Timestamp,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<FileHeader>,
}

impl Parsed {
    /// Fills in what was left out; `next` knows the next offset of a partition.
    pub(super) fn into_record(self, next: impl Fn(&str, i32) -> i64) -> FileRecord {
        let topic = self.topic.unwrap_or_else(|| "records".to_owned());
        let partition = self.partition.unwrap_or(0);
        let offset = self.offset.unwrap_or_else(|| next(&topic, partition));
        let Rest { timestamp, key, value, headers } = self.rest;
        FileRecord { topic, partition, offset, timestamp, key, value, headers }
    }
}

/// Reads one line.
///
/// # Errors
/// What is wrong with it, and where.
pub(super) fn parse(line: &[u8]) -> Result<Parsed, LineError> {
    let line: Line = serde_json::from_slice(line).map_err(|error| {
        let full = error.to_string();
        let message = full.rsplit_once(" at line ").map_or(full.as_str(), |(message, _)| message).to_owned();
        LineError { column: error.column().max(1), message }
    })?;
    let headers = line.headers.into_iter().map(header).collect::<Result<_, _>>()?;
    let timestamp = match (line.timestamp, line.timestamp_type) {
        (None, _) => Timestamp::None,
        (Some(ms), Some(TimestampType::LogAppendTime)) => Timestamp::LogAppendTime(ms),
        (Some(ms), Some(TimestampType::CreateTime) | None) => Timestamp::CreateTime(ms),
    };
    let key = bytes("key", line.key, line.key_b64)?;
    let value = bytes("value", line.value, line.value_b64)?;
    let rest = Rest { timestamp, key, value, headers };
    Ok(Parsed { topic: line.topic, partition: line.partition, offset: line.offset, rest })
}

fn header(line: HeaderLine) -> Result<FileHeader, LineError> {
    let name = bytes("key", line.key, line.key_b64)?;
    let name = name.ok_or_else(|| LineError::new("a header's key cannot be null; write a string".to_owned()))?;
    Ok(FileHeader { name, value: bytes("value", line.value, line.value_b64)? })
}

fn bytes(name: &str, text: Text, base64: Option<String>) -> Result<Option<Vec<u8>>, LineError> {
    match (text, base64) {
        (Text::Absent, Some(base64)) => match STANDARD.decode(&base64) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) => Err(LineError::new(format!("{name}_b64 is not base64: {error}"))),
        },
        (Text::Null | Text::Given(_), Some(_)) => {
            Err(LineError::new(format!("{name} and {name}_b64 are both given; write one of them")))
        }
        (Text::Given(text), None) => Ok(Some(text.into_bytes())),
        (Text::Absent | Text::Null, None) => Ok(None),
    }
}

impl Serialize for FileRecord {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        line(self).serialize(serializer)
    }
}

/// Writes one line.
pub(super) fn write(record: &FileRecord) -> String {
    // Strings, numbers and lists of them always have a JSON form.
    serde_json::to_string(record).unwrap_or_default()
}

fn line(record: &FileRecord) -> Line {
    let (timestamp, timestamp_type) = match record.timestamp {
        Timestamp::None => (None, None),
        Timestamp::CreateTime(ms) => (Some(ms), None),
        Timestamp::LogAppendTime(ms) => (Some(ms), Some(TimestampType::LogAppendTime)),
    };
    let (key, key_b64) = written(record.key.as_deref());
    let (value, value_b64) = written(record.value.as_deref());
    let headers = record.headers.iter().map(|header| HeaderLine::of(&header.name, header.value.as_deref()));
    Line {
        topic: Some(record.topic.clone()),
        partition: Some(record.partition),
        offset: Some(record.offset),
        timestamp,
        timestamp_type,
        key,
        key_b64,
        value,
        value_b64,
        headers: headers.collect(),
    }
}

/// Text where it is UTF-8, base64 where it is not.
pub(super) fn written(bytes: Option<&[u8]>) -> (Text, Option<String>) {
    match bytes.map(std::str::from_utf8) {
        None => (Text::Null, None),
        Some(Ok(text)) => (Text::Given(text.to_owned()), None),
        Some(Err(_)) => (Text::Absent, bytes.map(|bytes| STANDARD.encode(bytes))),
    }
}
