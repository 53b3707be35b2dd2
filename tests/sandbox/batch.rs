//! Batches made by hand. The hostile corpus uses them too.
//!
//! Must not know which guest gets them.

use gristmill_guest::{BatchSource, HeaderView, RecordView, Timestamp};

/// A header: the bytes of its name, and its value or null.
pub(crate) type Header = (Vec<u8>, Option<Vec<u8>>);

/// A record that owns what it shows.
#[derive(Clone)]
pub(crate) struct Record {
    pub(crate) topic: String,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) timestamp: Timestamp,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) headers: Vec<Header>,
}

impl Record {
    /// Record `offset` of `orders`, partition 0, with neither key nor value.
    pub(crate) fn at(offset: i64) -> Self {
        let topic = "orders".to_owned();
        let (timestamp, key, value, headers) = (Timestamp::None, None, None, Vec::new());
        Self { topic, partition: 0, offset, timestamp, key, value, headers }
    }
}

/// A batch that owns its records.
#[derive(Clone)]
pub(crate) struct Batch(pub(crate) Vec<Record>);

impl Batch {
    /// One record whose key tells mischief what to do.
    pub(crate) fn told(key: &str) -> Self {
        Self(vec![Record { key: Some(key.into()), ..Record::at(0) }])
    }

    /// The same, followed by more records.
    pub(crate) fn told_with(key: &str, records: impl IntoIterator<Item = Record>) -> Self {
        let mut batch = Self::told(key);
        batch.0.extend(records);
        batch
    }
}

impl BatchSource for Batch {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn record(&self, index: usize) -> RecordView<'_> {
        let record = &self.0[index];
        RecordView {
            topic: &record.topic,
            partition: record.partition,
            offset: record.offset,
            timestamp: record.timestamp,
            key: record.key.as_deref(),
            value: record.value.as_deref(),
        }
    }

    fn headers<'a>(&'a self, index: usize, headers: &mut Vec<HeaderView<'a>>) {
        headers.extend(self.0[index].headers.iter().map(|(name, value)| HeaderView { name, value: value.as_deref() }));
    }
}
