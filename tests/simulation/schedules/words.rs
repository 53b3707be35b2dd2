//! The words of the stories: policies, what a guest can say, how records are written.
//!
//! Must not know any story.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use gristmill_core::io::ProduceError;
use gristmill_core::outcome::{Answer, Effects, Fault, FaultClass, Outcome, Progress, Rejection};
use gristmill_core::policy::{
    Attempts, Backoff, BatchLimits, CommitPolicy, DeadLetterPolicy, Exhausted, FatalPolicy, FaultPolicy, Policy,
    Redeliver, RetryPolicy, Scope,
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

/// Lanes of their own, with more memory than they use.
pub(crate) fn lanes(workers: u32) -> Scope {
    let lanes_bytes_max = NonZeroU64::new(1 << 30).unwrap();
    Scope::Partition { workers: NonZeroU32::new(workers).unwrap(), lanes_bytes_max }
}

pub(super) fn by_partition(workers: u32) -> Policy {
    Policy { scope: lanes(workers), ..policy() }
}

/// As `policy`, with a place for dead letters, where nothing is too much.
pub(super) fn with_letters() -> Policy {
    Policy { dead_letters: Some(DeadLetterPolicy::default()), ..policy() }
}

/// As `with_letters`; what fails `attempts` times is searched for the record that fails, and that one is put aside.
pub(super) fn isolating(attempts: u32) -> Policy {
    let mut policy = with_letters();
    let max = NonZeroU32::new(attempts).unwrap();
    policy.retry.attempts = Attempts::Limited { max, then: Exhausted::DeadLetter };
    policy.fault.attempts_max = max;
    policy.fault.then = Exhausted::DeadLetter;
    policy.fault.isolate = true;
    policy
}

/// The brokers cannot take it now.
pub(super) fn not_now() -> Result<(), ProduceError> {
    Err(ProduceError::Temporary("no leader".to_owned()))
}

/// The brokers will never take it.
pub(super) fn never() -> Result<(), ProduceError> {
    Err(ProduceError::Refused("not authorised".to_owned()))
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

/// Done, but for these.
pub(super) fn rejecting(indexes: &[u32]) -> Answer {
    Answer::Outcome(Outcome::Ok(Effects { rejected: rejected(indexes), emitted: 0 }))
}

/// Done, with so many records to be written.
pub(super) fn emitting(emitted: u32) -> Answer {
    Answer::Outcome(Outcome::Ok(Effects { rejected: Vec::new(), emitted }))
}

/// The first so many records are done.
pub(super) fn completing(records: u32) -> Answer {
    completing_with(records, Effects::NONE)
}

/// The first so many records are done, but for these.
pub(super) fn completing_rejecting(records: u32, indexes: &[u32]) -> Answer {
    completing_with(records, Effects { rejected: rejected(indexes), emitted: 0 })
}

/// The first so many records are done, with so many to be written.
pub(super) fn completing_emitting(records: u32, emitted: u32) -> Answer {
    completing_with(records, Effects { rejected: Vec::new(), emitted })
}

fn completing_with(records: u32, effects: Effects) -> Answer {
    Answer::Outcome(Outcome::Retryable {
        reason: "again".to_owned(),
        after: None,
        completed: Some(Progress { records, effects }),
        suspect: None,
    })
}

fn rejected(indexes: &[u32]) -> Vec<Rejection> {
    indexes.iter().map(|&index| Rejection { index, reason: "no good".to_owned() }).collect()
}

/// Not done, because of that record; the first so many are.
pub(super) fn blaming(suspect: u32, completed: u32) -> Answer {
    let progress = Progress { records: completed, effects: Effects::NONE };
    Answer::Outcome(Outcome::Retryable {
        reason: "again".to_owned(),
        after: None,
        completed: (completed > 0).then_some(progress),
        suspect: Some(suspect),
    })
}

pub(super) fn fatal() -> Answer {
    Answer::Outcome(Outcome::Fatal { reason: "poison".to_owned() })
}

pub(super) fn fault(class: FaultClass) -> Answer {
    Answer::Fault(Fault { class, detail: "broke".to_owned() })
}

/// Records as a story writes them: `place:offset`.
pub(super) fn parse(records: &str) -> Vec<(Place, i64)> {
    let plain = |(place, offset, marked): (Place, i64, bool)| {
        assert!(!marked, "only what is fetched can be marked: {records}");
        (place, offset)
    };
    parse_marked(records).into_iter().map(plain).collect()
}

/// As `parse`; true where a mark stands behind the record.
pub(super) fn parse_marked(records: &str) -> Vec<(Place, i64, bool)> {
    let one = |text: &str| {
        let marked = text.ends_with('!');
        let (place, offset) = text.trim_end_matches('!').split_once(':').expect("place:offset");
        (place.parse().expect("a place"), offset.parse().expect("an offset"), marked)
    };
    records.split_whitespace().map(one).collect()
}
