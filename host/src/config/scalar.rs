//! Values that may be written in more than one way: properties and settings, a number of attempts.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::secret::Secret;

/// Reads a string, a whole number or a truth as text.
struct ScalarText;

impl Visitor<'_> for ScalarText {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, a number or true or false")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<String, E> {
        Ok(truth.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<String, E> {
        Ok(number.to_string())
    }
}

fn scalar_schema(description: &str) -> Schema {
    json_schema!({ "description": description, "type": ["string", "number", "boolean"] })
}

/// The value of a property of librdkafka.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Property(pub(crate) String);

impl<'de> Deserialize<'de> for Property {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarText).map(Self)
    }
}

impl JsonSchema for Property {
    fn schema_name() -> Cow<'static, str> {
        "Property".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        scalar_schema("The value of a property of librdkafka")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarText).map(Self::new)
    }
}

impl JsonSchema for Secret {
    fn schema_name() -> Cow<'static, str> {
        "Setting".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        scalar_schema("A text that is never printed")
    }
}

/// How often a batch is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempts {
    /// For ever.
    Unlimited,
    /// This often, the first time included.
    Limited(NonZeroU32),
}

impl Serialize for Attempts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unlimited => serializer.serialize_str("unlimited"),
            Self::Limited(count) => count.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Attempts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = Attempts;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number from 1, or \"unlimited\"")
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Attempts, E> {
                let count = u32::try_from(number).ok().and_then(NonZeroU32::new);
                count
                    .map(Attempts::Limited)
                    .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Unsigned(number), &self))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Attempts, E> {
                match text {
                    "unlimited" => Ok(Attempts::Unlimited),
                    _ => match text.parse() {
                        Ok(number) => self.visit_u64(number),
                        Err(_) => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                    },
                }
            }
        }
        deserializer.deserialize_any(Read)
    }
}

impl JsonSchema for Attempts {
    fn schema_name() -> Cow<'static, str> {
        "Attempts".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number of attempts, the first one included, or \"unlimited\"",
            "anyOf": [{ "type": "integer", "minimum": 1 }, { "const": "unlimited" }]
        })
    }
}
