//! The look-up thread: whatever waits for an answer of the brokers and must keep nobody else waiting.
//!
//! A broker's first answer, committed offsets for the core, start positions that were not known at assignment, the ends
//! of a log, a rejoin of our own making.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use gristmill_core::io::{Assignment, Input, OffsetTrouble, RequestId, StartPosition};
use gristmill_core::record::{Epoch, NextOffset, Partition};

use crate::error::lookup_error;
use crate::event::Event;
use crate::ownership::Reading;
use crate::parking::Work;
use crate::positions::{self, Patience, Start};
use crate::shared::Shared;
use crate::sys::{OFFSET_INVALID, code_name};

/// The wait between two rounds of looking for start positions.
const ROUND: Duration = Duration::from_millis(500);
/// How often the host is told that start positions are still unknown.
const TELL_AGAIN: Duration = Duration::from_secs(10);
/// At most one rejoin of our own making within this time.
const REJOIN_SPACING: Duration = Duration::from_secs(5);
/// How long the first round may take. Slower brokers get twice as long with every round, up to the wait for a look-up:
/// an order that comes meanwhile waits for the round, and most brokers need no longer than this.
const FIRST_PATIENCE: Duration = Duration::from_secs(1);
/// How long one round waits for a broker's first answer.
const REACH_WAIT: Duration = Duration::from_millis(100);
/// How long the ends of a log are waited for that only a text needs.
const ENDS_WAIT: Duration = Duration::from_secs(2);
/// How long the thread waits when it has nothing to do. An order ends the wait.
const IDLE_WAIT: Duration = Duration::from_secs(3600);

/// One order.
#[derive(Debug)]
pub(crate) enum LookupOrder {
    /// Look committed offsets up, and answer.
    Ask {
        /// Names the answer.
        id: RequestId,
        /// For which partitions.
        partitions: Vec<Partition>,
    },
    /// Find out where these partitions start, each assigned under its epoch, and begin to read them.
    FindStart(Vec<(Partition, Epoch)>),
    /// A position is not in the log, which holds its partition: say so, with the ends of the log if they can be had.
    OutOfRange {
        /// Which partition.
        partition: Partition,
        /// The epoch under which it was read.
        epoch: Epoch,
        /// The position.
        wanted: NextOffset,
    },
    /// Join the group again, so that partitions whose position librdkafka gave up are assigned anew: nothing else makes
    /// it read them.
    Rejoin(&'static str),
    /// The same once, whether or not there are such partitions.
    RejoinOnce(&'static str),
    /// End.
    Stop,
}

/// Partitions whose start is not known.
struct Pending {
    partitions: Vec<(Partition, Epoch)>,
    since: Instant,
    told: Instant,
    patience: Duration,
}

impl Pending {
    fn new(partitions: Vec<(Partition, Epoch)>, now: Instant) -> Self {
        Self { partitions, since: now, told: now, patience: FIRST_PATIENCE }
    }

    /// How long the next round may take.
    fn take_patience(&mut self, longest: Duration) -> Duration {
        let patience = self.patience.min(longest);
        self.patience = patience.saturating_mul(2);
        patience
    }
}

/// A rejoin that was asked for.
#[derive(Default)]
struct Rejoin {
    wanted: Option<&'static str>,
    /// Wanted even if nothing is stranded.
    once: bool,
    last: Option<Instant>,
}

impl Rejoin {
    fn step(&mut self, shared: &Shared) {
        if self.wanted.is_none() {
            return;
        }
        let stranded = shared.ownership.lock().values().any(|owned| owned.reading == Reading::Stranded);
        let revoking = shared.revoking.load(Ordering::Acquire);
        if shared.is_closing() {
            self.wanted = None;
        } else if let Some(reason) = self.take_due(stranded, revoking, Instant::now()) {
            shared.rejoin(reason);
        }
    }

    /// The reason when it is time. While a stranded partition is there to be helped by it it is tried again and again,
    /// with space between, since one try may have no effect.
    fn take_due(&mut self, stranded: bool, revoking: bool, now: Instant) -> Option<&'static str> {
        let reason = self.wanted?;
        if !stranded && !self.once {
            self.wanted = None;
            return None;
        }
        if revoking || self.last.is_some_and(|last| now.saturating_duration_since(last) < REJOIN_SPACING) {
            return None;
        }
        self.last = Some(now);
        self.once = false;
        Some(reason)
    }
}

/// Runs until it is told to stop.
pub(crate) fn run(shared: &Shared, orders: &Receiver<LookupOrder>) {
    let mut pending: Vec<Pending> = Vec::new();
    let mut rejoin = Rejoin::default();
    let mut round_due = Instant::now();
    let mut reached = false;
    loop {
        let idle = reached && pending.is_empty() && rejoin.wanted.is_none();
        let wait = if idle { IDLE_WAIT } else { round_due.saturating_duration_since(Instant::now()) };
        match orders.recv_timeout(wait) {
            Ok(LookupOrder::Ask { id, partitions }) => ask(shared, id, &partitions),
            Ok(LookupOrder::FindStart(partitions)) => pending.push(Pending::new(partitions, Instant::now())),
            Ok(LookupOrder::OutOfRange { partition, epoch, wanted }) => {
                let trouble = out_of_range(shared, partition, wanted);
                shared.input(Input::PositionTrouble { partition, epoch, trouble });
            }
            Ok(LookupOrder::Rejoin(reason)) => rejoin.wanted = Some(reason),
            Ok(LookupOrder::RejoinOnce(reason)) => (rejoin.wanted, rejoin.once) = (Some(reason), true),
            Ok(LookupOrder::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {}
        }
        // By the clock and not when no order came: orders that keep coming must not keep partitions from starting.
        if round_due <= Instant::now() {
            for group in &mut pending {
                find_start(shared, group);
            }
            pending.retain(|group| !group.partitions.is_empty());
            rejoin.step(shared);
            if !reached && shared.client.knows_cluster(REACH_WAIT) {
                reached = true;
                shared.tell(Event::Reached);
            }
            round_due = Instant::now() + ROUND;
        }
    }
}

fn ask(shared: &Shared, id: RequestId, partitions: &[Partition]) {
    let mut list = shared.list(partitions.iter().map(|partition| (partition, OFFSET_INVALID)));
    let asked = shared.client.committed(&mut list, shared.settings.lookup_wait_max);
    let found = asked.and_then(|()| {
        let rows = list.rows().into_iter();
        rows.map(|row| {
            row.result?;
            let partition = shared.topics.partition(&row.topic, row.partition);
            Ok((partition, positions::committed_here(shared, &row)))
        })
        .collect::<Result<Vec<_>, _>>()
    });
    let result = found.map_err(|code| {
        tracing::debug!(?code, "looking up committed offsets failed");
        lookup_error(code)
    });
    shared.input(Input::CommittedKnown { id, result });
}

fn out_of_range(shared: &Shared, partition: Partition, wanted: NextOffset) -> OffsetTrouble {
    let name = shared.topics.name(partition.topic);
    let ends = name.and_then(|name| shared.client.watermarks(&name.raw, partition.number, ENDS_WAIT).ok());
    let known = |offset: i64| (offset >= 0).then_some(NextOffset(offset));
    let (low, high) = ends.map_or((None, None), |(low, high)| (known(low), known(high)));
    OffsetTrouble::OutOfRange { wanted, low, high }
}

/// One round for partitions that were assigned together. Those that are gone are forgotten.
fn find_start(shared: &Shared, group: &mut Pending) {
    let table = shared.ownership.lock();
    group.partitions.retain(|(partition, epoch)| {
        table.get(partition).is_some_and(|owned| owned.may_be_announced() && owned.assigned == *epoch)
    });
    drop(table);
    if group.partitions.is_empty() {
        return;
    }
    let partitions: Vec<Partition> = group.partitions.iter().map(|(partition, _)| *partition).collect();
    let patience = Patience::long(group.take_patience(shared.settings.lookup_wait_max));
    let mut known = Vec::new();
    let mut why = String::new();
    for (partition, start) in positions::resolve(shared, &partitions, patience).found {
        let start = match start {
            Start::Known(position) => position,
            Start::Moved { wanted, now } => {
                shared.tell(Event::PositionMoved { partition, wanted, now });
                StartPosition::Reset(now)
            }
            Start::Unknown(code) => {
                why = code_name(code);
                continue;
            }
        };
        if let Some(index) = group.partitions.iter().position(|(other, _)| *other == partition) {
            let (_, epoch) = group.partitions.swap_remove(index);
            known.push(Assignment { partition, epoch, start });
        }
    }
    if !known.is_empty() {
        shared.parking.leave_work(Work::Begin(known));
    }
    if !group.partitions.is_empty() && group.told.elapsed() >= TELL_AGAIN {
        group.told = Instant::now();
        let partitions = group.partitions.iter().map(|(partition, _)| *partition).collect();
        shared.tell(Event::StartUnknown { partitions, code: why, since: group.since.elapsed() });
    }
}

/// Starts the thread.
pub(crate) fn spawn(
    shared: &Arc<Shared>,
    orders: Receiver<LookupOrder>,
) -> std::io::Result<std::thread::JoinHandle<()>> {
    let shared = Arc::clone(shared);
    std::thread::Builder::new().name("kafka-lookup".into()).spawn(move || run(&shared, &orders))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_broker_is_given_more_time_with_every_round_up_to_the_bound() {
        let mut pending = Pending::new(Vec::new(), Instant::now());
        let longest = Duration::from_secs(3);
        let rounds: Vec<u64> = (0..4).map(|_| pending.take_patience(longest).as_secs()).collect();
        assert_eq!(rounds, [1, 2, 3, 3]);
    }

    #[test]
    fn a_rejoin_is_tried_with_space_between_until_nothing_is_stranded() {
        let now = Instant::now();
        let mut rejoin = Rejoin { wanted: Some("stranded"), ..Rejoin::default() };
        assert_eq!(rejoin.take_due(true, true, now), None, "a rebalance runs");
        assert_eq!(rejoin.take_due(true, false, now), Some("stranded"));
        assert_eq!(rejoin.take_due(true, false, now + REJOIN_SPACING / 2), None);
        assert_eq!(rejoin.take_due(true, false, now + REJOIN_SPACING), Some("stranded"));
        assert_eq!(rejoin.take_due(false, false, now + REJOIN_SPACING * 2), None);
        assert_eq!(rejoin.wanted, None, "it helped");
    }

    #[test]
    fn a_rejoin_for_no_stranded_partition_is_tried_once() {
        let now = Instant::now();
        let mut rejoin = Rejoin { wanted: Some("refused"), once: true, last: None };
        assert_eq!(rejoin.take_due(false, false, now), Some("refused"));
        assert_eq!(rejoin.take_due(false, false, now + REJOIN_SPACING), None);
        assert_eq!(rejoin.wanted, None);
    }
}
