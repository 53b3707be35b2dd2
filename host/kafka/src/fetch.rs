//! The fetch thread: takes records from the private queue, copies them into chunks, stamps them with their epochs.
//!
//! The only thread that takes records and the only one that seeks. Decides nothing about batches; drops a record only
//! when its partition is not being read or when it lies below the next expected offset, and counts those.

use std::sync::Arc;
use std::time::Duration;

use gristmill_core::io::Input;
use gristmill_core::record::{LeaderEpoch, Offset, RecordFacts};

use crate::arena::{ChunkBuilder, RecordBody};
use crate::event::Event;
use crate::ownership::{Owned, Table};
use crate::parking::{Next, Work};
use crate::passed::Lookout;
use crate::recreation;
use crate::seek::{self, SeekJob, SeekJobs};
use crate::shared::Shared;
use crate::sys::{Batch, Message};
use crate::trouble;

/// How long the thread waits when nothing happens. Everything that needs it wakes it, so this is no latency.
const IDLE_WAIT: Duration = Duration::from_secs(1);
/// The size at which a chunk aims.
const CHUNK_BYTES: usize = 1 << 20;
/// The most records that are taken at once.
const CHUNK_RECORDS: usize = 4096;
/// What a record is taken to weigh before any was seen.
const FIRST_RECORD_BYTES: usize = 16 << 10;

/// Runs until it is told to stop.
pub(crate) fn run(shared: &Shared) {
    let _attendance = shared.parking.attend();
    let mut jobs = SeekJobs::default();
    let mut pace = Pace { record_bytes: FIRST_RECORD_BYTES };
    let mut lookout = Lookout::new();
    loop {
        match shared.parking.next() {
            Next::Stop => return,
            Next::Work(Work::Seek { id, targets }) => jobs.add(SeekJob::answering(shared, id, targets)),
            Next::Work(Work::Begin(assignments)) => jobs.add(SeekJob::beginning(shared, assignments)),
            Next::Work(Work::Repair(partition)) => jobs.add_repair(&shared.ownership.lock(), partition),
            Next::Work(Work::Confirm(partitions)) => jobs.add_confirmation(&shared.ownership.lock(), &partitions),
            Next::Fetch => {}
        }
        recreation::begin_anew(shared, &mut shared.ownership.lock());
        jobs.step(shared);
        let wait = if jobs.is_empty() { IDLE_WAIT } else { seek::AGAIN };
        if shared.credit.wait(wait, &shared.parking.attention) {
            let batch = shared.records.take(wait, pace.count());
            if batch.len() > 0 {
                pass_on(shared, &batch, &mut pace);
            }
        }
        lookout.look_when_due(shared);
    }
}

/// How many records make about one chunk.
struct Pace {
    record_bytes: usize,
}

impl Pace {
    fn count(&self) -> usize {
        (CHUNK_BYTES / self.record_bytes.max(1)).clamp(1, CHUNK_RECORDS)
    }

    fn learn(&mut self, bytes: usize, records: usize) {
        if let Some(mean) = bytes.checked_div(records) {
            // Half old, half new: follows a change of record sizes within a few chunks, ignores one odd record.
            self.record_bytes = usize::midpoint(self.record_bytes, mean).max(1);
        }
    }
}

/// What becomes of one batch that was taken.
struct Passing<'a> {
    shared: &'a Shared,
    builder: ChunkBuilder,
    facts: Vec<RecordFacts>,
    dropped: u64,
    news: Vec<Event>,
}

/// Copies a batch into a chunk and sends it, then the news that lay between its records.
fn pass_on(shared: &Shared, batch: &Batch<'_>, pace: &mut Pace) {
    let bytes = pace.record_bytes.saturating_mul(batch.len()).min(CHUNK_BYTES * 2);
    let builder = ChunkBuilder::new(&shared.credit, batch.len(), bytes, shared.settings.headers);
    let mut passing = Passing { shared, builder, facts: Vec::with_capacity(batch.len()), dropped: 0, news: Vec::new() };
    let mut table = shared.ownership.lock();
    recreation::begin_anew(shared, &mut table);
    let mut from = 0;
    while from < batch.len() {
        from = passing.take_run(&mut table, batch, from);
    }
    drop(table);
    pace.learn(passing.builder.data_bytes(), passing.builder.len());
    if passing.builder.len() > 0 {
        let records: Vec<(RecordFacts, RecordBody)> = passing.facts.into_iter().zip(passing.builder.finish()).collect();
        shared.input(Input::Fetched(records));
    }
    if passing.dropped > 0 {
        shared.tell(Event::Dropped { records: passing.dropped });
    }
    for event in passing.news {
        shared.tell(event);
    }
}

impl Passing<'_> {
    /// Takes the messages of one partition that follow each other; gives the index behind them. Fetches answer by
    /// partition, so runs are long and a partition is looked up rarely.
    fn take_run(&mut self, table: &mut Table, batch: &Batch<'_>, from: usize) -> usize {
        let first = batch.message(from);
        let same = |message: Message<'_>| {
            message.topic_token() == first.topic_token() && message.partition() == first.partition()
        };
        let end = (from..batch.len()).find(|index| !same(batch.message(*index))).unwrap_or(batch.len());
        let partition = self.shared.topics.known_partition(first.topic(), first.partition());
        let owned = partition.and_then(|partition| Some((partition, table.get_mut(&partition)?)));
        let name = partition.and_then(|partition| self.shared.topics.name(partition.topic));
        let (Some((partition, owned)), Some(name)) = (owned, name) else {
            (from..end).for_each(|index| self.drop_foreign(batch.message(index)));
            return end;
        };
        for index in from..end {
            let message = batch.message(index);
            if let Err(code) = message.error() {
                self.news.extend(trouble::note(self.shared, partition, owned, code, message));
            } else if !owned.wants(Offset(message.offset())) {
                self.dropped += 1;
            } else {
                let bytes = self.builder.push(message, &name);
                self.facts.push(facts_of(partition, owned, message, bytes));
                owned.expected = Offset(message.offset()).next();
                owned.trouble = None;
            }
        }
        end
    }

    /// What belongs to no partition of ours. An error is no record, and the last words about a partition that was given
    /// up meanwhile are of use to whoever looks for its trouble only.
    fn drop_foreign(&mut self, message: Message<'_>) {
        match message.error() {
            Ok(()) => self.dropped += 1,
            Err(code) => tracing::debug!(?code, text = message.error_text(), "an error about no partition of ours"),
        }
    }
}

fn facts_of(
    partition: gristmill_core::record::Partition,
    owned: &Owned,
    message: Message<'_>,
    bytes: u64,
) -> RecordFacts {
    RecordFacts {
        partition,
        offset: Offset(message.offset()),
        epoch: owned.current,
        leader_epoch: message.leader_epoch().map(LeaderEpoch),
        bytes,
        undecodable: false,
    }
}

/// Starts the thread.
pub(crate) fn spawn(shared: &Arc<Shared>) -> std::io::Result<std::thread::JoinHandle<()>> {
    let shared = Arc::clone(shared);
    std::thread::Builder::new().name("kafka-fetch".into()).spawn(move || run(&shared))
}
