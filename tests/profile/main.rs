//! What the sandbox costs a batch: the same component without and with interruption by epochs, and by the product's own worker with a
//! fresh instance for each batch and with one that is kept. All take turns, so that a busy machine slows each of them.
//!
//! `cargo xtask profile [FILE…]`; files are components of any language. It prints a table and judges nothing.

#![expect(clippy::print_stdout, reason = "the table is what this program is for")]
#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on says so by panicking")]

mod bare;
mod batch;
mod product;

use std::path::{Path, PathBuf};
use std::time::Duration;

use gristmill_tests::plugin;

/// Batches of each contestant; the first of them is not counted.
const ROUNDS: usize = 200;

/// Plugins of this repository that do nothing, with packed bytes and with lists of records; copy every record; and read every record as
/// JSON.
const OURS: [&str; 4] = ["gristmill-noop", "gristmill-noop-records", "gristmill-copy", "gristmill-count"];

fn main() {
    // Cargo adds `--bench`.
    let named: Vec<PathBuf> =
        std::env::args().skip(1).filter(|word| !word.starts_with("--")).map(PathBuf::from).collect();
    let files = if named.is_empty() { OURS.iter().map(|package| plugin(package)).collect() } else { named };
    println!("one batch of {} records with {} bytes of JSON each, {ROUNDS} rounds", batch::RECORDS, batch::VALUE_BYTES);
    println!("milliseconds for each batch: median (least)\n");
    let head = ["plugin", "no epochs", "epochs", "worker, reused", "worker, fresh"];
    println!("| {} |\n| --- | --- | --- | --- | --- |", head.join(" | "));
    for file in files {
        println!("{}", row(&file));
    }
}

/// Measures one component.
fn row(file: &Path) -> String {
    let bytes = std::fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut contestants: Vec<Box<dyn FnMut() -> Duration>> = vec![
        Box::new(bare::contestant(&bytes, bare::Epochs::Off)),
        Box::new(bare::contestant(&bytes, bare::Epochs::On)),
        Box::new(product::contestant(&bytes, product::Instance::Reused)),
        Box::new(product::contestant(&bytes, product::Instance::Fresh)),
    ];
    let mut taken = vec![Vec::new(); contestants.len()];
    for round in 0..=ROUNDS {
        for (times, run) in taken.iter_mut().zip(&mut contestants) {
            let time = run();
            if round > 0 {
                times.push(time);
            }
        }
    }
    let cells = taken.into_iter().map(|mut times| {
        times.sort_unstable();
        let ms = |time: Duration| time.as_secs_f64() * 1_000.0;
        format!("{:.2} ({:.2})", ms(times[times.len() / 2]), ms(times[0]))
    });
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    format!("| {name} | {} |", cells.collect::<Vec<_>>().join(" | "))
}
