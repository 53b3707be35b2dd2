//! Prints every record as one line and says the batch is done. Copy this file to begin a plugin of your own.

#![expect(clippy::print_stdout, reason = "a plugin's standard output becomes log lines of the host")]

use gristmill_plugin::{Batch, Failure, handler};

handler!(process);

fn process(batch: &Batch) -> Result<(), Failure> {
    for record in batch {
        let text = |bytes: Option<&[u8]>| bytes.map_or("null".into(), |b| String::from_utf8_lossy(b).into_owned());
        println!("{}: {} = {}", record.idempotency_key(), text(record.key()), text(record.value()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use gristmill_plugin::{Fixture, FixtureRecord, Outcome, run_batch};

    #[test]
    fn every_batch_is_done() {
        let fixture = Fixture::new().record(FixtureRecord::new().key("k").value("v")).record(FixtureRecord::new());
        assert_eq!(run_batch(super::process, fixture), Outcome::OK);
    }
}
