//! One run of the binary, from its arguments to its end.

use std::ffi::OsStr;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gristmill_tests::{TemporaryFolder, cache_folder};

/// How long a command may take on a busy machine. None here waits for anything longer than a compile.
const DEADLINE: Duration = Duration::from_secs(120);

/// The built binary. It is built here, once in each process, so that no test can run an old one.
pub(crate) fn binary() -> &'static PathBuf {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| xtask::host::binary().unwrap_or_else(|error| panic!("{error:#}")))
}

/// What the tester's own shell says must not decide.
pub(crate) fn forget_own_variables(command: &mut Command) {
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GRISTMILL")) {
        command.env_remove(name);
    }
    command.env("XDG_CACHE_HOME", cache_folder()).env_remove("CACHE_DIRECTORY");
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// The last line on stderr, which says why and what to do.
    pub(crate) fn last_line(&self) -> &str {
        self.stderr.lines().last().unwrap_or_default()
    }

    /// Fails unless it ended with this code and said all of these words in its last line.
    #[track_caller]
    pub(crate) fn refused(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{self:#?}");
        let last = self.last_line();
        assert!(last.starts_with("gristmill: "), "{self:#?}");
        for word in words {
            assert!(last.contains(word), "the last line lacks {word:?}: {last}");
        }
    }

    /// Fails unless it ended well.
    #[track_caller]
    pub(crate) fn good(&self) -> &Self {
        assert_eq!(
            (self.code, self.stderr.lines().any(|line| line.starts_with("gristmill: "))),
            (0, false),
            "{self:#?}"
        );
        self
    }

    /// All that it printed.
    pub(crate) fn printed(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    /// Its output, one JSON document a line.
    #[track_caller]
    pub(crate) fn json(&self) -> Vec<serde_json::Value> {
        let read = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.stdout.lines().map(read).collect()
    }
}

/// A run that is about to start, in a folder of its own.
pub(crate) struct Run {
    folder: TemporaryFolder,
    command: Command,
    input: String,
}

impl Run {
    pub(crate) fn new() -> Self {
        let folder = TemporaryFolder::new();
        let mut command = Command::new(binary());
        command.current_dir(folder.path()).env("NO_COLOR", "1");
        forget_own_variables(&mut command);
        // No other host of this machine is found.
        command.env("GRISTMILL_RUNTIME_DIR", folder.path().join("gristmill"));
        Self { folder, command, input: String::new() }
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// With a file in its folder, or in a folder in there.
    pub(crate) fn file(self, name: &str, bytes: impl AsRef<[u8]>) -> Self {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        self
    }

    /// With an environment variable.
    pub(crate) fn variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// With this on its standard input.
    pub(crate) fn input(mut self, text: &str) -> Self {
        text.clone_into(&mut self.input);
        self
    }

    /// Runs it to its end.
    pub(crate) fn with(mut self, arguments: &[&str]) -> Ended {
        self.command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = self.input;
        // It may end without reading its input; that is for its exit code to say.
        let writer = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
        let out = read_all(child.stdout.take().unwrap());
        let err = read_all(child.stderr.take().unwrap());
        let deadline = Instant::now() + DEADLINE;
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(2)),
                None => {
                    child.kill().unwrap();
                    panic!("{arguments:?} did not end within {DEADLINE:?}");
                }
            }
        };
        writer.join().unwrap();
        Ended { code: status.code().unwrap_or(-1), stdout: out.join().unwrap(), stderr: err.join().unwrap() }
    }
}

/// Reads a stream to its end, on a thread of its own, so that neither stream can fill up and block the run.
fn read_all(mut stream: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    })
}

/// A plugin's path as a TOML or JSON string holds it.
pub(crate) fn plugin(package: &str) -> String {
    gristmill_tests::plugin(package).display().to_string()
}

/// A configuration that is good, with `more` at its end, inside `[plugin]`.
pub(crate) fn configuration(package: &str, more: &str) -> String {
    format!(
        r#"[kafka]
bootstrap_servers = "127.0.0.1:1"
group_id = "orders-to-nowhere"
topics = ["orders"]
auto_offset_reset = "earliest"

[plugin]
path = "{}"
{more}"#,
        plugin(package)
    )
}
