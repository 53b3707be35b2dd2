//! What a running host gave up of the system, as the kernel says.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use gristmill_tests::TemporaryFolder;

use crate::control::Station;
use crate::process::{Run, binary, configuration, forget_own_variables, plugin};

const SOON: Duration = Duration::from_secs(60);

/// The line of a thread's status that begins with this word.
fn line(status: &str, word: &str) -> String {
    let line = status.lines().find(|line| line.starts_with(word));
    line.and_then(|line| line.split_whitespace().nth(1)).unwrap_or_default().to_owned()
}

/// By the name of each thread: whether it can gain rights by starting programs, and whether its system calls are filtered.
fn threads(process: u32) -> Vec<(String, String, String)> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let status = |task: fs::DirEntry| fs::read_to_string(task.path().join("status")).unwrap_or_default();
    let statuses = tasks.map(|task| status(task.unwrap())).filter(|status| !status.is_empty());
    statuses.map(|status| (line(&status, "Name:"), line(&status, "NoNewPrivs:"), line(&status, "Seccomp:"))).collect()
}

#[test]
fn every_thread_that_runs_a_guest_or_speaks_to_brokers_gave_up_what_it_does_not_need() {
    let station = Station::start("");
    let line = station.line("gave up what it does not need of the system");
    assert!(line.contains("landlock=yes") || line.contains("the kernel has none"), "{line}");
    let threads = threads(station.process_id());
    let guests: Vec<_> = threads.iter().filter(|(name, ..)| name.starts_with("guest")).collect();
    assert!(!guests.is_empty(), "{threads:?}");
    for (name, no_new_rights, filtered) in &threads {
        assert_eq!((no_new_rights.as_str(), filtered.as_str()), ("1", "2"), "{name} of {threads:?}");
    }
}

#[test]
fn who_turns_it_off_keeps_it_all() {
    let station = Station::start("[start]\nconfine = false\n");
    let threads = threads(station.process_id());
    assert!(threads.iter().all(|(_, _, filtered)| filtered == "0"), "{threads:?}");
}

/// A call that has loaded its plugin and waits for records, and what it logs.
struct Waiting {
    /// Removed with it.
    _folder: TemporaryFolder,
    call: Child,
    log: Receiver<String>,
}

impl Waiting {
    fn start(more: &[&str]) -> Self {
        let folder = TemporaryFolder::new();
        let mut command = Command::new(binary());
        forget_own_variables(&mut command);
        fs::write(folder.path().join("g.toml"), configuration("gristmill-echo", "")).unwrap();
        command.current_dir(folder.path()).args(["call", &plugin("gristmill-echo"), "--log-level", "info"]).args(more);
        let mut call = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (heard, log) = channel();
        let lines = BufReader::new(call.stderr.take().unwrap()).lines();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| heard.send(line)));
        Self { _folder: folder, call, log }
    }

    /// The lines up to the one with these words.
    fn lines(&self, words: &str) -> Vec<String> {
        let mut lines = Vec::new();
        while lines.last().is_none_or(|line: &String| !line.contains(words)) {
            lines.push(self.log.recv_timeout(SOON).unwrap_or_else(|_| panic!("no {words:?} in {lines:#?}")));
        }
        lines
    }

    /// Gives it a record, and returns what it prints of it.
    fn end(mut self) -> String {
        self.call.stdin.take().unwrap().write_all(b"{\"key\":\"a\"}\n").unwrap();
        let mut said = String::new();
        self.call.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(self.call.wait().unwrap().success(), "{said}");
        said
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        let _ = self.call.kill();
        let _ = self.call.wait();
    }
}

/// Guests of `call` are no better than those of `run`.
#[test]
fn a_call_gave_up_what_it_does_not_need_in_every_thread_and_still_works() {
    for more in [&[][..], &["-", "-c", "g.toml"]] {
        let call = Waiting::start(more);
        let before = call.lines("loaded the plugin");
        assert!(before.iter().any(|line| line.contains("gave up what it does not need of the system")), "{before:#?}");
        for (name, no_new_rights, filtered) in threads(call.call.id()) {
            assert_eq!((no_new_rights.as_str(), filtered.as_str()), ("1", "2"), "{name}");
        }
        let said = call.end();
        assert!(said.starts_with("batch 1: ok ("), "{said}");
    }
    let call = Waiting::start(&["-", "-c", "g.toml", "--set", "start.confine=false"]);
    call.lines("loaded the plugin");
    assert!(threads(call.call.id()).iter().all(|(_, _, filtered)| filtered == "0"));
    call.end();
}

#[test]
fn check_and_inspect_give_it_up_as_well() {
    let echo = plugin("gristmill-echo");
    for arguments in [&["check", "g.toml"][..], &["inspect", &echo], &["inspect", &echo, "-c", "g.toml"]] {
        let with = |more: &[&str]| {
            let run = Run::new().file("g.toml", configuration("gristmill-echo", ""));
            run.with(&[arguments, &["--log-level", "info"], more].concat())
        };
        let words = "gave up what it does not need of the system";
        assert!(with(&[]).good().stderr.contains(words), "{arguments:?}");
        if arguments.contains(&"g.toml") {
            assert!(!with(&["--set", "start.confine=false"]).good().stderr.contains(words), "{arguments:?}");
        }
    }
}
