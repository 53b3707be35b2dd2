//! What one seed's world is like: how many members, partitions and records, the operator's policy, and which faults exist.
//!
//! Drawn from the seed alone. Shrinking changes a scenario and keeps the seed.

use std::collections::BTreeSet;
use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use gristmill_core::policy::{
    Attempts, Backoff, BatchLimits, CommitPolicy, DeadLetterPolicy, Exhausted, FatalPolicy, FaultPolicy, Policy,
    Redeliver, RetryPolicy, Scope, Share,
};

use crate::chance::{Chance, Stream};
use crate::fault::Fault;

/// How the group moves partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Everybody gives up everything in every round.
    Eager,
    /// Only what moves is given up; the new owners wait for the end of the round.
    Cooperative,
    /// Only what moves is given up; each partition goes over as soon as it is free (KIP-848).
    Incremental,
}

/// What is done where nothing is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reset {
    /// Read from the start of the log.
    Earliest,
    /// Read what comes from now on.
    Latest,
    /// Hold the partition.
    Error,
}

/// One seed's world.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) seed: u64,
    pub(crate) members: usize,
    pub(crate) partitions: usize,
    pub(crate) records: u64,
    pub(crate) style: Style,
    pub(crate) reset: Reset,
    pub(crate) policy: Policy,
    /// Which kinds of fault exist at all.
    pub(crate) faults: BTreeSet<Fault>,
    /// How often a fault that exists strikes, in thousandths.
    pub(crate) rate: u64,
    /// Until when faults strike, in microseconds.
    pub(crate) faults_end: u64,
    /// How often a delay is a long one, in thousandths.
    pub(crate) slow: u64,
}

impl Scenario {
    /// Draws the scenario of a seed.
    pub(crate) fn draw(seed: u64) -> Self {
        let mut chance = Chance::new(seed, Stream::Scenario);
        let members = chance.pick(&[1, 1, 2, 2, 2, 3, 3, 4, 5]);
        let partitions = match chance.below(20) {
            0 => chance.between(16, 64),
            1..=4 => 1,
            _ => chance.between(2, 8),
        };
        let records = chance.pick(&[8, 30, 60, 100, 150, 250, 400]);
        // Swarm: a world with every fault at once hides what two of them do together.
        let density = chance.pick(&[0, 150, 300, 500, 800]);
        let faults: BTreeSet<Fault> = Fault::ALL.iter().copied().filter(|_| chance.permille(density)).collect();
        let policy = draw_policy(&mut chance, &faults);
        Self {
            seed,
            members,
            partitions: usize::try_from(partitions).expect("few"),
            records,
            style: chance.pick(&[Style::Eager, Style::Cooperative, Style::Cooperative, Style::Incremental]),
            reset: chance.pick(&[Reset::Earliest, Reset::Earliest, Reset::Latest, Reset::Error]),
            policy,
            faults,
            rate: chance.pick(&[30, 80, 200, 400]),
            faults_end: chance.pick(&[3, 10, 20, 40]) * 1_000_000,
            slow: chance.pick(&[0, 20, 100]),
        }
    }

    /// True when this kind of fault exists in this world.
    pub(crate) fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }
}

fn draw_policy(chance: &mut Chance, faults: &BTreeSet<Fault>) -> Policy {
    let scope = if chance.permille(600) {
        Scope::Consumer
    } else {
        let lanes_bytes_max = NonZeroU64::new(chance.pick(&[1_200, 4_000, 1_000_000])).expect("not zero");
        Scope::Partition { workers: count(chance.between(1, 4)), lanes_bytes_max }
    };
    let then = draw_then(chance);
    let attempts = if chance.permille(400) {
        Attempts::Unlimited
    } else {
        Attempts::Limited { max: count(chance.between(1, 5)), then }
    };
    let record_bytes_max = if faults.contains(&Fault::RecordTooLarge) { 180 } else { 1_000_000 };
    Policy {
        scope,
        batch: BatchLimits {
            records_max: count(chance.pick(&[1, 2, 3, 5, 8, 20])),
            bytes_max: NonZeroU64::new(chance.pick(&[150, 300, 500, 1_000, 100_000])).expect("not zero"),
            wait_max: Duration::from_millis(chance.pick(&[0, 5, 50, 500, 2_000])),
            record_bytes_max: NonZeroU64::new(record_bytes_max).expect("not zero"),
        },
        retry: RetryPolicy {
            backoff: draw_backoff(chance),
            attempts,
            redeliver: if chance.permille(500) { Redeliver::Memory } else { Redeliver::Seek },
            after_min: Duration::from_millis(10),
            after_max: Duration::from_secs(5),
        },
        fault: FaultPolicy {
            attempts_max: count(chance.between(1, 5)),
            isolate: chance.permille(600),
            then: draw_then(chance),
            backoff: draw_backoff(chance),
        },
        fatal: chance.pick(&[FatalPolicy::Exit, FatalPolicy::Hold]),
        commit: CommitPolicy { backoff: draw_backoff(chance), tries_max: count(chance.between(1, 6)) },
        dead_letters: chance.permille(650).then(|| DeadLetterPolicy {
            consecutive_max: chance.permille(500).then(|| count(chance.pick(&[3, 3, 3, 4, 6]))),
            // No two records in a row are undecodable or too large; what else makes dead letters heals. So a share of more than
            // a half lets every world go on in the end.
            share_max: chance.permille(300).then(|| Share {
                permille: u32::try_from(chance.pick(&[600, 750])).expect("small"),
                of_last: count(chance.pick(&[6, 10, 30])),
            }),
        }),
        shutdown_grace: Duration::from_millis(chance.pick(&[100, 1_000, 5_000])),
        jitter_seed: chance.below(u64::MAX),
    }
}

fn draw_then(chance: &mut Chance) -> Exhausted {
    chance.pick(&[Exhausted::Stop, Exhausted::Hold, Exhausted::Hold, Exhausted::DeadLetter, Exhausted::DeadLetter])
}

fn draw_backoff(chance: &mut Chance) -> Backoff {
    Backoff {
        initial: Duration::from_millis(chance.pick(&[1, 10, 100, 500])),
        max: Duration::from_millis(chance.pick(&[500, 1_000, 3_000])),
        jitter_permille: chance.pick(&[0, 200, 500]),
    }
}

fn count(n: u64) -> NonZeroU32 {
    NonZeroU32::new(u32::try_from(n).expect("small")).expect("not zero")
}
