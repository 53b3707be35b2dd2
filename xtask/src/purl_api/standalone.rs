//! Such a server in a process of its own, for a person to try things out.
//!
//! It must not start more than one.

#![expect(clippy::print_stdout, reason = "addresses and what was taken are these commands' output")]

use std::convert::Infallible;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::noted::{self, Noted};
use crate::purl_api::{PATH, PurlApi};
use crate::signal::send_signal;
use crate::workspace;

/// How the names of its folders begin: empty ones, whose names tell that a process is it.
const FOLDER_PREFIX: &str = "gristmill-purl-api-";

/// Starts a server that outlives us, prints where it listens and how to stop it.
///
/// # Errors
///
/// When one runs already, or none can be started.
pub fn up() -> Result<()> {
    if let Some(noted) = Noted::of(&state_file())? {
        if noted.runs() {
            bail!(
                "it runs already at http://{}{PATH} (process {}): cargo xtask purl-api down stops it",
                noted.address,
                noted.process
            );
        }
        noted.remove_folder(FOLDER_PREFIX, &state_file())?;
    }
    let folder = std::env::temp_dir().join(format!("{FOLDER_PREFIX}{}", std::process::id()));
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut server = Command::new(std::env::current_exe().context("cannot find myself")?);
    server.args(["purl-api", "serve"]).arg(&folder).current_dir(&folder);
    // A process group of its own: an interrupt at the terminal is not for it.
    server.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = server.spawn().context("cannot start the server")?;
    let mut address = String::new();
    let out = child.stdout.take().context("the server says nothing")?;
    BufReader::new(out).read_line(&mut address).context("the server does not say where it listens")?;
    let address = address.trim().to_owned();
    if address.is_empty() {
        bail!("the server ended at once");
    }
    Noted { process: child.id(), folder, address: address.clone() }.write(&state_file())?;
    println!(
        "package URLs are taken at http://{address}{PATH} (process {}); cargo xtask purl-api down stops it",
        child.id()
    );
    Ok(())
}

/// Is the server: says where it listens, and serves until it is ended.
///
/// # Errors
///
/// When there is no port.
pub fn serve() -> Result<Infallible> {
    let api = PurlApi::start()?;
    println!("{}", api.address());
    loop {
        std::thread::park();
    }
}

/// Prints what the server that [`up`] started has taken.
///
/// # Errors
///
/// When none runs, or it does not answer.
pub fn taken() -> Result<()> {
    let noted = Noted::of(&state_file())?.filter(Noted::runs);
    let noted = noted.context("none runs: cargo xtask purl-api up starts one")?;
    let mut stream = TcpStream::connect(&noted.address).with_context(|| format!("cannot reach {}", noted.address))?;
    let asked = stream.write_all(format!("GET {PATH} HTTP/1.1\r\nHost: {}\r\n\r\n", noted.address).as_bytes());
    asked.and_then(|()| stream.shutdown(std::net::Shutdown::Write)).context("cannot ask the server")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).context("the server does not answer")?;
    let (_, body) = answer.split_once("\r\n\r\n").context("the answer has no end of its head")?;
    println!("{body}");
    Ok(())
}

/// Stops the server that [`up`] started.
///
/// # Errors
///
/// When it cannot be signalled.
pub fn down() -> Result<()> {
    match Noted::of(&state_file())? {
        Some(noted) => {
            if noted.runs() {
                send_signal("TERM", noted.process)?;
                println!("stopped the server at {} (process {})", noted.address, noted.process);
            } else {
                println!("the server at {} had ended by itself", noted.address);
            }
            noted.remove_folder(FOLDER_PREFIX, &state_file())?;
        }
        None => println!("none runs"),
    }
    noted::forget(&state_file())
}

fn state_file() -> PathBuf {
    workspace::target_dir().join("purl-api").join("up")
}
