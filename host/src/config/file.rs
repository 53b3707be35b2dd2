//! The configuration file as it is written: one serde model for reading, for the JSON Schema and for `check --origin`.
//!
//! It may still hold combinations that make no sense; `parse` turns it into a `Config`, which cannot.

mod decoding;
mod plugin;
mod writing;

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cache::CacheWord;
use super::quantity::{Size, Span};
use super::scalar::{Attempts, Property};
use super::secret::Secret;

pub(crate) use decoding::{FormatName, RegistrySection, TopicSection};
pub(crate) use plugin::{GrantsSection, Instances, PluginSection};
pub(crate) use writing::{DeadLetterSection, HeaderNames, ProducerSection, SinkSection, StopWhen};

/// A gristmill pipeline: which topics, how they are cut into batches, which plugin gets them, what its answers mean.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "gristmill configuration")]
pub(crate) struct ConfigFile {
    /// Name of the pipeline in logs and towards the plugin. Default: the group id.
    pub(crate) pipeline: Option<String>,
    /// Where records come from.
    pub(crate) kafka: KafkaSection,
    /// What the bytes of a topic's records are: a topic or pattern of `kafka.topics`, and its formats.
    #[serde(default)]
    pub(crate) topics: BTreeMap<String, TopicSection>,
    /// Where schemas come from that no file is named for.
    pub(crate) schema_registry: Option<RegistrySection>,
    /// When a batch closes.
    #[serde(default)]
    pub(crate) batch: BatchSection,
    /// Who gets the batches.
    pub(crate) plugin: PluginSection,
    /// What a retryable answer means.
    #[serde(default)]
    pub(crate) retry: RetrySection,
    /// What a fault (trap, time, memory, exit, contradictory answer) means.
    #[serde(default)]
    pub(crate) fault: FaultSection,
    /// What a fatal answer means.
    #[serde(default)]
    pub(crate) fatal: FatalSection,
    /// Where records go that cannot be handled. Without it such a record holds the pipeline.
    pub(crate) dead_letter: Option<DeadLetterSection>,
    /// Where the plugin may emit records to: a name for it, and what stands behind the name.
    #[serde(default)]
    pub(crate) sinks: BTreeMap<String, SinkSection>,
    /// How records are written.
    #[serde(default)]
    pub(crate) producer: ProducerSection,
    /// What happens while brokers or topics are not there at start.
    #[serde(default)]
    pub(crate) start: StartSection,
    /// How the host stops.
    #[serde(default)]
    pub(crate) shutdown: ShutdownSection,
    /// How a running host is talked to.
    #[serde(default)]
    pub(crate) control: ControlSection,
}

/// Where records come from.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KafkaSection {
    /// Brokers to ask first, as "host:port,host:port".
    pub(crate) bootstrap_servers: String,
    /// The consumer group.
    pub(crate) group_id: String,
    /// Topics to read. A leading ^ makes one a pattern.
    pub(crate) topics: Vec<String>,
    /// Where to start when the group has committed nothing. There is no default: it must be chosen.
    pub(crate) auto_offset_reset: Reset,
    /// What to do when a committed offset is no longer in the log.
    #[serde(default)]
    pub(crate) on_out_of_range: OutOfRange,
    /// How long a rebalance may wait for the running batch of a partition that is taken away.
    #[serde(default = "default_drain")]
    pub(crate) drain: Span,
    /// Properties of librdkafka by their own names.
    #[serde(default)]
    pub(crate) properties: BTreeMap<String, Property>,
}

fn default_drain() -> Span {
    Span::millis(10_000)
}

/// Where to start when the group has committed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Reset {
    /// At the first record that is there.
    Earliest,
    /// Behind the last record that is there.
    Latest,
    /// Nowhere: hold the partition and say so.
    Error,
}

/// What to do when a committed offset is no longer in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OutOfRange {
    /// Hold the partition and say so.
    #[default]
    Hold,
    /// Go on at the first record that is there.
    Earliest,
    /// Go on behind the last record that is there.
    Latest,
}

/// When a batch closes: whichever comes first.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct BatchSection {
    /// At this many records.
    pub(crate) max_records: NonZeroU32,
    /// Before the record that would exceed this size. A larger record travels alone.
    pub(crate) max_bytes: Size,
    /// This long after its first record arrived. "0s": as soon as there is a record.
    pub(crate) max_wait: Span,
    /// Which records share a batch: those of all assigned partitions, or those of one.
    pub(crate) scope: Scope,
    /// How many batches may be with the plugin at once, each of another partition. More than 1 with scope = "partition" only.
    pub(crate) workers: NonZeroU32,
}

impl Default for BatchSection {
    fn default() -> Self {
        Self {
            max_records: NonZeroU32::MIN.saturating_add(9_999),
            max_bytes: Size::mib(8),
            max_wait: Span::millis(1_000),
            scope: Scope::Consumer,
            workers: NonZeroU32::MIN,
        }
    }
}

/// Which records share a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    /// Those of all assigned partitions.
    Consumer,
    /// Those of one partition: each has its own batches, which wait for nobody else's.
    Partition,
}

/// What a retryable answer means.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RetrySection {
    /// Wait before the second attempt. It doubles with each attempt.
    pub(crate) initial: Span,
    /// No wait is longer.
    pub(crate) max: Span,
    /// Share of a wait that chance adds or takes away, from 0.0 to 1.0.
    pub(crate) jitter: f64,
    /// Attempts in all, the first one included, or "unlimited".
    pub(crate) max_attempts: Attempts,
    /// What follows the last attempt; only with a limited number. Default: "stop".
    pub(crate) then: Option<Exhausted>,
    /// Whether the batch is handed over again from memory or read again from Kafka.
    pub(crate) redeliver: Redeliver,
}

impl Default for RetrySection {
    fn default() -> Self {
        Self {
            initial: Span::millis(200),
            max: Span::millis(30_000),
            jitter: 0.2,
            max_attempts: Attempts::Unlimited,
            then: None,
            redeliver: Redeliver::Memory,
        }
    }
}

/// What happens when a budget of attempts is spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Exhausted {
    /// Leave the group and end the process.
    #[default]
    Stop,
    /// Stay in the group, blocked, until an operator decides.
    Hold,
    /// Write what fails to the dead-letter topic and go on.
    #[serde(rename = "dead_letter")]
    DeadLetter,
}

/// Whether the batch is handed over again from memory or read again from Kafka.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Redeliver {
    /// From memory, byte for byte.
    Memory,
    /// By seeking to the committed offsets.
    Seek,
}

/// What a fault means.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FaultSection {
    /// Attempts in all, the first one included. There is always a limit.
    pub(crate) max_attempts: NonZeroU32,
    /// What follows the last attempt. Default: "dead_letter" where there is a dead-letter topic, else "stop".
    pub(crate) then: Option<Exhausted>,
    /// Whether a batch that fails to the last is cut in parts until one record fails alone, and only that one is concerned. Also
    /// after the last retryable answer. Default: true where there is a dead-letter topic.
    pub(crate) isolate: Option<bool>,
}

impl Default for FaultSection {
    fn default() -> Self {
        Self { max_attempts: NonZeroU32::MIN.saturating_add(2), then: None, isolate: None }
    }
}

/// What a fatal answer means.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FatalSection {
    /// Whether the process ends or stays in the group, blocked.
    pub(crate) then: Fatal,
}

/// Whether the process ends or stays in the group, blocked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Fatal {
    /// Leave the group and end the process with code 65.
    #[default]
    Exit,
    /// Stay in the group, blocked, so that a poison batch does not walk through the fleet.
    Hold,
}

/// What happens while brokers or topics are not there at start.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StartSection {
    /// How long to try to reach a broker before the process ends with code 69.
    pub(crate) wait: Span,
    /// Whether to wait for a topic that does not exist, or to end with code 78 after `wait`.
    pub(crate) missing_topics: MissingTopics,
    /// Whether the host gives up, before it loads the plugin, what it does not need of the system: as far as the kernel has Landlock
    /// and seccomp.
    pub(crate) confine: bool,
}

impl Default for StartSection {
    fn default() -> Self {
        Self { wait: Span::millis(60_000), missing_topics: MissingTopics::Wait, confine: true }
    }
}

/// What to do about a topic that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MissingTopics {
    /// Say so, read the others, begin when it appears.
    Wait,
    /// End the process.
    Exit,
}

/// How the host stops.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ShutdownSection {
    /// How long the running batch may go on after the first signal.
    pub(crate) grace: Span,
}

impl Default for ShutdownSection {
    fn default() -> Self {
        Self { grace: Span::millis(20_000) }
    }
}

/// How a running host is talked to.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ControlSection {
    /// Whether the host makes a control socket.
    pub(crate) enabled: bool,
    /// The socket's file, relative to the folder of this configuration. Default: in the runtime folder, by the pipeline's name.
    pub(crate) socket: Option<String>,
}

impl Default for ControlSection {
    fn default() -> Self {
        Self { enabled: true, socket: None }
    }
}
