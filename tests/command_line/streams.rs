//! stdout and stderr that cannot be written: a full disk, a pipe without a reader, a pipe that nobody reads.
//!
//! A command ends as it would have ended; a running host goes on handing over and stops when it is asked to.

use std::fs::File;
use std::io::{PipeReader, Seek as _, SeekFrom, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gristmill_kafka::{MockCluster, MockRecord};
use gristmill_tests::TemporaryFolder;

use crate::process::{binary, configuration, forget_own_variables, plugin};

/// Longer than anything here takes, and less than the 30 s after which the watchdog would end a host whose loop stands still.
const SOON: Duration = Duration::from_secs(20);

/// How large a file may become that the host writes, in blocks of 512 bytes: 32 MiB, since wasmtime keeps a plugin's memory in
/// one.
const FILE_BLOCKS_MAX: u64 = 64 << 10;

/// As if the disk were full.
fn full_disk() -> Stdio {
    File::options().write(true).open("/dev/full").unwrap().into()
}

/// A pipe whose reader went away.
fn closed_pipe() -> Stdio {
    std::io::pipe().unwrap().1.into()
}

/// A pipe that is full, and a reader that does not read.
fn full_pipe() -> (Stdio, PipeReader) {
    let (reader, writer) = std::io::pipe().unwrap();
    let mut filler = writer.try_clone().unwrap();
    // It fills whatever room there is until the reader is dropped.
    std::thread::spawn(move || while filler.write_all(b"x").is_ok() {});
    (writer.into(), reader)
}

#[track_caller]
fn wait_for_code(child: &mut Child) -> i32 {
    let deadline = Instant::now() + SOON;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code().unwrap_or(-1);
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("it did not end within {SOON:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs a command to its end with these streams.
#[track_caller]
fn code_of(arguments: &[&str], stdout: Stdio, stderr: Stdio) -> i32 {
    let folder = TemporaryFolder::new();
    folder.write("r.jsonl", "{\"key\":\"a\"}\n{\"key\":\"b\"}\n");
    let mut command = Command::new(binary());
    forget_own_variables(&mut command);
    command.args(arguments).current_dir(folder.path()).stdin(Stdio::null()).stdout(stdout).stderr(stderr);
    wait_for_code(&mut command.spawn().unwrap())
}

/// A host whose plugin prints with every batch keeps committing, and stops when it is asked to.
#[track_caller]
fn runs_and_stops(stderr: Stdio) {
    let cluster = MockCluster::start(1).unwrap();
    cluster.create_topic("orders", 1).unwrap();
    let folder = TemporaryFolder::new();
    let text = configuration("gristmill-count", "").replace("127.0.0.1:1", &cluster.bootstrap_servers());
    let text = format!("{text}[batch]\nmax_wait = \"10ms\"\n");
    let path = folder.write("g.toml", &text);
    // No file that it writes may become larger than this many blocks of 512 bytes.
    let mut command = Command::new("sh");
    forget_own_variables(&mut command);
    command.args(["-c", &format!("ulimit -f {FILE_BLOCKS_MAX} && exec \"$0\" run \"$1\"")]).arg(binary()).arg(path);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
    let mut child = command.spawn().unwrap();
    let deadline = Instant::now() + SOON;
    for next in 1..=3 {
        cluster.produce("orders", MockRecord { key: Some(b"a"), ..MockRecord::default() }).unwrap();
        cluster.flush().unwrap();
        let committed =
            || cluster.committed("orders-to-nowhere", "orders", 0).unwrap().is_some_and(|known| known.offset == next);
        while !committed() {
            if let Some(status) = child.try_wait().unwrap() {
                panic!("it ended before offset {next} was committed: {status}");
            }
            if Instant::now() > deadline {
                child.kill().unwrap();
                panic!("offset {next} was not committed within {SOON:?}");
            }
        }
    }
    let asked = Command::new("kill").args(["-s", "TERM", &child.id().to_string()]).status().unwrap();
    assert!(asked.success());
    assert_eq!(wait_for_code(&mut child), 0);
}

/// The system's default for whoever goes on writing is to be killed.
#[test]
fn a_host_whose_log_may_not_grow_runs_and_stops_as_any_other() {
    let folder = TemporaryFolder::new();
    let mut log = File::create(folder.path().join("log")).unwrap();
    log.set_len(FILE_BLOCKS_MAX * 512).unwrap();
    log.seek(SeekFrom::End(0)).unwrap();
    runs_and_stops(log.into());
}

#[test]
fn a_host_whose_log_is_on_a_full_disk_runs_and_stops_as_any_other() {
    runs_and_stops(full_disk());
}

#[test]
fn a_host_whose_logs_reader_went_away_runs_and_stops_as_any_other() {
    runs_and_stops(closed_pipe());
}

#[test]
fn a_host_whose_log_nobody_reads_runs_and_stops_as_any_other() {
    let (stderr, _reader) = full_pipe();
    runs_and_stops(stderr);
}

#[test]
fn a_command_whose_logs_and_last_line_cannot_be_written_ends_with_its_own_code() {
    let (count, mischief) = (plugin("gristmill-count"), plugin("gristmill-mischief"));
    for stderr in [full_disk, closed_pipe] {
        assert_eq!(code_of(&["call", &count, "r.jsonl"], Stdio::null(), stderr()), 0);
        assert_eq!(code_of(&["call", &mischief, "r.jsonl"], Stdio::null(), stderr()), 65);
        assert_eq!(code_of(&["check", "nowhere.toml"], Stdio::null(), stderr()), 78);
        assert_eq!(code_of(&["no-such-command"], Stdio::null(), stderr()), 2);
    }
}

#[test]
fn a_result_that_cannot_be_written_is_an_error_unless_its_reader_went_away() {
    let count = plugin("gristmill-count");
    let commands: [&[&str]; 4] = [
        &["call", &count, "r.jsonl", "--batch", "1"],
        &["inspect", &count],
        &["schema", "config"],
        &["completions", "bash"],
    ];
    for arguments in commands {
        assert_eq!(code_of(arguments, closed_pipe(), Stdio::null()), 0, "{arguments:?}");
        assert_eq!(code_of(arguments, full_disk(), Stdio::null()), 1, "{arguments:?}");
    }
}
