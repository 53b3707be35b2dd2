//! A JSON text that is written piece by piece, and refuses to become too long or too deep.
//!
//! It does not know where the values come from.

use std::fmt;
use std::io;

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter};

use crate::limits::Limits;

/// A bound that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exceeded {
    /// More brackets are open than may be.
    Depth(usize),
    /// More bytes than may be.
    Bytes(usize),
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Depth(max) => write!(f, "it is nested deeper than {max} levels"),
            Self::Bytes(max) => write!(f, "it becomes more than {max} bytes of JSON"),
        }
    }
}

impl std::error::Error for Exceeded {}

/// How much room a text may keep that it does not need: giving it back may move the text.
const ROOM_KEPT_BYTES: usize = 256;

/// The text so far.
pub(crate) struct JsonText {
    bytes: Vec<u8>,
    bytes_max: usize,
    depth_max: usize,
}

impl JsonText {
    /// An empty text, with room for what `payload_bytes` become as a rule.
    pub(crate) fn new(payload_bytes: usize, limits: Limits) -> Self {
        let bytes = Vec::with_capacity(payload_bytes.saturating_mul(2).min(limits.json_bytes_max));
        Self { bytes, bytes_max: limits.json_bytes_max, depth_max: limits.depth() }
    }

    /// The whole text. Room that it did not need is given back: what it becomes is counted by its length.
    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        let (taken, needed) = (self.bytes.capacity(), self.bytes.len());
        if taken - needed > (needed / 8).max(ROOM_KEPT_BYTES) {
            self.bytes.shrink_to_fit();
        }
        self.bytes
    }

    /// Refuses to open one more bracket than may be, with `depth` of them open.
    pub(crate) fn check_depth(&self, depth: usize) -> Result<(), Exceeded> {
        if depth < self.depth_max { Ok(()) } else { Err(Exceeded::Depth(self.depth_max)) }
    }

    /// Adds what is JSON already.
    pub(crate) fn push(&mut self, text: &[u8]) -> Result<(), Exceeded> {
        if text.len() > self.bytes_max - self.bytes.len() {
            return Err(Exceeded::Bytes(self.bytes_max));
        }
        self.bytes.extend_from_slice(text);
        Ok(())
    }

    /// Adds a scalar: a text or a number.
    pub(crate) fn push_scalar(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Exceeded> {
        // A scalar fails for one cause only: that there is no room for it.
        serde_json::to_writer(&mut *self, value).map_err(|_| Exceeded::Bytes(self.bytes_max))
    }

    /// Adds a value of any shape, and says in words what is wrong with it.
    pub(crate) fn push_nested(&mut self, value: &impl SerializeInto) -> Result<(), serde_json::Error> {
        let formatter = Shallow { depth: 0, depth_max: self.depth_max };
        value.serialize_into(&mut serde_json::Serializer::with_formatter(self, formatter))
    }
}

/// A value that writes itself by way of our serializer; what it is not given, it cannot go beyond.
pub(crate) trait SerializeInto {
    /// Writes itself.
    fn serialize_into(
        &self,
        serializer: &mut serde_json::Serializer<&mut JsonText, Shallow>,
    ) -> Result<(), serde_json::Error>;
}

impl io::Write for JsonText {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(bytes).map(|()| bytes.len()).map_err(io::Error::other)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes JSON as it is always written, and counts open brackets: what writes may be a recursion that nothing else ends.
pub(crate) struct Shallow {
    depth: usize,
    depth_max: usize,
}

impl Shallow {
    fn enter(&mut self) -> io::Result<()> {
        if self.depth == self.depth_max {
            return Err(io::Error::other(Exceeded::Depth(self.depth_max)));
        }
        self.depth += 1;
        Ok(())
    }
}

impl Formatter for Shallow {
    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.enter()?;
        CompactFormatter.begin_array(writer)
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        CompactFormatter.end_array(writer)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.enter()?;
        CompactFormatter.begin_object(writer)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        CompactFormatter.end_object(writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_shorter_than_its_payload_gives_the_room_back() {
        for (payload, pushed) in [(100_000, 10), (100_000, 150_000), (100, 10), (0, 100_000)] {
            let mut text = JsonText::new(payload, Limits::default());
            (0..pushed).for_each(|_| text.push(b"x").unwrap());
            let bytes = text.into_bytes();
            assert!(bytes.capacity() - pushed <= (pushed / 8).max(ROOM_KEPT_BYTES), "{} {pushed}", bytes.capacity());
        }
    }
}
