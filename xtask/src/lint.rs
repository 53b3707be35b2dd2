//! The checks of form: formatting, clippy, and the dependencies' licences and advisories.
//!
//! It must not know the rules: they stand in `rustfmt.toml`, `clippy.toml`, `deny.toml` and the workspace's manifest.

#![expect(clippy::print_stdout, reason = "what was checked and what was skipped is this command's output")]

use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result};

use crate::workspace;

/// Runs every check of form and names each that could not run.
///
/// # Errors
///
/// When cargo cannot be started. Findings are no error but an exit code.
pub fn lint() -> Result<ExitCode> {
    let clean = format_and_clippy()?;
    let allowed = dependencies()?;
    Ok(if clean && allowed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Checks formatting and clippy over the whole workspace. Returns whether both are clean.
///
/// # Errors
///
/// When cargo cannot be started.
pub fn format_and_clippy() -> Result<bool> {
    let formatted = passes("formatting", workspace::cargo().args(["fmt", "--all", "--check"]))?;
    let mut clippy = workspace::cargo();
    clippy.args(["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]);
    // The tests plant bugs in the core; what ships is the core without them.
    let mut core = workspace::cargo();
    core.args(["clippy", "--quiet", "--package", "gristmill-core", "--", "-D", "warnings"]);
    let clean = [passes("clippy", &mut clippy)?, passes("clippy of the core that ships", &mut core)?];
    Ok(formatted && clean.iter().all(|clean| *clean))
}

/// Checks licences, bans and sources, and advisories where their database can be reached.
fn dependencies() -> Result<bool> {
    let deny = Command::new("cargo-deny").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if deny.is_err() {
        println!("SKIPPED licences, bans and advisories: cargo-deny is missing: cargo install cargo-deny --locked");
        return Ok(true);
    }
    let mut fixed = workspace::cargo();
    fixed.args(["deny", "--all-features", "check", "licenses", "bans", "sources"]);
    let allowed = passes("licences, bans and sources", &mut fixed)?;

    let mut advisories = workspace::cargo();
    advisories.args(["deny", "--all-features", "check", "advisories"]);
    let output = advisories.output().context("cannot start cargo deny")?;
    let text = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        println!("ok: advisories");
        return Ok(allowed);
    }
    // Without the database nothing was checked: that is neither clean nor a finding, and is said as such.
    if text.contains("failed to fetch advisory database") {
        println!("SKIPPED advisories: their database cannot be reached from here");
        return Ok(allowed);
    }
    println!("{text}NOT CLEAN: advisories");
    Ok(false)
}

fn passes(name: &str, command: &mut Command) -> Result<bool> {
    let good = workspace::status(command)?.success();
    println!("{}: {name}", if good { "ok" } else { "NOT CLEAN" });
    Ok(good)
}
