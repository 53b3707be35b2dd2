//! One running broker: started on free ports in a folder of its own, ended by a signal, started again, gone on drop.
//!
//! It must not know what is stored in it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::kafka::install::{Installation, copy_folder};
use crate::kafka::properties;
use crate::kafka::security::{self, SecureListener};
use crate::log::last_lines;
use crate::port;
use crate::signal::send_signal;
use crate::watchdog::Watchdog;

/// A broker is there in two seconds on a quiet machine; this is for a machine that compiles meanwhile.
const START_WITHIN: Duration = Duration::from_secs(90);

/// A broker that is asked to end does so in about a second when nobody else is in its cluster.
const END_WITHIN: Duration = Duration::from_secs(60);

const HEAP_MIB_MAX: u32 = 256;

/// How the names of brokers' folders begin.
pub(super) const FOLDER_PREFIX: &str = "gristmill-kafka-";

/// How a broker is to be started.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Further lines of `server.properties`; they win over ours.
    pub properties: Vec<(String, String)>,
    /// With a second listener that speaks TLS and wants a password, see [`Broker::secure_bootstrap`].
    pub secure: bool,
}

/// A running Apache Kafka with one node. Dropping it kills the process and removes its data.
#[derive(Debug)]
pub struct Broker {
    installation: Installation,
    folder: PathBuf,
    port: u16,
    controller_port: u16,
    secure: Option<SecureListener>,
    starts: AtomicU32,
    process: Mutex<Option<Process>>,
}

/// A running JVM and what ends it when we are gone.
type Process = (Child, Watchdog);

/// What a broker begins with.
#[derive(Clone, Copy)]
enum Beginning<'b> {
    /// A copy of this data, alone in its cluster.
    Copy(&'b Path),
    /// Nothing but a place in the cluster of that one.
    Beside(&'b Broker),
}

/// How an attempt to start ended, when not well.
enum StartError {
    /// Somebody took the port between our look and the broker's.
    PortTaken,
    Other(anyhow::Error),
}

impl Broker {
    /// Starts a broker with an empty log and waits until it serves.
    ///
    /// # Errors
    ///
    /// When Kafka cannot be installed or does not start in time; the error then holds the end of its log.
    pub fn start(options: &Options) -> Result<Self> {
        let installation = Installation::ready()?;
        let template = installation.template();
        let beginning = Beginning::Copy(&template);
        let broker = Self::start_from(installation, beginning, options, |made| made.java(HEAP_MIB_MAX))?;
        if broker.secure.is_some() {
            broker.add_user(security::USER, security::PASSWORD)?;
        }
        Ok(broker)
    }

    /// Starts a second broker in the cluster of this one, as number 2, and waits until it serves. Topics that are put on it are gone
    /// with it, and the first goes on; the other way round the first has to outlive it.
    ///
    /// # Errors
    ///
    /// When it does not start in time.
    pub fn start_beside(&self) -> Result<Self> {
        let options = Options::default();
        Self::start_from(&self.installation, Beginning::Beside(self), &options, |made| made.java(HEAP_MIB_MAX))
    }

    /// Starts a broker on a copy of `data` with a JVM command of the caller's, to make the installation itself.
    pub(super) fn start_with(java: Command, installation: &Installation, data: &Path) -> Result<Self> {
        let mut java = Some(java);
        let options = Options::default();
        let beginning = Beginning::Copy(data);
        Self::start_from(installation, beginning, &options, |made| {
            java.take().unwrap_or_else(|| made.java(HEAP_MIB_MAX))
        })
    }

    fn start_from(
        installation: &Installation,
        beginning: Beginning<'_>,
        options: &Options,
        mut java: impl FnMut(&Installation) -> Command,
    ) -> Result<Self> {
        let mut tries_left = 3;
        loop {
            let folder = new_folder()?;
            let secure = if options.secure { Some(SecureListener::make(&folder)?) } else { None };
            let broker = Self {
                installation: installation.clone(),
                folder,
                port: port::free()?,
                controller_port: port::free()?,
                secure,
                starts: AtomicU32::new(0),
                process: Mutex::new(None),
            };
            let mut extra = options.properties.clone();
            match beginning {
                Beginning::Copy(data) => copy_folder(data, &broker.data())?,
                Beginning::Beside(first) => {
                    broker.join(first)?;
                    extra.extend(properties::second(broker.port, first.controller_port));
                }
            }
            if let Some(secure) = &broker.secure {
                extra.extend(secure.properties(broker.port, broker.controller_port));
            }
            let text = properties::server(&broker.data(), broker.port, broker.controller_port, &extra);
            fs::write(broker.properties(), text).context("cannot write the broker's properties")?;
            match broker.launch(java(installation)) {
                Ok(()) => return Ok(broker),
                Err(StartError::PortTaken) if tries_left > 1 => tries_left -= 1,
                Err(StartError::PortTaken) => bail!("every port that was free was taken a moment later"),
                Err(StartError::Other(error)) => return Err(error),
            }
        }
    }

    /// Makes a data folder that belongs to the cluster of `first`: all that a broker without a controller wants to find.
    fn join(&self, first: &Self) -> Result<()> {
        let known =
            fs::read_to_string(first.data().join("meta.properties")).context("cannot read the first's cluster")?;
        let cluster = known.lines().find(|line| line.starts_with("cluster.id="));
        let cluster = cluster.context("the first broker does not say what its cluster is")?;
        fs::create_dir_all(self.data()).context("cannot create the broker's data folder")?;
        let text = format!("version=1\n{cluster}\nnode.id={}\n", properties::SECOND);
        fs::write(self.data().join("meta.properties"), text).context("cannot write the broker's place in the cluster")
    }

    /// The address to give to clients: `127.0.0.1:PORT`.
    #[must_use]
    pub fn bootstrap(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The address of the secure listener, where there is one.
    #[must_use]
    pub fn secure_bootstrap(&self) -> Option<String> {
        self.secure.as_ref().map(SecureListener::address)
    }

    /// The certificate that the secure listener shows, where there is one.
    #[must_use]
    pub fn certificate(&self) -> Option<&Path> {
        self.secure.as_ref().map(SecureListener::certificate)
    }

    /// The process number, while it runs.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.process().as_ref().map(|(child, _)| child.id())
    }

    /// Kills the process at once, as a power failure would (SIGKILL). Data and port are kept for [`Broker::restart`].
    ///
    /// # Errors
    ///
    /// When the process cannot be waited for.
    pub fn kill(&self) -> Result<()> {
        let process = self.process().take();
        if let Some((mut child, watchdog)) = process {
            drop(watchdog);
            child.kill().context("cannot kill the broker")?;
            child.wait().context("cannot wait for the broker")?;
        }
        Ok(())
    }

    /// Asks the process to end (SIGTERM) and waits for it. Data and port are kept for [`Broker::restart`].
    ///
    /// # Errors
    ///
    /// When it does not end in time.
    pub fn terminate(&self) -> Result<()> {
        self.signal("TERM")?;
        let deadline = Instant::now() + END_WITHIN;
        while self.ended().is_none() {
            if Instant::now() > deadline {
                bail!("the broker did not end within {END_WITHIN:?}:\n{}", self.log_tail());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        *self.process() = None;
        Ok(())
    }

    /// Freezes the process (SIGSTOP): its connections stay open and nothing is answered.
    ///
    /// # Errors
    ///
    /// When it does not run.
    pub fn freeze(&self) -> Result<()> {
        self.signal("STOP")
    }

    /// Lets a frozen process go on (SIGCONT).
    ///
    /// # Errors
    ///
    /// When it does not run.
    pub fn thaw(&self) -> Result<()> {
        self.signal("CONT")
    }

    /// Starts the process again on the same port and the same data.
    ///
    /// # Errors
    ///
    /// When it still runs, or does not start in time.
    pub fn restart(&self) -> Result<()> {
        if self.process().is_some() {
            bail!("the broker still runs: kill or terminate it first");
        }
        match self.launch(self.installation.java(HEAP_MIB_MAX)) {
            Ok(()) => Ok(()),
            Err(StartError::PortTaken) => bail!("port {} was taken while the broker was down", self.port),
            Err(StartError::Other(error)) => Err(error),
        }
    }

    /// What the broker logged since it was started last.
    #[must_use]
    pub fn log_text(&self) -> String {
        fs::read_to_string(self.log()).unwrap_or_default()
    }

    /// The last lines of the broker's log, for error texts.
    #[must_use]
    pub fn log_tail(&self) -> String {
        last_lines(&self.log_text())
    }

    /// Lets go of the process: it runs on after us. Returns its number and its folder.
    pub(super) fn release(mut self) -> Option<(u32, PathBuf)> {
        let (child, watchdog) = self.process().take()?;
        drop(watchdog);
        Some((child.id(), std::mem::take(&mut self.folder)))
    }

    pub(super) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    pub(super) fn installation(&self) -> &Installation {
        &self.installation
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn properties(&self) -> PathBuf {
        self.folder.join("server.properties")
    }

    /// A file for each start: a line of the last run must not be taken for one of this run.
    fn log(&self) -> PathBuf {
        self.folder.join(format!("broker-{}.log", self.starts.load(Ordering::Relaxed)))
    }

    fn launch(&self, mut java: Command) -> std::result::Result<(), StartError> {
        self.starts.fetch_add(1, Ordering::Relaxed);
        self.spawn(&mut java).map_err(StartError::Other)?;
        let deadline = Instant::now() + START_WITHIN;
        loop {
            let log = self.log_text();
            if log.contains("Kafka Server started") {
                return Ok(());
            }
            if let Some(status) = self.ended() {
                let _ = self.kill();
                if log.contains("BindException") || log.contains("Address already in use") {
                    return Err(StartError::PortTaken);
                }
                let text = format!("the broker ended at start with {status}:\n{}", self.log_tail());
                return Err(StartError::Other(anyhow::Error::msg(text)));
            }
            if Instant::now() > deadline {
                let text = format!("the broker did not start within {START_WITHIN:?}:\n{}", self.log_tail());
                return Err(StartError::Other(anyhow::Error::msg(text)));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn spawn(&self, java: &mut Command) -> Result<()> {
        use std::os::unix::process::CommandExt as _;

        let log = File::create(self.log()).context("cannot create the broker's log")?;
        let errors = log.try_clone().context("cannot share the broker's log")?;
        // A process group of its own: an interrupt at the terminal is for us; the broker goes when we go.
        java.arg("kafka.Kafka").arg(self.properties()).process_group(0);
        let child = java.stdin(Stdio::null()).stdout(log).stderr(errors).spawn().context("cannot start java")?;
        let watchdog = Watchdog::over(child.id(), Some(&self.folder))?;
        *self.process() = Some((child, watchdog));
        Ok(())
    }

    fn ended(&self) -> Option<std::process::ExitStatus> {
        self.process().as_mut().and_then(|(child, _)| child.try_wait().ok().flatten())
    }

    fn process(&self) -> MutexGuard<'_, Option<Process>> {
        // Whoever panicked meanwhile left either a process or none: both are fine.
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn signal(&self, name: &str) -> Result<()> {
        let Some(process) = self.process_id() else { bail!("the broker does not run") };
        send_signal(name, process)
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // Nobody is left to hear of a failure; the folder lies among temporary files.
        let _ = self.kill();
        if !self.folder.as_os_str().is_empty() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

fn new_folder() -> Result<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("{FOLDER_PREFIX}{}-{number}", std::process::id()));
    if folder.exists() {
        // Left by a process that had our number before.
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}
