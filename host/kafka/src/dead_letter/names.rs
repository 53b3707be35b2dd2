//! The names of the headers that tell of failures. A later header of one name counts, as everywhere in Kafka.
//!
//! | name | value |
//! | --- | --- |
//! | `gristmill.origin.topic` `.partition` `.offset` | where the record was when it failed first |
//! | `gristmill.origin.timestamp` | its time, milliseconds since 1970; left out when it had none |
//! | `gristmill.origin.timestamp.type` | `create` or `append`: who set that time |
//! | `gristmill.failure.class` | `rejected`, `undecodable`, `too-large`, `fault`, `retries` or `skipped` |
//! | `gristmill.failure.reason` | in words, at most 8 KiB |
//! | `gristmill.failure.attempts` | how often it was tried |
//! | `gristmill.failure.plugin` | digest of the plugin |
//! | `gristmill.failure.fault` | for the class `fault`: `trap`, `timeout`, `memory`, `exit`, `contract` or `start` |
//! | `gristmill.failure.detail` | what the plugin said: for the class `fault`, and for `skipped` what the batch was held for; at most 16 KiB |
//! | `gristmill.failure.halving` | how it was found among others, where a batch was halved |
//! | `gristmill.failure.at` | when it was given up, milliseconds since 1970 |
//! | `gristmill.last.…` | the same of the latest failure, where it was not the first; with `.topic`, `.partition` and `.offset` of that time |
//! | `gristmill.failures` | how often it failed |
//! | `gristmill.replays` | how often it was replayed |
//! | `gristmill.pointer.topic` `.partition` `.offset` | where the original lies, when it was too large to be copied |
//! | `gristmill.pointer.bytes` | the size of its key, value and headers |
//!
//! In the style of Kafka Connect the first failure's topic, partition, offset, class, reason and detail have Connect's names:
//! `__connect.errors.topic`, `.partition`, `.offset`, `.connector.name` (the pipeline), `.task.id` (0), `.stage`
//! (`VALUE_CONVERTER` for what could not be decoded, otherwise `TASK_PUT`), `.class.name`, `.exception.class.name` (such as
//! `gristmill.rejected` or `gristmill.fault.trap`), `.exception.message`, `.exception.stacktrace`. Everything else is as above. Like Connect
//! itself, nothing overwrites them.

/// How often the record failed.
pub const FAILURES: &str = "gristmill.failures";
/// How often it was replayed.
pub const REPLAYS: &str = "gristmill.replays";
/// The time of the record where it failed first.
pub const ORIGIN_TIMESTAMP: &str = "gristmill.origin.timestamp";
/// Who set that time.
pub const ORIGIN_TIMESTAMP_TYPE: &str = "gristmill.origin.timestamp.type";
/// The size of an original that was too large.
pub const POINTER_BYTES: &str = "gristmill.pointer.bytes";

/// The names of a place.
#[derive(Debug)]
pub struct PlaceNames {
    /// The topic.
    pub topic: &'static str,
    /// The partition's number.
    pub partition: &'static str,
    /// The offset.
    pub offset: &'static str,
}

/// Where the record was when it failed first.
pub const ORIGIN: PlaceNames = PlaceNames {
    topic: "gristmill.origin.topic",
    partition: "gristmill.origin.partition",
    offset: "gristmill.origin.offset",
};
/// Where it was when it failed last.
pub const LAST_PLACE: PlaceNames = PlaceNames {
    topic: "gristmill.last.topic",
    partition: "gristmill.last.partition",
    offset: "gristmill.last.offset",
};
/// Where an original lies that was too large.
pub const POINTER: PlaceNames = PlaceNames {
    topic: "gristmill.pointer.topic",
    partition: "gristmill.pointer.partition",
    offset: "gristmill.pointer.offset",
};
/// Kafka Connect's names of the place where it failed first.
pub const CONNECT_ORIGIN: PlaceNames = PlaceNames {
    topic: "__connect.errors.topic",
    partition: "__connect.errors.partition",
    offset: "__connect.errors.offset",
};

/// The names of what is told about a failure.
#[derive(Debug)]
pub struct FailureNames {
    /// The class.
    pub class: &'static str,
    /// The reason.
    pub reason: &'static str,
    /// The attempts.
    pub attempts: &'static str,
    /// The plugin's digest.
    pub plugin: &'static str,
    /// The class of a fault.
    pub fault: &'static str,
    /// The plugin's own words.
    pub detail: &'static str,
    /// The path of halving.
    pub halving: &'static str,
    /// The time.
    pub at: &'static str,
}

/// The first failure.
pub const FIRST: FailureNames = FailureNames {
    class: "gristmill.failure.class",
    reason: "gristmill.failure.reason",
    attempts: "gristmill.failure.attempts",
    plugin: "gristmill.failure.plugin",
    fault: "gristmill.failure.fault",
    detail: "gristmill.failure.detail",
    halving: "gristmill.failure.halving",
    at: "gristmill.failure.at",
};
/// The latest failure, where it was not the first.
pub const LAST: FailureNames = FailureNames {
    class: "gristmill.last.class",
    reason: "gristmill.last.reason",
    attempts: "gristmill.last.attempts",
    plugin: "gristmill.last.plugin",
    fault: "gristmill.last.fault",
    detail: "gristmill.last.detail",
    halving: "gristmill.last.halving",
    at: "gristmill.last.at",
};

/// Kafka Connect's name for the connector: the pipeline.
pub const CONNECT_CONNECTOR: &str = "__connect.errors.connector.name";
/// Kafka Connect's name for the task: always zero.
pub const CONNECT_TASK: &str = "__connect.errors.task.id";
/// Kafka Connect's name for the stage at which the record failed.
pub const CONNECT_STAGE: &str = "__connect.errors.stage";
/// Kafka Connect's name for the class that ran: `gristmill`.
pub const CONNECT_RUNNING: &str = "__connect.errors.class.name";
/// Kafka Connect's name for the class of the failure.
pub const CONNECT_CLASS: &str = "__connect.errors.exception.class.name";
/// Kafka Connect's name for the reason.
pub const CONNECT_REASON: &str = "__connect.errors.exception.message";
/// Kafka Connect's name for the stack.
pub const CONNECT_DETAIL: &str = "__connect.errors.exception.stacktrace";

/// What every name of a first failure in Kafka Connect's style begins with.
const CONNECT: &str = "__connect.errors.";

/// True for the headers that tell of failures and replays: of a dead letter all others are its record's own.
#[must_use]
pub fn is_story(name: &[u8]) -> bool {
    is_first(name) || is_replaced(name) || is_pointer(name)
}

/// True for the headers of a first failure, which are kept for ever (D4).
pub(super) fn is_first(name: &[u8]) -> bool {
    ["gristmill.origin.", "gristmill.failure.", CONNECT, REPLAYS].iter().any(|part| name.starts_with(part.as_bytes()))
}

/// True for the headers that the next failure writes anew.
pub(super) fn is_replaced(name: &[u8]) -> bool {
    name.starts_with(b"gristmill.last.") || name == FAILURES.as_bytes()
}

/// True for the headers that say where an original lies.
pub(super) fn is_pointer(name: &[u8]) -> bool {
    name.starts_with(b"gristmill.pointer.")
}
