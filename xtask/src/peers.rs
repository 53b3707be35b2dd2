//! The peers that the host is measured against: programs in other languages, or with dependencies of their own, which `tests/peers` holds.
//!
//! It must not know what they are asked to do.

use std::process::Command;

use anyhow::{Context, Result};

use crate::kafka::Installation;
use crate::tools::{self, Tool};
use crate::workspace;

/// A peer that can be started, or why it cannot.
pub type Built = std::result::Result<Command, String>;

/// All peers by their names. One that wants a tool that is not there is said to, and is no error.
///
/// # Errors
///
/// When one does not build although its tools are there; its compiler's own messages went to stderr.
pub fn built() -> Result<Vec<(&'static str, Built)>> {
    Ok(vec![
        ("sentry_arroyo", with(&[Tool::Cmake], arroyo)?),
        ("Java KafkaConsumer", with(tools::FOR_KAFKA, java)?),
        ("franz-go", with(&[Tool::Go], go)?),
    ])
}

fn with(needed: &[Tool], build: impl FnOnce() -> Result<Command>) -> Result<Built> {
    let missing = tools::missing(needed);
    if missing.is_empty() { build().map(Ok) } else { Ok(Err(missing.join("; "))) }
}

/// In a target folder of its own: it has its own versions of what the host is built of.
fn arroyo() -> Result<Command> {
    let target = workspace::target_dir().join("peers");
    let mut command = workspace::cargo();
    command.args(["build", "--quiet", "--release", "--locked", "--manifest-path"]);
    command.arg(workspace::root().join("tests/peers/rust/Cargo.toml")).arg("--target-dir").arg(&target);
    workspace::run(&mut command).context("cannot build the peer in Rust")?;
    Ok(Command::new(target.join("release").join("gristmill-peers")))
}

/// Compiled by its launcher with each start, before anything is measured. With the virtual machine's own defaults.
fn java() -> Result<Command> {
    let mut command = tools::java();
    command.args(["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", Installation::ready()?.class_path()]);
    command.arg(workspace::root().join("tests/peers/java/Loop.java"));
    Ok(command)
}

fn go() -> Result<Command> {
    let program = workspace::target_dir().join("peers").join("franz");
    let mut command = Command::new("go");
    command.current_dir(workspace::root().join("tests/peers/go")).args(["build", "-o"]).arg(&program).arg(".");
    workspace::run(&mut command).context("cannot build the peer in Go")?;
    Ok(Command::new(program))
}
