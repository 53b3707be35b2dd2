//! A loop or a peer as a process: it says `assigned`, then `read RECORDS BYTES SUM`, and ends when its input does.
//!
//! It must not know which one it is.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use gristmill_tests::Lines;

use crate::course::Course;

/// How a loop or a peer is started.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    path: OsString,
    words: Vec<OsString>,
}

impl Program {
    /// One of this program's own loops.
    pub(crate) fn own(name: &str) -> Self {
        let path = std::env::current_exe().unwrap_or_else(|error| panic!("cannot find this program: {error}"));
        Self { path: path.into(), words: vec!["--as".into(), name.into()] }
    }

    /// A program with the words that come before what it has to do.
    pub(crate) fn of(command: &Command) -> Self {
        let words = command.get_args().map(Into::into).collect();
        Self { path: command.get_program().to_owned(), words }
    }

    /// Starts it on all that is in a topic, as a new group.
    pub(crate) fn start(&self, course: &Course, group: &str) -> Peer {
        let mut command = Command::new(&self.path);
        command.args(&self.words).args([&course.bootstrap, &course.topic, group]);
        command.args([course.partitions().to_string(), course.records().to_string(), course.batch.to_string()]);
        command.args(&course.sink).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => panic!("cannot start {}: {error}", self.path.display()),
        };
        let lines = Lines::default();
        if let (Some(said), Some(complaints)) = (child.stdout.take(), child.stderr.take()) {
            lines.read_from(said);
            lines.read_from(complaints);
        }
        Peer { child, lines }
    }
}

/// A running loop or peer. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Peer {
    child: Child,
    lines: Lines,
}

impl Peer {
    /// Its process number.
    pub(crate) fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line that begins so, and returns what stands behind.
    pub(crate) fn wait_for(&self, word: &str, within: Duration) -> String {
        let behind = |line: &String| line.strip_prefix(word).map(str::to_owned);
        let found = self.lines.wait(within, |lines| lines.iter().find_map(behind));
        found.unwrap_or_else(|| panic!("no line {word:?} within {within:?}, or before the end; {}", self.printed()))
    }

    /// Whether it still runs.
    pub(crate) fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// All that it printed.
    pub(crate) fn printed(&self) -> String {
        format!("it printed:\n{}", self.lines.all().join("\n"))
    }

    /// Ends its input and waits for it.
    pub(crate) fn end(mut self) {
        drop(self.child.stdin.take());
        let ended = self.child.wait();
        assert!(ended.is_ok_and(|status| status.success()), "it ended badly; {}", self.printed());
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
