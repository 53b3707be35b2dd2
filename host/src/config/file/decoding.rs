//! The sections about what the bytes of keys and values are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Secret, Span};

/// What the bytes of a topic's records are. What is not what it should be is a dead letter, or holds the pipeline.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TopicSection {
    /// What keys are.
    pub(crate) key_format: FormatName,
    /// The schema file of keys, relative to the folder of this configuration. Default: the schema registry.
    pub(crate) key_schema: Option<String>,
    /// With a schema file for Protobuf: the full name of the message that keys are.
    pub(crate) key_message: Option<String>,
    /// What values are.
    pub(crate) value_format: FormatName,
    /// The schema file of values, relative to the folder of this configuration. Default: the schema registry.
    pub(crate) value_schema: Option<String>,
    /// With a schema file for Protobuf: the full name of the message that values are.
    pub(crate) value_message: Option<String>,
}

/// What keys or values are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FormatName {
    /// Bytes, of which nothing is asked.
    #[default]
    Raw,
    /// Text in UTF-8.
    Utf8,
    /// One JSON text.
    Json,
    /// One JSON text that follows a schema.
    JsonSchema,
    /// An Avro datum; the plugin gets JSON.
    Avro,
    /// A Protobuf message; the plugin gets JSON.
    Protobuf,
}

/// Where schemas come from that no file is named for: by the id that stands in front of each datum.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RegistrySection {
    /// Its address, up to the path that Confluent's interface begins at.
    pub(crate) url: String,
    /// Who we are, with a password.
    pub(crate) user: Option<String>,
    /// The user's password. Never printed.
    pub(crate) password: Option<Secret>,
    /// Who we are, by a token instead. Never printed.
    pub(crate) token: Option<Secret>,
    /// Certificates (PEM) of authorities to trust, relative to the folder of this configuration. Default: the system's.
    pub(crate) ca_file: Option<String>,
    /// How long one request may take.
    #[serde(default = "ten_seconds")]
    pub(crate) timeout: Span,
}

fn ten_seconds() -> Span {
    Span::millis(10_000)
}
