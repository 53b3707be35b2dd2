//! One producer under test, and what it said.

use std::time::{Duration, Instant};

use gristmill_core::io::RequestId;
use gristmill_kafka::{
    Event, MockCluster, Outgoing, OutgoingBody, OutgoingHeader, ProduceFailure, ProduceFailureKind, Producer,
    ProducerSettings,
};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::member::{Member, PATIENCE, settings};

/// A producer, and what it said.
pub(crate) struct Mill {
    pub(crate) producer: Producer,
    pub(crate) record_bytes_max: u64,
    inbox: UnboundedReceiver<Event>,
    runtime: Runtime,
    requests: u64,
    /// Each answer with its request, in the order of their coming.
    pub(crate) answers: Vec<(u64, Result<(), ProduceFailure>)>,
    /// Whether it was in time, once it is closed.
    pub(crate) closed: Option<bool>,
    /// Everything else.
    pub(crate) news: Vec<Event>,
}

impl Mill {
    /// Starts a producer with a time limit of twenty seconds, or as the tweak says.
    pub(crate) fn start(cluster: &MockCluster, tweak: impl FnOnce(&mut ProducerSettings)) -> Self {
        let mut producer = ProducerSettings::beside(&settings(cluster, "unused", &["unused"]));
        producer.message_timeout = Duration::from_secs(20);
        tweak(&mut producer);
        let record_bytes_max = producer.record_bytes_max();
        let (outbox, inbox) = unbounded_channel();
        let producer = Producer::start(producer, outbox).expect("the settings are legal");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime starts");
        Self {
            producer,
            record_bytes_max,
            inbox,
            runtime,
            requests: 0,
            answers: Vec::new(),
            closed: None,
            news: Vec::new(),
        }
    }

    /// Orders a request; they are numbered from one.
    pub(crate) fn produce(&mut self, records: Vec<Outgoing>) -> u64 {
        self.requests += 1;
        self.producer.produce(RequestId(self.requests), records);
        self.requests
    }

    /// Orders a request and gives its answer.
    pub(crate) fn settle(&mut self, records: Vec<Outgoing>) -> Result<(), ProduceFailure> {
        let id = self.produce(records);
        self.until("the request was answered", |mill| mill.answers.iter().any(|(answered, _)| *answered == id));
        self.answers.iter().find(|(answered, _)| *answered == id).expect("just seen").1.clone()
    }

    /// Takes events in until so many requests were answered.
    pub(crate) fn until_answered(&mut self, count: usize) {
        self.until("the requests were answered", |mill| mill.answers.len() >= count);
    }

    /// Takes events in until `done`.
    pub(crate) fn until(&mut self, what: &str, mut done: impl FnMut(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !done(self) {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "waited in vain until {what}: {:?} {:?}", self.answers, self.news);
            self.take_one(left);
        }
    }

    /// Asserts that no answer comes within a while, and that none came twice.
    pub(crate) fn hears_nothing_more(&mut self) {
        let answers = self.answers.len();
        let deadline = Instant::now() + Duration::from_millis(300);
        while Instant::now() < deadline {
            self.take_one(deadline.saturating_duration_since(Instant::now()));
        }
        assert_eq!(self.answers.len(), answers, "{:?}", self.answers);
        let mut ids: Vec<u64> = self.answers.iter().map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), answers, "a request was answered twice: {:?}", self.answers);
    }

    fn take_one(&mut self, wait: Duration) {
        let inbox = &mut self.inbox;
        let received = self.runtime.block_on(async { tokio::time::timeout(wait, inbox.recv()).await });
        match received {
            Ok(Some(Event::Produced { id, result })) => self.answers.push((id.0, result)),
            Ok(Some(Event::ProducerClosed { in_time })) => self.closed = Some(in_time),
            Ok(Some(other)) => self.news.push(other),
            Ok(None) | Err(_) => {}
        }
    }
}

/// A record with a value, and nothing else.
pub(crate) fn record(topic: &str, value: &str) -> Outgoing {
    let body = OutgoingBody::Owned { key: None, value: Some(value.as_bytes().to_vec()), headers: Vec::new() };
    Outgoing { topic: topic.into(), partition: None, timestamp_ms: None, body, added: Vec::new() }
}

/// Records with these values.
pub(crate) fn records(topic: &str, values: &[&str]) -> Vec<Outgoing> {
    values.iter().map(|value| record(topic, value)).collect()
}

/// A header.
pub(crate) fn header(name: &'static [u8], value: Option<&[u8]>) -> OutgoingHeader {
    OutgoingHeader { name: name.into(), value: value.map(<[u8]>::to_vec) }
}

/// What kind of failure it was, and of which record.
pub(crate) fn failure(result: &Result<(), ProduceFailure>) -> Option<(ProduceFailureKind, usize)> {
    result.as_ref().err().map(|failure| (failure.kind, failure.record))
}

/// All values of a topic with one partition, in order: so many, and no more within a while.
pub(crate) fn read_all(cluster: &MockCluster, topic: &str, count: usize) -> Vec<String> {
    let mut member = Member::start(settings(cluster, "reader-of-all", &[topic]));
    member.until("all records came", |member| member.seen.len() >= count);
    member.for_a_while(Duration::from_millis(300));
    let value =
        |body: &gristmill_kafka::RecordBody| String::from_utf8_lossy(body.value().unwrap_or_default()).into_owned();
    member.seen.iter().map(|seen| value(&seen.body)).collect()
}
