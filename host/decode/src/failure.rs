//! Why bytes were not decoded: their own fault, or that of somebody who was not there.
//!
//! It does not know formats.

use std::error::Error;
use std::fmt::{self, Write as _};
use std::time::Duration;

/// How long a reason is at most; beyond it, it is cut and ends with `…`.
pub const REASON_BYTES_MAX: usize = 1024;

/// How many bytes of an answer a reason may show.
const EXCERPT_BYTES_MAX: usize = 32;

/// Why a record was not decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The bytes are not what the format says. They will not be at the next attempt either.
    #[error("{0}")]
    Undecodable(Reason),
    /// The schema could not be had. It says nothing about the record, which has to wait.
    #[error("{reason}; asked again in {} ms", again_in.as_millis())]
    Unavailable {
        /// What the registry did instead.
        reason: Reason,
        /// Before this time has passed nobody is asked: an earlier attempt gets this answer again, and at once.
        again_in: Duration,
    },
}

impl Failure {
    /// A record at fault.
    pub(crate) fn undecodable(reason: impl fmt::Display) -> Self {
        Self::Undecodable(Reason::new(reason))
    }
}

/// A line for people: at most [`REASON_BYTES_MAX`] bytes, without control characters, and with nothing of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason(String);

impl Reason {
    /// Takes a text in, as far as there is room for it.
    pub(crate) fn new(text: impl fmt::Display) -> Self {
        let mut line = Line { text: String::new(), bytes_max: REASON_BYTES_MAX - '…'.len_utf8() };
        // What breaks off is an error of our own: that the line is full.
        if write!(line, "{text}").is_err() {
            line.text.push('…');
        }
        Self(line.text)
    }

    /// The line.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that takes so many bytes and no more.
struct Line {
    text: String,
    bytes_max: usize,
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            let shown = if c.is_control() { ' ' } else { c };
            if self.text.len() + shown.len_utf8() > self.bytes_max {
                return Err(fmt::Error);
            }
            self.text.push(shown);
        }
        Ok(())
    }
}

/// The first bytes of an answer, escaped. Nothing of a record is shown: reasons are logged.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    match bytes.split_at_checked(EXCERPT_BYTES_MAX) {
        Some((shown, rest)) if !rest.is_empty() => format!("\"{}\"…", shown.escape_ascii()),
        _ => format!("\"{}\"", bytes.escape_ascii()),
    }
}

/// The first characters of a name that somebody else chose. What does not print is escaped.
pub(crate) fn short(name: &str, chars_max: usize) -> String {
    let cut = name.char_indices().nth(chars_max).map(|(end, _)| end);
    let mark = if cut.is_some() { "…" } else { "" };
    let mut shown = String::new();
    for c in name[..cut.unwrap_or(name.len())].chars() {
        match c {
            '"' | '\'' | '\\' => shown.push(c),
            _ => shown.extend(c.escape_debug()),
        }
    }
    shown + mark
}

/// An error with its causes, where it does not name them itself.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let words = inner.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_line_of_bounded_length() {
        let reason = Reason::new(format_args!("a\nb\u{0}{}", "é".repeat(10_000)));
        assert!(reason.as_str().starts_with("a b é"), "{reason}");
        assert!(reason.as_str().ends_with('…') && reason.as_str().len() <= REASON_BYTES_MAX);
        assert!(reason.as_str().len() > REASON_BYTES_MAX - 4);
        assert_eq!(Reason::new("short").as_str(), "short");
    }

    #[test]
    fn an_excerpt_is_short_and_escaped() {
        assert_eq!(excerpt(b"a\n\xff"), "\"a\\n\\xff\"");
        assert_eq!(excerpt(&[b'x'; 33]), format!("\"{}\"…", "x".repeat(32)));
        assert_eq!(excerpt(&[b'x'; 32]), format!("\"{}\"", "x".repeat(32)));
        assert_eq!(short("a\u{1b}ééé", 3), "a\\u{1b}é…");
        assert_eq!(short("\"name\" is it's \\d", 99), "\"name\" is it's \\d");
    }
}
