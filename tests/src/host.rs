//! The `gristmill` binary as a process: started on a configuration, watched by its lines, signalled, waited for.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::lines::Lines;
use crate::temporary::TemporaryFolder;

/// The built binary. It is built here, once in each process, so that no test can run an old one.
fn binary() -> &'static PathBuf {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match xtask::host::binary() {
        Ok(path) => path,
        Err(error) => panic!("{error:#}"),
    })
}

/// Where the hosts of all tests keep compiled plugins: not where those of the tester do.
#[must_use]
pub fn cache_folder() -> PathBuf {
    xtask::workspace::target_dir().join("test-cache")
}

/// The path of a built plugin or test guest, by its package's name.
///
/// # Panics
///
/// When it does not build.
#[must_use]
pub fn plugin(package: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| match xtask::plugins::build() {
        Ok(folder) => folder,
        Err(error) => panic!("{error:#}"),
    });
    folder.join(format!("{}.wasm", package.replace('-', "_")))
}

/// A running host. Dropping it kills it.
#[derive(Debug)]
pub struct Host {
    child: Child,
    readers: Vec<JoinHandle<()>>,
    lines: Lines,
    folder: TemporaryFolder,
}

impl Host {
    /// Runs `gristmill run` on a configuration, with log lines for machines.
    #[must_use]
    pub fn run(configuration: &str) -> Self {
        let folder = TemporaryFolder::new();
        let path = folder.write("gristmill.toml", configuration);
        let path = path.display().to_string();
        Self::start(folder, &["run", &path, "--log-format", "json"])
    }

    /// Runs `gristmill` with any arguments.
    ///
    /// # Panics
    ///
    /// When the binary does not build or start.
    #[must_use]
    pub fn start(folder: TemporaryFolder, arguments: &[&str]) -> Self {
        let runtime = folder.path().to_owned();
        Self::start_in(folder, &runtime, arguments)
    }

    /// The same, with its control socket beside that of another host.
    #[must_use]
    pub fn start_beside(folder: TemporaryFolder, other: &Self, arguments: &[&str]) -> Self {
        Self::start_in(folder, other.folder.path(), arguments)
    }

    fn start_in(folder: TemporaryFolder, runtime: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(binary());
        // A process group of its own, so that a signal for the host is for nobody else.
        command.args(arguments).current_dir(folder.path()).process_group(0).env("NO_COLOR", "1");
        // Its control socket lies in a test's own folder, and no other host of this machine is found.
        command.env("GRISTMILL_RUNTIME_DIR", runtime.join("gristmill"));
        command.env("XDG_CACHE_HOME", cache_folder()).env_remove("CACHE_DIRECTORY");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => panic!("cannot start {}: {error}", binary().display()),
        };
        let lines = Lines::default();
        let mut readers = Vec::new();
        readers.extend(child.stdout.take().map(|stream| lines.read_from(stream)));
        readers.extend(child.stderr.take().map(|stream| lines.read_from(stream)));
        Self { child, readers, lines, folder }
    }

    /// All that it printed so far, both streams together.
    #[must_use]
    pub fn lines(&self) -> &Lines {
        &self.lines
    }

    /// Its folder, which is also its working directory.
    #[must_use]
    pub fn folder(&self) -> &TemporaryFolder {
        &self.folder
    }

    /// Where the hosts of a pipeline whose name needs no escaping listen, the first of them.
    #[must_use]
    pub fn socket(&self, pipeline: &str) -> PathBuf {
        self.folder.path().join("gristmill").join(format!("{pipeline}.sock"))
    }

    /// Its process number.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line that holds the text, and returns it.
    ///
    /// # Panics
    ///
    /// When it does not come in time; the panic shows what was printed instead.
    pub fn wait_for_line(&self, text: &str, within: Duration) -> String {
        let found = self.lines.wait(within, |lines| lines.iter().find(|line| line.contains(text)).cloned());
        found
            .unwrap_or_else(|| panic!("no line with {text:?} within {within:?}, or before the end; {}", self.printed()))
    }

    /// Waits until the condition holds for the lines so far.
    ///
    /// # Panics
    ///
    /// When it does not hold in time; the panic shows what was printed.
    pub fn wait_until<T>(&self, what: &str, within: Duration, found: impl FnMut(&[String]) -> Option<T>) -> T {
        self.lines
            .wait(within, found)
            .unwrap_or_else(|| panic!("not within {within:?}, or before the end: {what}; {}", self.printed()))
    }

    /// Sends a signal by its name, without SIG.
    ///
    /// # Panics
    ///
    /// When the process is gone.
    pub fn signal(&self, name: &str) {
        let command = format!("kill -s {name} {}", self.child.id());
        let sent = Command::new("sh").args(["-c", &command]).status();
        assert!(sent.is_ok_and(|status| status.success()), "cannot send {name} to the host; {}", self.printed());
    }

    /// Kills it at once, as a power failure would, and returns all that it printed.
    ///
    /// # Panics
    ///
    /// When it cannot be waited for.
    #[must_use]
    pub fn kill(mut self) -> Vec<String> {
        let _ = self.child.kill();
        if let Err(error) = self.child.wait() {
            panic!("cannot wait for the host: {error}");
        }
        self.finish()
    }

    /// Waits for its end and returns its exit code (128 + signal, where a signal ended it) and all that it printed.
    ///
    /// # Panics
    ///
    /// When it does not end in time.
    #[must_use]
    pub fn wait_for_end(mut self, within: Duration) -> (i32, Vec<String>) {
        let deadline = Instant::now() + within;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return (code(status), self.finish()),
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
                Ok(None) => panic!("the host did not end within {within:?}; {}", self.printed()),
                Err(error) => panic!("cannot wait for the host: {error}"),
            }
        }
    }

    /// Whether it still runs.
    #[must_use]
    pub fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for the last lines.
    fn finish(&mut self) -> Vec<String> {
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
        self.lines.all()
    }

    fn printed(&self) -> String {
        let lines = self.lines.all();
        let last = lines[lines.len().saturating_sub(40)..].join("\n");
        format!("the host printed {} lines, the last ones:\n{last}", lines.len())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;

    status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}
