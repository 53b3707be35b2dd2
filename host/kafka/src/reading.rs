//! Reads a topic from one end to the other, beside its group: joins nothing, commits nothing.
//!
//! What was there when it began is read, and nothing that comes later, so that it ends in a topic that grows. Memory is bounded by
//! the client's own queue and the records that are out. Knows nothing of what the records are.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::arena::{ChunkBuilder, RecordBody};
use crate::consumer::create;
use crate::credit::Credit;
use crate::error::{ClientErrorKind, StartError, is_about_data};
use crate::log::unheard;
use crate::reach::{Hints, ReachError, reach};
use crate::settings::{ClientProperties, ConsumerSettings};
use crate::sys::{Client, ClientKind, Code, List, Message, Queue, Row, Watermark, code_name};
use crate::topics::TopicName;

/// The most records that are taken at once.
const RECORDS_AT_ONCE: usize = 256;
/// How long one question about the ends of the log waits before it is asked again.
const ASK_WAIT: Duration = Duration::from_secs(2);
/// How long it waits before it asks again.
const AGAIN_WAIT: Duration = Duration::from_millis(100);
/// So many partitions are named in an error.
const NAMED_MAX: usize = 10;

/// Why a topic could not be read to its end.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// No broker, or not with these credentials.
    #[error(transparent)]
    Reach(#[from] ReachError),
    /// The topic is not there.
    #[error("the brokers know no topic {topic}; create it, or name the one that is meant")]
    NoTopic {
        /// Which one.
        topic: String,
    },
    /// The credentials do not suffice for it.
    #[error("the brokers do not let this user read the topic {topic}; give it the right to, and to use the group")]
    Denied {
        /// Which one.
        topic: String,
    },
    /// Nothing came for too long.
    #[error(
        "nothing came of {topic}/{partitions} for {wait:?}{hints}; look at the brokers that lead it, or wait longer"
    )]
    Silent {
        /// Of which topic.
        topic: String,
        /// Of which partitions.
        partitions: String,
        /// For how long.
        wait: Duration,
        /// What the client said meanwhile.
        hints: String,
    },
    /// Bytes that are no records.
    #[error("{topic}/{partition} cannot be read behind offset {next_offset} ({code}); look at the log's files")]
    Unreadable {
        /// Of which topic.
        topic: String,
        /// Which partition.
        partition: i32,
        /// Where reading would have gone on.
        next_offset: i64,
        /// librdkafka's name of the error.
        code: String,
    },
}

impl From<StartError> for ReadError {
    fn from(error: StartError) -> Self {
        Self::Reach(ReachError::from(error))
    }
}

/// Reads what a topic holds.
pub struct TopicReader {
    // Before the client: queues go first.
    records: Queue,
    reports: Option<Queue>,
    client: Client,
    name: Arc<TopicName>,
    /// What is left of each partition that is not read to its end: the next offset, and the one behind the last.
    left: BTreeMap<i32, Range<i64>>,
    credit: Arc<Credit>,
    wait: Duration,
    /// How long was waited in vain. Whoever takes long over the records that came is not counted for it.
    silent: Duration,
    hints: Hints,
    properties: ClientProperties,
}

impl TopicReader {
    /// Looks where each partition of the topic begins and ends, and begins to read. `window` says of each partition by its number
    /// which offsets are of interest at all. Nothing waits longer than `wait` for a broker, here and later.
    ///
    /// # Errors
    ///
    /// The settings make no client, no broker answers, the topic is not there or not for this user.
    pub fn open(
        settings: &ConsumerSettings,
        topic: &str,
        wait: Duration,
        window: impl Fn(i32) -> Range<i64>,
    ) -> Result<Self, ReadError> {
        let mut settings = settings.clone();
        settings.topics = vec![topic.to_owned()];
        let properties = ClientProperties::of(&settings).map_err(StartError::from)?.for_reading();
        let found = reach(&settings, wait)?.topics.into_iter().next().map(|(_, found)| found);
        let count = found.unwrap_or(Err(ClientErrorKind::UnknownTopic)).map_err(|kind| refused(topic, kind))?;
        let client = create(ClientKind::Consumer, &properties, unheard())?;
        let name = TopicName { raw: CString::new(topic).unwrap_or_default(), text: Arc::from(topic) };
        let mut reader = Self {
            records: client.new_queue(),
            reports: client.events(),
            client,
            name: Arc::new(name),
            left: BTreeMap::new(),
            credit: Arc::new(Credit::new(u64::MAX)),
            wait,
            silent: Duration::ZERO,
            hints: Hints::default(),
            properties,
        };
        let partitions: Vec<i32> = (0..i32::try_from(count).unwrap_or(i32::MAX)).collect();
        // The end first: where the beginning moves meanwhile, there is only less to read.
        let ends = reader.ask_ends(&partitions, Watermark::High)?;
        let begins = reader.ask_ends(&partitions, Watermark::Low)?;
        for ((partition, end), begin) in partitions.into_iter().zip(ends).zip(begins) {
            let wanted = window(partition);
            let range = begin.max(wanted.start)..end.min(wanted.end);
            if !range.is_empty() {
                reader.left.insert(partition, range);
            }
        }
        reader.begin()?;
        Ok(reader)
    }

    /// The next records, in order within each partition. Empty where none came within `wait`; `None` at the end of all.
    ///
    /// # Errors
    ///
    /// Nothing came for longer than this reader may wait, or what came cannot be read.
    pub fn next(&mut self, wait: Duration) -> Result<Option<Vec<RecordBody>>, ReadError> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let Self { records, left, credit, name, client, hints, .. } = self;
        let began = Instant::now();
        let batch = records.take(wait, RECORDS_AT_ONCE);
        let mut builder = ChunkBuilder::new(credit, batch.len(), 0, true);
        let mut came = false;
        for index in 0..batch.len() {
            let message = batch.message(index);
            let Some(range) = left.get_mut(&message.partition()) else { continue };
            came |= matches!(message.error(), Ok(()) | Err(Code::PartitionEOF));
            match message.error() {
                Ok(()) if message.offset() < range.start => continue,
                Ok(()) => {
                    if message.offset() < range.end {
                        builder.push(message, name);
                    }
                    range.start = message.offset().saturating_add(1);
                }
                Err(Code::PartitionEOF) => range.start = range.end,
                Err(code) => trouble(&name.text, message, code, range.start, hints)?,
            }
            if range.is_empty() {
                left.remove(&message.partition());
                // What grows behind the end is of no interest; that this fails only costs time.
                let _ = client.pause(&List::of([(name.raw.as_c_str(), message.partition(), 0)]));
            }
        }
        drop(batch);
        self.silent = if came { Duration::ZERO } else { self.silent + began.elapsed() };
        if self.silent >= self.wait {
            return Err(self.silence());
        }
        Ok(Some(builder.finish(None).collect()))
    }

    /// Asks for one end of each partition until all are known.
    fn ask_ends(&mut self, partitions: &[i32], end: Watermark) -> Result<Vec<i64>, ReadError> {
        let deadline = Instant::now() + self.wait;
        loop {
            let rows = partitions.iter().map(|partition| (self.name.raw.as_c_str(), *partition, 0));
            let mut list = List::of(rows);
            let left = deadline.saturating_duration_since(Instant::now()).max(AGAIN_WAIT);
            let asked = self.client.watermark_of_all(&mut list, end, left.min(ASK_WAIT));
            let rows = list.rows();
            let known = |row: &Row| row.result.is_ok() && row.offset >= 0;
            if asked.is_ok() && rows.len() == partitions.len() && rows.iter().all(known) {
                return Ok(rows.into_iter().map(|row| row.offset).collect());
            }
            let denied = |result: &Result<(), Code>| *result == Err(Code::TopicAuthorizationFailed);
            if denied(&asked) || rows.iter().any(|row| denied(&row.result)) {
                return Err(refused(&self.name.text, ClientErrorKind::Authorization));
            }
            if left <= AGAIN_WAIT {
                self.left = rows.iter().filter(|row| !known(row)).map(|row| (row.partition, 0..1)).collect();
                return Err(self.silence());
            }
            // An answer that is none may come at once, such as that of a broker that leads no more.
            std::thread::sleep(AGAIN_WAIT);
        }
    }

    /// Assigns what there is to read.
    fn begin(&mut self) -> Result<(), ReadError> {
        let name = self.name.raw.as_c_str();
        for partition in self.left.keys() {
            // Where it cannot be forwarded nothing will come of it, which is told.
            let _ = self.client.forward(name, *partition, &self.records);
        }
        let list = List::of(self.left.iter().map(|(partition, range)| (name, *partition, range.start)));
        let words = |code| StartError::Client { text: format!("it takes no assignment ({})", code_name(code)) };
        Ok(self.client.assign(Some(&list)).map_err(words)?)
    }

    fn silence(&mut self) -> ReadError {
        if let Some(reports) = &self.reports {
            self.hints.hear(reports);
        }
        let named: Vec<String> = self.left.keys().take(NAMED_MAX).map(ToString::to_string).collect();
        let more = if self.left.len() > NAMED_MAX { ",…" } else { "" };
        ReadError::Silent {
            topic: self.name.text.to_string(),
            partitions: format!("{}{more}", named.join(",")),
            wait: self.wait,
            hints: self.properties.without_secrets(&self.hints.text()),
        }
    }
}

impl Drop for TopicReader {
    fn drop(&mut self) {
        // It is in no group that could be left.
        self.client.abandon();
    }
}

impl std::fmt::Debug for TopicReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TopicReader").field("topic", &self.name.text).field("left", &self.left).finish_non_exhaustive()
    }
}

fn refused(topic: &str, kind: ClientErrorKind) -> ReadError {
    let topic = topic.to_owned();
    match kind {
        ClientErrorKind::Authorization | ClientErrorKind::Authentication => ReadError::Denied { topic },
        ClientErrorKind::UnknownTopic
        | ClientErrorKind::Unreachable
        | ClientErrorKind::Protocol
        | ClientErrorKind::Other => ReadError::NoTopic { topic },
    }
}

/// What an error in the place of records means: that it will not get better, or that the client goes on trying.
fn trouble(
    topic: &str,
    message: Message<'_>,
    code: Code,
    next_offset: i64,
    hints: &mut Hints,
) -> Result<(), ReadError> {
    match ClientErrorKind::of(code) {
        kind @ (ClientErrorKind::Authorization | ClientErrorKind::UnknownTopic) => Err(refused(topic, kind)),
        _ if is_about_data(code) => Err(ReadError::Unreadable {
            topic: topic.to_owned(),
            partition: message.partition(),
            next_offset,
            code: code_name(code),
        }),
        ClientErrorKind::Unreachable
        | ClientErrorKind::Authentication
        | ClientErrorKind::Protocol
        | ClientErrorKind::Other => {
            hints.note(&message.error_text());
            Ok(())
        }
    }
}
