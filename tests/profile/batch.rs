//! The batch that every contestant handles.

use gristmill_guest::{BatchSource, HeaderView, RecordView, Timestamp};

/// Records in a batch.
pub(crate) const RECORDS: usize = 1_000;

/// Bytes of a value.
pub(crate) const VALUE_BYTES: usize = VALUE.len();

/// What the plugin `count` reads.
const VALUE: &str =
    r#"{"id":"4711-0815-2342","customer":"Mill & Sons","currency":"EUR","amount":1250,"note":"in 2 days"}"#;

/// A batch like those that come from Kafka.
pub(crate) struct Batch;

impl BatchSource for Batch {
    fn len(&self) -> usize {
        RECORDS
    }

    fn record(&self, index: usize) -> RecordView<'_> {
        RecordView {
            topic: "orders",
            partition: 0,
            offset: i64::try_from(index).unwrap_or_default(),
            timestamp: Timestamp::CreateTime(1_700_000_000_000),
            key: None,
            value: Some(VALUE.as_bytes()),
        }
    }

    fn headers<'a>(&'a self, _: usize, _: &mut Vec<HeaderView<'a>>) {}
}

/// The value of every record.
pub(crate) fn value() -> Vec<u8> {
    VALUE.as_bytes().to_vec()
}
