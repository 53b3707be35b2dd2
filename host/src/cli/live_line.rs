//! The terminal's last line, redrawn in place. Log lines written meanwhile go above it.

use std::io;

use super::live::{self, Snapshot};
use crate::stderr;

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
        stderr::show_live(live::render(snapshot, width()));
    }

    /// Takes it away.
    pub(crate) fn clear(&mut self) {
        stderr::show_live(String::new());
    }
}

/// Columns that may be written without the line wrapping.
fn width() -> usize {
    /// What is assumed when the terminal does not say.
    const USUAL: usize = 80;
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    columns.unwrap_or(USUAL).max(20) - 1
}
