//! The section about the plugin: what it is, what it may reach, what it may use up.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::{CacheWord, Secret, Size, Span};

/// Who gets the batches.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PluginSection {
    /// The component file, relative to the folder of this configuration.
    pub(crate) path: String,
    /// "sha256:" and 64 hexadecimal digits: nothing but exactly this file is loaded.
    pub(crate) digest: Option<String>,
    /// Whether each batch gets an instance of its own.
    #[serde(default)]
    pub(crate) instances: Instances,
    /// Whether the same batch always gets the same answer: a fixed clock, seeded chance, processor time counted in instructions.
    #[serde(default)]
    pub(crate) deterministic: bool,
    /// Where compiled plugins are kept: "auto", "off", or a folder, relative to that of this configuration.
    #[serde(default)]
    pub(crate) cache: CacheWord,
    /// Settings that the plugin reads as environment variables, and in `wasi:config/store`. Never printed.
    #[serde(default)]
    pub(crate) settings: BTreeMap<String, Secret>,
    /// Secrets by name. The plugin gets those that say so, as further settings.
    #[serde(default)]
    pub(crate) secrets: BTreeMap<String, SecretSection>,
    /// What the plugin may reach. Default: nothing.
    #[serde(default)]
    pub(crate) grants: GrantsSection,
    /// What the plugin may use up.
    #[serde(default)]
    pub(crate) limits: LimitsSection,
}

/// A secret.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SecretSection {
    /// The secret itself, as a reference: "${NAME}" or "${file:PATH}".
    pub(crate) value: Secret,
    /// Whether the plugin gets it.
    #[serde(default)]
    pub(crate) expose: bool,
}

/// What the plugin may reach.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GrantsSection {
    /// Where its HTTP requests may go, as "https://host", "https://host:port" or "https://*.suffix".
    pub(crate) http: Vec<HttpEntry>,
    /// Where it may open TCP connections to, as "host:port".
    pub(crate) tcp: Vec<String>,
    /// Ranges of addresses that are not public, and which those hosts may have all the same, as "10.0.3.0/24".
    pub(crate) addresses: Vec<String>,
    /// Certificates (PEM) of authorities to trust beside the system's, for its requests; relative to the folder of this configuration.
    pub(crate) ca_file: Option<String>,
    /// Folders that it may read.
    pub(crate) files: Vec<FilesEntry>,
}

/// Where HTTP requests may go, and what the host adds to them.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum HttpEntry {
    /// Scheme, host and port.
    Origin(String),
    /// The same with headers.
    WithHeaders(HttpSection),
}

/// Where HTTP requests may go, and what the host adds to them.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HttpSection {
    /// Scheme, host and port.
    pub(crate) url: String,
    /// Headers that the host adds and the plugin never sees. Never printed.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Secret>,
}

impl HttpEntry {
    /// Scheme, host and port, as written.
    pub(crate) fn url(&self) -> &str {
        match self {
            Self::Origin(url) | Self::WithHeaders(HttpSection { url, .. }) => url,
        }
    }

    /// What the host adds.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&String, &Secret)> {
        let headers = match self {
            Self::Origin(_) => None,
            Self::WithHeaders(section) => Some(&section.headers),
        };
        headers.into_iter().flatten()
    }
}

impl<'de> Deserialize<'de> for HttpEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = HttpEntry;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string such as \"https://api.example.com\", or a table with url and headers")
            }
            fn visit_str<E: Error>(self, url: &str) -> Result<HttpEntry, E> {
                Ok(HttpEntry::Origin(url.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<HttpEntry, A::Error> {
                HttpSection::deserialize(MapAccessDeserializer::new(entries)).map(HttpEntry::WithHeaders)
            }
        }
        deserializer.deserialize_any(Read)
    }
}

impl JsonSchema for HttpEntry {
    fn schema_name() -> Cow<'static, str> {
        "HttpGrant".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let section = generator.subschema_for::<HttpSection>();
        json_schema!({ "anyOf": [{ "type": "string" }, section] })
    }
}

/// A folder that the plugin may read.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table for each folder, as in [{ path = \"lookup\", as = \"/lookup\" }]")]
pub(crate) struct FilesEntry {
    /// The folder, relative to that of this configuration.
    pub(crate) path: String,
    /// What the plugin calls it: an absolute path.
    #[serde(rename = "as")]
    pub(crate) mount: String,
    /// What all that lies in it may have together.
    #[serde(default = "default_files_max")]
    pub(crate) max_bytes: Size,
}

fn default_files_max() -> Size {
    Size::mib(64)
}

/// Whether each batch gets an instance of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Instances {
    /// A fresh instance for every batch: no state survives.
    #[default]
    Fresh,
    /// One instance for many batches, replaced after a fault.
    Reuse,
}

/// What the plugin may use up.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LimitsSection {
    /// Memory, summed over all memories and tables of an instance.
    pub(crate) memory: Size,
    /// Wall clock for each batch, host calls included.
    pub(crate) time: Span,
    /// Processor time for each batch. Default: "2s", or `time` where that is less.
    pub(crate) cpu: Option<Span>,
    /// The largest record that is handed over; a larger one is a dead letter, or holds. Default: a quarter of `memory`.
    pub(crate) record: Option<Size>,
    /// Records that the plugin may emit for each batch.
    pub(crate) emitted_records: u32,
    /// Bytes that the plugin may emit for each batch.
    pub(crate) emitted_bytes: Size,
    /// The largest file that is loaded as a plugin.
    pub(crate) file: Size,
    /// What the plugin may print, for each second and each of its two streams.
    pub(crate) output: Size,
    /// What one line of that may have.
    pub(crate) output_line: Size,
    /// Random bytes for each host call.
    pub(crate) random: Size,
    /// Streams, sockets, requests, timers and the like that are open at once.
    pub(crate) resources: NonZeroU32,
    /// Core instances that the component may consist of.
    pub(crate) instances: NonZeroU32,
    /// Memories that they may have together.
    pub(crate) memories: NonZeroU32,
    /// Tables that they may have together.
    pub(crate) tables: NonZeroU32,
}

impl Default for LimitsSection {
    fn default() -> Self {
        Self {
            memory: Size::mib(64),
            time: Span::millis(5_000),
            cpu: None,
            record: None,
            emitted_records: 100_000,
            emitted_bytes: Size::mib(64),
            file: Size::mib(32),
            output: Size(64 << 10),
            output_line: Size(4 << 10),
            random: Size(64 << 10),
            resources: count(1_024),
            instances: count(64),
            memories: count(4),
            tables: count(64),
        }
    }
}

/// A number that is not 0.
fn count(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN)
}
