//! An honest neighbour of the hostile guests, in their process: a member of a consumer group on a cluster of its own, with a plugin that
//! does nothing wrong. Counts what it commits, and whether the group ever lost it.
//!
//! Must not know what else runs.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gristmill_core::io::{CommitOffset, Input, RequestId};
use gristmill_core::record::{Partition, RecordFacts};
use gristmill_guest::{BatchSource, HeaderView, Plugin, RecordView, Timestamp};
use gristmill_kafka::{Consumer, ConsumerSettings, Event, MockCluster, RecordBody, ResetPolicy};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::memory::milliseconds;
use crate::mill::Mill;

/// The most records of one of its batches.
const BATCH_RECORDS: usize = 1_000;

/// How often it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);

/// What is known of the neighbour from outside.
#[derive(Default)]
pub(crate) struct Known {
    /// Records whose commit was acknowledged.
    pub(crate) committed: AtomicU64,
    /// True: it is to end.
    pub(crate) over: AtomicBool,
    /// How long each hand-over took, in milliseconds, since this was last taken.
    pub(crate) took_ms: Mutex<Vec<f64>>,
    /// What should not have happened.
    pub(crate) troubles: Mutex<Vec<String>>,
}

impl Known {
    fn note(&self, trouble: String) {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner).push(trouble);
    }
}

/// The settings of a member that the group forgets after two seconds without a heartbeat.
fn settings(cluster: &MockCluster, topic: &str) -> ConsumerSettings {
    let mut settings =
        ConsumerSettings::new(&cluster.bootstrap_servers(), "neighbour", &[topic], ResetPolicy::Earliest);
    settings.drain_max = Duration::from_millis(500);
    settings.commit_wait_max = Duration::from_millis(500);
    let properties = [("session.timeout.ms", "2000"), ("heartbeat.interval.ms", "200"), ("fetch.wait.max.ms", "20")];
    settings.properties.extend(properties.map(|(name, value)| (name.to_owned(), value.to_owned())));
    settings
}

/// Lives until it is told that it is over.
///
/// # Panics
///
/// When the member cannot be started.
pub(crate) fn live(cluster: &MockCluster, topic: &str, plugin: &Plugin, known: &Known) {
    let (outbox, inbox) = unbounded_channel();
    let consumer = Consumer::start(settings(cluster, topic), outbox).unwrap_or_else(|error| panic!("{error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let mut neighbour = Neighbour {
        consumer,
        inbox,
        runtime: runtime.unwrap_or_else(|error| panic!("{error}")),
        mill: Mill::start(),
        waiting: Vec::new(),
        commits: HashMap::new(),
        orders: 0,
        assigned: 0,
    };
    while !known.over.load(Ordering::Relaxed) {
        neighbour.hear(known);
        neighbour.work(plugin, known);
    }
    if neighbour.assigned != 1 {
        known.note(format!("{} assignments", neighbour.assigned));
    }
}

struct Neighbour {
    consumer: Consumer,
    inbox: UnboundedReceiver<Event>,
    runtime: Runtime,
    mill: Mill,
    waiting: Vec<(RecordFacts, RecordBody)>,
    commits: HashMap<RequestId, u64>,
    orders: u64,
    assigned: usize,
}

impl Neighbour {
    /// Takes in whatever is there; waits for something where nothing waits to be worked on.
    fn hear(&mut self, known: &Known) {
        if self.waiting.is_empty() {
            let inbox = &mut self.inbox;
            let heard = self.runtime.block_on(async { tokio::time::timeout(LOOK, inbox.recv()).await });
            if let Ok(Some(event)) = heard {
                self.take(event, known);
            }
        }
        while let Ok(event) = self.inbox.try_recv() {
            self.take(event, known);
        }
    }

    fn take(&mut self, event: Event, known: &Known) {
        match event {
            Event::Input(Input::Assigned(_)) => self.assigned += 1,
            Event::Input(Input::Fetched(records)) => self.waiting.extend(records),
            Event::Input(Input::CommitEnded { id, result }) => {
                let records = self.commits.remove(&id).unwrap_or(0);
                match result {
                    Ok(()) => drop(known.committed.fetch_add(records, Ordering::Relaxed)),
                    Err(error) => known.note(format!("a commit failed: {error:?}")),
                }
            }
            Event::Input(Input::Revoking { id, .. }) => {
                known.note("its partitions were revoked".to_owned());
                self.consumer.answer_revoke(id);
            }
            Event::Input(Input::Lost(_)) => known.note("its partitions were lost".to_owned()),
            Event::Evicted { text } => known.note(format!("the group went on without it: {text}")),
            Event::ClientError { code, text, .. } => known.note(format!("{code}: {text}")),
            _ => {}
        }
    }

    /// Hands one batch over, and orders its commit.
    fn work(&mut self, plugin: &Plugin, known: &Known) {
        if self.waiting.is_empty() {
            return;
        }
        let rest = self.waiting.split_off(self.waiting.len().min(BATCH_RECORDS));
        let batch = std::mem::replace(&mut self.waiting, rest);
        let mut ends: BTreeMap<Partition, CommitOffset> = BTreeMap::new();
        for (facts, _) in &batch {
            let RecordFacts { partition, epoch, leader_epoch, .. } = *facts;
            ends.insert(partition, CommitOffset { partition, epoch, next: facts.offset.next(), leader_epoch });
        }
        let records = batch.len() as u64;
        let end = self.mill.run(plugin, &Bodies(Arc::new(batch)), false);
        known.took_ms.lock().unwrap_or_else(PoisonError::into_inner).push(milliseconds(end.took));
        if end.class != "ok" {
            known.note(format!("its plugin ended as {}: {}", end.class, end.says));
        }
        self.orders += 1;
        let id = RequestId(self.orders);
        self.commits.insert(id, records);
        self.consumer.commit(id, ends.into_values().collect(), String::new());
    }
}

/// The records of one hand-over.
#[derive(Clone)]
struct Bodies(Arc<Vec<(RecordFacts, RecordBody)>>);

impl BatchSource for Bodies {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn record(&self, index: usize) -> RecordView<'_> {
        let body = &self.0[index].1;
        RecordView {
            topic: body.topic(),
            partition: body.partition(),
            offset: body.offset(),
            timestamp: match body.timestamp() {
                gristmill_kafka::Timestamp::None => Timestamp::None,
                gristmill_kafka::Timestamp::CreateTime(ms) => Timestamp::CreateTime(ms),
                gristmill_kafka::Timestamp::LogAppendTime(ms) => Timestamp::LogAppendTime(ms),
            },
            key: body.key(),
            value: body.value(),
        }
    }

    fn headers<'a>(&'a self, index: usize, headers: &mut Vec<HeaderView<'a>>) {
        headers.extend(self.0[index].1.headers().map(|(name, value)| HeaderView { name, value }));
    }
}
