//! Builds the plugins and the hostile test guests to WebAssembly components.
//!
//! It must not know what is in them.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace;

const TARGET: &str = "wasm32-wasip2";

/// The packages that are plugins, by their cargo names. `plugins/sdk/rust` is a library and no plugin.
const PACKAGES: &[&str] = &[
    "gristmill-asker",
    "gristmill-caller",
    "gristmill-copy",
    "gristmill-count",
    "gristmill-echo",
    "gristmill-forger",
    "gristmill-http-post",
    "gristmill-mirror",
    "gristmill-mischief",
    "gristmill-noop",
    "gristmill-noop-records",
    "gristmill-postgres",
    "gristmill-route",
    "gristmill-sum",
    "gristmill-validate",
    "gristmill-witness",
];

/// The folder in which built plugins lie.
#[must_use]
pub fn folder() -> PathBuf {
    workspace::target_dir().join("plugins").join(TARGET).join("plugin")
}

/// Builds all plugins and returns the folder they lie in.
///
/// They have a target folder of their own, so that building them never waits for, or throws away, the host's build.
///
/// # Errors
///
/// When the target cannot be added to the toolchain, or a plugin does not compile.
pub fn build() -> Result<PathBuf> {
    add_target()?;
    let mut command = workspace::cargo();
    command.args(["build", "--profile", "plugin", "--target", TARGET, "--target-dir"]);
    command.arg(workspace::target_dir().join("plugins"));
    for package in PACKAGES {
        command.args(["-p", package]);
    }
    workspace::run(&mut command).context("cannot build the plugins")?;
    let folder = folder();
    for package in PACKAGES {
        let file = folder.join(format!("{}.wasm", package.replace('-', "_")));
        if !file.is_file() {
            bail!("{package} was built but left no {}", file.display());
        }
    }
    Ok(folder)
}

/// Adds the WebAssembly target to the toolchain in use when it is not there.
fn add_target() -> Result<()> {
    if target_is_there()? {
        return Ok(());
    }
    let mut command = Command::new("rustup");
    command.current_dir(workspace::root()).args(["target", "add", TARGET]);
    workspace::run(&mut command).with_context(|| {
        format!("the target {TARGET} is missing: add it with rustup, or install the one of your Rust distribution")
    })
}

/// Asks the compiler, not rustup: a distribution's Rust has no rustup but may have the target.
fn target_is_there() -> Result<bool> {
    let mut command = Command::new("rustc");
    command.current_dir(workspace::root()).args(["--print", "target-libdir", "--target", TARGET]);
    let output = command.output().context("cannot start rustc: install Rust with rustup")?;
    if !output.status.success() {
        bail!("rustc knows no target {TARGET}: update it with rustup update stable");
    }
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}
