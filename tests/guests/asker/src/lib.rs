//! A guest that needs what its setting `needs` says: `tcp`, `http`, `files:/lookup`, `setting:table`, with commas between them.
//!
//! It handles a batch by trying to reach what stands in the first record's value. Nothing outside the tests may load this.

use std::net::TcpStream;

use gristmill_plugin::{Batch, Failure, Need, Retry, setting};

fn needs() -> Vec<Need> {
    let needs = setting("needs").unwrap_or_default();
    needs.split(',').filter(|word| !word.is_empty()).map(need).collect()
}

fn need(text: &str) -> Need {
    let (word, argument) = text.split_once(':').unwrap_or((text, ""));
    match word {
        "tcp" => Need::tcp("the test says so"),
        "http" => Need::http("the test says so"),
        "files" => Need::files(argument, "the test says so"),
        _ => Need::setting(argument, "the test says so"),
    }
}

fn process(batch: &Batch) -> Result<(), Failure> {
    let Some(value) = batch.records().next().and_then(|record| record.value()) else { return Ok(()) };
    let wanted = String::from_utf8_lossy(value);
    let came = match wanted.strip_prefix('/') {
        Some(_) => std::fs::read(&*wanted).map(drop),
        None => TcpStream::connect(&*wanted).map(drop),
    };
    let said = came.map_or_else(|error| format!("refused: {error}"), |()| "reached".to_owned());
    Err(Retry::now().because(said))
}

gristmill_plugin::handler!(process, needs = needs);
