//! How much one record may cost.
//!
//! It does not know what is decoded.

/// What a decoded key or value may be at most. What goes beyond it does not decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How deeply it may be nested. At most 100 are used, whatever is set: that is where the Protobuf decoder stops, and JSON
    /// readers of many languages stop shortly after it.
    pub depth_max: usize,
    /// How many bytes of JSON it may become: a few bytes of Avro or Protobuf can stand for very many.
    pub json_bytes_max: usize,
}

/// The largest depth that is used.
const DEPTH_MAX: usize = 100;

impl Limits {
    /// The depth that is used.
    pub(crate) fn depth(&self) -> usize {
        self.depth_max.min(DEPTH_MAX)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth_max: DEPTH_MAX, json_bytes_max: 16 << 20 }
    }
}
