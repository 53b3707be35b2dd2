//! Names and numbers shared by the components: partitions by index, members by incarnation, what a record carries.

use gristmill_core::record::{Partition, Topic};

/// Index of a partition in this world.
pub(crate) type Place = usize;

/// One life of one member: a restart is a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Life(pub(crate) u32);

/// The partition at an index: two topics, so that equal partition numbers of different topics exist.
pub(crate) fn partition(place: Place) -> Partition {
    let topic = u32::from(place % 2 == 1);
    Partition { topic: Topic(topic), number: i32::try_from(place / 2).expect("few partitions") }
}

/// The index of a partition.
pub(crate) fn place(partition: Partition) -> Place {
    usize::try_from(partition.number).expect("not negative") * 2 + usize::from(partition.topic.0 == 1)
}

/// What a record carries: a function of its place and offset, so that any mix-up shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Body(pub(crate) u64);

/// The body of the record at this place and offset.
pub(crate) fn body(place: Place, offset: i64) -> Body {
    let mixed =
        (place as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ offset.cast_unsigned().wrapping_mul(0xD6E8_FEB8_6659_FD93);
    Body(mixed.rotate_left(23))
}

/// A broken promise: which invariant or rule, and what was seen.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    pub(crate) rule: &'static str,
    pub(crate) text: String,
}

/// Breaks off with a violation unless the condition holds.
macro_rules! require {
    ($condition:expr, $rule:literal, $($text:tt)+) => {
        if !$condition {
            return Err(Violation { rule: $rule, text: format!($($text)+) });
        }
    };
}
pub(crate) use require;
