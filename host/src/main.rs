//! The `gristmill` binary: arguments → run → exit code.
//!
//! It must not decide anything; commands live in the library's `cli`.

#![forbid(unsafe_code)]

use std::io::Write;
use std::panic::PanicHookInfo;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(end_on_panic));
    // Before there are threads. Another allocator than glibc's does as it likes.
    gristmill_kafka::keep_freed_memory();
    ExitCode::from(gristmill::cli::main())
}

/// How long the last words may take, with what was to be said before them. stderr may be a pipe that nobody reads, and whoever
/// waits there has its lock.
const WORDS_WAIT_MAX: Duration = Duration::from_secs(2);

/// Says what happened and ends the process: a host with a dead thread looks alive and is not. Only a panic that the guest edge
/// catches and answers for leaves its thread alive, and the process too.
fn end_on_panic(info: &PanicHookInfo<'_>) {
    let what = info.payload_as_str().unwrap_or("no message");
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("unnamed");
    let caught = gristmill_guest::catches_panics();
    let then = if caught { "what the guest did ends as a fault" } else { "nothing more is committed" };
    say(format!("gristmill: host bug at {place} in thread {name}: {what}; {then}; please report it"));
    if caught {
        return;
    }
    #[expect(clippy::exit, reason = "a panic is ours and final; the code is public")]
    std::process::exit(i32::from(gristmill::exit::PANIC));
}

/// Writes a line to stderr, or gives up: the process must end also when nobody reads it.
fn say(line: String) {
    let (said, heard) = mpsc::channel();
    let speaker = std::thread::Builder::new().spawn(move || {
        gristmill::stderr::finish();
        let _ = writeln!(std::io::stderr(), "{line}");
        let _ = said.send(());
    });
    if speaker.is_ok() {
        let _ = heard.recv_timeout(WORDS_WAIT_MAX);
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};
    use std::time::Instant;

    use super::*;

    /// Tells this binary, when a test starts it again, that it is the process that shall end.
    const DOOMED: &str = "GRISTMILL_TEST_DOOMED";

    /// Runs `doom` in a process of its own, which is the same test once more. `None`: this is that process, and it survived.
    fn doomed(test: &str, doom: impl FnOnce()) -> Option<Child> {
        if std::env::var_os(DOOMED).is_some() {
            std::panic::set_hook(Box::new(end_on_panic));
            doom();
            return None;
        }
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", &format!("tests::{test}"), "--nocapture"]).env(DOOMED, "yes");
        Some(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Lets a thread of this name panic, and waits for it.
    fn panic_in(name: &str) {
        let thread = std::thread::Builder::new().name(name.to_owned());
        let _ = thread.spawn(|| panic!("as the test wants")).unwrap().join();
    }

    #[test]
    fn a_panic_ends_the_process_whatever_its_thread_is_called() {
        let test = "a_panic_ends_the_process_whatever_its_thread_is_called";
        let Some(child) = doomed(test, || panic_in("guest-ticker")) else { return };
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(i32::from(gristmill::exit::PANIC)), "{text}");
        let wanted = "in thread guest-ticker: as the test wants; nothing more is committed; please report it";
        assert!(text.starts_with("gristmill: host bug at ") && text.contains(wanted), "{text}");
    }

    /// The log's pipe is full, a thread waits there with the lock of stderr, and the watchdog panics.
    #[test]
    fn a_panic_ends_the_process_also_when_stderr_is_taken() {
        let test = "a_panic_ends_the_process_also_when_stderr_is_taken";
        let stuck = || {
            let _taken = std::io::stderr().lock();
            panic_in("watchdog");
        };
        let Some(mut child) = doomed(test, stuck) else { return };
        let began = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if began.elapsed() > Duration::from_secs(30) {
                child.kill().unwrap();
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        assert_eq!(status.code(), Some(i32::from(gristmill::exit::PANIC)), "{:?}", began.elapsed());
    }
}
