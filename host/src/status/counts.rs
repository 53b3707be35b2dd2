//! How much a running host has done: what logs sum up and `gristmill status` shows.
//!
//! Nothing but numbers. Who counts is [`super::Status`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What has been counted since the start. Records, unless the name says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Counts {
    /// Records taken from Kafka.
    pub(crate) records_in: u64,
    /// Of these, dropped as repeated or outdated; they were or will be handed over under another reading.
    pub(crate) stale: u64,
    /// Records given to the plugin, each attempt counted.
    pub(crate) handed_over: u64,
    /// Of these, given again after a failed attempt.
    pub(crate) redelivered: u64,
    /// Records said ok to by the plugin, and committed.
    pub(crate) committed: u64,
    /// Batches handed over for the first time that closed by their number of records.
    pub(crate) closed_by_records: u64,
    /// The same, by their bytes.
    pub(crate) closed_by_bytes: u64,
    /// The same, by the age of their first record.
    pub(crate) closed_by_wait: u64,
    /// Batches that the plugin said ok to.
    pub(crate) batches_ok: u64,
    /// Retryable answers.
    pub(crate) retries: u64,
    /// Traps, time-outs and the like.
    pub(crate) faults: u64,
    /// Batches that were cut in parts to find the record that fails.
    pub(crate) cut: u64,
    /// Records written to the dead-letter topic.
    pub(crate) dead_letters: u64,
    /// Records written for the plugin.
    pub(crate) emitted: u64,
    /// Times that the brokers did not acknowledge what a batch made, which was then handed over again.
    pub(crate) write_failures: u64,
    /// Assignments, revocations and losses.
    pub(crate) rebalances: u64,
    /// Times this member was thrown out of the group for being silent.
    pub(crate) evictions: u64,
    /// Records dropped by the Kafka edge itself as repeated or outdated; not part of `records_in`.
    pub(crate) stale_at_edge: u64,
}
