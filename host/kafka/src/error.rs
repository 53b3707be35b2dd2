//! What librdkafka's error codes mean for what to do next: temporary, unknown, no longer ours, fenced, refused.
//!
//! Knows codes only; whether an assignment is still ours is asked by the caller.

use gristmill_core::io::RequestError;

use crate::sys::{Code, code_name};

/// Why a consumer could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The settings contradict themselves or touch what is not theirs.
    #[error(transparent)]
    Settings(#[from] crate::settings::SettingsError),
    /// librdkafka does not accept the properties.
    #[error("cannot create the kafka client: {text}; correct [kafka] or [kafka.properties]")]
    Client {
        /// librdkafka's words, without secrets.
        text: String,
    },
    /// The subscription was refused.
    #[error("cannot subscribe to the topics: {code}; correct kafka.topics")]
    Subscribe {
        /// librdkafka's name of the error.
        code: String,
    },
    /// A thread could not be started.
    #[error("cannot start the thread {name}: {source}; raise the limit of threads for this user")]
    Thread {
        /// Which one.
        name: &'static str,
        /// The system's words.
        source: std::io::Error,
    },
}

/// Why a request to produce failed: the first of its records that was not acknowledged, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record {record} of the request was not acknowledged: {code}")]
pub struct ProduceFailure {
    /// What to do about it.
    pub kind: ProduceFailureKind,
    /// Which record, as an index into the request.
    pub record: usize,
    /// librdkafka's name of the error, such as `_MSG_TIMED_OUT`.
    pub code: String,
}

impl ProduceFailure {
    /// The failure of a record that a code means.
    pub(crate) fn of(code: Code, record: usize) -> Self {
        Self { kind: ProduceFailureKind::of(code), record, code: code_name(code) }
    }
}

/// The kinds of failed production that a host treats differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProduceFailureKind {
    /// Not acknowledged in time, or by too few replicas, or given up while closing: the same request may succeed later.
    Temporary,
    /// The record is larger than the client or the topic allows: only a smaller one will do.
    TooLarge,
    /// The credentials do not suffice for the topic or the cluster.
    NotAuthorised,
    /// The topic, or the partition that was asked for, is not there.
    UnknownTopic,
    /// The client and the brokers lost count of its records, and it began anew: the same request may succeed at once.
    ClientLost,
    /// The broker or the client refuses the record for another reason: trying again will not help.
    Refused,
}

impl ProduceFailureKind {
    /// The kind of a code. An error that nobody thought of counts as temporary: to give up would lose more.
    pub(crate) fn of(code: Code) -> Self {
        match code {
            Code::MessageSizeTooLarge | Code::MessageBatchTooLarge => Self::TooLarge,
            Code::TopicAuthorizationFailed
            | Code::ClusterAuthorizationFailed
            | Code::TransactionalIdAuthorizationFailed
            | Code::Authentication
            | Code::SaslAuthenticationFailed => Self::NotAuthorised,
            Code::UnknownTopicOrPartition | Code::UnknownTopic | Code::UnknownPartition => Self::UnknownTopic,
            Code::Fatal
            | Code::Fenced
            | Code::ProducerFenced
            | Code::OutOfOrderSequenceNumber
            | Code::DuplicateSequenceNumber
            | Code::InvalidProducerEpoch
            | Code::UnknownProducerId => Self::ClientLost,
            Code::InvalidTopic
            | Code::InvalidRecord
            | Code::InvalidMessage
            | Code::InvalidMessageSize
            | Code::InvalidTimestamp
            | Code::InvalidRequiredAcks
            | Code::InvalidArgument
            | Code::UnsupportedForMessageFormat
            | Code::UnsupportedCompressionType
            | Code::UnsupportedVersion
            | Code::UnsupportedFeature
            | Code::PolicyViolation => Self::Refused,
            _ => Self::Temporary,
        }
    }
}

/// The kinds of client error that a host treats differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientErrorKind {
    /// No broker, or not the one that is needed, can be reached.
    Unreachable,
    /// The credentials are wrong.
    Authentication,
    /// The credentials are right but do not suffice for a topic, the group or the cluster.
    Authorization,
    /// A topic or partition is not there.
    UnknownTopic,
    /// The members of the group do not agree on how partitions are assigned.
    Protocol,
    /// Everything else.
    Other,
}

impl ClientErrorKind {
    /// The kind of a code.
    pub(crate) fn of(code: Code) -> Self {
        match code {
            Code::BrokerTransportFailure
            | Code::AllBrokersDown
            | Code::Resolve
            | Code::NodeUpdate
            | Code::OperationTimedOut => Self::Unreachable,
            Code::Authentication
            | Code::SSL
            | Code::SaslAuthenticationFailed
            | Code::UnsupportedSASLMechanism
            | Code::IllegalSASLState => Self::Authentication,
            Code::TopicAuthorizationFailed
            | Code::GroupAuthorizationFailed
            | Code::ClusterAuthorizationFailed
            | Code::TransactionalIdAuthorizationFailed => Self::Authorization,
            Code::UnknownTopicOrPartition | Code::UnknownTopic | Code::UnknownPartition => Self::UnknownTopic,
            Code::InconsistentGroupProtocol | Code::UnknownProtocol => Self::Protocol,
            _ => Self::Other,
        }
    }
}

/// What the end of a commit means. `lost`: the client says that the assignment is gone.
///
/// An illegal generation or an unknown member is final only together with that: while a rebalance runs the next try has
/// the new generation. A commit that failed for one partition marks all of them failed although the good ones are
/// stored, so an error that may stem from one partition is *unknown*, not *nothing done*.
pub(crate) fn commit_error(code: Code, lost: bool) -> RequestError {
    match code {
        Code::RebalanceInProgress
        | Code::CoordinatorLoadInProgress
        | Code::CoordinatorNotAvailable
        | Code::NotCoordinator
        | Code::WaitingForCoordinator
        | Code::StaleMemberEpoch
        | Code::State
        | Code::InProgress
        | Code::PreviousInProgress
        | Code::QueueFull => RequestError::Temporary,
        Code::IllegalGeneration | Code::UnknownMemberId | Code::AssignmentLost if lost => RequestError::NotOurs,
        Code::IllegalGeneration | Code::UnknownMemberId | Code::AssignmentLost => RequestError::Temporary,
        Code::FencedInstanceId | Code::Fenced => RequestError::Fenced,
        Code::GroupAuthorizationFailed
        | Code::TopicAuthorizationFailed
        | Code::OffsetMetadataTooLarge
        | Code::InvalidCommitOffsetSize
        | Code::InvalidGroupId
        | Code::InvalidArgument
        | Code::UnsupportedVersion
        | Code::UnsupportedFeature => RequestError::Refused,
        _ => RequestError::Unknown,
    }
}

/// What the failure of a look-up means. A look-up changes nothing, so nearly everything is worth another try (B02).
pub(crate) fn lookup_error(code: Code) -> RequestError {
    match code {
        Code::FencedInstanceId | Code::Fenced => RequestError::Fenced,
        Code::GroupAuthorizationFailed
        | Code::TopicAuthorizationFailed
        | Code::InvalidGroupId
        | Code::UnsupportedVersion
        | Code::UnsupportedFeature => RequestError::Refused,
        _ => RequestError::Temporary,
    }
}

/// True for errors that say that the stored bytes at a position cannot be read, rather than that nobody is there to
/// read them from.
pub(crate) fn is_about_data(code: Code) -> bool {
    matches!(
        code,
        Code::BadMessage
            | Code::BadCompression
            | Code::InvalidMessage
            | Code::InvalidMessageSize
            | Code::MessageSizeTooLarge
            | Code::NotImplemented
            | Code::UnsupportedFeature
            | Code::Underflow
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_illegal_generation_is_final_only_when_the_assignment_is_lost() {
        assert_eq!(commit_error(Code::IllegalGeneration, false), RequestError::Temporary);
        assert_eq!(commit_error(Code::IllegalGeneration, true), RequestError::NotOurs);
    }

    #[test]
    fn a_lost_answer_leaves_a_commit_unknown() {
        for code in [Code::OperationTimedOut, Code::RequestTimedOut, Code::BrokerTransportFailure, Code::Unknown] {
            assert_eq!(commit_error(code, false), RequestError::Unknown, "{code:?}");
        }
    }

    #[test]
    fn a_partition_that_spoils_a_commit_leaves_the_others_unknown() {
        assert_eq!(commit_error(Code::UnknownTopicOrPartition, false), RequestError::Unknown);
    }

    #[test]
    fn a_moved_coordinator_is_worth_another_try() {
        for code in [Code::NotCoordinator, Code::WaitingForCoordinator, Code::CoordinatorLoadInProgress] {
            assert_eq!(commit_error(code, false), RequestError::Temporary, "{code:?}");
            assert_eq!(lookup_error(code), RequestError::Temporary, "{code:?}");
        }
    }
}
