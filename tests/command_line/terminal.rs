//! A host on a terminal: the live line has the terminal's width, also when that changes, and log lines stand above it.

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use gristmill_kafka::{MockCluster, MockRecord};
use gristmill_tests::TemporaryFolder;

use crate::process::{binary, configuration};

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(30);

/// What the live line is cleared with before it is drawn again.
const CLEAR: &str = "\r\u{1b}[2K";

/// A host on a terminal of its own, which the program `script` makes. The terminal is 150 columns wide until the file `go` is
/// written to, then 50.
struct Terminal {
    child: Child,
    keys: ChildStdin,
    output: Receiver<Vec<u8>>,
    seen: String,
    folder: TemporaryFolder,
}

impl Terminal {
    fn run(configuration: &str) -> Self {
        let folder = TemporaryFolder::new();
        folder.write("g.toml", configuration);
        assert!(Command::new("mkfifo").arg(folder.path().join("go")).status().unwrap().success());
        // The shell ignores Ctrl-C, which is for the host, and waits for it.
        let shell = format!(
            "trap '' INT; stty rows 24 cols 150; '{}' run g.toml & read go < go; stty cols 50; wait $!",
            binary().display()
        );
        let mut command = Command::new("script");
        command.args(["-qfec", &shell, "/dev/null"]).current_dir(folder.path());
        command.env("GRISTMILL_RUNTIME_DIR", folder.path().join("gristmill"));
        // What the shell believes must not win over what the terminal says.
        command.env("COLUMNS", "40").env("TERM", "xterm").env("SHELL", "/bin/sh").env("NO_COLOR", "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("the program `script` cannot be run: {error}"));
        let (keys, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = stdout.read(&mut bytes) {
                let _ = sender.send(bytes[..count].to_vec());
            }
        });
        Self { child, keys, output, seen: String::new(), folder }
    }

    /// Waits until what was shown so far fulfils the condition.
    #[track_caller]
    fn wait_until(&mut self, what: &str, found: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + SOON;
        while !found(&self.seen) {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(bytes) = self.output.recv_timeout(left) else { panic!("{what} did not come: {:?}", self.seen) };
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The live lines, as they were drawn one after the other.
fn live_lines(seen: &str) -> Vec<&str> {
    let drawn = seen.split(CLEAR).map(|piece| piece.rsplit('\n').next().unwrap_or(piece));
    drawn.filter(|line| line.starts_with("running · ")).collect()
}

#[test]
fn the_live_line_has_the_width_of_the_terminal_also_when_that_changes() {
    let cluster = MockCluster::start(1).unwrap();
    cluster.create_topic("orders", 1).unwrap();
    let text = configuration("gristmill-echo", "").replace("127.0.0.1:1", &cluster.bootstrap_servers());
    let mut terminal = Terminal::run(&text);
    let whole = |seen: &str| live_lines(seen).iter().any(|line| line.ends_with(" · 1 partition"));
    terminal.wait_until("the whole live line", whole);
    let go = terminal.folder.path().join("go");
    OpenOptions::new().write(true).open(go).unwrap().write_all(b"\n").unwrap();
    let narrow = |line: &&str| line.chars().count() < 50;
    terminal.wait_until("a narrow live line", |seen| live_lines(seen).last().is_some_and(narrow));
    terminal.keys.write_all(b"\x03").unwrap();
    terminal.wait_until("the last line", |seen| seen.contains("gristmill: stopped as it was asked to; "));
    let words = "asked to stop; a second signal leaves at once";
    let asked = terminal.seen.split(CLEAR).find(|piece| piece.contains(words)).and_then(|piece| piece.lines().next());
    assert!(asked.is_some_and(|line| line.contains(words) && !line.contains(" · ")), "{asked:?}");
}

#[test]
fn a_batch_that_takes_long_and_a_stop_that_waits_for_it_are_seen_in_the_live_line() {
    let cluster = MockCluster::start(1).unwrap();
    cluster.create_topic("orders", 1).unwrap();
    cluster.produce("orders", MockRecord { key: Some(b"sleep:6000"), ..MockRecord::default() }).unwrap();
    cluster.flush().unwrap();
    let more = "[plugin.limits]\ntime = \"19s\"\n[batch]\nmax_wait = \"10ms\"\n";
    let text = configuration("gristmill-mischief", more).replace("127.0.0.1:1", &cluster.bootstrap_servers());
    let mut terminal = Terminal::run(&text);
    terminal.wait_until("the batch", |seen| seen.contains(" · batch 1 record out for 1."));
    terminal.keys.write_all(b"\x03").unwrap();
    terminal.wait_until("the stop", |seen| seen.contains("draining: waits for the running batch, 1"));
    terminal.wait_until("the last line", |seen| seen.contains("gristmill: stopped as it was asked to; "));
}
