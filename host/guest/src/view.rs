//! Batches as the host keeps them, seen record by record, in whatever form a guest gets them.
//!
//! Nothing here owns a record, or knows an instance.

/// A batch as the host keeps it.
pub trait BatchSource: Send {
    /// How many records there are. Never zero for a batch that is handed over.
    fn len(&self) -> usize;

    /// True when there is no record.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The record at `index`, which is below [`len`](Self::len).
    fn record(&self, index: usize) -> RecordView<'_>;

    /// Appends the headers of the record at `index` to `headers`, in order.
    fn headers<'a>(&'a self, index: usize, headers: &mut Vec<HeaderView<'a>>);
}

/// One record, without its headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordView<'a> {
    /// The topic's name.
    pub topic: &'a str,
    /// The partition's number.
    pub partition: i32,
    /// The offset within the partition.
    pub offset: i64,
    /// When the record was made.
    pub timestamp: Timestamp,
    /// The key. `None` is null.
    pub key: Option<&'a [u8]>,
    /// The value. `None` is null.
    pub value: Option<&'a [u8]>,
}

/// One header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderView<'a> {
    /// The name as it is on the wire, which need not be UTF-8.
    pub name: &'a [u8],
    /// The value. `None` is null.
    pub value: Option<&'a [u8]>,
}

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
