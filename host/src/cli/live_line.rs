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

/// Columns that may be written without the line wrapping. Asked at each draw, since a window changes its size.
fn width() -> usize {
    /// What is assumed when nobody says.
    const USUAL: usize = 80;
    let of_terminal = || terminal_size::terminal_size_of(io::stderr()).map(|(width, _)| usize::from(width.0));
    let of_environment = || std::env::var("COLUMNS").ok()?.parse().ok();
    // The last column stays empty: a terminal that is written full may have gone to the next line.
    of_terminal().or_else(of_environment).unwrap_or(USUAL).saturating_sub(1)
}
