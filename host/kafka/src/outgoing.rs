//! Records that are to be produced: to which topic, and with which bytes.
//!
//! An original record travels as what it is, without a copy, and says only what is different about it. Knows nothing of
//! why a record is produced, nor of the client that does it.

use std::borrow::Cow;
use std::sync::Arc;

use crate::arena::RecordBody;

/// What a record takes in a batch beside key, value and headers, at most: the lengths of its parts and its distances from
/// the first record of the batch. From the record format, version 2, as librdkafka counts.
const RECORD_OVERHEAD_MAX: u64 = 36;
/// What a header takes beside name and value, at most: their lengths.
const HEADER_OVERHEAD_MAX: u64 = 10;

/// One header of our own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingHeader {
    /// The name, which need not be UTF-8.
    pub name: Cow<'static, [u8]>,
    /// The value; `None` is null, which is not the same as empty.
    pub value: Option<Vec<u8>>,
}

impl OutgoingHeader {
    /// A header with a text for a value.
    #[must_use]
    pub fn text(name: &'static str, value: impl Into<String>) -> Self {
        Self { name: Cow::Borrowed(name.as_bytes()), value: Some(value.into().into_bytes()) }
    }
}

/// Key, value and headers of a record to produce.
#[derive(Clone, Debug)]
pub enum OutgoingBody {
    /// Those of a record that was consumed.
    Original {
        /// The record.
        record: RecordBody,
        /// Which of its headers are not passed on, as ascending indices.
        headers_left_out: Vec<usize>,
    },
    /// Its own.
    Owned {
        /// The key; `None` is null.
        key: Option<Vec<u8>>,
        /// The value; `None` is null.
        value: Option<Vec<u8>>,
        /// The headers in order.
        headers: Vec<OutgoingHeader>,
    },
}

/// One record to produce.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// To which topic.
    pub topic: Arc<str>,
    /// To which of its partitions; `None`: by the key as Java clients do, or any when the key is null.
    pub partition: Option<i32>,
    /// Milliseconds since 1970; `None` means now. The client has no way to write zero, which is written as one.
    pub timestamp_ms: Option<i64>,
    /// Key, value and headers.
    pub body: OutgoingBody,
    /// Headers that come behind those of the body.
    pub added: Vec<OutgoingHeader>,
}

impl Outgoing {
    /// The key; `None` is null.
    #[must_use]
    pub fn key(&self) -> Option<&[u8]> {
        match &self.body {
            OutgoingBody::Original { record, .. } => record.key(),
            OutgoingBody::Owned { key, .. } => key.as_deref(),
        }
    }

    /// The value; `None` is null.
    #[must_use]
    pub fn value(&self) -> Option<&[u8]> {
        match &self.body {
            OutgoingBody::Original { record, .. } => record.value(),
            OutgoingBody::Owned { value, .. } => value.as_deref(),
        }
    }

    /// All headers in order.
    pub fn headers(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let (original, owned) = match &self.body {
            OutgoingBody::Original { record, headers_left_out } => (Some((record, headers_left_out)), [].as_slice()),
            OutgoingBody::Owned { headers, .. } => (None, headers.as_slice()),
        };
        let kept = original.into_iter().flat_map(|(record, left_out)| {
            let all = record.headers().enumerate();
            all.filter(|(index, _)| left_out.binary_search(index).is_err()).map(|(_, header)| header)
        });
        let own = owned.iter().chain(&self.added).map(|header| (&*header.name, header.value.as_deref()));
        kept.chain(own)
    }

    /// What the record takes in a batch before compression, at most. What the client and the topic allow is about this.
    #[must_use]
    pub fn wire_bytes(&self) -> u64 {
        let length = |bytes: Option<&[u8]>| bytes.map_or(0, <[u8]>::len) as u64;
        let headers = self.headers().map(|(name, value)| HEADER_OVERHEAD_MAX + name.len() as u64 + length(value));
        RECORD_OVERHEAD_MAX + length(self.key()) + length(self.value()) + headers.sum::<u64>()
    }
}
