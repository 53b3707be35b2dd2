//! Records as people write them: JSON Lines with rpk's field names. Read and written by `call`, later by fixtures and dead-letter
//! tools.
//!
//! It keeps apart what Kafka keeps apart: null, empty and absent; repeated headers in order; bytes that are not UTF-8.

mod emitted;
mod json_line;
mod source;

use std::io::{BufRead, Read};

use gristmill_guest::Timestamp;
use gristmill_kafka::{HEADER_OVERHEAD_BYTES, RECORD_OVERHEAD_BYTES};

pub use self::emitted::EmittedBody;
pub use self::json_line::LineError;
pub use self::source::FileBatch;

/// One record with its own bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRecord {
    /// Its topic.
    pub topic: String,
    /// Its partition's number.
    pub partition: i32,
    /// Its offset.
    pub offset: i64,
    /// When it was made.
    pub timestamp: Timestamp,
    /// The key; `None` is null.
    pub key: Option<Vec<u8>>,
    /// The value; `None` is null, a tombstone.
    pub value: Option<Vec<u8>>,
    /// Headers in order; names may repeat.
    pub headers: Vec<FileHeader>,
}

/// One header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileHeader {
    /// Its name, which need not be UTF-8.
    pub name: Vec<u8>,
    /// Its value; `None` is null.
    pub value: Option<Vec<u8>>,
}

impl FileRecord {
    /// What it counts in a batch.
    #[must_use]
    pub fn batch_bytes(&self) -> u64 {
        let length = |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or(0, Vec::len);
        let headers: usize = self.headers.iter().map(|header| header.name.len() + length(&header.value)).sum();
        let overhead = RECORD_OVERHEAD_BYTES + self.headers.len() as u64 * HEADER_OVERHEAD_BYTES;
        (length(&self.key) + length(&self.value) + headers) as u64 + overhead
    }

    /// The record as one line, without a line feed.
    #[must_use]
    pub fn to_line(&self) -> String {
        json_line::write(self)
    }
}

/// The most bytes that one line may have; a longer one is refused, so that a file that is no JSON Lines is not read whole.
const LINE_BYTES_MAX: u64 = 256 << 20;

/// Why records could not be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    /// The file itself.
    #[error("cannot read records from {name}: {source}")]
    Read {
        /// The file.
        name: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A line that is no record.
    #[error("{name}:{line}:{}: {error}", error.column)]
    Line {
        /// The file.
        name: String,
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        error: LineError,
    },
    /// A line that is too long.
    #[error("{name}:{line}: this line has more than {LINE_BYTES_MAX} bytes; write one record on each line")]
    TooLong {
        /// The file.
        name: String,
        /// Which line, from 1.
        line: usize,
    },
}

/// Reads records, one a line; empty lines are skipped. What a line leaves out is filled in: topic `records`, partition 0,
/// no time, and the offset that follows the record before in the same partition.
///
/// # Errors
/// The first line that is no record, with its number.
pub fn read(name: &str, mut input: impl BufRead) -> Result<Vec<FileRecord>, RecordsError> {
    let mut records: Vec<FileRecord> = Vec::new();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = Read::take(&mut input, LINE_BYTES_MAX).read_until(b'\n', &mut line);
        let read = read.map_err(|source| RecordsError::Read { name: name.to_owned(), source })?;
        if read == 0 {
            break;
        }
        if read as u64 == LINE_BYTES_MAX && !line.ends_with(b"\n") {
            return Err(RecordsError::TooLong { name: name.to_owned(), line: number });
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let parsed = json_line::parse(line.trim_ascii()).map_err(|error| RecordsError::Line {
            name: name.to_owned(),
            line: number,
            error,
        })?;
        let next = |topic: &str, partition: i32| {
            let before = records.iter().rev().find(|record| record.topic == topic && record.partition == partition);
            before.map_or(0, |record| record.offset.saturating_add(1))
        };
        records.push(parsed.into_record(next));
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Vec<FileRecord>, RecordsError> {
        read("r.jsonl", text.as_bytes())
    }

    fn one(text: &str) -> FileRecord {
        let mut records = read_text(text).unwrap();
        assert_eq!(records.len(), 1);
        records.remove(0)
    }

    #[test]
    fn null_empty_and_absent_stay_apart() {
        assert_eq!(one(r#"{"key":null,"value":""}"#).key, None);
        assert_eq!(one(r#"{"key":null,"value":""}"#).value, Some(Vec::new()));
        assert_eq!(one(r#"{"value":null}"#).value, None);
        assert_eq!(one(r#"{"key":"","value":null}"#).key, Some(Vec::new()));
    }

    #[test]
    fn bytes_that_are_not_utf8_travel_as_base64() {
        let record = one(r#"{"value_b64":"/w==","key_b64":"","headers":[{"key_b64":"/w==","value_b64":"AA=="}]}"#);
        assert_eq!((record.value, record.key), (Some(vec![0xff]), Some(Vec::new())));
        assert_eq!(record.headers, [FileHeader { name: vec![0xff], value: Some(vec![0]) }]);
    }

    #[test]
    fn repeated_headers_keep_their_order_in_both_notations() {
        let record = one(r#"{"headers":[["a","1"],{"key":"a","value":""},["a",null],["b","2"]]}"#);
        let names: Vec<_> = record.headers.iter().map(|header| header.name[0]).collect();
        let values: Vec<_> = record.headers.iter().map(|header| header.value.as_deref()).collect();
        assert_eq!(names, *b"aaab");
        assert_eq!(values, [Some(&b"1"[..]), Some(b""), None, Some(b"2")]);
    }

    #[test]
    fn missing_offsets_count_up_within_a_partition() {
        let text = "{\"offset\":7}\n\n{\"partition\":1}\n{}\n{\"topic\":\"t\"}\n";
        let offsets: Vec<_> = read_text(text).unwrap().iter().map(|record| record.offset).collect();
        assert_eq!(offsets, [7, 0, 8, 0]);
    }

    #[test]
    fn a_record_written_out_reads_back_the_same() {
        let record = FileRecord {
            topic: "orders".to_owned(),
            partition: 3,
            offset: i64::MAX,
            timestamp: Timestamp::LogAppendTime(-1),
            key: Some(Vec::new()),
            value: Some(vec![0xff, 0]),
            headers: vec![
                FileHeader { name: b"h".to_vec(), value: None },
                FileHeader { name: vec![0xfe], value: Some(b"\n".to_vec()) },
            ],
        };
        assert_eq!(one(&record.to_line()), record);
        let tombstone = FileRecord { timestamp: Timestamp::CreateTime(0), key: None, value: None, ..record };
        assert_eq!(one(&tombstone.to_line()), tombstone);
    }

    #[test]
    fn a_wrong_line_is_named_with_its_place() {
        let error = read_text("{}\n{\"valu\":\"x\"}\n").unwrap_err();
        assert!(error.to_string().starts_with("r.jsonl:2:7: unknown field `valu`, expected one of `topic`"), "{error}");
        let error = read_text(r#"{"value":"a","value_b64":"YQ=="}"#).unwrap_err();
        assert!(error.to_string().contains("value and value_b64 are both given; write one of them"), "{error}");
        let error = read_text(r#"{"value_b64":"%"}"#).unwrap_err();
        assert!(error.to_string().contains("value_b64 is not base64"), "{error}");
        let error = read_text(r#"{"value":{"a":1}}"#).unwrap_err();
        assert!(error.to_string().contains("an object is no text; write it as a string"), "{error}");
    }
}
