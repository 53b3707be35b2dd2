//! The terminal's last line, redrawn in place. Log lines written meanwhile go above it.
//!
//! One lock guards both: a log line first takes the live line away, then writes itself, then draws it again.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use super::live::{self, Snapshot};

/// The text that stands on the last line now; empty when there is none.
static SHOWN: Mutex<String> = Mutex::new(String::new());

/// Goes to the start of the line and clears it.
const CLEAR: &str = "\r\u{1b}[2K";

/// The live line on stderr.
#[derive(Debug)]
pub(crate) struct LiveLine(());

impl LiveLine {
    /// The live line, when stderr is a terminal that can be redrawn.
    pub(crate) fn on_terminal() -> Option<Self> {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        (!dumb && io::IsTerminal::is_terminal(&io::stderr())).then_some(Self(()))
    }

    /// Draws it anew.
    pub(crate) fn draw(&mut self, snapshot: &Snapshot) {
        let text = live::render(snapshot, width());
        let mut shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = write!(io::stderr().lock(), "{CLEAR}{text}");
        *shown = text;
    }

    /// Takes it away.
    pub(crate) fn clear(&mut self) {
        let mut shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if !shown.is_empty() {
            let _ = write!(io::stderr().lock(), "{CLEAR}");
            shown.clear();
        }
    }
}

/// Columns that may be written without the line wrapping.
fn width() -> usize {
    /// What is assumed when the terminal does not say.
    const USUAL: usize = 80;
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    columns.unwrap_or(USUAL).max(20) - 1
}

/// Where logs are written: stderr, above the live line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AboveLiveLine;

impl Write for AboveLiveLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stderr = io::stderr().lock();
        if shown.is_empty() {
            stderr.write_all(bytes)?;
        } else {
            stderr.write_all(&[CLEAR.as_bytes(), bytes, shown.as_bytes()].concat())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
