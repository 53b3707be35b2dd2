//! Batches on their way into a guest as lists of records: the contract's types, which borrow from views of records as the host keeps them.
//!
//! No byte of a key, value or header is copied before wasmtime copies it into the guest. Nothing here owns a record.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::bindings::types;
pub use crate::view::{BatchSource, HeaderView, RecordView, Timestamp, Visit};

/// Bytes that one record occupies in a guest at the least, beside what it points to: the contract's `kafka-record`.
const RECORD_ROW_BYTES: u64 = 72;
/// The same for one header.
const HEADER_ROW_BYTES: u64 = 20;

/// All headers of a batch in one row, names made readable.
pub(crate) struct HeaderRows<'a> {
    rows: Vec<(Cow<'a, str>, Option<&'a [u8]>)>,
    /// Where the headers of each record end.
    ends: Vec<usize>,
    bytes: u64,
}

impl<'a> HeaderRows<'a> {
    pub(crate) fn new(batch: &'a dyn BatchSource) -> Self {
        let mut views = Vec::new();
        let ends = (0..batch.len())
            .map(|index| {
                batch.headers(index, &mut views);
                views.len()
            })
            .collect();
        let mut bytes = 0;
        let rows = views
            .into_iter()
            .map(|view| {
                bytes += HEADER_ROW_BYTES + (view.name.len() + view.value.map_or(0, <[u8]>::len)) as u64;
                (String::from_utf8_lossy(view.name), view.value)
            })
            .collect();
        Self { rows, ends, bytes }
    }

    /// The contract's headers, still all in one row.
    pub(crate) fn lower(&self) -> Vec<types::HeaderParam<'_>> {
        self.rows.iter().map(|(key, value)| types::HeaderParam { key, value: *value }).collect()
    }

    /// The contract's records, which borrow their part of `headers`.
    pub(crate) fn records<'b>(
        &self,
        batch: &'b dyn BatchSource,
        headers: &'b [types::HeaderParam<'b>],
    ) -> Vec<types::KafkaRecord<'b>> {
        let mut from = 0;
        self.ends
            .iter()
            .enumerate()
            .map(|(index, end)| {
                let own = &headers[from..*end];
                from = *end;
                record(batch.record(index), own)
            })
            .collect()
    }

    /// Bytes that the whole batch occupies in a guest at the least.
    pub(crate) fn batch_bytes(&self, batch: &dyn BatchSource) -> u64 {
        let records = (0..batch.len()).map(|index| {
            let record = batch.record(index);
            let pointed =
                record.topic.len() + [record.key, record.value].into_iter().flatten().map(<[u8]>::len).sum::<usize>();
            RECORD_ROW_BYTES + pointed as u64
        });
        self.bytes + records.sum::<u64>()
    }
}

fn record<'a>(view: RecordView<'a>, headers: &'a [types::HeaderParam<'a>]) -> types::KafkaRecord<'a> {
    types::KafkaRecord {
        topic: view.topic,
        partition: view.partition,
        offset: view.offset,
        timestamp: match view.timestamp {
            Timestamp::None => types::Timestamp::None,
            Timestamp::CreateTime(ms) => types::Timestamp::CreateTime(ms),
            Timestamp::LogAppendTime(ms) => types::Timestamp::LogAppendTime(ms),
        },
        key: view.key,
        value: view.value,
        headers,
    }
}

/// How many partitions of a batch a text names before it only counts the rest.
pub const NAMED_MAX: usize = 8;

/// Which records a batch holds, for people.
pub(crate) fn positions_of(batch: &dyn BatchSource) -> String {
    let mut spans: BTreeMap<(&str, i32), (i64, i64)> = BTreeMap::new();
    for index in 0..batch.len() {
        let record = batch.record(index);
        let span = spans.entry((record.topic, record.partition)).or_insert((record.offset, record.offset));
        *span = (span.0.min(record.offset), span.1.max(record.offset));
    }
    positions(&spans, NAMED_MAX)
}

/// First and last offset of each partition, for people: `orders/0 5..9, orders/1 7`. Names so many partitions, counts the rest.
#[must_use]
pub fn positions(spans: &BTreeMap<(&str, i32), (i64, i64)>, named_max: usize) -> String {
    let mut named: Vec<String> = spans
        .iter()
        .take(named_max)
        .map(|((topic, partition), (first, last))| match first == last {
            true => format!("{topic}/{partition} {first}"),
            false => format!("{topic}/{partition} {first}..{last}"),
        })
        .collect();
    if spans.len() > named_max {
        let more = spans.len() - named_max;
        named.push(format!("and {more} more {}", if more == 1 { "partition" } else { "partitions" }));
    }
    named.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records of topic `t` with a value of three bytes and `index` headers of two, at these partitions and offsets.
    struct Batch(Vec<(i32, i64)>);

    impl BatchSource for Batch {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn record(&self, index: usize) -> RecordView<'_> {
            let (partition, offset) = self.0[index];
            let (timestamp, value) = (Timestamp::CreateTime(-1), Some(&b"abc"[..]));
            RecordView { topic: "t", partition, offset, timestamp, key: None, value }
        }

        fn headers<'a>(&'a self, index: usize, headers: &mut Vec<HeaderView<'a>>) {
            headers.extend((0..index).map(|_| HeaderView { name: b"\xff", value: Some(b"v") }));
        }
    }

    #[test]
    fn every_record_borrows_its_own_headers() {
        let batch = Batch(vec![(0, 1), (0, 2), (0, 3)]);
        let rows = HeaderRows::new(&batch);
        let headers = rows.lower();
        let records = rows.records(&batch, &headers);
        let lengths: Vec<usize> = records.iter().map(|record| record.headers.len()).collect();
        assert_eq!(lengths, [0, 1, 2]);
        assert_eq!(records[2].headers[1].key, "\u{fffd}");
    }

    #[test]
    fn bytes_count_rows_names_and_contents() {
        let batch = Batch(vec![(0, 1), (0, 2)]);
        let expected = 2 * (RECORD_ROW_BYTES + 1 + 3) + HEADER_ROW_BYTES + 2;
        assert_eq!(HeaderRows::new(&batch).batch_bytes(&batch), expected);
    }

    #[test]
    fn positions_are_spans_per_partition_and_bounded() {
        assert_eq!(positions_of(&Batch(vec![(1, 7), (0, 9), (0, 5)])), "t/0 5..9, t/1 7");
        let many = |partitions| positions_of(&Batch((0..partitions).map(|partition| (partition, 1)).collect()));
        assert!(many(100).ends_with("t/7 1, and 92 more partitions"), "{}", many(100));
        assert!(many(9).ends_with("t/7 1, and 1 more partition"), "{}", many(9));
    }
}
