//! Writes records into a table of a PostgreSQL database, many at once, and a record that came before does no harm.
//!
//! Settings: `database_url` (a secret with `expose = true`), `table`, `column.NAME` = `PLACE TYPE` for each column, and `mode`:
//! with `"key"` the columns that the setting `key` names make two records the same row, and the later one counts; with
//! `"position"` topic, partition and offset do. See docs/plugins.md for all of them. A record that makes no row, or whose row the
//! database refuses, is rejected, and the others are written. What a host that hands a batch over twice must not do, the primary
//! key keeps from happening.

mod cell;
mod greeting;
mod instant;
mod place;
mod rows;
mod settings;
mod statement;
mod store;
mod trouble;
mod writer;

pub use settings::Settings;
pub use writer::Writer;

use std::sync::{Mutex, OnceLock, PoisonError};

use gristmill_plugin::{Batch, Failure, Need, fatal, handler};

handler!(process, init = start, needs = needs);

fn needs() -> Vec<Need> {
    vec![
        Need::setting(
            "database_url",
            "the database, as in postgres://user:password@host:5432/database; a secret with expose = true",
        ),
        Need::tcp("to reach that database"),
    ]
}

/// The writer of this instance, made once. It keeps its connection from batch to batch.
fn writer() -> Result<&'static Mutex<Writer>, String> {
    static WRITER: OnceLock<Result<Mutex<Writer>, String>> = OnceLock::new();
    let make = || Settings::read(gristmill_plugin::settings()).and_then(Writer::new).map(Mutex::new);
    WRITER.get_or_init(make).as_ref().map_err(String::clone)
}

fn start() -> Result<(), String> {
    writer().map(drop)
}

fn process(batch: &Batch) -> Result<(), Failure> {
    let writer = writer().map_err(fatal)?;
    writer.lock().unwrap_or_else(PoisonError::into_inner).write(batch)
}
