//! Records that a guest wants written: what they carry, how many there may be, and where they may go.
//!
//! Knows sinks by their names only. Which topic stands behind a sink, and when a record is written, is decided elsewhere.

use std::sync::Arc;

use crate::limits::Limits;
use crate::lower::NAMED_MAX;
use crate::reply::WantedRecord;
use crate::stdio::escape;
use crate::words::shortened;

/// What an emitted record counts for beside its bytes: at the least what the host keeps for it.
pub const EMITTED_RECORD_OVERHEAD_BYTES: u64 = 128;
/// The same for each of its headers.
pub const EMITTED_HEADER_OVERHEAD_BYTES: u64 = 64;

/// How much is told of a sink's name, which a guest may have made up at any length.
const SINK_CHARS_MAX: usize = 100;

/// A record that a guest wants written, with its own bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmittedRecord {
    /// Where to: one of the names that came with the job.
    pub sink: Arc<str>,
    /// The key; `None` is null.
    pub key: Option<Vec<u8>>,
    /// The value; `None` is null.
    pub value: Option<Vec<u8>>,
    /// The headers in order; names may repeat.
    pub headers: Vec<EmittedHeader>,
    /// Number of the partition, never negative; `None`: chosen by the key.
    pub partition: Option<i32>,
    /// Index of the record that it was made from, in the batch as it was handed over.
    pub source: Option<u32>,
}

/// One header of an emitted record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmittedHeader {
    /// The name, which need not be UTF-8.
    pub name: Vec<u8>,
    /// The value; `None` is null.
    pub value: Option<Vec<u8>>,
}

/// What one answer may emit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance<'a> {
    sinks: &'a [Arc<str>],
    records_max: usize,
    bytes_max: u64,
}

impl<'a> Allowance<'a> {
    /// What may be emitted to these sinks within these limits. What an instance could not hold in its memory at once is not
    /// taken either: it can only come of bytes that are named more than once.
    pub(crate) fn new(limits: &Limits, sinks: &'a [Arc<str>]) -> Self {
        let bytes_max = limits.emitted_bytes.min(limits.memory_bytes);
        Self { sinks, records_max: limits.emitted_records, bytes_max }
    }

    /// Bytes that an answer within this allowance may take in the host beside what every answer may. Rows are no larger than
    /// what they count for, so only the names of the sinks come on top. Without sinks: none, since nothing can be emitted.
    pub(crate) fn answer_bytes(&self) -> u64 {
        let Some(longest) = self.sinks.iter().map(|sink| sink.len() as u64).max() else { return 0 };
        self.bytes_max.saturating_add(longest.saturating_mul(self.records_max as u64))
    }

    /// Takes the records that an answer wants written; `records` are finished by it, which `finished` says in words. The bytes
    /// are moved, not copied.
    ///
    /// # Errors
    ///
    /// What is not allowed, with the numbers and names.
    pub(crate) fn take(
        &self,
        emitted: Vec<WantedRecord>,
        records: u32,
        finished: &str,
    ) -> Result<Vec<EmittedRecord>, String> {
        if emitted.len() > self.records_max {
            return Err(format!("it emitted {} records; a batch may emit {}", emitted.len(), self.records_max));
        }
        let bytes: u64 = emitted.iter().map(bytes).sum();
        if bytes > self.bytes_max {
            return Err(format!("it emitted {bytes} bytes; a batch may emit {}", self.bytes_max));
        }
        emitted
            .into_iter()
            .enumerate()
            .map(|(index, record)| {
                if let Some(source) = record.source.filter(|source| *source >= records) {
                    return Err(format!(
                        "its emitted record {index} names record {source} as source; {finished} {records}"
                    ));
                }
                if let Some(partition) = record.partition.filter(|partition| *partition < 0) {
                    return Err(format!("its emitted record {index} names the partition {partition}"));
                }
                let sink = self.sink(&record.sink).ok_or_else(|| self.unknown(index, &record.sink))?;
                let WantedRecord { key, value, headers, partition, source, .. } = record;
                Ok(EmittedRecord { sink: Arc::clone(sink), key, value, headers, partition, source })
            })
            .collect()
    }

    fn sink(&self, name: &str) -> Option<&'a Arc<str>> {
        self.sinks.iter().find(|sink| &***sink == name)
    }

    fn unknown(&self, index: usize, sink: &str) -> String {
        let sink = shortened(&escape(sink.as_bytes()), SINK_CHARS_MAX);
        let mut known: Vec<&str> = self.sinks.iter().take(NAMED_MAX).map(|sink| &**sink).collect();
        if self.sinks.len() > NAMED_MAX {
            known.push("…");
        }
        let known = if known.is_empty() {
            "no sink is configured".to_owned()
        } else {
            format!("known are {}", known.join(", "))
        };
        format!("its emitted record {index} names the sink {sink:?}; {known}")
    }
}

/// What a record counts for.
fn bytes(record: &WantedRecord) -> u64 {
    let length = |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or(0, Vec::len) as u64;
    let headers = record
        .headers
        .iter()
        .map(|header| EMITTED_HEADER_OVERHEAD_BYTES + header.name.len() as u64 + length(&header.value));
    EMITTED_RECORD_OVERHEAD_BYTES + length(&record.key) + length(&record.value) + headers.sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::types;

    fn record(sink: &str) -> WantedRecord {
        let sink = sink.to_owned();
        WantedRecord { sink, key: None, value: None, headers: Vec::new(), partition: None, source: None }
    }

    fn refused(limits: &Limits, sinks: &[&str], emitted: Vec<WantedRecord>) -> String {
        let sinks: Vec<Arc<str>> = sinks.iter().map(|sink| Arc::from(*sink)).collect();
        Allowance::new(limits, &sinks).take(emitted, 3, "the batch holds").unwrap_err()
    }

    #[test]
    fn what_counts_is_at_least_what_the_host_keeps() {
        assert!(size_of::<types::OutputRecord>() as u64 <= EMITTED_RECORD_OVERHEAD_BYTES);
        assert!(size_of::<WantedRecord>() as u64 <= EMITTED_RECORD_OVERHEAD_BYTES);
        assert!(size_of::<EmittedRecord>() as u64 <= EMITTED_RECORD_OVERHEAD_BYTES);
        assert!(size_of::<types::HeaderResult>() as u64 <= EMITTED_HEADER_OVERHEAD_BYTES);
    }

    #[test]
    fn count_and_bytes_are_bounded_to_the_last_one() {
        let header = EmittedHeader { name: b"h".to_vec(), value: Some(b"v".to_vec()) };
        let full =
            WantedRecord { key: Some(b"k".to_vec()), value: Some(vec![0; 5]), headers: vec![header], ..record("a") };
        let exact = EMITTED_RECORD_OVERHEAD_BYTES + 6 + EMITTED_HEADER_OVERHEAD_BYTES + 2;
        let limits = |emitted_bytes| Limits { emitted_bytes, emitted_records: 1, ..Limits::STRICT };
        let sinks = [Arc::from("a")];
        assert!(Allowance::new(&limits(exact), &sinks).take(vec![full.clone()], 3, "").is_ok());
        let words = format!("it emitted {exact} bytes; a batch may emit {}", exact - 1);
        assert_eq!(refused(&limits(exact - 1), &["a"], vec![full.clone()]), words);
        let words = "it emitted 2 records; a batch may emit 1";
        assert_eq!(refused(&limits(u64::MAX), &["a"], vec![full.clone(), full]), words);
    }

    #[test]
    fn no_more_may_be_emitted_than_an_instance_can_hold() {
        let limits = Limits { memory_bytes: 100, ..Limits::STRICT };
        assert!(refused(&limits, &["a"], vec![record("a")]).ends_with("a batch may emit 100"));
    }

    #[test]
    fn a_made_up_sink_is_told_in_short_and_so_are_those_that_exist() {
        let long = "x".repeat(10_000);
        let many: Vec<String> = (0..100).map(|sink| format!("s{sink}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let words = refused(&Limits::STRICT, &many, vec![record(&long)]);
        assert!(words.len() < 300 && words.ends_with("x…\"; known are s0, s1, s2, s3, s4, s5, s6, s7, …"), "{words}");
        let words = refused(&Limits::STRICT, &[], vec![record("a\nb")]);
        assert_eq!(words, "its emitted record 0 names the sink \"a\\\\nb\"; no sink is configured");
    }

    #[test]
    fn nothing_is_added_to_an_answer_where_nothing_can_be_emitted() {
        let limits = Limits { emitted_records: 10, emitted_bytes: 1_000, ..Limits::STRICT };
        assert_eq!(Allowance::new(&limits, &[]).answer_bytes(), 0);
        assert_eq!(Allowance::new(&limits, &["ab".into(), "c".into()]).answer_bytes(), 1_020);
    }
}
