//! What of a server's log is shown in an error.
//!
//! It must not know which server.

/// How many lines are shown.
const LINES: usize = 30;

/// The last lines of a log.
pub(crate) fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}
