//! Where the bytes of fetched records live: one data buffer and one index for all records that were taken at once.
//!
//! A record's body is a chunk and a number. The chunk's memory counts against the [`Credit`] until its last record is
//! gone, which is what bounds the memory of everything that was fetched. Knows nothing of offsets that are wanted or of
//! epochs.

use std::sync::Arc;

use crate::credit::{Credit, Lease};
use crate::share::{Account, Holding};
use crate::sys::Message;
use crate::topics::TopicName;

/// When a record was written, in milliseconds since 1970; may be negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timestamp {
    /// The record has none.
    None,
    /// Set by whoever produced it.
    CreateTime(i64),
    /// Set by the broker that appended it.
    LogAppendTime(i64),
}

/// What every record counts for beside its bytes (A5): its row in the index and its place in the batch.
pub const RECORD_OVERHEAD_BYTES: u64 = 64;

/// What every header counts for beside its bytes (A5): its row in the index.
pub const HEADER_OVERHEAD_BYTES: u64 = 16;

/// Length of something that is null.
const NULL: u32 = u32::MAX;

/// The records that were taken at once.
pub(crate) struct Chunk {
    data: Vec<u8>,
    rows: Vec<RecordRow>,
    headers: Vec<HeaderRow>,
    topics: Vec<Arc<TopicName>>,
    lease: Lease,
    /// The share of the partition, where all of it is of one.
    holding: Option<Holding>,
}

/// One record in the index. Key and value stand one behind the other in the data.
#[derive(Clone, Copy)]
struct RecordRow {
    start: usize,
    offset: i64,
    timestamp: Timestamp,
    key: u32,
    value: u32,
    partition: i32,
    topic: u32,
    headers_from: u32,
    headers: u32,
}

/// One header in the index. Name and value stand one behind the other in the data.
#[derive(Clone, Copy)]
struct HeaderRow {
    start: usize,
    name: u32,
    value: u32,
}

/// One record: its chunk and its place there. Cheap to clone; the chunk stays as long as any of its records does. What it tells is asked
/// for each record that is handed over, in another crate, and so is compiled there.
#[derive(Clone)]
pub struct RecordBody {
    chunk: Arc<Chunk>,
    index: u32,
}

impl RecordBody {
    #[inline]
    fn row(&self) -> &RecordRow {
        &self.chunk.rows[self.index as usize]
    }

    /// The topic's name as text; bytes that are not UTF-8 are replaced.
    #[must_use]
    #[inline]
    pub fn topic(&self) -> &Arc<str> {
        &self.chunk.topics[self.row().topic as usize].text
    }

    /// The topic's name as it is.
    #[must_use]
    #[inline]
    pub fn topic_bytes(&self) -> &[u8] {
        self.chunk.topics[self.row().topic as usize].raw.to_bytes()
    }

    /// The partition's number.
    #[must_use]
    #[inline]
    pub fn partition(&self) -> i32 {
        self.row().partition
    }

    /// The record's offset.
    #[must_use]
    #[inline]
    pub fn offset(&self) -> i64 {
        self.row().offset
    }

    /// When it was written.
    #[must_use]
    #[inline]
    pub fn timestamp(&self) -> Timestamp {
        self.row().timestamp
    }

    /// The key; `None` is null, which is not the same as empty.
    #[must_use]
    #[inline]
    pub fn key(&self) -> Option<&[u8]> {
        let row = self.row();
        self.chunk.bytes(row.start, row.key)
    }

    /// The value; `None` is null (a tombstone), which is not the same as empty.
    #[must_use]
    #[inline]
    pub fn value(&self) -> Option<&[u8]> {
        let row = self.row();
        self.chunk.bytes(row.start + length(row.key), row.value)
    }

    /// The headers in order, names repeated where they were: each name as its bytes, which need not be UTF-8, and its
    /// value, where `None` is null. A name with a zero byte inside ends there: librdkafka gives no more of it.
    #[inline]
    pub fn headers(&self) -> impl ExactSizeIterator<Item = (&[u8], Option<&[u8]>)> {
        let row = self.row();
        let from = row.headers_from as usize;
        self.chunk.headers[from..from + row.headers as usize].iter().map(|header| {
            let name = self.chunk.bytes(header.start, header.name).unwrap_or_default();
            (name, self.chunk.bytes(header.start + length(header.name), header.value))
        })
    }
}

impl std::fmt::Debug for RecordBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Never the payload: it may be secret, and it may be large.
        write!(f, "record {}/{}@{}", self.topic(), self.partition(), self.offset())
    }
}

impl Chunk {
    #[inline]
    fn bytes(&self, start: usize, count: u32) -> Option<&[u8]> {
        (count != NULL).then(|| &self.data[start..start + count as usize])
    }
}

#[inline]
fn length(count: u32) -> usize {
    if count == NULL { 0 } else { count as usize }
}

/// A chunk that is being filled.
pub(crate) struct ChunkBuilder {
    chunk: Chunk,
    with_headers: bool,
}

impl ChunkBuilder {
    /// An empty chunk for about so many records.
    pub(crate) fn new(credit: &Arc<Credit>, records: usize, bytes: usize, with_headers: bool) -> Self {
        let chunk = Chunk {
            data: Vec::with_capacity(bytes),
            rows: Vec::with_capacity(records),
            headers: Vec::new(),
            topics: Vec::new(),
            lease: Lease::nothing(credit),
            holding: None,
        };
        Self { chunk, with_headers }
    }

    /// Copies a record in. Gives its size as A5 counts.
    pub(crate) fn push(&mut self, message: Message<'_>, topic: &Arc<TopicName>) -> u64 {
        let chunk = &mut self.chunk;
        let before = chunk.data.len();
        let key = append(&mut chunk.data, message.key());
        let value = append(&mut chunk.data, message.value());
        let headers_from = chunk.headers.len();
        if self.with_headers {
            message.for_each_header(|name, value| {
                let start = chunk.data.len();
                let name = append(&mut chunk.data, Some(name));
                let value = append(&mut chunk.data, value);
                chunk.headers.push(HeaderRow { start, name, value });
            });
        }
        let known = chunk.topics.last().is_some_and(|last| Arc::ptr_eq(last, topic));
        if !known {
            chunk.topics.push(Arc::clone(topic));
        }
        chunk.rows.push(RecordRow {
            start: before,
            offset: message.offset(),
            timestamp: message.timestamp(),
            key,
            value,
            partition: message.partition(),
            topic: narrow(chunk.topics.len() - 1),
            headers_from: narrow(headers_from),
            headers: narrow(chunk.headers.len() - headers_from),
        });
        let headers = (chunk.headers.len() - headers_from) as u64;
        (chunk.data.len() - before) as u64 + RECORD_OVERHEAD_BYTES + headers * HEADER_OVERHEAD_BYTES
    }

    /// How many records it has.
    pub(crate) fn len(&self) -> usize {
        self.chunk.rows.len()
    }

    /// The bytes of its records.
    pub(crate) fn data_bytes(&self) -> usize {
        self.chunk.data.len()
    }

    /// Ends the filling: from here on the chunk's memory counts, also for the partition that has a share of all. Gives the records in
    /// the order of their pushing.
    pub(crate) fn finish(mut self, account: Option<&Arc<Account>>) -> impl Iterator<Item = RecordBody> {
        // Fewer came than were expected, where the client had no more.
        self.chunk.data.shrink_to_fit();
        self.chunk.rows.shrink_to_fit();
        self.chunk.headers.shrink_to_fit();
        let bytes = self.chunk.data.capacity() as u64 + self.index_bytes();
        self.chunk.lease.take(bytes);
        self.chunk.holding = account.map(|account| account.hold(bytes));
        let count = narrow(self.chunk.rows.len());
        let chunk = Arc::new(self.chunk);
        (0..count).map(move |index| RecordBody { chunk: Arc::clone(&chunk), index })
    }

    fn index_bytes(&self) -> u64 {
        let rows = self.chunk.rows.capacity() * size_of::<RecordRow>();
        (rows + self.chunk.headers.capacity() * size_of::<HeaderRow>()) as u64
    }
}

/// Appends bytes; gives their length, or [`NULL`].
fn append(data: &mut Vec<u8>, bytes: Option<&[u8]>) -> u32 {
    bytes.map_or(NULL, |bytes| {
        data.extend_from_slice(bytes);
        narrow(bytes.len())
    })
}

/// Kafka counts lengths in 31 bits, and a chunk has fewer records than that.
fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(NULL - 1)
}

/// A record as a fetch would give it, for the tests of what is made of records.
#[cfg(test)]
pub(crate) struct Sample<'a> {
    pub(crate) topic: &'a std::ffi::CStr,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) timestamp: Timestamp,
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) value: Option<&'a [u8]>,
    pub(crate) headers: Vec<(&'a [u8], Option<&'a [u8]>)>,
}

#[cfg(test)]
impl Sample<'_> {
    pub(crate) fn body(&self) -> RecordBody {
        let mut builder = ChunkBuilder::new(&Arc::new(Credit::new(1)), 1, 0, true);
        let chunk = &mut builder.chunk;
        let name = TopicName { raw: self.topic.to_owned(), text: Arc::from(self.topic.to_string_lossy()) };
        chunk.topics.push(Arc::new(name));
        let key = append(&mut chunk.data, self.key);
        let value = append(&mut chunk.data, self.value);
        for (name, value) in &self.headers {
            let start = chunk.data.len();
            let name = append(&mut chunk.data, Some(name));
            let value = append(&mut chunk.data, *value);
            chunk.headers.push(HeaderRow { start, name, value });
        }
        chunk.rows.push(RecordRow {
            start: 0,
            offset: self.offset,
            timestamp: self.timestamp,
            key,
            value,
            partition: self.partition,
            topic: 0,
            headers_from: 0,
            headers: narrow(self.headers.len()),
        });
        builder.finish(None).next().expect("one was pushed")
    }
}
