//! A batch as packed bytes, on its way into a guest.
//!
//! Each byte of a record is copied once here, and once more by wasmtime into the guest.

use std::collections::HashMap;

use super::{DATA_MAGIC, HEAD_BYTES, HEADER_BYTES, NULL};
use crate::view::{BatchSource, HeaderView, RecordView, Timestamp};

const MAGIC: &[u8; 8] = b"gmbatch1";
const RECORD_BYTES: usize = 48;
const SOURCE_BYTES: usize = 16;
/// Room for what nobody knows before: names of topics, and the rows of their partitions.
const SPARE_BYTES: usize = 1024;

/// A batch in two lists of bytes.
pub(crate) struct PackedBatch {
    /// Rows of fixed width.
    pub(crate) index: Vec<u8>,
    /// What they point into.
    pub(crate) data: Vec<u8>,
}

impl PackedBatch {
    /// Packs a batch. `None`: it takes more than `bytes_max`, or more than 32 bits can count.
    pub(crate) fn of(batch: &dyn BatchSource, bytes_max: u64) -> Option<Self> {
        let bytes_max = usize::try_from(bytes_max.min(u64::from(NULL - 1))).unwrap_or(usize::MAX);
        let mut packer = Packer::new(batch.len(), batch.about_bytes(), bytes_max);
        batch.visit(&mut |record, headers| packer.add(record, headers))?;
        packer.finish()
    }

    /// Bytes of both lists.
    pub(crate) fn bytes(&self) -> u64 {
        (self.index.len() + self.data.len()) as u64
    }
}

struct Packer<'a> {
    bytes_max: usize,
    index: Vec<u8>,
    data: Vec<u8>,
    headers: Vec<u8>,
    sources: Vec<u8>,
    known: HashMap<(&'a str, i32), u32>,
    /// The source of the record before: most records come from the same one as their neighbour.
    last: Option<(&'a str, i32, u32)>,
}

impl<'a> Packer<'a> {
    fn new(records: usize, about_bytes: usize, bytes_max: usize) -> Self {
        let mut index = Vec::with_capacity((HEAD_BYTES + records * RECORD_BYTES + SPARE_BYTES).min(bytes_max));
        index.extend_from_slice(MAGIC);
        index.resize(HEAD_BYTES, 0);
        let mut data = Vec::with_capacity(about_bytes.saturating_add(DATA_MAGIC.len() + SPARE_BYTES).min(bytes_max));
        data.extend_from_slice(DATA_MAGIC);
        let (headers, sources, known) = (Vec::new(), Vec::new(), HashMap::new());
        Self { bytes_max, index, data, headers, sources, known, last: None }
    }

    fn add(&mut self, record: &RecordView<'a>, headers: &[HeaderView<'_>]) -> Option<()> {
        let source = self.source(record.topic, record.partition)?;
        let (kind, time) = match record.timestamp {
            Timestamp::None => (0_u32, 0),
            Timestamp::CreateTime(ms) => (1, ms),
            Timestamp::LogAppendTime(ms) => (2, ms),
        };
        let (key, value) = (self.span(record.key)?, self.span(record.value)?);
        let first = number(self.headers.len() / HEADER_BYTES)?;
        for header in headers {
            let (name, value) = (self.span(Some(header.name))?, self.span(header.value)?);
            self.headers.extend_from_slice(&name);
            self.headers.extend_from_slice(&value);
        }
        let mut row = [0; RECORD_BYTES];
        row[..4].copy_from_slice(&source.to_le_bytes());
        row[4..8].copy_from_slice(&kind.to_le_bytes());
        row[8..16].copy_from_slice(&record.offset.to_le_bytes());
        row[16..24].copy_from_slice(&time.to_le_bytes());
        row[24..32].copy_from_slice(&key);
        row[32..40].copy_from_slice(&value);
        row[40..44].copy_from_slice(&first.to_le_bytes());
        row[44..].copy_from_slice(&number(headers.len())?.to_le_bytes());
        self.index.extend_from_slice(&row);
        (self.bytes() <= self.bytes_max).then_some(())
    }

    /// The number of a source's row.
    fn source(&mut self, topic: &'a str, partition: i32) -> Option<u32> {
        if let Some((last, of, number)) = self.last
            && of == partition
            && last == topic
        {
            return Some(number);
        }
        let source = match self.known.get(&(topic, partition)) {
            Some(source) => *source,
            None => {
                let source = number(self.known.len())?;
                let span = self.span(Some(topic.as_bytes()))?;
                self.sources.extend_from_slice(&span);
                self.sources.extend_from_slice(&partition.to_le_bytes());
                self.sources.extend_from_slice(&[0; 4]);
                self.known.insert((topic, partition), source);
                source
            }
        };
        self.last = Some((topic, partition, source));
        Some(source)
    }

    /// Takes bytes in, and says where they are.
    fn span(&mut self, bytes: Option<&[u8]>) -> Option<[u8; 8]> {
        let (at, length) = match bytes {
            None => (0, NULL),
            Some(bytes) => {
                let span = (number(self.data.len())?, number(bytes.len())?);
                // Before it is copied: a record may be larger than all that may be packed.
                if self.bytes().saturating_add(bytes.len()) > self.bytes_max {
                    return None;
                }
                self.data.extend_from_slice(bytes);
                span
            }
        };
        let mut span = [0; 8];
        span[..4].copy_from_slice(&at.to_le_bytes());
        span[4..].copy_from_slice(&length.to_le_bytes());
        Some(span)
    }

    fn bytes(&self) -> usize {
        self.index.len() + self.data.len() + self.headers.len() + self.sources.len()
    }

    fn finish(self) -> Option<PackedBatch> {
        let Self { mut index, data, headers, sources, .. } = self;
        let records = (index.len() - HEAD_BYTES) / RECORD_BYTES;
        let counts = [records, headers.len() / HEADER_BYTES, sources.len() / SOURCE_BYTES];
        for (place, count) in index[MAGIC.len()..HEAD_BYTES].chunks_exact_mut(4).zip(counts) {
            place.copy_from_slice(&number(count)?.to_le_bytes());
        }
        index.extend_from_slice(&headers);
        index.extend_from_slice(&sources);
        Some(PackedBatch { index, data })
    }
}

/// A number as the layout has it; the length that stands for null is none.
fn number(value: usize) -> Option<u32> {
    u32::try_from(value).ok().filter(|value| *value != NULL)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two records of one source and one of another; the second has two headers.
    struct Batch;

    impl BatchSource for Batch {
        fn len(&self) -> usize {
            3
        }

        fn record(&self, index: usize) -> RecordView<'_> {
            let record = RecordView {
                topic: "t",
                partition: 7,
                offset: 258,
                timestamp: Timestamp::None,
                key: None,
                value: Some(b""),
            };
            match index {
                0 => RecordView { key: Some(b"k"), timestamp: Timestamp::CreateTime(-1), ..record },
                1 => record,
                _ => RecordView { partition: 8, value: Some(b"vv"), timestamp: Timestamp::LogAppendTime(1), ..record },
            }
        }

        fn headers<'a>(&'a self, index: usize, headers: &mut Vec<HeaderView<'a>>) {
            if index == 1 {
                headers.push(HeaderView { name: b"\xff", value: None });
                headers.push(HeaderView { name: b"h", value: Some(b"") });
            }
        }
    }

    /// Byte for byte what wit/raw.md says, so that whoever reads it in another language can trust it.
    #[test]
    fn a_batch_is_packed_as_the_layout_has_it() {
        let packed = PackedBatch::of(&Batch, 1_000).unwrap();
        assert_eq!(packed.data, b"gmbytes1tk\xffhtvv");
        let head = [&b"gmbatch1"[..], &numbers(&[3, 2, 2, 0])].concat();
        let record = |source: u32, kind: u32, time: i64, spans: [u32; 4], headers: [u32; 2]| {
            let ends = [numbers(&spans), numbers(&headers)].concat();
            [numbers(&[source, kind]), 258_i64.to_le_bytes().to_vec(), time.to_le_bytes().to_vec(), ends].concat()
        };
        let expected = [
            head,
            record(0, 1, -1, [9, 1, 10, 0], [0, 0]),
            record(0, 0, 0, [0, NULL, 10, 0], [0, 2]),
            record(1, 2, 1, [0, NULL, 13, 2], [2, 0]),
            numbers(&[10, 1, 0, NULL]),
            numbers(&[11, 1, 12, 0]),
            numbers(&[8, 1, 7, 0]),
            numbers(&[12, 1, 8, 0]),
        ];
        assert_eq!(packed.index, expected.concat());
    }

    fn numbers(numbers: &[u32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    /// A batch that says of its bytes what it likes.
    struct Boaster(usize);

    impl BatchSource for Boaster {
        fn len(&self) -> usize {
            Batch.len()
        }

        fn record(&self, index: usize) -> RecordView<'_> {
            Batch.record(index)
        }

        fn headers<'a>(&'a self, index: usize, headers: &mut Vec<HeaderView<'a>>) {
            Batch.headers(index, headers);
        }

        fn about_bytes(&self) -> usize {
            self.0
        }
    }

    #[test]
    fn what_a_batch_says_of_its_bytes_makes_room_within_the_bound_and_nothing_else() {
        let expected = PackedBatch::of(&Batch, 1_000).unwrap();
        for about_bytes in [0, 1, 5_000, usize::MAX] {
            let packed = PackedBatch::of(&Boaster(about_bytes), 10_000).unwrap();
            assert_eq!((&packed.index, &packed.data), (&expected.index, &expected.data));
            assert!(packed.data.capacity() <= 10_000, "{about_bytes}: {}", packed.data.capacity());
        }
        assert!(PackedBatch::of(&Boaster(5_000), 10_000).unwrap().data.capacity() >= 5_000);
        assert!(PackedBatch::of(&Boaster(usize::MAX), expected.bytes() - 1).is_none());
    }

    #[test]
    fn what_does_not_fit_is_not_packed() {
        let bytes = PackedBatch::of(&Batch, 1_000).unwrap().bytes();
        assert_eq!(PackedBatch::of(&Batch, bytes).unwrap().bytes(), bytes);
        assert!(PackedBatch::of(&Batch, bytes - 1).is_none());
        assert!(PackedBatch::of(&Batch, 0).is_none());
    }
}
