//! Batches made by hand, so that a plugin's unit tests run natively.
//!
//! Must not be needed by a plugin that runs: everything here stands in for the host.

use crate::batch::{Batch, Timestamp};
use crate::bindings::types::BatchInfo;
use crate::outcome::{IntoOutcome, Outcome};
use crate::packed::{self, Standin};

/// Runs a plugin's function over a batch made by hand and returns its answer, with what it rejected, emitted and finished.
pub fn run_batch<T: IntoOutcome>(process: impl FnOnce(&Batch) -> T, fixture: Fixture) -> Outcome {
    let batch = fixture.batch();
    let outcome = process(&batch).into_outcome();
    batch.into_answer(outcome)
}

/// A batch under construction.
///
/// ```
/// use gristmill_plugin::{Batch, Fixture, FixtureRecord, Outcome, run_batch};
///
/// let fixture = Fixture::new().record(FixtureRecord::new().key("k").value("v")).record(FixtureRecord::new());
/// let count = |batch: &Batch| assert_eq!(batch.len(), 2);
/// assert_eq!(run_batch(count, fixture), Outcome::OK);
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Fixture {
    attempt: u32,
    records: Vec<FixtureRecord>,
}

impl Fixture {
    /// A batch without records, handed over for the first time.
    pub fn new() -> Self {
        Self { attempt: 1, records: Vec::new() }
    }

    /// Says which attempt it is.
    pub fn attempt(self, attempt: u32) -> Self {
        Self { attempt, ..self }
    }

    /// Adds a record. Without an offset of its own it gets the next one.
    pub fn record(mut self, record: FixtureRecord) -> Self {
        self.records.push(record);
        self
    }

    fn batch(self) -> Batch {
        let info = BatchInfo {
            pipeline: "fixture".to_owned(),
            attempt: self.attempt,
            time_limit_ms: 5_000,
            part: false,
            plugin_digest: format!("sha256:{:064}", 0),
        };
        let numbered = self.records.iter().zip(0_i64..);
        Batch::new(info, packed::batch(numbered.map(|(record, index)| record.stands_in(index))))
    }
}

impl Default for Fixture {
    fn default() -> Self {
        Self::new()
    }
}

/// A record under construction: topic `fixture`, partition 0, key and value null, until said otherwise.
#[derive(Clone, Debug)]
#[must_use]
pub struct FixtureRecord {
    topic: String,
    partition: i32,
    offset: Option<i64>,
    timestamp: Timestamp,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl FixtureRecord {
    /// A tombstone without a key.
    pub fn new() -> Self {
        Self {
            topic: "fixture".to_owned(),
            partition: 0,
            offset: None,
            timestamp: Timestamp::None,
            key: None,
            value: None,
            headers: Vec::new(),
        }
    }

    /// Says where the record comes from.
    pub fn at(self, topic: impl Into<String>, partition: i32, offset: i64) -> Self {
        Self { topic: topic.into(), partition, offset: Some(offset), ..self }
    }

    /// Says when the record was made.
    pub fn timestamp(self, timestamp: Timestamp) -> Self {
        Self { timestamp, ..self }
    }

    /// Gives it a key.
    pub fn key(self, key: impl Into<Vec<u8>>) -> Self {
        Self { key: Some(key.into()), ..self }
    }

    /// Gives it a value.
    pub fn value(self, value: impl Into<Vec<u8>>) -> Self {
        Self { value: Some(value.into()), ..self }
    }

    /// Adds a header.
    pub fn header(mut self, name: impl Into<Vec<u8>>, value: Option<&[u8]>) -> Self {
        self.headers.push((name.into(), value.map(<[u8]>::to_vec)));
        self
    }

    fn stands_in(&self, index: i64) -> Standin<'_> {
        Standin {
            topic: &self.topic,
            partition: self.partition,
            offset: self.offset.unwrap_or(index),
            timestamp: self.timestamp,
            key: self.key.as_deref(),
            value: self.value.as_deref(),
            headers: &self.headers,
        }
    }
}

impl Default for FixtureRecord {
    fn default() -> Self {
        Self::new()
    }
}
