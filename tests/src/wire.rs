//! One batch of records as Kafka's protocol writes it, byte for byte as a test says, and the one request that puts it into a
//! partition.
//!
//! No client library here: what a library would correct or refuse is what these tests are about.

use std::io::{Read, Write};
use std::net::TcpStream;

/// A record as it goes over the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WireRecord {
    /// Milliseconds since 1970; -1 is Kafka's word for none.
    pub timestamp_ms: i64,
    /// The key; `None` is null.
    pub key: Option<Vec<u8>>,
    /// The value; `None` is null.
    pub value: Option<Vec<u8>>,
    /// Names, which need not be UTF-8, and values, of which `None` is null.
    pub headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

/// Puts the records into a partition as one batch.
///
/// # Panics
///
/// When the broker does not take it.
pub fn put_batch(bootstrap: &str, topic: &str, partition: i32, records: &[WireRecord]) {
    let request = produce_request(topic, partition, &batch(records));
    let answer = ask(bootstrap, &request);
    let answer = answer.unwrap_or_else(|error| panic!("cannot talk to {bootstrap}: {error}"));
    // Correlation, one topic with its name, one partition with its number, then the error.
    let at = 4 + 4 + 2 + topic.len() + 4 + 4;
    let error = answer.get(at..at + 2).map(|bytes| i16::from_be_bytes([bytes[0], bytes[1]]));
    assert_eq!(error, Some(0), "the broker does not take the batch for {topic}: {answer:?}");
}

pub(crate) fn ask(bootstrap: &str, request: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(bootstrap)?;
    stream.write_all(&sized(request))?;
    let mut size = [0; 4];
    stream.read_exact(&mut size)?;
    let mut answer = vec![0; u32::from_be_bytes(size) as usize];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}

/// Produce, version 3: the oldest that knows batches, and the last that is this simple.
fn produce_request(topic: &str, partition: i32, batch: &[u8]) -> Vec<u8> {
    let mut request = Vec::new();
    request.extend(0_i16.to_be_bytes());
    request.extend(3_i16.to_be_bytes());
    request.extend(1_i32.to_be_bytes());
    // No client id, no transaction.
    request.extend((-1_i16).to_be_bytes());
    request.extend((-1_i16).to_be_bytes());
    // Acknowledged by all, within 10 s.
    request.extend((-1_i16).to_be_bytes());
    request.extend(10_000_i32.to_be_bytes());
    request.extend(1_i32.to_be_bytes());
    request.extend(i16::try_from(topic.len()).unwrap_or(i16::MAX).to_be_bytes());
    request.extend(topic.as_bytes());
    request.extend(1_i32.to_be_bytes());
    request.extend(partition.to_be_bytes());
    request.extend(sized(batch));
    request
}

/// A batch of version 2, uncompressed.
pub(crate) fn batch(records: &[WireRecord]) -> Vec<u8> {
    let first = records.first().map_or(0, |record| record.timestamp_ms);
    let latest = records.iter().map(|record| record.timestamp_ms).max().unwrap_or(first);
    let mut body = Vec::new();
    body.extend(0_i16.to_be_bytes());
    body.extend(count(records.len().saturating_sub(1)).to_be_bytes());
    body.extend(first.to_be_bytes());
    body.extend(latest.to_be_bytes());
    // No producer id, epoch or sequence.
    body.extend([0xFF; 8 + 2 + 4]);
    body.extend(count(records.len()).to_be_bytes());
    for (number, record) in records.iter().enumerate() {
        let bytes = record_bytes(count(number), record.timestamp_ms - first, record);
        body.extend(varint(bytes.len() as i64));
        body.extend(bytes);
    }
    let mut rest = (-1_i32).to_be_bytes().to_vec();
    rest.push(2);
    rest.extend(crc32c(&body).to_be_bytes());
    rest.extend(body);
    let mut batch = 0_i64.to_be_bytes().to_vec();
    batch.extend(sized(&rest));
    batch
}

fn record_bytes(number: i32, timestamp_delta: i64, record: &WireRecord) -> Vec<u8> {
    let mut bytes = vec![0];
    bytes.extend(varint(timestamp_delta));
    bytes.extend(varint(i64::from(number)));
    bytes.extend(nullable(record.key.as_deref()));
    bytes.extend(nullable(record.value.as_deref()));
    bytes.extend(varint(record.headers.len() as i64));
    for (name, value) in &record.headers {
        bytes.extend(nullable(Some(name)));
        bytes.extend(nullable(value.as_deref()));
    }
    bytes
}

fn nullable(bytes: Option<&[u8]>) -> Vec<u8> {
    let mut encoded = varint(bytes.map_or(-1, |bytes| bytes.len() as i64));
    encoded.extend(bytes.unwrap_or_default());
    encoded
}

/// A number as Kafka and Avro write it: seven bits a byte, lowest first, small negative numbers made small.
#[must_use]
pub fn varint(number: i64) -> Vec<u8> {
    let mut left = ((number << 1) ^ (number >> 63)).cast_unsigned();
    let mut bytes = Vec::new();
    while left >= 0x80 {
        bytes.push((left & 0x7F) as u8 | 0x80);
        left >>= 7;
    }
    bytes.push(left as u8);
    bytes
}

pub(crate) fn sized(bytes: &[u8]) -> Vec<u8> {
    let mut sized = count(bytes.len()).to_be_bytes().to_vec();
    sized.extend(bytes);
    sized
}

fn count(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// The checksum of batches (Castagnoli), bit by bit: these batches are few.
pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0x82F6_3B78 } else { crc >> 1 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_one_that_brokers_count() {
        // The check value that the catalogue of checksums gives for CRC-32C.
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
    }

    #[test]
    fn numbers_are_written_as_kafka_writes_them() {
        assert_eq!(varint(0), [0]);
        assert_eq!(varint(-1), [1]);
        assert_eq!(varint(63), [126]);
        assert_eq!(varint(64), [0x80, 1]);
        assert_eq!(varint(i64::MIN).len(), 10);
    }
}
