//! Records from a file, as the guest edge wants to see a batch.

use gristmill_guest::{BatchSource, HeaderView, RecordView};

use super::FileRecord;

/// Records of a file, to be handed over together.
#[derive(Clone, Debug)]
pub struct FileBatch(pub Vec<FileRecord>);

impl BatchSource for FileBatch {
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
        let own = &self.0[index].headers;
        headers.extend(own.iter().map(|header| HeaderView { name: &header.name, value: header.value.as_deref() }));
    }
}
