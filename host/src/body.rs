//! A record as the host keeps it: the bytes as they were read, and what was made of them for the plugin.
//!
//! What is written to the dead-letter topic is the first, what a plugin sees the second.

use std::sync::Arc;

use gristmill_kafka::{Lease, RecordBody};

/// One record. Cheap to clone. As large as what the Kafka edge gives, so that a list of those becomes one of these in its place.
#[derive(Clone, Debug)]
pub(crate) struct Body(Kept);

#[derive(Clone, Debug)]
enum Kept {
    AsRead(RecordBody),
    Decoded(Arc<(RecordBody, Decoded)>),
}

/// What decoding made of a record.
#[derive(Debug)]
pub(crate) struct Decoded {
    /// The key that the plugin gets, where it is another one.
    pub(crate) key: Option<Vec<u8>>,
    /// The value that the plugin gets, where it is another one.
    pub(crate) value: Option<Vec<u8>>,
    /// Why it could not be decoded.
    pub(crate) failure: Option<String>,
    /// The budget's part of all this.
    pub(crate) _lease: Lease,
}

impl Body {
    /// A record that goes to the plugin as it is.
    pub(crate) fn raw(original: RecordBody) -> Self {
        Self(Kept::AsRead(original))
    }

    /// A record of which something was made.
    pub(crate) fn decoded(original: RecordBody, decoded: Decoded) -> Self {
        Self(Kept::Decoded(Arc::new((original, decoded))))
    }

    /// The record as it was read.
    pub(crate) fn original(&self) -> &RecordBody {
        match &self.0 {
            Kept::AsRead(original) => original,
            Kept::Decoded(both) => &both.0,
        }
    }

    fn made(&self) -> Option<&Decoded> {
        match &self.0 {
            Kept::AsRead(_) => None,
            Kept::Decoded(both) => Some(&both.1),
        }
    }

    /// The key that the plugin gets.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        let decoded = self.made().and_then(|made| made.key.as_deref());
        decoded.or_else(|| self.original().key())
    }

    /// The value that the plugin gets.
    pub(crate) fn value(&self) -> Option<&[u8]> {
        let decoded = self.made().and_then(|made| made.value.as_deref());
        decoded.or_else(|| self.original().value())
    }

    /// Why it could not be decoded.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.made()?.failure.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_takes_no_more_room_than_what_the_kafka_edge_gives() {
        assert_eq!(size_of::<Body>(), size_of::<RecordBody>());
    }
}
