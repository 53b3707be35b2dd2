//! A guest that emits a copy of each record to the sink `copies`, and does nothing else: what is left is the host's own cost. For
//! measurements.

use gristmill_plugin::{Batch, Failure, OutputRecord, handler};

handler!(process);

fn process(batch: &Batch) -> Result<(), Failure> {
    for record in batch {
        batch.emit("copies", OutputRecord::copy_of(record));
    }
    Ok(())
}
