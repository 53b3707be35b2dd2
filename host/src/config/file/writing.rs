//! The sections about what the host writes to Kafka.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Property, Span};

/// Where records go that cannot be handled.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeadLetterSection {
    /// The topic. It has to be there, and must not be read by this pipeline.
    pub(crate) topic: String,
    /// The names of the headers that tell what happened.
    #[serde(default)]
    pub(crate) headers: HeaderNames,
    /// How many dead letters of one partition are so many that the host stops.
    #[serde(default)]
    pub(crate) stop_when: StopWhen,
}

/// The names of the headers that tell what happened to a dead letter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum HeaderNames {
    /// "gristmill.…".
    #[default]
    Native,
    /// "__connect.errors.…", as Kafka Connect writes them.
    KafkaConnect,
}

/// How many dead letters of one partition are so many that something else must be wrong.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StopWhen {
    /// So many records one after the other.
    pub(crate) consecutive: NonZeroU32,
    /// More than this share of the last records, from 0.0 to 1.0.
    pub(crate) ratio: f64,
    /// How many records `ratio` is a share of; fewer are not judged.
    pub(crate) of_last: NonZeroU32,
}

impl Default for StopWhen {
    fn default() -> Self {
        let thousand = NonZeroU32::MIN.saturating_add(999);
        Self { consecutive: thousand, ratio: 0.5, of_last: thousand.saturating_mul(thousand.min(TEN)) }
    }
}

const TEN: NonZeroU32 = NonZeroU32::MIN.saturating_add(9);

/// Where the plugin may emit records to.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SinkSection {
    /// The topic. It has to be there, and must not be read by this pipeline.
    pub(crate) topic: String,
    /// Whether each record gets headers that tell where it came from.
    #[serde(default = "yes")]
    pub(crate) provenance: bool,
}

fn yes() -> bool {
    true
}

/// How records are written.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ProducerSection {
    /// How long a record may take to be acknowledged. After it the batch is tried again.
    pub(crate) timeout: Span,
    /// Properties of librdkafka by their own names, for the producer alone.
    pub(crate) properties: BTreeMap<String, Property>,
}

impl Default for ProducerSection {
    fn default() -> Self {
        Self { timeout: Span::millis(30_000), properties: BTreeMap::new() }
    }
}
