//! Signals to processes that we started.
//!
//! It must not know what they are.

use std::process::Command;

use anyhow::{Context, Result, bail};

/// Sends a signal by name, through the shell's own `kill`, which every system has.
pub(crate) fn send_signal(name: &str, process: u32) -> Result<()> {
    let command = format!("kill -s {name} {process}");
    let status = Command::new("sh").args(["-c", &command]).status().context("cannot start sh")?;
    if !status.success() {
        bail!("cannot send {name} to process {process}");
    }
    Ok(())
}
