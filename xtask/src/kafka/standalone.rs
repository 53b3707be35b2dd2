//! A broker that outlives the command that started it, for a person to try things out.
//!
//! It must not start more than one.

#![expect(clippy::print_stdout, reason = "the address of the broker is this command's output")]

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::kafka::broker::{self, Broker, Options};
use crate::kafka::install::Installation;
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
    if let Some(noted) = noted()? {
        if noted.runs() {
            bail!(
                "a broker runs already at {} (process {}): cargo xtask kafka down stops it",
                noted.address,
                noted.process
            );
        }
        noted.remove_folder()?;
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
/// When no broker runs, there is no such tool, or it cannot be started or does not succeed.
pub fn tool(class: &str, arguments: &[&str]) -> Result<()> {
    let Some(noted) = noted()?.filter(Noted::runs) else { bail!("no broker runs: cargo xtask kafka up starts one") };
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
    match noted()? {
        Some(noted) if noted.runs() => {
            send_signal("KILL", noted.process)?;
            noted.remove_folder()?;
            println!("stopped the broker at {} (process {})", noted.address, noted.process);
        }
        Some(noted) => {
            noted.remove_folder()?;
            println!("the broker at {} had ended by itself; its data is deleted", noted.address);
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

/// What [`up`] noted of its broker.
#[derive(Debug)]
struct Noted {
    process: u32,
    folder: PathBuf,
    address: String,
}

impl Noted {
    /// Reads a note; `None` where it is none.
    fn read(text: &str) -> Result<Option<Self>> {
        let lines: Vec<&str> = text.lines().collect();
        let [process, folder, address] = lines.as_slice() else { return Ok(None) };
        let process = process.parse().context("the note of the running broker is damaged")?;
        Ok(Some(Self { process, folder: PathBuf::from(folder), address: (*address).to_owned() }))
    }

    /// True when that process still is the broker that was noted: a number may have been given to another process since, but
    /// the broker's command line names its folder.
    fn runs(&self) -> bool {
        let command_line = fs::read(format!("/proc/{}/cmdline", self.process)).unwrap_or_default();
        String::from_utf8_lossy(&command_line).contains(&*self.folder.to_string_lossy())
    }

    /// Removes the broker's folder, which may be gone, but never one that no broker of ours made: a note may be damaged.
    fn remove_folder(&self) -> Result<()> {
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with(broker::FOLDER_PREFIX) {
            bail!("{} is no folder of a broker of ours: remove {}", self.folder.display(), state_file().display());
        }
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", self.folder.display()))
            }
            _ => Ok(()),
        }
    }
}

/// What was noted of a broker, whether it still runs or not.
fn noted() -> Result<Option<Noted>> {
    fs::read_to_string(state_file()).map_or(Ok(None), |text| Noted::read(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted_at(folder: &std::path::Path) -> Noted {
        // Our own process is none that names the folder.
        let text = format!("{}\n{}\n127.0.0.1:9092\n", std::process::id(), folder.display());
        Noted::read(&text).unwrap().unwrap()
    }

    #[test]
    fn the_folder_of_a_broker_that_ended_by_itself_is_removed() {
        let folder = std::env::temp_dir().join(format!("{}standalone-{}", broker::FOLDER_PREFIX, std::process::id()));
        fs::create_dir_all(folder.join("data")).unwrap();
        let noted = noted_at(&folder);
        assert!(!noted.runs());
        noted.remove_folder().unwrap();
        assert!(!folder.exists());
        noted.remove_folder().expect("a folder that is gone is no trouble");
    }

    #[test]
    fn a_folder_of_somebody_else_stays() {
        let folder = std::env::temp_dir().join(format!("gristmill-somebody-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let refusal = noted_at(&folder).remove_folder().unwrap_err().to_string();
        assert!(refusal.contains("no folder of a broker of ours"), "{refusal}");
        fs::remove_dir(&folder).expect("it was removed");
    }
}
