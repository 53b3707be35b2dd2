//! A broker that outlives the command that started it, for a person to try things out.
//!
//! It must not start more than one.

#![expect(clippy::print_stdout, reason = "the address of the broker is this command's output")]

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::kafka::broker::{self, Broker, Options};
use crate::kafka::install::Installation;
use crate::noted::{self, Noted};
use crate::signal::send_signal;
use crate::workspace;

/// The tools that most people need, by their class names.
pub const TOOLS: [&str; 4] =
    ["TopicCommand", "ConsoleProducer", "consumer.ConsoleConsumer", "consumer.group.ConsumerGroupCommand"];

/// Starts a broker, prints its address and how to stop it.
///
/// # Errors
///
/// When one runs already, or Kafka cannot be installed or started.
pub fn up() -> Result<()> {
    if let Some(noted) = Noted::of(&state_file())? {
        if noted.runs() {
            bail!(
                "a broker runs already at {} (process {}): cargo xtask kafka down stops it",
                noted.address,
                noted.process
            );
        }
        noted.remove_folder(broker::FOLDER_PREFIX, &state_file())?;
    }
    let broker = Broker::start(&Options::default())?;
    let address = broker.bootstrap();
    let Some((process, folder)) = broker.release() else { bail!("the broker ended at once") };
    Noted { process, folder, address: address.clone() }.write(&state_file())?;
    println!("Kafka runs at {address} (process {process}); cargo xtask kafka down stops it and deletes its data");
    Ok(())
}

/// Runs one of Kafka's own tools against the broker that [`up`] started, with this process's input and output.
///
/// # Errors
///
/// When no broker runs, there is no such tool, or it cannot be started or does not succeed.
pub fn tool(class: &str, arguments: &[&str]) -> Result<()> {
    let Some(noted) = Noted::of(&state_file())?.filter(Noted::runs) else {
        bail!("no broker runs: cargo xtask kafka up starts one")
    };
    let installation = Installation::ready()?;
    if !installation.has_tool(class)? {
        bail!("Kafka has no tool {class}; these are the ones that most people need: {}", TOOLS.join(", "));
    }
    let mut command = installation.tool(class, arguments);
    let ended = command.args(["--bootstrap-server", &noted.address]).status().context("cannot start Java")?;
    if !ended.success() {
        bail!("{class} did not succeed");
    }
    Ok(())
}

/// Stops the broker that [`up`] started and deletes its data, also where it ended by itself.
///
/// # Errors
///
/// When it cannot be signalled, or its data cannot be deleted.
pub fn down() -> Result<()> {
    match Noted::of(&state_file())? {
        Some(noted) if noted.runs() => {
            send_signal("KILL", noted.process)?;
            noted.remove_folder(broker::FOLDER_PREFIX, &state_file())?;
            println!("stopped the broker at {} (process {})", noted.address, noted.process);
        }
        Some(noted) => {
            noted.remove_folder(broker::FOLDER_PREFIX, &state_file())?;
            println!("the broker at {} had ended by itself; its data is deleted", noted.address);
        }
        None => println!("no broker runs"),
    }
    noted::forget(&state_file())
}

fn state_file() -> PathBuf {
    workspace::target_dir().join("kafka").join("up")
}
