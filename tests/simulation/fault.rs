//! The kinds of fault that a world can have. Each seed draws which of them exist.
//!
//! Must not know how a fault strikes: that lies with the component it belongs to.

macro_rules! faults {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// One kind of fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Fault {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Fault {
            /// Every kind.
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)+];
        }
    };
}

faults! {
    // The broker.
    /// Offsets are skipped: markers, aborted transactions.
    Gaps,
    /// Records vanish from the middle of the log.
    Compaction,
    /// The oldest records expire, read or not.
    Truncation,
    /// A commit is refused for a while; nothing is done.
    CommitTemporary,
    /// A commit is done but reported as failed for a while.
    CommitTemporaryApplied,
    /// A commit's outcome stays unknown; nothing was done.
    CommitUnknown,
    /// A commit's outcome stays unknown; it was done.
    CommitUnknownApplied,
    /// A commit is refused because the member is said not to own its partitions.
    CommitNotOurs,
    /// A commit is refused for good.
    CommitRefused,
    /// Commits fail many times in a row.
    CommitOutage,
    /// Looking committed offsets up fails.
    LookupFails,
    /// Records that are not what the operator says they are.
    Undecodable,
    /// What has to be written is not, for now.
    ProduceTemporary,
    /// It is written, and nobody knows.
    ProduceTemporaryApplied,
    /// It is refused, as if for good.
    ProduceRefused,

    // The edge.
    /// Records come again within one epoch.
    Duplicates,
    /// Records overtake neither assignment nor seek, but come after a revocation that was ordered behind them.
    RecordsAfterRevoke,
    /// The edge goes on reading a partition while its revocation waits for an answer.
    ReadWhileRevoking,
    /// A seek fails for one partition and does nothing.
    SeekFails,
    /// A seek is reported as failed for one partition although it was done.
    SeekFailsApplied,
    /// A partition cannot be read at its position.
    Unreadable,
    /// An input that is not a record comes twice.
    RepeatedInput,
    /// Ticks come late.
    LateTicks,
    /// A rebalance callback runs while the client closes.
    RevokeWhileLeaving,
    /// Rebalances with nothing to give or to take.
    EmptyRebalance,

    // The group.
    /// Partitions move for no reason.
    Rebalance,
    /// Members come and go.
    MembersComeAndGo,
    /// A member is put out of the group although it lives.
    Evict,
    /// A member stands still for long, and goes on as if nothing had been.
    Freeze,
    /// A member is killed.
    Crash,
    /// A member is fenced by another with the same static id.
    FencedMember,

    // The guest.
    /// Retryable answers.
    Retryable,
    /// Many retryable answers for one record.
    RetryableLong,
    /// Retryable answers with a wish for the delay.
    RetryAfter,
    /// Fatal answers.
    Fatal,
    /// Traps and other faults.
    Trap,
    /// A record that the guest breaks over every time.
    Poison,
    /// Records that the guest rejects.
    Rejects,
    /// Records of which the guest makes another one.
    Emits,
    /// Answers that a beginning of the batch is done.
    Partial,
    /// Answers that name the record at fault.
    Suspect,
    /// Alternating failures of different kinds.
    MixedFailures,
    /// Calls that end late.
    Hang,
    /// An answer comes although the hand-over was cancelled.
    AnswerAfterCancel,
    /// A record larger than the plugin can ever take.
    RecordTooLarge,

    // The operator.
    /// New plugin versions.
    Swap,
    /// Pause and resume.
    Pause,
    /// Retry commands.
    Retry,
    /// Skip commands.
    Skip,
    /// Memory runs short.
    MemoryShort,
    /// Stop signals.
    Stop,
    /// Second stop signals.
    StopNow,
}
