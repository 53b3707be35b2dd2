//! One group member under test, with as much of the core's bookkeeping as a test needs to judge it.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use gristmill_core::io::{Assignment, CommitOffset, Input, RequestError, RequestId, RevokeId, SeekTo, StartPosition};
use gristmill_core::record::{Epoch, NextOffset, Offset, Partition, RecordFacts};
use gristmill_kafka::{Consumer, ConsumerSettings, Event, MockCluster, MockRecord, RecordBody, ResetPolicy};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// No test waits longer than this for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A record that counted.
pub(crate) struct Seen {
    pub(crate) facts: RecordFacts,
    pub(crate) body: RecordBody,
}

/// How a look-up ended.
pub(crate) type Committed = Result<Vec<(Partition, Option<NextOffset>)>, RequestError>;
/// How a seek ended.
pub(crate) type Sought = Vec<(Partition, Result<Epoch, RequestError>)>;

/// A member.
pub(crate) struct Member {
    pub(crate) consumer: Consumer,
    inbox: UnboundedReceiver<Event>,
    runtime: Runtime,
    requests: u64,
    /// Partitions that are ours, with the epoch of their current reading.
    pub(crate) owned: BTreeMap<Partition, Epoch>,
    /// The next offset of each partition of ours.
    pub(crate) next: HashMap<Partition, NextOffset>,
    /// Every assignment so far.
    pub(crate) assigned: Vec<Assignment>,
    /// Records that carried the current epoch, in the order of their coming.
    pub(crate) seen: Vec<Seen>,
    /// Records that did not.
    pub(crate) stale: u64,
    /// Records out of order within an epoch.
    pub(crate) disorder: Vec<RecordFacts>,
    /// Partitions that were taken away, and whether they were lost.
    pub(crate) removed: Vec<(Partition, bool)>,
    /// Ends of commits.
    pub(crate) commit_ends: HashMap<RequestId, Result<(), RequestError>>,
    /// Ends of look-ups.
    pub(crate) committed: HashMap<RequestId, Committed>,
    /// Ends of seeks.
    pub(crate) sought: HashMap<RequestId, Sought>,
    /// Everything else, as text.
    pub(crate) news: Vec<Event>,
    /// Revocations that wait for an answer, when `answers` is off.
    pub(crate) open_revocations: Vec<(RevokeId, Vec<Partition>)>,
    /// Answer revocations at once, after committing everything that was seen.
    pub(crate) answers: bool,
    /// True after the group was left.
    pub(crate) left: bool,
}

/// Settings as most tests want them: short waits.
pub(crate) fn settings(cluster: &MockCluster, group: &str, topics: &[&str]) -> ConsumerSettings {
    let mut settings = ConsumerSettings::new(&cluster.bootstrap_servers(), group, topics, ResetPolicy::Earliest);
    settings.drain_max = Duration::from_secs(2);
    settings.properties.clear();
    // The mock lets a classic group wait for its members until a second before their session ends.
    set(&mut settings, "session.timeout.ms", "3000");
    set(&mut settings, "heartbeat.interval.ms", "100");
    // A seek waits for the fetch in flight to return.
    set(&mut settings, "fetch.wait.max.ms", "20");
    settings
}

/// Sets a property.
pub(crate) fn set(settings: &mut ConsumerSettings, name: &str, value: &str) {
    settings.properties.push((name.to_owned(), value.to_owned()));
}

/// Makes the settings those of a KIP-848 group.
pub(crate) fn consumer_protocol(settings: &mut ConsumerSettings) {
    settings.properties.clear();
    set(settings, "group.protocol", "consumer");
    set(settings, "fetch.wait.max.ms", "20");
}

/// A change of settings.
pub(crate) type Tweak = fn(&mut ConsumerSettings);

/// The three ways in which a group assigns.
pub(crate) fn protocols() -> [(&'static str, Tweak); 3] {
    [
        ("cooperative", |_| ()),
        ("eager", |settings| set(settings, "partition.assignment.strategy", "range")),
        ("consumer", consumer_protocol),
    ]
}

/// A cluster with one topic.
pub(crate) fn cluster(topic: &str, partitions: i32) -> MockCluster {
    let cluster = MockCluster::start(1).expect("a mock cluster starts");
    cluster.create_topic(topic, partitions).expect("the topic is new");
    cluster
}

/// Produces `count` records to each partition, numbered on from `from`, and waits for them.
pub(crate) fn fill(cluster: &MockCluster, topic: &str, partitions: i32, from: i64, count: i64) {
    for number in from..from + count {
        for partition in 0..partitions {
            let value = value_of(partition, number);
            let record = MockRecord { partition, value: Some(value.as_bytes()), ..MockRecord::default() };
            cluster.produce(topic, record).expect("the record is accepted");
        }
    }
    cluster.flush().expect("the records are acknowledged");
}

/// What the record at an offset says.
pub(crate) fn value_of(partition: i32, offset: i64) -> String {
    format!("{partition}:{offset}")
}

impl Member {
    /// Starts a member.
    pub(crate) fn start(settings: ConsumerSettings) -> Self {
        let (outbox, inbox) = unbounded_channel();
        let consumer = Consumer::start(settings, outbox).expect("the settings are legal");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime starts");
        Self {
            consumer,
            inbox,
            runtime,
            requests: 0,
            owned: BTreeMap::new(),
            next: HashMap::new(),
            assigned: Vec::new(),
            seen: Vec::new(),
            stale: 0,
            disorder: Vec::new(),
            removed: Vec::new(),
            commit_ends: HashMap::new(),
            committed: HashMap::new(),
            sought: HashMap::new(),
            news: Vec::new(),
            open_revocations: Vec::new(),
            answers: true,
            left: false,
        }
    }

    /// Takes events in until `done`.
    pub(crate) fn until(&mut self, what: &str, mut done: impl FnMut(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !done(self) {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "waited in vain until {what}; {}", self.summary());
            self.take_one(left);
        }
    }

    /// Takes in what comes within `time`. For claims that something does *not* happen.
    pub(crate) fn for_a_while(&mut self, time: Duration) {
        let deadline = Instant::now() + time;
        while Instant::now() < deadline {
            self.take_one(deadline.saturating_duration_since(Instant::now()));
        }
    }

    fn take_one(&mut self, wait: Duration) {
        let inbox = &mut self.inbox;
        let received = self.runtime.block_on(async { tokio::time::timeout(wait, inbox.recv()).await });
        if let Ok(Some(event)) = received {
            self.absorb(event);
        }
    }

    fn absorb(&mut self, event: Event) {
        match event {
            Event::Input(Input::Assigned(assignments)) => self.take_over(&assignments),
            Event::Input(Input::Fetched(records)) => {
                for (facts, body) in records {
                    self.see(facts, body);
                }
            }
            Event::Input(Input::Revoking { id, partitions, .. }) => {
                if self.answers {
                    self.settle(&partitions);
                    self.remove(&partitions, false);
                    self.consumer.answer_revoke(id);
                } else {
                    self.open_revocations.push((id, partitions));
                }
            }
            Event::Input(Input::Lost(partitions)) => self.remove(&partitions, true),
            Event::Input(Input::CommitEnded { id, result }) => drop(self.commit_ends.insert(id, result)),
            Event::Input(Input::CommittedKnown { id, result }) => drop(self.committed.insert(id, result)),
            Event::Input(Input::Sought { id, results }) => {
                for (partition, result) in &results {
                    if let (Ok(epoch), Some(current)) = (result, self.owned.get_mut(partition)) {
                        *current = *epoch;
                    }
                }
                self.sought.insert(id, results);
            }
            Event::Input(Input::Left) => self.left = true,
            other => self.news.push(other),
        }
    }

    fn take_over(&mut self, assignments: &[Assignment]) {
        for assignment in assignments {
            self.owned.insert(assignment.partition, assignment.epoch);
            if let StartPosition::Committed(next) | StartPosition::Reset(next) = assignment.start {
                self.next.insert(assignment.partition, next);
            }
            self.assigned.push(*assignment);
        }
    }

    fn see(&mut self, facts: RecordFacts, body: RecordBody) {
        if self.owned.get(&facts.partition) != Some(&facts.epoch) {
            self.stale += 1;
            return;
        }
        let next = self.next.entry(facts.partition).or_insert(NextOffset(0));
        if !next.reaches(facts.offset) {
            self.disorder.push(facts);
        }
        *next = facts.offset.next();
        self.seen.push(Seen { facts, body });
    }

    /// Commits everything seen of these partitions and waits for the end, as a drained batch would.
    fn settle(&mut self, partitions: &[Partition]) {
        let offsets: Vec<CommitOffset> = partitions
            .iter()
            .filter_map(|partition| {
                let seen = self.seen.iter().rev().find(|seen| seen.facts.partition == *partition)?;
                Some(CommitOffset {
                    partition: *partition,
                    epoch: *self.owned.get(partition)?,
                    next: seen.facts.offset.next(),
                    leader_epoch: seen.facts.leader_epoch,
                })
            })
            .collect();
        if !offsets.is_empty() {
            let id = self.commit_offsets(offsets, "");
            self.until("the commit before a revocation ended", |member| member.commit_ends.contains_key(&id));
        }
    }

    fn remove(&mut self, partitions: &[Partition], lost: bool) {
        for partition in partitions {
            self.owned.remove(partition);
            self.next.remove(partition);
            self.removed.push((*partition, lost));
        }
    }

    fn next_id(&mut self) -> RequestId {
        self.requests += 1;
        RequestId(self.requests)
    }

    /// Orders a commit.
    pub(crate) fn commit_offsets(&mut self, offsets: Vec<CommitOffset>, metadata: &str) -> RequestId {
        let id = self.next_id();
        self.consumer.commit(id, offsets, metadata.to_owned());
        id
    }

    /// Commits one partition up to an offset and gives the end.
    pub(crate) fn commit(&mut self, partition: Partition, next: i64) -> Result<(), RequestError> {
        let epoch = self.owned.get(&partition).copied().unwrap_or(Epoch(0));
        let offset = CommitOffset { partition, epoch, next: NextOffset(next), leader_epoch: None };
        let id = self.commit_offsets(vec![offset], "");
        self.until("the commit ended", |member| member.commit_ends.contains_key(&id));
        self.commit_ends[&id]
    }

    /// Looks committed offsets up.
    pub(crate) fn ask_committed(&mut self, partitions: &[Partition]) -> Committed {
        let id = self.next_id();
        self.consumer.ask_committed(id, partitions.to_vec());
        self.until("the look-up ended", |member| member.committed.contains_key(&id));
        self.committed.remove(&id).expect("just seen")
    }

    /// Orders a seek.
    pub(crate) fn order_seek(&mut self, targets: &[(Partition, i64)]) -> RequestId {
        let id = self.next_id();
        let targets = targets
            .iter()
            .map(|(partition, next)| {
                let epoch = self.owned.get(partition).copied().unwrap_or(Epoch(0));
                self.next.insert(*partition, NextOffset(*next));
                SeekTo { partition: *partition, epoch, next: NextOffset(*next) }
            })
            .collect();
        self.consumer.seek(id, targets);
        id
    }

    /// Seeks and gives the results.
    pub(crate) fn seek(&mut self, targets: &[(Partition, i64)]) -> Sought {
        let id = self.order_seek(targets);
        // What is still on its way under the old epoch must not count as read, whatever its offset.
        let old: Vec<(Partition, Option<Epoch>)> =
            targets.iter().map(|(partition, _)| (*partition, self.owned.get(partition).copied())).collect();
        for (partition, epoch) in &old {
            if epoch.is_some() {
                self.owned.insert(*partition, Epoch(u64::MAX));
            }
        }
        self.until("the seek ended", |member| member.sought.contains_key(&id));
        self.sought.remove(&id).expect("just seen")
    }

    /// The partition of a topic by its number.
    pub(crate) fn partition(&self, topic: &str, number: i32) -> Partition {
        let (topic, _) =
            self.consumer.topics().into_iter().find(|(_, name)| &**name == topic).expect("the topic is known");
        Partition { topic, number }
    }

    /// Offsets seen of a partition, in the order of their coming.
    pub(crate) fn offsets(&self, number: i32) -> Vec<i64> {
        self.seen.iter().filter(|seen| seen.facts.partition.number == number).map(|seen| seen.facts.offset.0).collect()
    }

    /// Asserts that each partition's offsets are exactly these, once each and in order.
    pub(crate) fn assert_saw_exactly(&self, partitions: i32, count: i64) {
        for number in 0..partitions {
            let seen = self.offsets(number);
            let wanted: Vec<i64> = (0..count).collect();
            assert_eq!(seen.len(), wanted.len(), "partition {number}; {}", self.summary());
            assert_eq!(seen, wanted, "partition {number}");
        }
        assert!(self.disorder.is_empty(), "out of order: {:?}", self.disorder);
    }

    /// Leaves and waits for the end. Gives how long it took.
    pub(crate) fn leave(&mut self, wait: Duration) -> Duration {
        let start = Instant::now();
        self.consumer.leave(wait);
        self.until("the group was left or time was up", |member| {
            member.left || member.news.iter().any(|event| matches!(event, Event::CloseTimedOut))
        });
        start.elapsed()
    }

    /// What happened so far, for the text of a failed assertion.
    pub(crate) fn summary(&self) -> String {
        let news: Vec<String> = self.news.iter().rev().take(5).map(|event| format!("{event:?}")).collect();
        format!(
            "seen {}, stale {}, owned {:?}, removed {}, last news {news:?}",
            self.seen.len(),
            self.stale,
            self.owned,
            self.removed.len()
        )
    }
}

/// One past an offset, as a commit says it.
pub(crate) fn behind(offset: i64) -> NextOffset {
    Offset(offset).next()
}
