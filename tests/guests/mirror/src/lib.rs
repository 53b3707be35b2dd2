//! A guest that emits each record as it sees it to the sink `seen`, with a header that says where it saw it. For tests of what reaches a
//! guest and comes back.

use gristmill_plugin::{Batch, Failure, OutputRecord, handler};

handler!(process);

fn process(batch: &Batch) -> Result<(), Failure> {
    for record in batch {
        let place = format!("{} {:?} {}", record.idempotency_key(), record.timestamp(), record.index());
        batch.emit("seen", OutputRecord::copy_of(record).header("place", Some(place.as_bytes())));
    }
    Ok(())
}
