//! A batch of Kafka records as the guest edge wants to see it: the one place where the two edges' types meet.

use std::sync::Arc;

use gristmill_core::record::Record;
use gristmill_guest::{BatchSource, HeaderView, RecordView, Timestamp};
use gristmill_kafka::RECORD_OVERHEAD_BYTES;

use crate::body::Body;

/// The records of one hand-over.
pub(crate) struct KafkaBatch {
    pub(crate) records: Arc<[Record<Body>]>,
}

impl BatchSource for KafkaBatch {
    fn len(&self) -> usize {
        self.records.len()
    }

    fn record(&self, index: usize) -> RecordView<'_> {
        let body = &self.records[index].body;
        let original = body.original();
        RecordView {
            topic: original.topic(),
            partition: original.partition(),
            offset: original.offset(),
            timestamp: match original.timestamp() {
                gristmill_kafka::Timestamp::None => Timestamp::None,
                gristmill_kafka::Timestamp::CreateTime(ms) => Timestamp::CreateTime(ms),
                gristmill_kafka::Timestamp::LogAppendTime(ms) => Timestamp::LogAppendTime(ms),
            },
            key: body.key(),
            value: body.value(),
        }
    }

    fn headers<'a>(&'a self, index: usize, headers: &mut Vec<HeaderView<'a>>) {
        headers.extend(self.records[index].body.original().headers().map(|(name, value)| HeaderView { name, value }));
    }

    fn about_bytes(&self) -> usize {
        let bytes: u64 =
            self.records.iter().map(|record| record.facts.bytes.saturating_sub(RECORD_OVERHEAD_BYTES)).sum();
        usize::try_from(bytes).unwrap_or(0)
    }
}
