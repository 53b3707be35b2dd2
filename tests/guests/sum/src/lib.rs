//! A guest that reads one field of every record and adds it up: the least that a plugin with a purpose does. For measurements. The setting
//! `times` has it read every record so many times, to keep a core busy.

use gristmill_plugin::{Batch, Failure, fatal, handler, setting};
use serde::Deserialize;

handler!(process);

#[derive(Deserialize)]
struct Order {
    number: i64,
}

fn process(batch: &Batch) -> Result<(), Failure> {
    let times: u32 = setting("times").map_or(Ok(1), |text| text.parse()).map_err(fatal)?;
    let mut sum = 0_i64;
    for record in batch {
        for _ in 0..times {
            sum = sum.wrapping_add(record.value_json::<Order>().map_err(fatal)?.number);
        }
    }
    // Nobody asks for it; it must be made all the same.
    std::hint::black_box(sum);
    Ok(())
}
