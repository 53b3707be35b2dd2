//! The machine on its straight road: records come in chunks, each batch is handed over, done and committed.
//!
//! It must not go anywhere else: what is counted is what every record costs.

use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use std::time::Duration;

use gristmill_core::Machine;
use gristmill_core::io::{Action, Assignment, Input, PluginId, StartPosition};
use gristmill_core::outcome::{Answer, Outcome};
use gristmill_core::policy::{
    Attempts, Backoff, BatchLimits, CommitPolicy, Exhausted, FatalPolicy, FaultPolicy, Policy, Redeliver, RetryPolicy,
    Scope,
};
use gristmill_core::record::{Epoch, LeaderEpoch, NextOffset, Offset, Partition, RecordFacts, Topic};
use gristmill_core::time::Moment;

const BATCH: u32 = 10_000;
const PARTITIONS: i32 = 6;

/// Records that the Kafka edge hands on at once; a batch is a whole number of them.
const CHUNK: i64 = 2_000;

/// A record of a hundred bytes with its key and what the contract adds.
const RECORD_BYTES: u64 = 200;

const EPOCH: Epoch = Epoch(1);

/// As large as the host's, and as much work to copy.
#[derive(Clone, Debug)]
struct Body {
    _chunk: Arc<[u8]>,
    _at: usize,
    _decoded: Option<Arc<()>>,
}

/// Lets a machine handle so many batches.
pub(crate) fn run(batches: u32) {
    let mut machine = Machine::new(policy(), PluginId(0));
    let start = StartPosition::Committed(NextOffset(0));
    let assigned = (0..PARTITIONS).map(|number| Assignment { partition: partition(number), epoch: EPOCH, start });
    let mut now = Moment(0);
    machine.handle(now, Input::Assigned(assigned.collect()));
    let mut ends = [0; PARTITIONS as usize];
    let mut committed = 0;
    while committed < batches {
        // Chunk after chunk from one partition after the other, as they come from Kafka.
        for (number, end) in (0..).zip(&mut ends) {
            now = now.after(Duration::from_micros(100));
            machine.handle(now, Input::Fetched(chunk(number, *end)));
            *end += CHUNK;
            committed += settle(&mut machine, now);
        }
    }
}

/// Answers all that the machine wants done, as the edges do when nothing goes wrong. Returns how many batches were committed.
fn settle(machine: &mut Machine<Body>, now: Moment) -> u32 {
    let mut committed = 0;
    while let Some(action) = machine.poll() {
        match action {
            Action::Deliver(delivery) => {
                assert_eq!(delivery.records.len(), BATCH as usize, "a batch that is not full is not what is counted");
                let answer = Answer::Outcome(Outcome::OK);
                machine.handle(now, Input::Answered { delivery: delivery.id, answer });
            }
            Action::Commit { id, .. } => {
                committed += 1;
                machine.handle(now, Input::CommitEnded { id, result: Ok(()) });
            }
            Action::Report(_) => {}
            Action::Cancel(_)
            | Action::Produce(_)
            | Action::AskCommitted { .. }
            | Action::Seek { .. }
            | Action::AnswerRevoke(_)
            | Action::Leave
            | Action::Stopped(_) => panic!("the machine left the straight road: {action:?}"),
        }
    }
    committed
}

fn chunk(number: i32, first: i64) -> Vec<(RecordFacts, Body)> {
    let bytes: Arc<[u8]> = Arc::from([0; 64]);
    let record = |offset| {
        let facts = RecordFacts {
            partition: partition(number),
            offset: Offset(offset),
            epoch: EPOCH,
            leader_epoch: Some(LeaderEpoch(0)),
            bytes: RECORD_BYTES,
            undecodable: false,
        };
        (facts, Body { _chunk: Arc::clone(&bytes), _at: 0, _decoded: None })
    };
    (first..first + CHUNK).map(record).collect()
}

fn partition(number: i32) -> Partition {
    Partition { topic: Topic(0), number }
}

/// The configuration's defaults, as far as they matter here.
fn policy() -> Policy {
    let some = NonZeroU32::MIN;
    let backoff = Backoff { initial: Duration::from_secs(1), max: Duration::from_secs(60), jitter_permille: 0 };
    Policy {
        scope: Scope::Consumer,
        batch: BatchLimits {
            records_max: NonZeroU32::new(BATCH).unwrap_or(some),
            bytes_max: NonZeroU64::MAX,
            wait_max: Duration::from_secs(1),
            record_bytes_max: NonZeroU64::MAX,
        },
        retry: RetryPolicy {
            backoff,
            attempts: Attempts::Unlimited,
            redeliver: Redeliver::Memory,
            after_min: Duration::ZERO,
            after_max: Duration::from_secs(60),
        },
        fault: FaultPolicy { attempts_max: some, isolate: false, then: Exhausted::Stop, backoff },
        fatal: FatalPolicy::Exit,
        commit: CommitPolicy { backoff, tries_max: some },
        dead_letters: None,
        shutdown_grace: Duration::from_secs(1),
        jitter_seed: 0,
    }
}
