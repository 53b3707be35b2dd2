//! A real PostgreSQL on this machine, for tests and for trying things out: Debian's where it is installed, else fetched once; started
//! in two seconds, gone when dropped.
//!
//! It must not know what is stored in it.

mod client;
mod install;
pub mod standalone;

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::log::last_lines;
use crate::port;
use crate::signal::send_signal;
use crate::watchdog::Watchdog;

pub use client::Row;
pub use install::installed;

/// It is there in a second on a quiet machine; this is for a machine that compiles meanwhile.
const START_WITHIN: Duration = Duration::from_secs(60);

/// The user that is under test, its database, and its password.
const USER: &str = "mill";
const PASSWORD: &str = "grind-it";

/// The user that makes everything and looks at what came of it.
const WITNESS: &str = "witness";

/// How the names of servers' folders begin.
const FOLDER_PREFIX: &str = "gristmill-postgres-";

/// PostgreSQL refuses to run as root; who runs as root has it run as this user, `nobody`.
const NOBODY: u32 = 65_534;

/// A running PostgreSQL with an empty database. Dropping it kills the process and removes its data.
#[derive(Debug)]
pub struct Postgres {
    binaries: PathBuf,
    folder: PathBuf,
    port: u16,
    starts: AtomicU32,
    process: Mutex<Option<(Child, Watchdog)>>,
}

impl Postgres {
    /// Starts a server with an empty database and waits until it serves.
    ///
    /// # Errors
    ///
    /// When it cannot be installed or does not start in time; the error then holds the end of its log.
    pub fn start() -> Result<Self> {
        let mut tries_left = 3;
        loop {
            let server = Self::made()?;
            match server.launch() {
                Ok(()) => {
                    server.make_user()?;
                    return Ok(server);
                }
                // Somebody took the port between our look and the server's.
                Err(_) if tries_left > 1 && server.log_tail().contains("Address already in use") => tries_left -= 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// A server with a data folder, not started.
    fn made() -> Result<Self> {
        let binaries = installed()?;
        let folder = new_folder()?;
        let (port, starts, process) = (port::free()?, AtomicU32::new(0), Mutex::new(None));
        // Whole before anything can fail: the folder goes with it.
        let mut server = Self { binaries, folder, port, starts, process };
        server.binaries = install::readable(&server.binaries, &server.folder)?;
        server.initialise()?;
        Ok(server)
    }

    fn initialise(&self) -> Result<()> {
        let mut initdb = self.program("initdb");
        initdb.arg("-D").arg(self.data()).args(["-U", WITNESS, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]);
        let output = initdb.output().context("cannot start initdb")?;
        if !output.status.success() {
            bail!("initdb ended with {}:\n{}", output.status, String::from_utf8_lossy(&output.stderr));
        }
        // The user under test has to prove itself as everywhere; the witness's client is small and knows no passwords.
        let who = format!("host all {WITNESS} 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n");
        fs::write(self.data().join("pg_hba.conf"), who).context("cannot write who may connect")
    }

    fn make_user(&self) -> Result<()> {
        self.query_in("postgres", &format!("create role {USER} login password '{PASSWORD}'"))?;
        self.query_in("postgres", &format!("create database {USER} owner {USER}")).map(drop)
    }

    fn launch(&self) -> Result<()> {
        // A new one each time, so that no word of an earlier start is taken for one of this.
        self.starts.fetch_add(1, Ordering::SeqCst);
        let out =
            OpenOptions::new().create(true).append(true).open(self.log()).context("cannot create the server's log")?;
        let errors = out.try_clone().context("cannot share the server's log")?;
        let mut postgres = self.program("postgres");
        postgres.arg("-D").arg(self.data()).args(["-p", &self.port.to_string()]);
        for setting in [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            // Crashes of the process are tested, not of the machine.
            "fsync=off",
            "full_page_writes=off",
            "shared_buffers=16MB",
            "max_connections=40",
        ] {
            postgres.args(["-c", setting]);
        }
        // A process group of its own: an interrupt at the terminal is for us; the server goes when we go.
        postgres.process_group(0).stdin(Stdio::null()).stdout(out).stderr(errors);
        let mut child = postgres.spawn().context("cannot start postgres")?;
        match Watchdog::over(child.id(), Some(&self.folder)) {
            Ok(watchdog) => *self.process() = Some((child, watchdog)),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(error);
            }
        }
        self.wait_until_it_serves()
    }

    fn wait_until_it_serves(&self) -> Result<()> {
        let deadline = Instant::now() + START_WITHIN;
        // Not by connecting: who connects while it recovers is a line in the log and an error to look at.
        while !self.log_text().contains("database system is ready to accept connections") {
            let ended = self.process().as_mut().and_then(|(child, _)| child.try_wait().ok().flatten());
            if let Some(status) = ended {
                bail!("the server ended at start with {status}:\n{}", self.log_tail());
            }
            if Instant::now() > deadline {
                bail!("the server did not start within {START_WITHIN:?}:\n{}", self.log_tail());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// The URL of the database for the user under test, with its password.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://{USER}:{PASSWORD}@{}/{USER}", self.address())
    }

    /// Where it listens: `127.0.0.1:PORT`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Runs SQL in the database as a witness, over a connection of its own, and returns the rows of the last statement.
    ///
    /// # Errors
    ///
    /// When it cannot be reached, or refuses the SQL.
    pub fn query(&self, sql: &str) -> Result<Vec<Row>> {
        self.query_in(USER, sql)
    }

    fn query_in(&self, database: &str, sql: &str) -> Result<Vec<Row>> {
        client::query(&self.address(), WITNESS, database, sql)
    }

    /// Runs SQL as the user under test would, so that what it makes belongs to it.
    ///
    /// # Errors
    ///
    /// When it cannot be reached, or refuses the SQL.
    pub fn make(&self, sql: &str) -> Result<()> {
        self.query(&format!("set role {USER}; {sql}")).map(drop)
    }

    /// Kills the server and all that works for it at once, as a power failure would (SIGKILL). Data and port are kept for
    /// [`Postgres::restart`].
    ///
    /// # Errors
    ///
    /// When the process cannot be waited for.
    pub fn kill(&self) -> Result<()> {
        let process = self.process().take();
        let Some((mut child, watchdog)) = process else { return Ok(()) };
        drop(watchdog);
        let workers = children(child.id());
        child.kill().context("cannot kill the server")?;
        // Before it is waited for, so that no number of theirs is somebody else's. One that ended meanwhile is no trouble.
        workers.iter().for_each(|worker| drop(send_signal("KILL", *worker)));
        child.wait().context("cannot wait for the server").map(drop)
    }

    /// Starts the server again on the same data and port, and waits until it serves.
    ///
    /// # Errors
    ///
    /// When it does not start in time.
    pub fn restart(&self) -> Result<()> {
        self.kill()?;
        let deadline = Instant::now() + START_WITHIN;
        loop {
            match self.launch() {
                Ok(()) => return Ok(()),
                // Workers that were killed are still on their way out.
                Err(_) if self.log_text().contains("shared memory block") && Instant::now() < deadline => {
                    self.kill()?;
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Lets go of the server, which then outlives us. Returns its process number and its folder, while it runs.
    fn release(mut self) -> Option<(u32, PathBuf)> {
        let process = self.process().take();
        let folder = std::mem::take(&mut self.folder);
        process.map(|(child, _watchdog)| (child.id(), folder))
    }

    /// A program of PostgreSQL's, run by somebody who is not root.
    fn program(&self, name: &str) -> Command {
        let path = self.binaries.join(name);
        let mut command = if install::we_are_root() {
            let mut command = Command::new("setpriv");
            command.args([format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"), "--clear-groups".to_owned()]);
            command.arg(path);
            command
        } else {
            Command::new(path)
        };
        // The folder we are in may be none that it may look at.
        command.current_dir(&self.folder).env("LC_ALL", "C");
        command
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn log(&self) -> PathBuf {
        self.folder.join(format!("log-{}", self.starts.load(Ordering::SeqCst)))
    }

    fn log_text(&self) -> String {
        fs::read_to_string(self.log()).unwrap_or_default()
    }

    /// The end of the log of the latest start.
    #[must_use]
    pub fn log_tail(&self) -> String {
        last_lines(&self.log_text())
    }

    fn process(&self) -> MutexGuard<'_, Option<(Child, Watchdog)>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Nobody is left to hear of a failure; the folder lies among temporary files.
        let _ = self.kill();
        if !self.folder.as_os_str().is_empty() {
            remove(&self.folder);
        }
    }
}

/// Removes a server's folder, in which what worked for it may still be writing.
fn remove(folder: &Path) {
    for _ in 0..50 {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => std::thread::sleep(Duration::from_millis(20)),
            _ => return,
        }
    }
}

/// The processes that a process started.
fn children(process: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|number| number.parse().ok()).collect()
}

/// A new folder that belongs to whoever will run the server.
fn new_folder() -> Result<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("{FOLDER_PREFIX}{}-{number}", std::process::id()));
    if folder.exists() {
        // Of a process with our number that was before us.
        remove(&folder);
    }
    let made = fs::DirBuilder::new().mode(0o755).create(&folder);
    made.with_context(|| format!("cannot create {}", folder.display()))?;
    if install::we_are_root() {
        chown(&folder, Some(NOBODY), Some(NOBODY)).context("cannot give the server's folder away")?;
    }
    Ok(folder)
}
