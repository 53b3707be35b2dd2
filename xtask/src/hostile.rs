//! Runs the hostile corpus for a person: builds what it needs, and leaves the terminal to its table.
//!
//! It must not know what is in the corpus.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::{host, plugins, tools, workspace};

/// The corpus' own program.
const PROGRAM: &str = "gristmill-hostile";

/// Each guest so many times, where nobody says how often.
const ROUNDS: &str = "10";

/// Prints the table of the corpus: each guest alone, then all of them beside a consumer, then in a crowd on one core. With arguments, `ROUNDS [FILTER]`: only
/// the table, of so many rounds, and of the guests whose names hold the filter.
///
/// # Errors
///
/// When something does not build or start. A guest that does not end as it should is no error but an exit code.
pub fn hostile(arguments: &[&str]) -> Result<ExitCode> {
    tools::require(tools::FOR_THE_HOST)?;
    plugins::build()?;
    let mut command = workspace::cargo();
    // The whole workspace, as for every build: a narrower choice has another set of features and builds wasmtime again.
    command.args(["build", "--workspace", "--bin", PROGRAM]);
    workspace::run(&mut command).context("cannot build the corpus")?;
    let program = workspace::target_dir().join("debug").join(PROGRAM);
    let run = |words: &[&str]| workspace::status(Command::new(&program).args(words));
    if !arguments.is_empty() {
        return Ok(host::exit_code(run(&[&["alone"], arguments].concat())?));
    }
    let ends = [run(&["alone", ROUNDS])?, run(&["beside"])?, run(&["crowd"])?];
    Ok(ends.into_iter().find(|end| !end.success()).map_or(ExitCode::SUCCESS, host::exit_code))
}
