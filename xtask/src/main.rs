//! The command line of `cargo xtask`: picks the command and turns its error into an exit code.
//!
//! It must not know how anything is done: that is the library's business.

#![forbid(unsafe_code)]
#![expect(clippy::print_stderr, reason = "a command line talks to the person who started it")]

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match xtask::commands::run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
