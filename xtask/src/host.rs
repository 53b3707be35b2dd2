//! Builds the host's binary and runs it for a person: the demo and the measurements.
//!
//! It must not know what the host prints.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result};

use crate::{plugins, tools, workspace};

/// Which of the two builds of the host is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// Quick to build: for tests and the demo.
    Development,
    /// As it is shipped: for measurements. The first one takes several minutes.
    Release,
}

/// Names a binary that is there already, for [`binary`].
const BINARY: &str = "GRISTMILL_BINARY";

/// The binary to run in tests: the one that the environment names, or a fresh development build.
///
/// # Errors
///
/// When it does not build.
pub fn binary() -> Result<PathBuf> {
    match std::env::var_os(BINARY) {
        Some(path) => Ok(PathBuf::from(path)),
        None => build(Build::Development),
    }
}

/// Builds the `gristmill` binary and returns its path.
///
/// The whole workspace is named to cargo, although one binary is built: a narrower choice has another set of features
/// and would build wasmtime and librdkafka a second time.
///
/// # Errors
///
/// When a tool is missing or the build fails; cargo's own messages went to stderr.
pub fn build(build: Build) -> Result<PathBuf> {
    tools::require(tools::FOR_THE_HOST)?;
    let mut command = workspace::cargo();
    command.args(["build", "--workspace", "--bin", "gristmill"]);
    let folder = match build {
        Build::Development => "debug",
        Build::Release => {
            command.arg("--release");
            "release"
        }
    };
    workspace::run(&mut command).context("cannot build the host")?;
    Ok(workspace::target_dir().join(folder).join("gristmill"))
}

/// Becomes `gristmill demo` with the arguments given: a Ctrl-C is then for the demo alone, whose closing table somebody waits for.
///
/// # Errors
///
/// When something does not build.
pub fn demo(arguments: &[&str]) -> Result<ExitCode> {
    let begun = Instant::now();
    let folder = plugins::build()?;
    let binary = build(Build::Development)?;
    note(&format!("built in {:.1} s", begun.elapsed().as_secs_f64()));
    let mut command = Command::new(binary);
    command.arg("demo").arg("--plugin").arg(folder.join("gristmill_count.wasm")).args(arguments);
    let error = command.exec();
    Err(error).with_context(|| format!("cannot start {}", workspace::shown(&command)))
}

/// Runs the measurements of the `bench` target of the tests with the arguments given.
///
/// # Errors
///
/// When something does not build or a tool is missing.
pub fn bench(arguments: &[&str]) -> Result<ExitCode> {
    tools::require(tools::FOR_KAFKA)?;
    plugins::build()?;
    let binary = build(Build::Release)?;
    let mut command = workspace::cargo();
    command.args(["bench", "--workspace", "--bench", "throughput", "--"]).args(arguments).env(BINARY, binary);
    Ok(exit_code(workspace::status(&mut command)?))
}

/// Measures what the sandbox costs a batch.
///
/// # Errors
///
/// When something cannot be built or started.
pub fn profile(files: &[&str]) -> Result<ExitCode> {
    plugins::build()?;
    let mut command = workspace::cargo();
    command.args(["bench", "--workspace", "--bench", "profile", "--"]).args(files);
    Ok(exit_code(workspace::status(&mut command)?))
}

/// What another program's end means for ours. A program ended by a signal has no code of its own.
pub(crate) fn exit_code(status: std::process::ExitStatus) -> ExitCode {
    status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}

#[expect(clippy::print_stderr, reason = "progress is for the person who waits, and must stay out of the output")]
fn note(text: &str) {
    eprintln!("xtask: {text}");
}
