//! Names of log fields, spans and metrics. One word per thing, the same in logs, metrics, status and documentation.

/// Fields of log lines and spans.
pub mod field {
    /// Name of a topic.
    pub const TOPIC: &str = "topic";
    /// Number of a partition.
    pub const PARTITION: &str = "partition";
    /// First offset of a batch in a partition.
    pub const FIRST_OFFSET: &str = "first_offset";
    /// Last offset of a batch in a partition.
    pub const LAST_OFFSET: &str = "last_offset";
    /// Number of a batch, unique within the process.
    pub const BATCH: &str = "batch";
    /// Attempt of a batch, from 1.
    pub const ATTEMPT: &str = "attempt";
    /// First twelve digits of the plugin's digest.
    pub const PLUGIN: &str = "plugin";
}

/// Spans.
pub mod span {
    /// One hand-over of one batch, from its delivery to its answer.
    pub const HAND_OVER: &str = "hand_over";
    /// One commit, from the request to its result.
    pub const COMMIT: &str = "commit";
}

/// Metrics. Labels are topic, partition, plugin; never a key or an offset.
pub mod metric {
    /// Records between the committed offset and the end of the log.
    pub const CONSUMER_LAG_RECORDS: &str = "gristmill_consumer_lag_records";
    /// Age of the first record that is not committed, in seconds.
    pub const CONSUMER_LAG_SECONDS: &str = "gristmill_consumer_lag_seconds";
    /// Next offset that was committed.
    pub const CONSUMER_COMMITTED_OFFSET: &str = "gristmill_consumer_committed_offset";
    /// Records of a batch when it closed.
    pub const BATCH_RECORDS: &str = "gristmill_batch_records";
    /// Bytes of a batch when it closed.
    pub const BATCH_BYTES: &str = "gristmill_batch_bytes";
    /// Batches, by what closed them.
    pub const BATCHES_CLOSED_TOTAL: &str = "gristmill_batches_closed_total";
    /// Answers, by what they said.
    pub const BATCH_OUTCOMES_TOTAL: &str = "gristmill_batch_outcomes_total";
    /// Seconds that a hand-over took, by outcome.
    pub const HANDLER_SECONDS: &str = "gristmill_handler_seconds";
    /// Seconds that a commit took.
    pub const COMMIT_SECONDS: &str = "gristmill_commit_seconds";
    /// 1 while a partition is blocked on purpose.
    pub const PARTITION_BLOCKED: &str = "gristmill_partition_blocked";
    /// Attempts that followed a retryable answer.
    pub const RETRIES_TOTAL: &str = "gristmill_retries_total";
    /// Partitions that were read again from their committed offset.
    pub const REWINDS_TOTAL: &str = "gristmill_rewinds_total";
    /// Assignments and revocations.
    pub const REBALANCES_TOTAL: &str = "gristmill_rebalances_total";
    /// Partitions that this member has.
    pub const ASSIGNED_PARTITIONS: &str = "gristmill_assigned_partitions";
    /// Records that were dropped because they belong to an old epoch or were read twice.
    pub const RECORDS_DROPPED_STALE_TOTAL: &str = "gristmill_records_dropped_stale_total";
}
