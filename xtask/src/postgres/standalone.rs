//! A PostgreSQL that outlives the command that started it, for a person to try things out.
//!
//! It must not start more than one.

#![expect(clippy::print_stdout, reason = "addresses and rows are these commands' output")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::noted::{self, Noted};
use crate::postgres::{FOLDER_PREFIX, PASSWORD, Postgres, USER, WITNESS, client};
use crate::signal::send_signal;
use crate::workspace;

/// How long it may take to end when it is told to do so at once.
const END_WITHIN: Duration = Duration::from_secs(10);

/// Starts a server, prints its URL and how to stop it.
///
/// # Errors
///
/// When one runs already, or PostgreSQL cannot be installed or started.
pub fn up() -> Result<()> {
    if let Some(noted) = Noted::of(&state_file())? {
        if noted.runs() {
            bail!(
                "PostgreSQL runs already at {} (process {}): cargo xtask postgres down stops it",
                noted.address,
                noted.process
            );
        }
        noted.remove_folder(FOLDER_PREFIX, &state_file())?;
    }
    let server = Postgres::start()?;
    let address = server.address();
    let Some((process, folder)) = server.release() else { bail!("PostgreSQL ended at once") };
    Noted { process, folder, address: address.clone() }.write(&state_file())?;
    println!(
        "PostgreSQL runs at postgres://{USER}:{PASSWORD}@{address}/{USER} (process {process}); cargo xtask postgres down stops it \
         and deletes its data"
    );
    Ok(())
}

/// Runs SQL in the database of the server that [`up`] started, as its owner, and prints the rows of the last statement, columns
/// apart by tabs.
///
/// # Errors
///
/// When no server runs, or it refuses the SQL.
pub fn sql(sql: &str) -> Result<()> {
    let noted = Noted::of(&state_file())?.filter(Noted::runs);
    let noted = noted.context("no PostgreSQL runs: cargo xtask postgres up starts one")?;
    for row in client::query(&noted.address, WITNESS, USER, &format!("set role {USER}; {sql}"))? {
        let columns: Vec<String> = row.into_iter().map(|column| column.unwrap_or_else(|| "null".to_owned())).collect();
        println!("{}", columns.join("\t"));
    }
    Ok(())
}

/// Stops the server that [`up`] started and deletes its data, also where it ended by itself.
///
/// # Errors
///
/// When it cannot be signalled or does not end, or its data cannot be deleted.
pub fn down() -> Result<()> {
    match Noted::of(&state_file())? {
        Some(noted) if noted.runs() => {
            // To PostgreSQL: end at once, and those who work for you.
            send_signal("QUIT", noted.process)?;
            let deadline = Instant::now() + END_WITHIN;
            while noted.runs() {
                if Instant::now() > deadline {
                    bail!("PostgreSQL (process {}) does not end", noted.process);
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            noted.remove_folder(FOLDER_PREFIX, &state_file())?;
            println!("stopped PostgreSQL at {} (process {})", noted.address, noted.process);
        }
        Some(noted) => {
            noted.remove_folder(FOLDER_PREFIX, &state_file())?;
            println!("PostgreSQL at {} had ended by itself; its data is deleted", noted.address);
        }
        None => println!("no PostgreSQL runs"),
    }
    noted::forget(&state_file())
}

fn state_file() -> PathBuf {
    workspace::target_dir().join("postgres").join("up")
}
