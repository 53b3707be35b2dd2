//! The contract's packed bytes, as `wit/raw.md` lays them out: batches are written, answers are read.
//!
//! Plain bytes on both sides. Nothing here knows an instance, or what an answer makes the host do.

mod answer;
mod batch;

pub(crate) use self::answer::wanted;
pub(crate) use self::batch::PackedBatch;

/// How the data of either direction begins.
const DATA_MAGIC: &[u8; 8] = b"gmbytes1";

/// Bytes at the beginning of an index.
const HEAD_BYTES: usize = 24;
/// Bytes of a header's row, in either direction.
const HEADER_BYTES: usize = 16;

/// The length that stands for null.
const NULL: u32 = u32::MAX;
