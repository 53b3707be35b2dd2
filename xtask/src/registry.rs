//! A real schema registry on this machine, for tests: Apicurio, which speaks Confluent's interface. Fetched once, started in a few
//! seconds, gone when dropped.
//!
//! It must not know what is registered in it.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::installing::{self, note, step};
use crate::log::last_lines;
use crate::signal::send_signal;
use crate::watchdog::Watchdog;
use crate::{port, tools, workspace};

/// The last line of versions that runs on Java 17.
const VERSION: &str = "3.0.9";

/// A registry is there in four seconds on a quiet machine; this is for a machine that compiles meanwhile.
const START_WITHIN: Duration = Duration::from_secs(120);

const HEAP_MIB_MAX: u32 = 256;

/// Where Confluent's interface begins.
const BASE: &str = "/apis/ccompat/v7";

/// A running registry that keeps its schemas in memory. Dropping it kills the process.
#[derive(Debug)]
pub struct Registry {
    port: u16,
    log: PathBuf,
    child: Child,
    /// Called off when the registry was ended.
    watchdog: Option<Watchdog>,
}

impl Registry {
    /// Starts a registry without schemas and waits until it serves.
    ///
    /// # Errors
    ///
    /// When it cannot be installed or does not start in time; the error then holds the end of its log.
    pub fn start() -> Result<Self> {
        let folder = installed()?;
        let mut tries_left = 3;
        loop {
            let mut registry = Self::launch(&folder)?;
            match registry.wait_until_it_serves() {
                Ok(()) => return Ok(registry),
                // Somebody took the port between our look and the registry's.
                Err(_) if tries_left > 1 && registry.log_tail().contains("already bound") => tries_left -= 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// The address to give to clients.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}{BASE}", self.port)
    }

    /// Freezes the process (SIGSTOP): connections are taken and nothing is answered.
    ///
    /// # Errors
    ///
    /// When it does not run.
    pub fn freeze(&self) -> Result<()> {
        send_signal("STOP", self.child.id())
    }

    /// Lets a frozen process go on (SIGCONT).
    ///
    /// # Errors
    ///
    /// When it does not run.
    pub fn thaw(&self) -> Result<()> {
        send_signal("CONT", self.child.id())
    }

    fn launch(folder: &Path) -> Result<Self> {
        use std::os::unix::process::CommandExt as _;

        let (port, management) = (port::free()?, port::free()?);
        let log = std::env::temp_dir().join(format!("gristmill-registry-{}-{port}.log", std::process::id()));
        let out = File::create(&log).context("cannot create the registry's log")?;
        let errors = out.try_clone().context("cannot share the registry's log")?;
        let mut java = tools::java();
        java.args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]).arg(format!("-Xmx{HEAP_MIB_MAX}m"));
        for (name, value) in [("http", port), ("management", management)] {
            java.arg(format!("-Dquarkus.{name}.host=127.0.0.1")).arg(format!("-Dquarkus.{name}.port={value}"));
        }
        java.arg("-jar").arg(format!("apicurio-registry-app-{VERSION}-runner.jar")).current_dir(folder);
        // A process group of its own: an interrupt at the terminal is for us; the registry goes when we go.
        java.process_group(0).stdin(Stdio::null()).stdout(out).stderr(errors);
        let child = java.spawn().context("cannot start java")?;
        // Whole before anything can fail: it ends with this.
        let mut registry = Self { port, log, child, watchdog: None };
        registry.watchdog = Some(Watchdog::over(registry.child.id(), Some(&registry.log))?);
        Ok(registry)
    }

    fn wait_until_it_serves(&mut self) -> Result<()> {
        let deadline = Instant::now() + START_WITHIN;
        while !self.serves() {
            if let Some(status) = self.ended() {
                bail!("the registry ended at start with {status}:\n{}", self.log_tail());
            }
            if Instant::now() > deadline {
                bail!("the registry did not start within {START_WITHIN:?}:\n{}", self.log_tail());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// True once it answers a question about its schemas.
    fn serves(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let request = format!("GET {BASE}/subjects HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let mut answer = [0; 12];
        let asked = stream
            .set_read_timeout(Some(Duration::from_secs(5)))
            .and_then(|()| stream.write_all(request.as_bytes()))
            .and_then(|()| stream.read_exact(&mut answer));
        asked.is_ok() && answer == *b"HTTP/1.1 200"
    }

    fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    fn log_tail(&self) -> String {
        last_lines(&fs::read_to_string(&self.log).unwrap_or_default())
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // Before the process goes, so that the watchdog cannot act on a number that is already somebody else's.
        drop(self.watchdog.take());
        // Nobody is left to hear of a failure; the log lies among temporary files.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.log);
    }
}

/// Fetches and unpacks the registry where that was not done yet.
///
/// # Errors
///
/// When Java or Maven is missing, or it cannot be fetched.
pub fn installed() -> Result<PathBuf> {
    tools::require(tools::FOR_KAFKA)?;
    let folder = workspace::target_dir().join("registry").join(VERSION);
    let _lock = installing::lock(&folder)?;
    step(&folder, "app", fetch)?;
    Ok(folder.join("app"))
}

fn fetch(target: &Path) -> Result<()> {
    note("fetching a schema registry with Maven (109 MB)");
    fs::create_dir_all(target).with_context(|| format!("cannot create {}", target.display()))?;
    let mut maven = Command::new("mvn");
    maven.args(["-B", "-q", "-Dstyle.color=never", "dependency:copy"]);
    maven.arg(format!("-Dartifact=io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all"));
    maven.arg(format!("-DoutputDirectory={}", target.display())).current_dir(target);
    workspace::run(&mut maven).context("cannot fetch the schema registry")?;
    let archive = target.join(format!("apicurio-registry-app-{VERSION}-all.tar.gz"));
    let mut tar = Command::new("tar");
    tar.arg("xzf").arg(&archive).arg("-C").arg(target);
    workspace::run(&mut tar).context("cannot unpack the schema registry")?;
    fs::remove_file(&archive).with_context(|| format!("cannot remove {}", archive.display()))
}
