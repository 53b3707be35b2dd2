//! Room on the stack for what follows a schema, or a record, down.
//!
//! It does not know what is followed: that is bounded by whoever asks for the room.

/// How much stack decoding takes at most. A thread that has it, and a mebibyte more, is given no more of it for any record.
pub const STACK_BYTES: usize = 128 << 20;

/// Works with at least that much stack, at most [`STACK_BYTES`]: our caller's, or where it is less another, for as long as it takes.
pub(crate) fn with_stack<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(bytes.min(STACK_BYTES), STACK_BYTES + SPARE_BYTES, work)
}

/// How much a record of Avro or Protobuf takes at most, at the largest depth. Measured in the development build: 1.2 to 1.4
/// MiB for Avro, 0.4 to 0.6 for Protobuf.
pub(crate) const WALK_BYTES: usize = 4 << 20;

/// What a stack that is made for the purpose has more, for the frames between us and the work.
const SPARE_BYTES: usize = 64 << 10;
