//! The pure part of the host's hot path, run so many times that its instructions can be counted: `gristmill-counted WHAT BATCHES`.
//!
//! `cargo xtask count` runs it under valgrind with few batches and with many; the difference is what a batch costs. It must not know what
//! it costs.

#![forbid(unsafe_code)]
#![expect(clippy::print_stderr, reason = "whoever starts it in another way than xtask does is told how")]

mod machine;
mod packed;
#[allow(dead_code, unreachable_pub, reason = "the guest edge's own file, all of which is in use there")]
#[path = "../../../host/guest/src/view.rs"]
mod view;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let batches = words.get(1).and_then(|word| word.parse().ok());
    match (words.as_slice(), batches) {
        (["machine", _], Some(batches)) => machine::run(batches),
        (["packing", _], Some(batches)) => packed::run(batches),
        _ => {
            eprintln!("gristmill-counted machine|packing BATCHES");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
