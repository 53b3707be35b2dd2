//! The look-up thread: whatever waits for an answer of the brokers and must keep nobody else waiting.
//!
//! Committed offsets for the core, start positions that were not known at assignment, a rejoin of our own making.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use gristmill_core::io::{Assignment, Input, RequestId, StartPosition};
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
    /// Join the group again, so that partitions whose position librdkafka gave up are assigned anew: nothing else makes
    /// it read them.
    Rejoin(&'static str),
    /// End.
    Stop,
}

/// Partitions whose start is not known.
struct Pending {
    partitions: Vec<(Partition, Epoch)>,
    since: Instant,
    told: Instant,
}

/// A rejoin that was asked for.
#[derive(Default)]
struct Rejoin {
    wanted: Option<&'static str>,
    last: Option<Instant>,
}

impl Rejoin {
    /// Rejoins while a stranded partition is there to be helped by it; one try may have no effect.
    fn step(&mut self, shared: &Shared) {
        let Some(reason) = self.wanted else { return };
        let stranded = shared.ownership.lock().values().any(|owned| owned.reading == Reading::Stranded);
        if !stranded || shared.is_closing() {
            self.wanted = None;
        } else if !shared.revoking.load(Ordering::Acquire)
            && self.last.is_none_or(|last| last.elapsed() >= REJOIN_SPACING)
        {
            self.last = Some(Instant::now());
            shared.rejoin(reason);
        }
    }
}

/// Runs until it is told to stop.
pub(crate) fn run(shared: &Shared, orders: &Receiver<LookupOrder>) {
    let mut pending: Vec<Pending> = Vec::new();
    let mut rejoin = Rejoin::default();
    loop {
        let wait = if pending.is_empty() && rejoin.wanted.is_none() { IDLE_WAIT } else { ROUND };
        match orders.recv_timeout(wait) {
            Ok(LookupOrder::Ask { id, partitions }) => ask(shared, id, &partitions),
            Ok(LookupOrder::FindStart(partitions)) => {
                let now = Instant::now();
                pending.push(Pending { partitions, since: now, told: now });
            }
            Ok(LookupOrder::Rejoin(reason)) => rejoin.wanted = Some(reason),
            Ok(LookupOrder::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                for group in &mut pending {
                    find_start(shared, group);
                }
                pending.retain(|group| !group.partitions.is_empty());
            }
        }
        rejoin.step(shared);
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
            Ok((partition, (row.offset >= 0).then_some(NextOffset(row.offset))))
        })
        .collect::<Result<Vec<_>, _>>()
    });
    let result = found.map_err(|code| {
        tracing::debug!(?code, "looking up committed offsets failed");
        lookup_error(code)
    });
    shared.input(Input::CommittedKnown { id, result });
}

/// One round for partitions that were assigned together. Those that are gone are forgotten.
fn find_start(shared: &Shared, group: &mut Pending) {
    let table = shared.ownership.lock();
    group.partitions.retain(|(partition, epoch)| {
        table.get(partition).is_some_and(|owned| owned.reading == Reading::Pending && owned.assigned == *epoch)
    });
    drop(table);
    if group.partitions.is_empty() {
        return;
    }
    let partitions: Vec<Partition> = group.partitions.iter().map(|(partition, _)| *partition).collect();
    let patience = Patience::long(shared.settings.lookup_wait_max);
    let mut known = Vec::new();
    let mut why = String::new();
    for (partition, start) in positions::resolve(shared, &partitions, patience) {
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
