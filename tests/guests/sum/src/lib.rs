//! A guest that reads one field of every record and adds it up: the least that a plugin with a purpose does. For measurements.

use gristmill_plugin::{Batch, Failure, fatal, handler};
use serde::Deserialize;

handler!(process);

#[derive(Deserialize)]
struct Order {
    number: i64,
}

fn process(batch: &Batch) -> Result<(), Failure> {
    let mut sum = 0_i64;
    for record in batch {
        sum = sum.wrapping_add(record.value_json::<Order>().map_err(fatal)?.number);
    }
    // Nobody asks for it; it must be made all the same.
    std::hint::black_box(sum);
    Ok(())
}
