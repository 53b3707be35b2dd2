//! Reading one field of every record natively: librdkafka's own batch loop, and JSON as whoever writes it in Rust reads it. What the host is
//! measured against where its plugin does the same.

use serde::Deserialize;

use super::{Seen, Task};
use crate::sys::queue;

#[derive(Deserialize)]
struct Order {
    number: i64,
}

/// Reads all of a task in batches, and adds a field of each record up.
pub(super) fn run_through(task: &Task, seen: &mut Seen) {
    let mut sum = 0_i64;
    let add = |_: Option<&[u8]>, value: Option<&[u8]>| {
        seen.touch(value);
        match serde_json::from_slice::<Order>(value.unwrap_or_default()) {
            Ok(order) => sum = sum.wrapping_add(order.number),
            Err(error) => panic!("a value is no order: {error}"),
        }
    };
    queue::run_through(task, add, |_| {});
    std::hint::black_box(sum);
}
