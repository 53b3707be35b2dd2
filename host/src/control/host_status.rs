//! What a host says of itself when it is asked: the answer that `gristmill status` shows, field by field.
//!
//! Types only. The text of each field is its meaning in the schema, and stands in `docs/operating.md` as well.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::status::Counts;

/// The schema of [`HostStatus`] as pretty JSON.
pub(crate) fn json_schema() -> String {
    format!("{:#}", schemars::schema_for!(HostStatus).as_value())
}

/// A running host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "gristmill status")]
pub(crate) struct HostStatus {
    /// Name of the pipeline.
    pub(crate) pipeline: String,
    /// The host's process.
    pub(crate) pid: u32,
    /// Version of the host's program.
    pub(crate) version: String,
    /// Where it listens.
    pub(crate) socket: String,
    /// Milliseconds since it was started.
    pub(crate) uptime_ms: u64,
    /// The state's word.
    pub(crate) state: String,
    /// Milliseconds since the state became this one.
    pub(crate) state_for_ms: u64,
    /// What the state is about, where there is more to say.
    pub(crate) detail: Option<String>,
    /// True while hand-overs are paused, whatever the state.
    pub(crate) paused: bool,
    /// The consumer group.
    pub(crate) group: String,
    /// The subscription.
    pub(crate) topics: Vec<String>,
    /// Where records go that cannot be handled.
    pub(crate) dead_letter_topic: Option<String>,
    /// The plugin that runs.
    pub(crate) plugin: PluginStatus,
    /// Everything that is blocked on purpose.
    pub(crate) held: Vec<HeldStatus>,
    /// The batches that are with the plugin, or that failed and wait: one at most, unless each partition has its own.
    pub(crate) batches: Vec<BatchStatus>,
    /// Records that wait for the next hand-over.
    pub(crate) filling: u64,
    /// Sum of the lag of all partitions, where it is known of every one.
    pub(crate) lag: Option<u64>,
    /// The partitions of this host.
    pub(crate) partitions: Vec<PartitionStatus>,
    /// What has been counted since the start.
    pub(crate) counts: Counts,
}

/// The plugin that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PluginStatus {
    /// Its file, as it was when the host started.
    pub(crate) file: String,
    /// Its digest; none while it is being loaded.
    pub(crate) digest: Option<String>,
    /// What it is allowed that the strict profile does not allow, and what it is denied that it does.
    pub(crate) profile: Vec<String>,
}

/// Something that is blocked on purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct HeldStatus {
    /// fatal, exhausted, record_too_large, undecodable, rejected, not_written or position.
    pub(crate) kind: String,
    /// The partition's topic; none where all of them are held.
    pub(crate) topic: Option<String>,
    /// The partition's number; none where all of them are held.
    pub(crate) partition: Option<i32>,
    /// Where the batch lies that it is about, where it is about one.
    pub(crate) positions: Option<String>,
    /// Why, and the way out.
    pub(crate) reason: String,
    /// Milliseconds since it was held.
    pub(crate) for_ms: u64,
    /// The commands that release it.
    pub(crate) release: Vec<ReleaseStatus>,
}

/// A way to go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ReleaseStatus {
    /// The command.
    pub(crate) command: String,
    /// When it helps.
    pub(crate) when: String,
}

/// A batch that is with the plugin, or that failed and waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct BatchStatus {
    /// Its number, unique within the process.
    pub(crate) batch: u64,
    /// out: with the plugin. writes: what it made is being written. waits: it failed and comes again.
    pub(crate) stands: String,
    /// Milliseconds since it stands so.
    pub(crate) for_ms: u64,
    /// The attempt that runs or that failed, from 1.
    pub(crate) attempt: u32,
    /// How many records.
    pub(crate) records: u64,
    /// Topic, partition and offsets.
    pub(crate) positions: String,
    /// Milliseconds until the next attempt; none while it is out or hand-overs are paused.
    pub(crate) next_attempt_in_ms: Option<u64>,
    /// Milliseconds since its first failure, if it failed.
    pub(crate) failing_for_ms: Option<u64>,
    /// Why the last attempt failed, if one did.
    pub(crate) reason: Option<String>,
}

/// A partition of this host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PartitionStatus {
    /// Its topic.
    pub(crate) topic: String,
    /// Its number.
    pub(crate) partition: i32,
    /// The committed offset, as last confirmed: one past the last finished record.
    pub(crate) committed: Option<i64>,
    /// The end of what can be read, as last heard.
    pub(crate) end: Option<i64>,
    /// Records between the two.
    pub(crate) lag: Option<u64>,
    /// Milliseconds since the committed offset last moved while there is lag; 0 without.
    pub(crate) progress_age_ms: u64,
}
