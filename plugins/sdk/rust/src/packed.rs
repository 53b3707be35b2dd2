//! The contract's packed bytes, as `wit/raw.md` lays them out: batches are read where they lie, effects are written.
//!
//! Nothing here knows what a record or an effect means. Bytes that are not as the layout has it are a fault of the host, and end the
//! plugin.

use crate::batch::Timestamp;
use crate::effects::{Effects, Emitted, Rejection};

const BATCH_MAGIC: &[u8; 8] = b"gmbatch1";
const EFFECTS_MAGIC: &[u8; 8] = b"gmeffec1";
const DATA_MAGIC: &[u8; 8] = b"gmbytes1";
const HEAD_BYTES: usize = 24;
const RECORD_BYTES: usize = 48;
const HEADER_BYTES: usize = 16;
const SOURCE_BYTES: usize = 16;

/// The length that stands for null.
const NULL: u32 = u32::MAX;

/// The flags of an emitted record.
const HAS_PARTITION: u32 = 1;
const HAS_SOURCE: u32 = 2;

/// Where a record comes from.
struct Source {
    topic: String,
    partition: i32,
}

/// A batch as the host packed it.
pub(crate) struct Packed {
    index: Vec<u8>,
    data: Vec<u8>,
    records: usize,
    headers_at: usize,
    sources: Vec<Source>,
}

impl Packed {
    /// A batch of these two lists.
    ///
    /// # Panics
    ///
    /// When they do not begin as the layout has it, or are cut short.
    pub(crate) fn new(index: Vec<u8>, data: Vec<u8>) -> Self {
        let known = index.starts_with(BATCH_MAGIC) && data.starts_with(DATA_MAGIC);
        assert!(known, "the host packs batches in a layout that this plugin does not know");
        let [records, headers, sources] = [8, 12, 16].map(|at| number(&index, at) as usize);
        let headers_at = HEAD_BYTES + records * RECORD_BYTES;
        let sources_at = headers_at + headers * HEADER_BYTES;
        let whole = index.len() == sources_at + sources * SOURCE_BYTES;
        assert!(whole, "the host packed a batch whose index is not as long as its head says");
        let mut packed = Self { index, data, records, headers_at, sources: Vec::with_capacity(sources) };
        for number in 0..sources {
            let row = sources_at + number * SOURCE_BYTES;
            let topic = String::from_utf8_lossy(packed.span(row).unwrap_or_default()).into_owned();
            let partition = self::number(&packed.index, row + 8).cast_signed();
            packed.sources.push(Source { topic, partition });
        }
        packed
    }

    pub(crate) fn len(&self) -> usize {
        self.records
    }

    pub(crate) fn topic(&self, record: usize) -> &str {
        &self.source(record).topic
    }

    pub(crate) fn partition(&self, record: usize) -> i32 {
        self.source(record).partition
    }

    pub(crate) fn offset(&self, record: usize) -> i64 {
        self.wide(row(record) + 8)
    }

    pub(crate) fn timestamp(&self, record: usize) -> Timestamp {
        let time = self.wide(row(record) + 16);
        match number(&self.index, row(record) + 4) {
            0 => Timestamp::None,
            1 => Timestamp::CreateTime(time),
            _ => Timestamp::LogAppendTime(time),
        }
    }

    pub(crate) fn key(&self, record: usize) -> Option<&[u8]> {
        self.span(row(record) + 24)
    }

    pub(crate) fn value(&self, record: usize) -> Option<&[u8]> {
        self.span(row(record) + 32)
    }

    /// The headers of a record, in order, as name and value.
    pub(crate) fn headers(&self, record: usize) -> impl DoubleEndedIterator<Item = (&[u8], Option<&[u8]>)> {
        let [first, count] = [40, 44].map(|at| number(&self.index, row(record) + at) as usize);
        (first..first + count).map(|header| {
            let row = self.headers_at + header * HEADER_BYTES;
            (self.span(row).unwrap_or_default(), self.span(row + 8))
        })
    }

    fn source(&self, record: usize) -> &Source {
        &self.sources[number(&self.index, row(record)) as usize]
    }

    fn wide(&self, at: usize) -> i64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.index[at..at + 8]);
        i64::from_le_bytes(bytes)
    }

    fn span(&self, at: usize) -> Option<&[u8]> {
        let (from, length) = (number(&self.index, at) as usize, number(&self.index, at + 4));
        (length != NULL).then(|| &self.data[from..][..length as usize])
    }
}

/// Where the row of a record begins.
fn row(record: usize) -> usize {
    HEAD_BYTES + record * RECORD_BYTES
}

fn number(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(number)
}

/// An index as the contract has it. One that does not fit is out of every batch, and the host says so.
pub(crate) fn narrow(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Rows under construction, and what they point into.
struct Writer {
    index: Vec<u8>,
    headers: Vec<u8>,
    data: Vec<u8>,
}

impl Writer {
    fn new(magic: &[u8; 8]) -> Self {
        let mut index = magic.to_vec();
        index.resize(HEAD_BYTES, 0);
        Self { index, headers: Vec::new(), data: DATA_MAGIC.to_vec() }
    }

    /// Takes bytes in and says where they are.
    fn span(&mut self, bytes: Option<&[u8]>) -> [u32; 2] {
        let Some(bytes) = bytes else { return [0, NULL] };
        let span = [narrow(self.data.len()), narrow(bytes.len())];
        self.data.extend_from_slice(bytes);
        span
    }

    /// Takes headers in and says which rows they are: the first, and how many.
    fn headers<'b>(&mut self, headers: impl Iterator<Item = (&'b [u8], Option<&'b [u8]>)>) -> [u32; 2] {
        let rows = |bytes: &Vec<u8>| narrow(bytes.len() / HEADER_BYTES);
        let first = rows(&self.headers);
        for (name, value) in headers {
            for number in [self.span(Some(name)), self.span(value)].concat() {
                self.headers.extend_from_slice(&number.to_le_bytes());
            }
        }
        [first, rows(&self.headers) - first]
    }

    fn row(&mut self, numbers: &[u32]) {
        numbers.iter().for_each(|number| self.index.extend_from_slice(&number.to_le_bytes()));
    }

    /// Both lists, with these numbers of rows in the head.
    fn finish(mut self, counts: [usize; 3], last: &[u8]) -> (Vec<u8>, Vec<u8>) {
        for (place, count) in self.index[8..HEAD_BYTES].chunks_exact_mut(4).zip(counts) {
            place.copy_from_slice(&narrow(count).to_le_bytes());
        }
        self.index.extend_from_slice(&self.headers);
        self.index.extend_from_slice(last);
        (self.index, self.data)
    }
}

/// Effects in two lists; none in two empty ones.
pub(crate) fn effects(effects: &Effects) -> (Vec<u8>, Vec<u8>) {
    let Effects { rejected, emitted } = effects;
    if rejected.is_empty() && emitted.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let mut writer = Writer::new(EFFECTS_MAGIC);
    for Rejection { index, reason } in rejected {
        let [at, length] = writer.span(Some(reason.as_bytes()));
        writer.row(&[narrow(*index), at, length, 0]);
    }
    for Emitted { sink, key, value, headers, partition, source } in emitted {
        let spans = [Some(sink.as_bytes()), key.as_deref(), value.as_deref()].map(|bytes| writer.span(bytes));
        let [first, count] = writer.headers(headers.iter().map(|(name, value)| (name.as_slice(), value.as_deref())));
        let given = partition.map_or(0, |_| HAS_PARTITION) | source.map_or(0, |_| HAS_SOURCE);
        let (partition, source) = (partition.unwrap_or_default().cast_unsigned(), source.map_or(0, narrow));
        writer.row(&spans.concat());
        writer.row(&[given, partition, source, first, count, 0]);
    }
    let headers = writer.headers.len() / HEADER_BYTES;
    writer.finish([rejected.len(), emitted.len(), headers], &[])
}

/// A record that stands in for one of the host's.
pub(crate) struct Standin<'a> {
    pub(crate) topic: &'a str,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) timestamp: Timestamp,
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) value: Option<&'a [u8]>,
    pub(crate) headers: &'a [(Vec<u8>, Option<Vec<u8>>)],
}

/// Packs a batch as a host does, each record with a source of its own.
pub(crate) fn batch<'a>(records: impl Iterator<Item = Standin<'a>>) -> Packed {
    let (mut writer, mut sources, mut count) = (Writer::new(BATCH_MAGIC), Vec::new(), 0);
    for Standin { topic, partition, offset, timestamp, key, value, headers } in records {
        let (kind, time) = match timestamp {
            Timestamp::None => (0, 0),
            Timestamp::CreateTime(ms) => (1, ms),
            Timestamp::LogAppendTime(ms) => (2, ms),
        };
        for number in writer.span(Some(topic.as_bytes())).into_iter().chain([partition.cast_unsigned(), 0]) {
            sources.extend_from_slice(&number.to_le_bytes());
        }
        writer.row(&[narrow(count), kind]);
        writer.index.extend_from_slice(&offset.to_le_bytes());
        writer.index.extend_from_slice(&time.to_le_bytes());
        let spans = [key, value].map(|bytes| writer.span(bytes));
        let of_headers = writer.headers(headers.iter().map(|(name, value)| (name.as_slice(), value.as_deref())));
        writer.row(&[spans[0], spans[1], of_headers].concat());
        count += 1;
    }
    let headers = writer.headers.len() / HEADER_BYTES;
    let (index, data) = writer.finish([count, headers, count], &sources);
    Packed::new(index, data)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(numbers: &[u32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    /// The index of one record at offset 258 of `t`, partition 7: key "k", value null, and the header `h` with the value 0xff.
    fn index() -> Vec<u8> {
        let record = [numbers(&[0, 2]), 258_i64.to_le_bytes().to_vec(), (-1_i64).to_le_bytes().to_vec()].concat();
        let spans = numbers(&[9, 1, 0, NULL, 0, 1]);
        let (header, source) = (numbers(&[10, 1, 11, 1]), numbers(&[8, 1, 7, 0]));
        [b"gmbatch1".to_vec(), numbers(&[1, 1, 1, 0]), record, spans, header, source].concat()
    }

    /// Byte for byte what wit/raw.md says: the host's own tests hold the same.
    #[test]
    fn a_batch_is_read_as_the_layout_has_it() {
        let packed = Packed::new(index(), b"gmbytes1tkh\xff".to_vec());
        assert_eq!((packed.len(), packed.topic(0), packed.partition(0), packed.offset(0)), (1, "t", 7, 258));
        assert_eq!(packed.timestamp(0), Timestamp::LogAppendTime(-1));
        assert_eq!((packed.key(0), packed.value(0)), (Some(&b"k"[..]), None));
        assert_eq!(packed.headers(0).collect::<Vec<_>>(), [(&b"h"[..], Some(&b"\xff"[..]))]);
    }

    #[test]
    fn effects_are_packed_as_the_layout_has_them() {
        let emitted = Emitted {
            sink: "out".to_owned(),
            key: Some(b"k".to_vec()),
            value: Some(b"v".to_vec()),
            headers: vec![(b"h\xff".to_vec(), None)],
            partition: Some(5),
            source: Some(0),
        };
        let rejected = Rejection { index: 1, reason: "why".to_owned() };
        let (index, data) = effects(&Effects { rejected: vec![rejected], emitted: vec![emitted] });
        let rows = [1, 1, 1, 0, 1, 8, 3, 0, 11, 3, 14, 1, 15, 1, 3, 5, 0, 0, 1, 0, 16, 2, 0, NULL];
        assert_eq!(index, [b"gmeffec1".to_vec(), numbers(&rows)].concat());
        assert_eq!(data, b"gmbytes1whyoutkvh\xff");
        assert_eq!(effects(&Effects::NONE), (Vec::new(), Vec::new()));
    }

    #[test]
    #[should_panic(expected = "a layout that this plugin does not know")]
    fn a_layout_of_another_version_is_not_guessed_at() {
        let mut index = index();
        index[7] = b'2';
        let _ = Packed::new(index, b"gmbytes1tkh\xff".to_vec());
    }

    #[test]
    #[should_panic(expected = "not as long as its head says")]
    fn an_index_that_was_cut_is_not_read() {
        let mut index = index();
        index.pop();
        let _ = Packed::new(index, b"gmbytes1tkh\xff".to_vec());
    }
}
