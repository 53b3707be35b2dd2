//! A record as the host keeps it: the bytes as they were read, and what was made of them for the plugin.
//!
//! What is written to the dead-letter topic is the first, what a plugin sees the second.

use std::sync::Arc;

use gristmill_kafka::{Lease, RecordBody};

/// One record. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) original: RecordBody,
    decoded: Option<Arc<Decoded>>,
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
        Self { original, decoded: None }
    }

    /// A record of which something was made.
    pub(crate) fn decoded(original: RecordBody, decoded: Decoded) -> Self {
        Self { original, decoded: Some(Arc::new(decoded)) }
    }

    /// The key that the plugin gets.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        let decoded = self.decoded.as_ref().and_then(|decoded| decoded.key.as_deref());
        decoded.or_else(|| self.original.key())
    }

    /// The value that the plugin gets.
    pub(crate) fn value(&self) -> Option<&[u8]> {
        let decoded = self.decoded.as_ref().and_then(|decoded| decoded.value.as_deref());
        decoded.or_else(|| self.original.value())
    }

    /// Why it could not be decoded.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.decoded.as_ref()?.failure.as_deref()
    }
}
