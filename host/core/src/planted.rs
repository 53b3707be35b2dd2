//! Bugs that can be planted in the machine, one at a time, so that the simulation can show that it would find each of them.
//!
//! A planted bug is a decision taken wrongly at one place. The names exist in every build so that the decision sites read
//! the same everywhere; only with the feature `planted` can one be switched on. Nothing here knows how a bug is found.

macro_rules! bugs {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// One wrong decision. Each variant says what it breaks.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Bug {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Bug {
            /// Every bug, in the order of their definition.
            pub const ALL: &[Self] = &[$(Self::$name,)+];
        }
    };
}

bugs! {
    // What is accepted, and what is dropped.
    /// The answer of a cancelled or superseded hand-over counts as if it were the current one's (I-14).
    AcceptStaleAnswer,
    /// Records are accepted whatever their epoch says (I-13).
    IgnoreEpoch,
    /// The partition keeps its epoch while a rewind is under way, so records read before the seek still enter (R3).
    KeepEpochOnRewind,
    /// A record below the next expected offset is accepted (I-10).
    AcceptBelowNext,
    /// A record that does not follow its predecessor immediately is dropped (A8).
    DropOnGap,
    /// Records of a partition being revoked still enter a batch (B9).
    AcceptWhileRevoking,
    /// What an old reading went past counts for the current one (C10).
    PassUnderOldEpoch,
    /// What reading went past is committed although records before it are not done (C10).
    PassUnfinishedRecords,
    /// Marks behind the last record are never committed (C10).
    ForgetPassed,
    /// Marks that were met while the records before them were at work are not committed with them (C10).
    ForgetPassedBehindBatch,

    // What is committed, and when.
    /// The offset of the last handled record is committed instead of the position behind it (C1).
    CommitOffsetInsteadOfNext,
    /// The commit is ordered at the hand-over, before the guest answered (I-02).
    CommitBeforeOk,
    /// The position behind the last record fetched is committed, not the one behind the last handled (C1).
    CommitFetchedPosition,
    /// Every partition of a batch is committed at the highest position among them (C1).
    CommitHighestOfBatch,
    /// Only the first partition of a batch is committed.
    CommitFirstPartitionOnly,
    /// A revoked partition's running records are committed without waiting for the guest (B1).
    CommitOnRevoke,
    /// A lost partition's records are committed when the guest finishes (B2).
    CommitOnLost,
    /// A partition is committed although its revocation was answered already (I-05).
    CommitAfterRevokeAnswered,
    /// A commit of unknown outcome counts as done (C5).
    TreatUnknownCommitAsDone,
    /// A commit that failed counts as done (C2).
    TreatFailedCommitAsDone,
    /// A commit of unknown outcome is sent again without asking what is committed (I-06).
    SkipLookupAfterUnknown,
    /// A second commit is sent for a partition while one is in flight (I-07).
    TwoCommitsInFlight,
    /// A failed commit is tried again at once (C2).
    RetryCommitWithoutSpacing,
    /// A commit that keeps failing is tried for ever, so its records are never read again (C2).
    RetryCommitForEver,
    /// The resolved start position of a partition without committed offset is not committed (C8).
    ForgetStartCommit,
    /// Each commit names every owned partition, changed or not (C9).
    RewriteIdleCommits,
    /// A commit refused because the partition is not ours any more is tried again like any other (C3).
    TreatNotOursAsTemporary,
    /// A batch is handed over while two before it are not known to be committed (R8).
    DeliverWhileSettling,
    /// A batch is handed over although the commit of the one before has failed (R8).
    DeliverOverFailedCommit,
    /// The next batch waits until the one before is known to be committed.
    WaitForCommit,
    /// A commit is given up although its partition's next records are with the guest (I-37).
    GiveCommitUpAtWork,

    // What is written before a commit.
    /// The commit is ordered before the dead letters are acknowledged (D1).
    CommitBeforeProduced,
    /// A production that failed counts as done (D2).
    TreatFailedProduceAsDone,
    /// Records that no guest can take are committed over without a dead letter.
    ForgetUndecodable,
    /// Records that the plugin rejected are committed over without a dead letter.
    ForgetRejected,
    /// What the plugin emitted is not written.
    ForgetEmitted,
    /// A record that cannot be decoded is handed over.
    HandOverUndecodable,
    /// A batch is handed over although nothing in it is for a guest (A6).
    HandOverWhatIsPutAside,
    /// A partition is drained into the dead-letter topic without end (D8).
    IgnoreLetterLimit,
    /// A batch that is skipped is committed without being written.
    SkipWithoutLetter,
    /// A skip of what one lane holds skips what every lane holds.
    SkipEveryLane,
    /// A revocation is answered while dead letters of its partitions are being written (B1).
    AnswerRevokeBeforeProduced,

    // Parts of batches.
    /// A batch that is done in part is committed as a whole (R7).
    CommitAllOfPartial,
    /// The rest of a batch that is done in part never comes again.
    ForgetRestOfPartial,
    /// Attempts before the progress of a part still count for the rest (R4).
    KeepAttemptsOnProgress,
    /// Of a batch that is cut the last part comes first.
    RightHalfFirst,
    /// A batch that fails to the last is put aside whole instead of being cut.
    PutWholeBatchAside,

    // Rebalances.
    /// The revocation is answered while a commit of its partitions is in flight (B1).
    AnswerRevokeBeforeCommitEnded,
    /// The revocation's deadline is not watched (I-23).
    IgnoreRevokeDeadline,
    /// Collected records of a revoked partition stay in the batch being filled (B1).
    KeepCollectedOnRevoke,
    /// A revoke empties the lane, kept partitions included (B1).
    DropKeptOnRevoke,
    /// Collected records behind the first one of the revoked partition go with it, whosever they are (B1).
    LoseTailOnRevoke,
    /// A batch over a kept and a revoked partition commits neither (B3).
    ForgetKeptPartOfBatch,
    /// A partition that comes back is treated with the positions of its old assignment (B1).
    ReuseOldPositions,

    // Rewind by seek.
    /// The seek goes behind the batch's first record, to its last (R3).
    RewindToLast,
    /// Only the first partition of the batch is rewound (R3).
    RewindFirstPartitionOnly,
    /// Collected records of the rewound partitions are kept, and follow the records read again (R3).
    KeepCollectedOnSeek,
    /// The seek goes to the position at assignment although more was committed since (R3).
    RewindToStart,
    /// When the committed offsets cannot be learnt, the seek goes to where reading stands (B02).
    SeekWithoutLookup,
    /// The success of one partition's seek counts for all of them (B05).
    SeekSuccessCountsForAll,
    /// A seek that failed is not tried again (B04).
    ForgetFailedSeek,

    // Retry and back-off.
    /// Records that arrive while a batch waits for its next attempt are dropped (R1).
    DropWhileWaiting,
    /// The batch is handed over again without its last record (I-12).
    LoseLastOnRedelivery,
    /// Success on one partition clears the attempts of another (R4).
    ResetAttemptsOnOtherSuccess,
    /// A retryable answer clears the budget of faults, so that alternating failures never end (R4).
    ResetFaultsOnRetryable,
    /// The delay grows without the cap (R5).
    BackoffWithoutCap,
    /// The delay's doubling overflows to zero (R5).
    BackoffOverflow,
    /// A failed batch is handed over again without delay (R5).
    RedeliverAtOnce,
    /// Faults never exhaust their budget (F5).
    UnlimitedFaults,
    /// Retryable answers never exhaust theirs.
    UnlimitedRetries,

    // Outcomes.
    /// A retryable answer counts as ok (I-02).
    TreatRetryableAsOk,
    /// A guest that called exit counts as ok (F4).
    TreatExitAsOk,
    /// A fatal answer is retried (F1).
    TreatFatalAsRetryable,
    /// A fatal batch is committed before the process ends (F1).
    CommitOnFatal,

    // Assembly.
    /// A batch closes one record late (A2).
    CloseOneRecordLate,
    /// The record that exceeds the byte limit stays in the batch (A3).
    ExceedBytes,
    /// The record that did not fit is lost instead of starting the next batch (A3).
    LoseRecordThatDidNotFit,
    /// A batch's age counts from the last hand-over, not from its first record (A1).
    AgeFromLastFlush,
    /// The age of a batch is only looked at when a record arrives (A11).
    WaitNeedsRecord,
    /// A batch is handed over although every record in it was taken away (A6).
    DeliverEmptyBatch,
    /// A record above the plugin's hard cap is skipped without a word (A4).
    SkipOversizedRecord,

    // Lanes.
    /// A lane hands over its next batch while one is out (I-09).
    TwoBatchesOut,
    /// More batches are out than there are workers.
    IgnoreWorkers,
    /// Batches are handed over however much of what was made before is not written (I-33).
    IgnoreWriting,
    /// A batch may take what other lanes need (I-33).
    IgnoreShare,

    // Operator.
    /// The resume after a pause is forgotten (I-25).
    ForgetResume,
    /// A pause does not stop hand-overs.
    DeliverWhilePaused,
    /// A batch in back-off is handed over to the version that failed, although a new one is ready (S4).
    KeepOldPluginInBackoff,
    /// The new version inherits the old one's spent attempts (S4).
    KeepAttemptsOnSwap,
    /// What the old version fails at after the swap is counted against the new one (S4).
    CountReplacedVersion,
    /// A batch in back-off is waited for before a stop (R2).
    IgnoreStopInBackoff,
    /// A batch that is ready is still handed over after a stop was asked (I-35).
    DeliverAfterStop,
    /// The process leaves the group while the last batch's commit is in flight (S1).
    LeaveBeforeCommitEnded,
    /// The grace time does not end (I-35).
    IgnoreGrace,
    /// The second signal changes nothing (S2).
    IgnoreSecondSignal,
    /// The last cause of a stop is reported, not the first (I-35).
    ReportLastCause,
    /// Trouble with a position does not hold the partition (O1).
    IgnorePositionTrouble,
}
