//! Sizes ("8 MiB") and spans of time ("200ms") as configurations write them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use bytesize::ByteSize;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

impl Size {
    /// So many mebibytes.
    #[must_use]
    pub const fn mib(count: u64) -> Self {
        Self(count * 1024 * 1024)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
        match units.iter().find(|(_, shift)| self.0 != 0 && self.0.trailing_zeros() >= *shift) {
            Some((unit, shift)) => write!(f, "{} {unit}", self.0 >> shift),
            None => write!(f, "{} B", self.0),
        }
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = Size;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as \"8 MiB\", or a number of bytes")
            }
            fn visit_u64<E: Error>(self, bytes: u64) -> Result<Size, E> {
                Ok(Size(bytes))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Size, E> {
                let text = text.replace('_', "");
                text.parse::<ByteSize>()
                    .map(|size| Size(size.as_u64()))
                    .map_err(|_| E::custom("this is no size; write a number and a unit, such as \"8 MiB\""))
            }
        }
        deserializer.deserialize_any(Read)
    }
}

impl JsonSchema for Size {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number of bytes, or a number with a unit such as \"8 MiB\"",
            "anyOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "string", "pattern": "^[0-9][0-9_]*(\\.[0-9]+)? ?([KMGTPkmgtp]i?)?[Bb]?$|^\\$\\{" }
            ]
        })
    }
}

/// A span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

impl Span {
    /// So many milliseconds.
    #[must_use]
    pub const fn millis(count: u64) -> Self {
        Self(Duration::from_millis(count))
    }
}

/// No time is longer: what is computed with it must not overflow.
const SPAN_MAX: Span = Span(Duration::from_secs(100 * 36_525 * 864));

/// A text that is no time, or too long a one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpanError {
    /// It is no time.
    #[error("this is no time; write a number and a unit, such as \"200ms\" or \"5s\"")]
    NoTime,
    /// It is longer than anything that is waited for.
    #[error("no time here is longer than 100 years; write at most \"100years\"")]
    TooLong,
}

impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, SpanError> {
        let span = humantime::parse_duration(text).map(Self).map_err(|_| SpanError::NoTime)?;
        if span > SPAN_MAX { Err(SpanError::TooLong) } else { Ok(span) }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&humantime::format_duration(self.0), f)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = Span;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time with its unit, such as \"200ms\" or \"5s\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Span, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Read)
    }
}

impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A time with its unit, such as \"200ms\", \"5s\" or \"1m 30s\"",
            "type": "string",
            "pattern": "^[0-9]|^\\$\\{"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_prints_as_people_write_it() {
        assert_eq!(Size::mib(8).to_string(), "8 MiB");
        assert_eq!(Size(1 << 30).to_string(), "1 GiB");
        assert_eq!(Size(1_000).to_string(), "1000 B");
        assert_eq!(Size(0).to_string(), "0 B");
    }
}
