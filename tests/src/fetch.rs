//! All records of a partition as Kafka's protocol gives them out, byte for byte.
//!
//! No client library here, as in `wire`: names of headers that are no UTF-8, which some libraries cannot show, are bytes like any others.

use std::ops::Range;
use std::time::{Duration, Instant};

use crate::wire::{WireRecord, ask};

/// No partition takes longer to be read.
const WITHIN: Duration = Duration::from_secs(60);

/// What one answer may hold: a batch that is larger comes all the same, alone.
const ANSWER_BYTES_MAX: i32 = 8 << 20;

/// Reads all that a partition holds now. Batches must not be compressed.
///
/// # Panics
///
/// When the broker does not give it within a minute.
#[must_use]
pub fn read_partition(bootstrap: &str, topic: &str, partition: i32) -> Vec<WireRecord> {
    let deadline = Instant::now() + WITHIN;
    let mut records = Vec::new();
    let mut next = 0;
    loop {
        assert!(Instant::now() < deadline, "{topic}/{partition} is not read to its end: {next}");
        let answer = ask(bootstrap, &fetch_request(topic, partition, next));
        let answer = answer.unwrap_or_else(|error| panic!("cannot talk to {bootstrap}: {error}"));
        let (end, batches) = batches_of(&answer, topic);
        let mut log = Bytes(batches);
        while let Some((offsets, found)) = batch(&mut log) {
            // A batch comes whole, also where only its end was asked for.
            let known = usize::try_from((next - offsets.start).max(0)).unwrap_or(0);
            records.extend(found.into_iter().skip(known));
            next = offsets.end.max(next);
        }
        if next >= end {
            return records;
        }
    }
}

/// Fetch, version 4: the oldest that brokers still know.
fn fetch_request(topic: &str, partition: i32, from: i64) -> Vec<u8> {
    let mut request = Vec::new();
    request.extend(1_i16.to_be_bytes());
    request.extend(4_i16.to_be_bytes());
    request.extend(1_i32.to_be_bytes());
    // No client id; no replica; answered at once, with whatever is there.
    request.extend((-1_i16).to_be_bytes());
    request.extend((-1_i32).to_be_bytes());
    request.extend(0_i32.to_be_bytes());
    request.extend(0_i32.to_be_bytes());
    request.extend(ANSWER_BYTES_MAX.to_be_bytes());
    // Not only what is committed: there are no transactions.
    request.push(0);
    request.extend(1_i32.to_be_bytes());
    request.extend(i16::try_from(topic.len()).unwrap_or(i16::MAX).to_be_bytes());
    request.extend(topic.as_bytes());
    request.extend(1_i32.to_be_bytes());
    request.extend(partition.to_be_bytes());
    request.extend(from.to_be_bytes());
    request.extend(ANSWER_BYTES_MAX.to_be_bytes());
    request
}

/// The end of the partition and the bytes of its batches in an answer about one partition.
fn batches_of<'a>(answer: &'a [u8], topic: &str) -> (i64, &'a [u8]) {
    let mut answer = Bytes(answer);
    // Correlation, throttle time, one topic with its name, one partition with its number.
    answer.take(4 + 4 + 4 + 2 + topic.len() + 4 + 4);
    let error = i16::from_be_bytes(answer.array());
    assert_eq!(error, 0, "the broker does not give out {topic}");
    let end = i64::from_be_bytes(answer.array());
    answer.take(8);
    let aborted = i32::from_be_bytes(answer.array());
    assert!(aborted <= 0, "there are transactions in {topic}");
    let length = i32::from_be_bytes(answer.array());
    (end, answer.take(usize::try_from(length).unwrap_or(0)))
}

/// The next batch, if all of it is there: its offsets and its records.
fn batch(log: &mut Bytes<'_>) -> Option<(Range<i64>, Vec<WireRecord>)> {
    let length = usize::try_from(i32::from_be_bytes(log.0.get(8..12)?.try_into().ok()?)).ok()?;
    if log.0.len() < 12 + length {
        return None;
    }
    let mut batch = Bytes(log.take(12 + length));
    let first = i64::from_be_bytes(batch.array());
    // Length, leader epoch, magic, checksum.
    batch.take(4 + 4 + 1 + 4);
    let attributes = i16::from_be_bytes(batch.array());
    assert_eq!(attributes & 0b10_0111, 0, "compressed, or the mark of a transaction");
    let last = first + i64::from(i32::from_be_bytes(batch.array()));
    let time = i64::from_be_bytes(batch.array());
    // Latest time, producer id, epoch, sequence.
    batch.take(8 + 8 + 2 + 4);
    let count = i32::from_be_bytes(batch.array());
    let records = (0..count).map(|_| record(&mut batch, time)).collect();
    Some((first..last + 1, records))
}

fn record(batch: &mut Bytes<'_>, time: i64) -> WireRecord {
    // Length and attributes.
    batch.varint();
    batch.take(1);
    let timestamp_ms = time + batch.varint();
    batch.varint();
    let (key, value) = (batch.nullable(), batch.nullable());
    let count = batch.varint();
    let headers = (0..count).map(|_| (batch.nullable().unwrap_or_default(), batch.nullable())).collect();
    WireRecord { timestamp_ms, key, value, headers }
}

/// Bytes that are read from front to back. Those that are not there are a failure of the test.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N));
        array
    }

    fn varint(&mut self) -> i64 {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)[0];
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                break;
            }
        }
        (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
    }

    fn nullable(&mut self) -> Option<Vec<u8>> {
        let length = usize::try_from(self.varint()).ok()?;
        Some(self.take(length).to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire;

    #[test]
    fn what_is_written_is_read_again() {
        let records = [
            WireRecord { timestamp_ms: 5_000_000_000, key: Some(Vec::new()), ..WireRecord::default() },
            WireRecord {
                timestamp_ms: 7,
                value: Some(vec![0; 300]),
                headers: vec![(b"\xFF".to_vec(), None), (Vec::new(), Some(vec![0xFE])), (b"\xFF".to_vec(), None)],
                ..WireRecord::default()
            },
        ];
        let written = wire::batch(&records);
        let mut log = Bytes(&written);
        assert_eq!(batch(&mut log), Some((0..2, records.to_vec())));
        assert_eq!(batch(&mut log), None);
        assert_eq!(batch(&mut Bytes(&written[..written.len() - 1])), None, "a batch that is cut off is none");
    }
}
