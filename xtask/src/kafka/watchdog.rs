//! Makes sure that no broker outlives the process that started it, however that process ends.
//!
//! It must not know what it guards: a process and a folder.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

/// A small shell that waits for us to die. Its standard input is a pipe whose other end only we hold: when we are
/// gone, for whatever reason, reading it ends, and the shell kills the process and removes the folder. A `Drop` alone
/// is not enough: statics are never dropped, and a killed process drops nothing.
#[derive(Debug)]
pub(super) struct Watchdog(Child);

impl Watchdog {
    /// Guards a process, and a folder where one is given.
    pub(super) fn over(process: u32, folder: Option<&Path>) -> Result<Self> {
        let script = "trap '' INT TERM HUP; read -r _; kill -KILL \"$1\" 2>/dev/null; [ -z \"$2\" ] || rm -rf \"$2\"";
        let child = Command::new("sh")
            .args(["-c", script, "watchdog", &process.to_string()])
            .arg(folder.unwrap_or(Path::new("")))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the watchdog of a broker")?;
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
