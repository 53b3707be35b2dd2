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

/// The batch as `wit/raw.md` lays it out.
pub(crate) fn packed() -> (Vec<u8>, Vec<u8>) {
    let (mut index, mut data) = (b"gmbatch1".to_vec(), b"gmbytes1orders".to_vec());
    let number = |value: usize| u32::try_from(value).unwrap().to_le_bytes();
    for head in [RECORDS, 0, 1, 0] {
        index.extend(number(head));
    }
    for offset in (0_i64..).take(RECORDS) {
        // The source, and that the time is the producer's.
        index.extend([number(0), number(1)].concat());
        index.extend(offset.to_le_bytes());
        index.extend(1_700_000_000_000_i64.to_le_bytes());
        // No key, the value, no headers.
        index.extend(
            [number(0), u32::MAX.to_le_bytes(), number(data.len()), number(VALUE_BYTES), number(0), number(0)].concat(),
        );
        data.extend_from_slice(VALUE.as_bytes());
    }
    // The topic, and partition 0.
    index.extend([number(8), number(6), number(0), number(0)].concat());
    (index, data)
}

/// The value of every record.
pub(crate) fn value() -> Vec<u8> {
    VALUE.as_bytes().to_vec()
}
