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

    /// Bytes of all keys, values and headers, or about as many: room for so many is made before they are copied.
    fn about_bytes(&self) -> usize {
        0
    }

    /// Calls `visit` with each record and its headers in order, until it gives `None`. It is part of what a batch is, so that what a
    /// record takes is one call through a table, and not two.
    fn visit<'a>(&'a self, visit: &mut Visit<'_, 'a>) -> Option<()> {
        let mut headers = Vec::new();
        (0..self.len()).try_for_each(|index| {
            headers.clear();
            self.headers(index, &mut headers);
            visit(&self.record(index), &headers)
        })
    }
}

/// What is called with each record of a batch and its headers.
pub type Visit<'v, 'a> = dyn FnMut(&RecordView<'a>, &[HeaderView<'a>]) -> Option<()> + 'v;

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
