//! The words of the stories: policies, what a guest can say, how records are written.
//!
//! Must not know any story.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use gristmill_core::outcome::{Answer, Fault, FaultClass, Outcome};
use gristmill_core::policy::{
    Attempts, Backoff, BatchLimits, CommitPolicy, Exhausted, FatalPolicy, FaultPolicy, Policy, Redeliver, RetryPolicy,
    Scope,
};

use crate::names::Place;

/// Batches of three, a wait of one second, plain back-off from 100 ms, memory redelivery, everything else patient.
pub(crate) fn policy() -> Policy {
    let backoff = Backoff { initial: Duration::from_millis(100), max: Duration::from_secs(30), jitter_permille: 0 };
    Policy {
        scope: Scope::Consumer,
        batch: BatchLimits {
            records_max: NonZeroU32::new(3).unwrap(),
            bytes_max: NonZeroU64::new(1_000).unwrap(),
            wait_max: Duration::from_secs(1),
            record_bytes_max: NonZeroU64::new(10_000).unwrap(),
        },
        retry: RetryPolicy {
            backoff,
            attempts: Attempts::Unlimited,
            redeliver: Redeliver::Memory,
            after_min: Duration::from_millis(10),
            after_max: Duration::from_secs(60),
        },
        fault: FaultPolicy {
            attempts_max: NonZeroU32::new(3).unwrap(),
            isolate: false,
            then: Exhausted::Stop,
            backoff,
        },
        fatal: FatalPolicy::Exit,
        commit: CommitPolicy { backoff, tries_max: NonZeroU32::new(3).unwrap() },
        dead_letters: None,
        shutdown_grace: Duration::from_secs(10),
        jitter_seed: 7,
    }
}

pub(super) fn by_seek() -> Policy {
    let mut policy = policy();
    policy.retry.redeliver = Redeliver::Seek;
    policy
}

pub(super) fn by_partition(workers: u32) -> Policy {
    Policy { scope: Scope::Partition { workers: NonZeroU32::new(workers).unwrap() }, ..policy() }
}

pub(super) fn ok() -> Answer {
    Answer::Outcome(Outcome::OK)
}

pub(super) fn retryable() -> Answer {
    Answer::Outcome(Outcome::retryable("again", None))
}

pub(super) fn retryable_after(millis: u64) -> Answer {
    Answer::Outcome(Outcome::retryable("later", Some(Duration::from_millis(millis))))
}

pub(super) fn fatal() -> Answer {
    Answer::Outcome(Outcome::Fatal { reason: "poison".to_owned() })
}

pub(super) fn fault(class: FaultClass) -> Answer {
    Answer::Fault(Fault { class, detail: "broke".to_owned() })
}

/// Records as a story writes them: `place:offset`.
pub(super) fn parse(records: &str) -> Vec<(Place, i64)> {
    let one = |text: &str| {
        let (place, offset) = text.split_once(':').expect("place:offset");
        (place.parse().expect("a place"), offset.parse().expect("an offset"))
    };
    records.split_whitespace().map(one).collect()
}
