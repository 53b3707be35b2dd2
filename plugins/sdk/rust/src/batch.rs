//! A batch and its records as a plugin sees them.
//!
//! Records are read through methods, out of the packed bytes in which they came and when they are asked for. Nothing here knows what a
//! value means.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::bindings::types::BatchInfo;
use crate::effects::{Collected, OutputRecord};
use crate::outcome::Outcome;
use crate::packed::Packed;

/// A batch of records. Never empty; within a partition the records are in offset order.
pub struct Batch {
    info: BatchInfo,
    packed: Packed,
    collected: Collected,
}

impl Batch {
    pub(crate) fn new(info: BatchInfo, packed: Packed) -> Self {
        Self { info, packed, collected: Collected::default() }
    }

    /// How many records there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.packed.len()
    }

    /// True when there is no record. A host never hands over such a batch.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The record at `index`, counted from 0.
    #[must_use]
    pub fn record(&self, index: usize) -> Option<Record<'_>> {
        (index < self.len()).then_some(Record { packed: &self.packed, index })
    }

    /// The records, in order.
    pub fn records(&self) -> impl ExactSizeIterator<Item = Record<'_>> {
        self.into_iter()
    }

    /// Puts a record aside that no attempt will make any better: the host writes it to the dead-letter topic with this reason,
    /// and the rest of the batch goes on. Takes words or an error. Rejecting a record again changes nothing.
    ///
    /// ```
    /// # use gristmill_plugin::{Batch, Failure};
    /// fn process(batch: &Batch) -> Result<(), Failure> {
    ///     for record in batch {
    ///         match record.value_json::<u64>() {
    ///             Ok(amount) => println!("{amount}"),
    ///             Err(error) => batch.reject(record, error),
    ///         }
    ///     }
    ///     Ok(()) // done, but for what was rejected: the others are committed
    /// }
    /// ```
    ///
    /// Counts with ok, and with what [`done_through`](Self::done_through) covers; otherwise the record is handed over again with
    /// the others.
    ///
    /// # Panics
    ///
    /// When the record is not one of this batch.
    pub fn reject(&self, record: Record<'_>, reason: impl fmt::Display) {
        self.collected.reject(self.own(record), reason.to_string());
    }

    /// Has a record written to a sink of the host's configuration, acknowledged before the batch is committed.
    ///
    /// ```
    /// # use gristmill_plugin::{Batch, Failure, OutputRecord};
    /// fn process(batch: &Batch) -> Result<(), Failure> {
    ///     for record in batch {
    ///         batch.emit("audit", OutputRecord::copy_of(record).header("seen-by", Some(b"audit")));
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// Counts with ok, and with what [`done_through`](Self::done_through) covers; otherwise nothing is written. The host refuses
    /// the whole answer when it knows no such sink.
    ///
    /// # Panics
    ///
    /// When the record was made from one that is not of this batch.
    pub fn emit(&self, sink: impl Into<String>, record: OutputRecord<'_>) {
        let source = record.source.map(|source| self.own(source));
        self.collected.emit(sink.into(), record, source);
    }

    /// Says that this record and all before it are done. When the plugin then answers retryable, they are committed, with what
    /// was emitted and rejected of them, and only the rest is handed over again. What was emitted from no record goes along when
    /// that was before this call.
    ///
    /// ```
    /// # use gristmill_plugin::{Batch, Failure, Record};
    /// fn process(batch: &Batch) -> Result<(), Failure> {
    ///     for record in batch {
    ///         store(record)?; // retryable: the records before this one stay stored, and are not handed over again
    ///         batch.done_through(record);
    ///     }
    ///     Ok(())
    /// }
    /// # fn store(_: Record<'_>) -> Result<(), std::io::Error> { Ok(()) }
    /// ```
    ///
    /// Without meaning for ok, with which all records are done, and for fatal, with which none is.
    ///
    /// # Panics
    ///
    /// When the record is not one of this batch.
    pub fn done_through(&self, record: Record<'_>) {
        self.collected.done(self.own(record) + 1);
    }

    /// The index of a record of this batch.
    fn own(&self, record: Record<'_>) -> usize {
        assert!(
            std::ptr::eq(&self.packed, record.packed),
            "record {} is not one of this batch",
            record.idempotency_key()
        );
        record.index
    }

    /// The answer in full.
    pub(crate) fn into_answer(self, outcome: Outcome) -> Outcome {
        self.collected.into_answer(outcome)
    }

    /// The name of the pipeline.
    #[must_use]
    pub fn pipeline(&self) -> &str {
        &self.info.pipeline
    }

    /// Which attempt this is. 1: these records are handed over for the first time.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.info.attempt
    }

    /// True when the host cut this part out of a batch to find the record that breaks the plugin.
    #[must_use]
    pub fn is_part(&self) -> bool {
        self.info.part
    }

    /// The digest of this plugin.
    #[must_use]
    pub fn plugin_digest(&self) -> &str {
        &self.info.plugin_digest
    }

    /// How long the whole call may take.
    #[must_use]
    pub fn time_limit(&self) -> Duration {
        Duration::from_millis(u64::from(self.info.time_limit_ms))
    }

    /// How much of the time limit is left. In a native test: all of it.
    #[must_use]
    pub fn time_left(&self) -> Duration {
        if cfg!(target_family = "wasm") {
            Duration::from_millis(u64::from(crate::bindings::control::time_left_ms()))
        } else {
            self.time_limit()
        }
    }

    /// True once the host no longer wants the answer. In a native test: never.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        cfg!(target_family = "wasm") && crate::bindings::control::cancelled()
    }
}

impl<'a> IntoIterator for &'a Batch {
    type Item = Record<'a>;
    type IntoIter = Records<'a>;

    fn into_iter(self) -> Records<'a> {
        Records { packed: &self.packed, indices: 0..self.len() }
    }
}

/// The records of a batch, in order.
pub struct Records<'a> {
    packed: &'a Packed,
    indices: std::ops::Range<usize>,
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        self.indices.next().map(|index| Record { packed: self.packed, index })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.indices.size_hint()
    }
}

impl ExactSizeIterator for Records<'_> {}

/// When a record was made, in milliseconds since 1970. May be negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timestamp {
    /// The record carries no time.
    None,
    /// The time that the producer gave.
    CreateTime(i64),
    /// The time at which the broker appended the record.
    LogAppendTime(i64),
}

/// One record of a batch.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    packed: &'a Packed,
    index: usize,
}

impl<'a> Record<'a> {
    /// Its index in the batch, from 0.
    #[must_use]
    pub fn index(self) -> usize {
        self.index
    }

    /// The topic.
    #[must_use]
    pub fn topic(self) -> &'a str {
        self.packed.topic(self.index)
    }

    /// The partition of that topic.
    #[must_use]
    pub fn partition(self) -> i32 {
        self.packed.partition(self.index)
    }

    /// The offset within the partition. Offsets may have gaps.
    #[must_use]
    pub fn offset(self) -> i64 {
        self.packed.offset(self.index)
    }

    /// When the record was made.
    #[must_use]
    pub fn timestamp(self) -> Timestamp {
        self.packed.timestamp(self.index)
    }

    /// The key. `None` is null, which is not the same as empty.
    #[must_use]
    pub fn key(self) -> Option<&'a [u8]> {
        self.packed.key(self.index)
    }

    /// The value. `None` is null (a tombstone), which is not the same as empty.
    #[must_use]
    pub fn value(self) -> Option<&'a [u8]> {
        self.packed.value(self.index)
    }

    /// The headers in order, as name and value. A name may occur more than once; a value may be null. Kafka allows any bytes in a name;
    /// those that are not UTF-8 show as replacement characters, and [`OutputRecord::copy_of`] keeps them as they are.
    pub fn headers(self) -> impl Iterator<Item = (Cow<'a, str>, Option<&'a [u8]>)> {
        self.header_bytes().map(|(name, value)| (String::from_utf8_lossy(name), value))
    }

    /// The same with names as they are.
    pub(crate) fn header_bytes(self) -> impl DoubleEndedIterator<Item = (&'a [u8], Option<&'a [u8]>)> {
        self.packed.headers(self.index)
    }

    /// The value of the last header of that name, which by Kafka's habit is the one that counts. `None`: there is no such
    /// header; `Some(None)`: its value is null.
    #[must_use]
    pub fn header(self, name: &str) -> Option<Option<&'a [u8]>> {
        self.header_bytes().rev().find(|(own, _)| *own == name.as_bytes()).map(|(_, value)| value)
    }

    /// True when the value is null: by Kafka's habit, the key is to be forgotten.
    #[must_use]
    pub fn is_tombstone(self) -> bool {
        self.value().is_none()
    }

    /// Reads the value as JSON.
    ///
    /// # Errors
    ///
    /// The value is null, or not JSON of that shape, which no attempt changes: with `?` alone the batch becomes retryable and is
    /// tried for ever; write `map_err(fatal)?`, and look for tombstones first.
    pub fn value_json<T: DeserializeOwned>(self) -> Result<T, JsonError> {
        let trouble = |cause| JsonError { record: self.idempotency_key(), cause };
        let value = self.value().ok_or_else(|| trouble(None))?;
        serde_json::from_slice(value).map_err(|cause| trouble(Some(cause)))
    }

    /// What identifies this record for ever, however often it is handed over: `topic/partition/offset`.
    #[must_use]
    pub fn idempotency_key(self) -> String {
        format!("{}/{}/{}", self.topic(), self.partition(), self.offset())
    }
}

impl fmt::Debug for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Record({})", self.idempotency_key())
    }
}

/// A value is not the JSON that was asked for. Names the record and the place, never the content.
#[derive(Debug)]
pub struct JsonError {
    record: String,
    cause: Option<serde_json::Error>,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            None => write!(f, "record {} has no value (a tombstone)", self.record),
            Some(cause) => write!(f, "the value of record {} does not read as JSON: {cause}", self.record),
        }
    }
}

impl std::error::Error for JsonError {}

#[cfg(test)]
mod tests {
    use crate::{Batch, Fixture, FixtureRecord, run_batch};

    /// Runs `look` over a batch of one record.
    fn with(record: FixtureRecord, look: impl Fn(crate::Record<'_>)) {
        run_batch(|batch: &Batch| batch.records().for_each(&look), Fixture::new().record(record));
    }

    #[test]
    fn the_last_header_of_a_name_counts_and_null_is_not_absent() {
        let record = FixtureRecord::new().header("a", Some(b"1")).header("a", Some(b"2")).header("n", None);
        with(record, |record| {
            assert_eq!(record.header("a"), Some(Some(&b"2"[..])));
            assert_eq!(record.header("n"), Some(None));
            assert_eq!(record.header("x"), None);
            assert_eq!(record.headers().count(), 3);
        });
    }

    #[test]
    fn null_and_empty_stay_apart() {
        with(FixtureRecord::new(), |record| assert!(record.is_tombstone() && record.key().is_none()));
        with(FixtureRecord::new().key("").value(""), |record| {
            assert!(!record.is_tombstone() && record.key() == Some(&[]));
        });
    }

    #[test]
    fn a_bad_value_is_named_by_its_place_and_not_by_its_content() {
        with(FixtureRecord::new().at("orders", 3, 9).value("secret"), |record| {
            let text = record.value_json::<u32>().unwrap_err().to_string();
            assert!(text.contains("orders/3/9") && !text.contains("secret"), "{text}");
        });
        with(FixtureRecord::new(), |record| {
            assert!(record.value_json::<u32>().unwrap_err().to_string().contains("tombstone"));
        });
        with(FixtureRecord::new().value("7"), |record| assert_eq!(record.value_json::<u32>().unwrap(), 7));
    }
}
