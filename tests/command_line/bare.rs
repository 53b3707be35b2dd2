//! A process that is given little: no open streams, no home, a folder that cannot be written to.

use std::path::Path;
use std::process::{Command, Stdio};

use gristmill_tests::TemporaryFolder;

use crate::process::{binary, configuration, forget_own_variables, plugin};

const RECORD: &str = "{\"key\":\"a\"}\n";

/// A folder with a configuration and a record in it.
fn folder() -> (TemporaryFolder, String) {
    let folder = TemporaryFolder::new();
    let text = configuration("gristmill-echo", "[start]\nwait = \"200ms\"\n");
    std::fs::write(folder.path().join("g.toml"), &text).unwrap();
    std::fs::write(folder.path().join("r.jsonl"), RECORD).unwrap();
    (folder, text)
}

/// The commands that are cheap, with how they end.
fn commands() -> [(String, i32); 6] {
    let call = |records: &str| format!("call {} {records}", plugin("gristmill-echo"));
    [
        ("run --help".to_owned(), 0),
        ("check g.toml".to_owned(), 0),
        ("check nowhere.toml".to_owned(), 78),
        (call("r.jsonl"), 0),
        (call("g.toml"), 78),
        ("run g.toml".to_owned(), 69),
    ]
}

/// The exit code of a command with no home and silent streams.
fn code(command: &mut Command, folder: &Path) -> Option<i32> {
    forget_own_variables(command);
    command.current_dir(folder).env_remove("HOME").env_remove("TMPDIR");
    command.env("XDG_RUNTIME_DIR", "/nowhere");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().code()
}

/// What is opened first would get the number of a stream that is closed, and be written to in its place.
#[test]
fn closed_streams_are_no_panic_and_nothing_is_written_elsewhere() {
    let (folder, text) = folder();
    let before = std::fs::read_dir(folder.path()).unwrap().count();
    let all_closed = commands().map(|(command, wanted)| (format!("{command} <&- >&- 2>&-"), wanted));
    let one_closed = ["<&-", ">&-", "2>&-"].map(|closed| (format!("check g.toml {closed}"), 0));
    for (command, wanted) in all_closed.into_iter().chain(one_closed) {
        let line = format!("exec {} {command}", binary().display());
        assert_eq!(code(Command::new("sh").args(["-c", &line]), folder.path()), Some(wanted), "{line}");
    }
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!((read("g.toml"), read("r.jsonl")), (text, RECORD.to_owned()));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), before, "a file was left behind");
}

/// Nobody can make a file in there, not even root.
#[test]
#[cfg(target_os = "linux")]
fn a_folder_that_cannot_be_written_to_is_no_hindrance() {
    let (folder, _) = folder();
    for (command, wanted) in commands() {
        let full = |word: &str| match word {
            "g.toml" | "r.jsonl" => folder.path().join(word).display().to_string(),
            other => other.to_owned(),
        };
        let words: Vec<String> = command.split(' ').map(full).collect();
        assert_eq!(code(Command::new(binary()).args(&words), Path::new("/proc")), Some(wanted), "{words:?}");
    }
}
