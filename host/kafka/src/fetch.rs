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
use crate::share::{self, Account};
use crate::shared::Shared;
use crate::sys::{Batch, Message};
use crate::trouble;

/// How long the thread waits when nothing happens. Everything that needs it wakes it, so this is no latency.
const IDLE_WAIT: Duration = Duration::from_secs(1);
/// The size at which a chunk aims.
const CHUNK_BYTES: usize = 1 << 20;
/// The same where each partition has a share of the buffer, of which a chunk is to be a small part.
const LANE_CHUNK_BYTES: usize = 256 << 10;
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
    let chunk_bytes = if shared.bell.is_some() { LANE_CHUNK_BYTES } else { CHUNK_BYTES };
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
        share::let_in(shared, &mut jobs);
        jobs.step(shared);
        let wait = if jobs.is_empty() { IDLE_WAIT } else { seek::AGAIN };
        if shared.credit.wait(wait, &shared.parking.attention) {
            let batch = shared.records.take(wait, pace.count(chunk_bytes));
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
    /// `chunk_bytes`: the size at which a chunk aims.
    fn count(&self, chunk_bytes: usize) -> usize {
        (chunk_bytes / self.record_bytes.max(1)).clamp(1, CHUNK_RECORDS)
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
    /// Of the records in the builder.
    facts: Vec<RecordFacts>,
    /// What is in chunks that are full.
    records: Vec<(RecordFacts, RecordBody)>,
    data_bytes: usize,
    dropped: u64,
    news: Vec<Event>,
}

/// Copies a batch into a chunk and sends it, then the news that lay between its records.
fn pass_on(shared: &Shared, batch: &Batch<'_>, pace: &mut Pace) {
    let bytes = pace.record_bytes.saturating_mul(batch.len()).min(CHUNK_BYTES * 2);
    let builder = ChunkBuilder::new(&shared.credit, batch.len(), bytes, shared.settings.headers);
    let facts = Vec::with_capacity(batch.len());
    let mut passing =
        Passing { shared, builder, facts, records: Vec::new(), data_bytes: 0, dropped: 0, news: Vec::new() };
    let mut table = shared.ownership.lock();
    recreation::begin_anew(shared, &mut table);
    let mut from = 0;
    while from < batch.len() {
        from = passing.take_run(&mut table, batch, from);
    }
    drop(table);
    passing.end_chunk(None);
    pace.learn(passing.data_bytes, passing.records.len());
    if !passing.records.is_empty() {
        shared.input(Input::Fetched(passing.records));
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
        let partitions = table.len();
        let partition = self.shared.topics.known_partition(first.topic(), first.partition());
        let owned = partition.and_then(|partition| Some((partition, table.get_mut(&partition)?)));
        let name = partition.and_then(|partition| self.shared.topics.name(partition.topic));
        let (Some((partition, owned)), Some(name)) = (owned, name) else {
            (from..end).for_each(|index| self.drop_foreign(batch.message(index)));
            return end;
        };
        share::spill_when_short(self.shared, owned, partitions);
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
        if let Some(account) = &owned.account {
            // A chunk of its own: what it holds is held by this partition, and by no other one's records.
            self.end_chunk(Some(account));
            share::withhold_when_full(self.shared, partition, owned, partitions);
        }
        end
    }

    /// Nothing more goes into the chunk.
    fn end_chunk(&mut self, account: Option<&Arc<Account>>) {
        let next = ChunkBuilder::new(&self.shared.credit, 0, 0, self.shared.settings.headers);
        let builder = std::mem::replace(&mut self.builder, next);
        self.data_bytes += builder.data_bytes();
        if builder.len() > 0 {
            self.records.extend(std::mem::take(&mut self.facts).into_iter().zip(builder.finish(account)));
        }
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
