//! A broker that outlives the command that started it, for a person to try things out.
//!
//! It must not start more than one.

#![expect(clippy::print_stdout, reason = "the address of the broker is this command's output")]

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::kafka::broker::{self, Broker, Options};
use crate::kafka::install::Installation;
use crate::workspace;

/// Starts a broker, prints its address and how to stop it.
///
/// # Errors
///
/// When one runs already, or Kafka cannot be installed or started.
pub fn up() -> Result<()> {
    if let Some((process, _, address)) = running()? {
        bail!("a broker runs already at {address} (process {process}): cargo xtask kafka down stops it");
    }
    let broker = Broker::start(&Options::default())?;
    let address = broker.bootstrap();
    let Some((process, folder)) = broker.release() else { bail!("the broker ended at once") };
    let state = format!("{process}\n{}\n{address}\n", folder.display());
    fs::write(state_file(), state).context("cannot note the broker's process")?;
    println!("Kafka runs at {address} (process {process}); cargo xtask kafka down stops it and deletes its data");
    Ok(())
}

/// Runs one of Kafka's own tools against the broker that [`up`] started, with this process's input and output.
///
/// # Errors
///
/// When no broker runs, or the tool cannot be started or does not succeed.
pub fn tool(class: &str, arguments: &[&str]) -> Result<()> {
    let Some((_, _, address)) = running()? else { bail!("no broker runs: cargo xtask kafka up starts one") };
    let mut command = Installation::ready()?.tool(class, arguments);
    let ended = command.args(["--bootstrap-server", &address]).status().context("cannot start Java")?;
    if !ended.success() {
        bail!("{class} did not succeed");
    }
    Ok(())
}

/// Stops the broker that [`up`] started and deletes its data.
///
/// # Errors
///
/// When it cannot be signalled.
pub fn down() -> Result<()> {
    match running()? {
        Some((process, folder, address)) => {
            broker::send_signal("KILL", process)?;
            fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
            println!("stopped the broker at {address} (process {process})");
        }
        None => println!("no broker runs"),
    }
    match fs::remove_file(state_file()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).context("cannot forget the broker"),
        _ => Ok(()),
    }
}

fn state_file() -> PathBuf {
    workspace::target_dir().join("kafka").join("up")
}

/// The noted process, folder and address, if that process still is the broker that we noted.
fn running() -> Result<Option<(u32, PathBuf, String)>> {
    let Ok(text) = fs::read_to_string(state_file()) else { return Ok(None) };
    let lines: Vec<&str> = text.lines().collect();
    let [process, folder, address] = lines.as_slice() else { return Ok(None) };
    let process: u32 = process.parse().context("the note of the running broker is damaged")?;
    // A number may have been given to another process since; the broker's command line names its folder.
    let command_line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let same = String::from_utf8_lossy(&command_line).contains(folder);
    Ok(same.then(|| (process, PathBuf::from(folder), (*address).to_owned())))
}
