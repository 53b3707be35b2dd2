//! A guest's own words and names, cut to what one line of a log can hold.
//!
//! Knows nothing of faults, nor what the words mean.

use crate::stdio::escape;

/// What Rust says of where a panic began; the message follows.
const PANICKED: &str = "panicked at ";

/// A line that Rust adds to every panic. There is no such variable in a plugin's environment.
const BACKTRACE_NOTE: &str = "note: run with `RUST_BACKTRACE";

/// How many of the last lines are kept where nothing panicked.
const LINES_MAX: usize = 3;

/// How much of the last words is kept.
const LAST_WORDS_CHARS_MAX: usize = 300;

/// The beginning of a text, with a mark where more followed.
#[must_use]
pub fn shortened(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// What a guest said last, from the end of what it wrote to standard error: its panic if there was one, else its last lines.
/// On one line, safe to show.
pub(crate) fn last_words(tail: &[u8]) -> String {
    let text = String::from_utf8_lossy(tail);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(BACKTRACE_NOTE));
    let lines: Vec<&str> = lines.collect();
    let panic = lines.iter().rposition(|line| line.contains(PANICKED));
    let first = panic.unwrap_or_else(|| lines.len().saturating_sub(LINES_MAX));
    let words = lines[first..].join(" ");
    let begins_at = words.find(PANICKED).filter(|_| panic.is_some()).unwrap_or(0);
    shortened(&escape(&words.as_bytes()[begins_at..]), LAST_WORDS_CHARS_MAX)
}

/// True when these last words say where a panic began, and why.
pub(crate) fn tell_a_panic(words: &str) -> bool {
    words.starts_with(PANICKED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_without_what_surrounds_it() {
        let tail = b"counted 5\n\nthread '<unnamed>' (1) panicked at src/lib.rs:31:20:\nno rate for XAU\n  left: 1\n\
                     note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
        assert_eq!(last_words(tail), "panicked at src/lib.rs:31:20: no rate for XAU left: 1");
        assert!(tell_a_panic(&last_words(tail)));
    }

    #[test]
    fn without_a_panic_the_last_lines_are_told() {
        assert_eq!(last_words(b"one\ntwo\r\n\nthree\nfour\n"), "two three four");
        assert_eq!(last_words(b" \n"), "");
    }

    #[test]
    fn last_words_are_escaped_once_and_bounded() {
        assert_eq!(last_words(b"\x1b[2Ja\rb"), r"\u{1b}[2Ja\rb");
        assert_eq!(last_words("é".repeat(9_000).as_bytes()), format!("{}…", "é".repeat(300)));
    }

    #[test]
    fn a_cut_falls_between_characters_and_leaves_a_mark() {
        assert_eq!((shortened("äöü", 3), shortened("äöü", 2)), ("äöü".to_owned(), "äö…".to_owned()));
    }
}
