//! Makes sure that no server outlives the process that started it, however that process ends.
//!
//! It must not know what it guards: a process and a folder.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

/// A small shell that waits for us to die. Its standard input is a pipe whose other end only we hold: when we are
/// gone, for whatever reason, reading it ends, and the shell kills the process and removes the folder. A `Drop` alone
/// is not enough: statics are never dropped, and a killed process drops nothing.
#[derive(Debug)]
pub(crate) struct Watchdog(Child);

impl Watchdog {
    /// Guards a process, and a folder where one is given.
    pub(crate) fn over(process: u32, folder: Option<&Path>) -> Result<Self> {
        // Removed until it is gone: the process may still be writing while it dies.
        let script = "trap '' INT TERM HUP; read -r _; kill -KILL \"$1\" 2>/dev/null; [ -n \"$2\" ] || exit 0; \
                      for _ in 1 2 3 4 5; do rm -rf \"$2\"; [ -e \"$2\" ] || exit 0; sleep 1; done";
        let child = Command::new("sh")
            .args(["-c", script, "watchdog", &process.to_string()])
            .arg(folder.unwrap_or(Path::new("")))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the watchdog of a server")?;
        Ok(Self(child))
    }
}

impl Drop for Watchdog {
    /// Calls the watchdog off: whoever drops it has ended, or lets go of, the process in an orderly way.
    fn drop(&mut self) {
        // Killed before its pipe closes, so that it cannot act on a process number that is already somebody else's.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_process_and_its_folder_go_when_we_go() {
        let folder = std::env::temp_dir().join(format!("gristmill-watchdog-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut guarded = Command::new("sleep").arg("600").spawn().unwrap();
        let mut watchdog = Watchdog::over(guarded.id(), Some(&folder)).unwrap();
        // What happens to the pipe when we die.
        drop(watchdog.0.stdin.take());
        assert_eq!(guarded.wait().unwrap().code(), None, "it was not ended by a signal");
        let deadline = Instant::now() + Duration::from_secs(20);
        while folder.exists() {
            assert!(Instant::now() < deadline, "the folder is still there");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_watchdog_that_is_called_off_does_nothing() {
        let mut guarded = Command::new("sleep").arg("600").spawn().unwrap();
        drop(Watchdog::over(guarded.id(), None).unwrap());
        assert!(guarded.try_wait().unwrap().is_none());
        guarded.kill().unwrap();
        guarded.wait().unwrap();
    }
}
