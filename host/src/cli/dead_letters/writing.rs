//! Dead letters on their way back to a topic: each one is a request of its own, so that each is known to be there or not.
//!
//! The client sends several in one batch, and brokers refuse a batch as a whole for one record of it. What was refused is sent once
//! more with nothing beside it before it is named: then the reason is its own.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gristmill_core::io::{ProduceError, RequestId};
use gristmill_kafka::{ClientErrorKind, Event, Outgoing, ProduceFailure, ProduceFailureKind, Producer};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::config::Config;
use crate::dead_letters::Position;
use crate::exit::{self, Exit};
use crate::writer;

use super::super::status::runtime;
use super::LOOK_WAIT;
use super::around::{Around, Stop, refuse, stopped};

/// So many records, and so many of their bytes, are on their way at once; then the next one waits.
const RECORDS_MAX: usize = 1000;
const BYTES_MAX: u64 = 16 << 20;

/// How long one question for a topic waits, so that a stop is heard between two.
const ASK_WAIT: Duration = Duration::from_secs(2);

/// A producer, and what it has.
pub(super) struct Writing {
    producer: Producer,
    events: UnboundedReceiver<Event>,
    runtime: Runtime,
    /// How long a topic is asked for.
    wait: Duration,
    /// How many partitions each topic has.
    partitions: BTreeMap<Arc<str>, i32>,
    under_way: BTreeMap<u64, Sent>,
    /// What was refused among others, and is sent alone before anything new is: never more than was under way at once.
    again: VecDeque<Sent>,
    /// True while one is sent alone.
    is_alone: bool,
    /// Those of what is under way.
    bytes: u64,
    requests: u64,
    /// How many were acknowledged, by topic.
    pub(super) topics: BTreeMap<Arc<str>, u64>,
    /// How many ended without a word on whether they were written.
    lost: usize,
    /// True once it was said what a stop waits for.
    told_stop: bool,
    /// Why no more is sent.
    failed: Option<Exit>,
}

struct Sent {
    at: Position,
    outgoing: Outgoing,
    bytes: u64,
}

impl Writing {
    pub(super) fn new(config: &Config, wait: Duration) -> Result<Self, Exit> {
        let (outbox, events) = unbounded_channel();
        let producer = writer::producer(config.writing.producer_settings(&config.kafka), outbox)?;
        Ok(Self {
            producer,
            events,
            runtime: runtime()?,
            wait,
            partitions: BTreeMap::new(),
            under_way: BTreeMap::new(),
            again: VecDeque::new(),
            is_alone: false,
            bytes: 0,
            requests: 0,
            topics: BTreeMap::new(),
            lost: 0,
            told_stop: false,
            failed: None,
        })
    }

    /// How many were sent of which nobody knows whether they were written.
    pub(super) fn unknown(&self) -> usize {
        self.under_way.len() + self.lost
    }

    /// Sends one, to the partition that it came from where `keep` says so and the topic has that one.
    pub(super) fn send(
        &mut self,
        at: Position,
        mut outgoing: Outgoing,
        keep: Option<i32>,
        around: &mut Around<'_>,
    ) -> Result<(), Exit> {
        let partitions = self.partitions(&outgoing.topic, at, around.stop)?;
        outgoing.partition = keep.filter(|number| (0..partitions).contains(number));
        let bytes = outgoing.wire_bytes();
        while self.under_way.len() >= RECORDS_MAX || (self.bytes > 0 && self.bytes + bytes > BYTES_MAX) {
            self.hear(around)?;
        }
        // What was heard meanwhile may be that nothing can be written any more.
        self.look(around, Duration::ZERO)?;
        if !self.again.is_empty() {
            self.settle(around)?;
        }
        if let Some(failed) = self.failed.clone() {
            return Err(failed);
        }
        self.produce(Sent { at, outgoing, bytes });
        Ok(())
    }

    fn produce(&mut self, sent: Sent) {
        self.requests += 1;
        self.bytes += sent.bytes;
        self.producer.produce(RequestId(self.requests), vec![sent.outgoing.clone()]);
        self.under_way.insert(self.requests, sent);
    }

    /// Waits until everything that was sent has ended, which the producer's timeout bounds; then sends what was refused once more,
    /// one at a time. What a stop leaves of that is neither written nor refused.
    pub(super) fn settle(&mut self, around: &mut Around<'_>) -> Result<(), Exit> {
        self.wait_for_all(around)?;
        while self.failed.is_none()
            && let Some(sent) = self.again.pop_front()
        {
            if around.stop.is_asked() {
                return Err(stopped());
            }
            self.is_alone = true;
            self.produce(sent);
            let ended = self.wait_for_all(around);
            self.is_alone = false;
            ended?;
        }
        self.failed.clone().map_or(Ok(()), Err)
    }

    fn wait_for_all(&mut self, around: &mut Around<'_>) -> Result<(), Exit> {
        while !self.under_way.is_empty() {
            self.hear(around)?;
        }
        Ok(())
    }

    /// How many partitions a topic has; asked once.
    fn partitions(&mut self, topic: &Arc<str>, at: Position, stop: &Stop) -> Result<i32, Exit> {
        if let Some(known) = self.partitions.get(topic) {
            return Ok(*known);
        }
        let deadline = Instant::now() + self.wait;
        let found = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.producer.partitions(topic, left.clamp(LOOK_WAIT, ASK_WAIT)) {
                Ok(found) => break found,
                Err(ClientErrorKind::Unreachable) if stop.is_asked() => return Err(stopped()),
                Err(ClientErrorKind::Unreachable) if left > ASK_WAIT => {}
                Err(kind) => return Err(no_topic(kind, topic, at)),
            }
        };
        let count = i32::try_from(found).unwrap_or(i32::MAX);
        self.partitions.insert(Arc::clone(topic), count);
        Ok(count)
    }

    /// Waits a moment for the end of a record.
    fn hear(&mut self, around: &mut Around<'_>) -> Result<(), Exit> {
        if around.stop.insists() {
            return Err(Exit::because(exit::DEADLINE, "stopped at once because it was asked twice"));
        }
        if around.stop.is_asked() && !std::mem::replace(&mut self.told_stop, true) {
            let count = self.under_way.len();
            around
                .console
                .complain("info", format_args!("waits for {count} on their way; a second signal waits for nothing"));
        }
        self.look(around, LOOK_WAIT)
    }

    fn look(&mut self, around: &mut Around<'_>, wait: Duration) -> Result<(), Exit> {
        let Self { runtime, events, .. } = self;
        let mut next = if wait.is_zero() {
            events.try_recv().ok()
        } else {
            match runtime.block_on(async { tokio::time::timeout(wait, events.recv()).await }) {
                Ok(None) => {
                    return Err(Exit::because(exit::HOST_BUG, "the producer ended without a word; please report it"));
                }
                Ok(Some(event)) => Some(event),
                Err(_) => None,
            }
        };
        while let Some(event) = next {
            match event {
                Event::Produced { id, result } => self.ended(id, result, around),
                other => tracing::debug!(?other, "the producer had news that no replay waits for"),
            }
            next = self.events.try_recv().ok();
        }
        Ok(())
    }

    fn ended(&mut self, id: RequestId, result: Result<(), ProduceFailure>, around: &mut Around<'_>) {
        let Some(sent) = self.under_way.remove(&id.0) else { return };
        self.bytes = self.bytes.saturating_sub(sent.bytes);
        let Err(failure) = result else {
            around.progress.acknowledged(sent.at);
            *self.topics.entry(sent.outgoing.topic).or_default() += 1;
            return;
        };
        // What is too large was alone already: the producer sends the records of a batch one by one that is.
        if failure.kind == ProduceFailureKind::Refused && !self.is_alone {
            return self.again.push_back(sent);
        }
        let topic = &sent.outgoing.topic;
        let error = writer::error_of(&failure, "the record", topic);
        let (ProduceError::Temporary(why) | ProduceError::Refused(why)) = error;
        let code = match failure.kind {
            ProduceFailureKind::TooLarge => {
                let why = format!(
                    "with its story it is too large for {topic} ({}); raise its max.message.bytes, or what producer.properties say about sizes",
                    failure.code
                );
                return refuse(sent.at, &why, around.progress, around.console);
            }
            ProduceFailureKind::Refused => return refuse(sent.at, &why, around.progress, around.console),
            ProduceFailureKind::Temporary | ProduceFailureKind::ClientLost => {
                self.lost += 1;
                exit::UNREACHABLE
            }
            ProduceFailureKind::NotAuthorised => exit::NOT_AUTHORISED,
            ProduceFailureKind::UnknownTopic => exit::MISFIT,
        };
        let why = format!("{why}, which is where the dead letter at {} was to go", sent.at);
        self.failed.get_or_insert(Exit::because(code, why));
    }
}

fn no_topic(kind: ClientErrorKind, topic: &str, at: Position) -> Exit {
    let (code, why) = match kind {
        ClientErrorKind::UnknownTopic => (
            exit::MISFIT,
            format!(
                "the brokers know no topic {topic}, which is where the dead letter at {at} was to go; create it, or replay to another \
                 topic with --to"
            ),
        ),
        ClientErrorKind::Authentication | ClientErrorKind::Authorization => (
            exit::NOT_AUTHORISED,
            format!(
                "this user may not use the topic {topic}, which is where the dead letter at {at} was to go; give it the right to, or \
                 replay to another topic with --to"
            ),
        ),
        ClientErrorKind::Unreachable | ClientErrorKind::Protocol | ClientErrorKind::Other => {
            (exit::UNREACHABLE, format!("no broker says how many partitions {topic} has; look at the brokers"))
        }
    };
    Exit::because(code, why)
}
