//! A guest that does nothing: what is left is the host's own cost. For measurements.

use gristmill_plugin::{Batch, Failure, handler};

handler!(process);

fn process(_: &Batch) -> Result<(), Failure> {
    Ok(())
}
