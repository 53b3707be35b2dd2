//! What the host's source says about itself: constants, words of states, log lines. Read as text, since it is private.

use std::path::Path;

use super::markdown::root;

/// A log line in the source.
#[derive(Debug)]
pub(super) struct LogLine {
    pub(super) level: String,
    /// The text with its placeholders emptied; empty when all of it is somebody else's words.
    pub(super) text: String,
    /// The names of its fields, sorted.
    pub(super) fields: Vec<String>,
}

/// A file of the repository.
pub(super) fn file(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All log lines of these folders that are shown unless somebody asks for more, but for the demo's own.
pub(super) fn log_lines(folders: &[&str]) -> Vec<LogLine> {
    let mut lines = Vec::new();
    for folder in folders {
        visit(&root().join(folder), &mut |text| {
            for level in ["info", "warn", "error"] {
                let call = format!("{level}!(");
                let calls = text.match_indices(&call).filter(|(at, _)| !continues_a_word(text, *at));
                lines.extend(calls.map(|(at, found)| log_line(level, &text[at + found.len()..])));
            }
        });
    }
    lines
}

fn visit(folder: &Path, seen: &mut impl FnMut(&str)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            visit(&path, seen);
        } else if path.file_stem().is_some_and(|stem| stem != "demo") {
            seen(&std::fs::read_to_string(&path).unwrap());
        }
    }
}

fn continues_a_word(text: &str, at: usize) -> bool {
    text[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_')
}

/// Reads the arguments of a macro call, of which `rest` holds everything behind the opening parenthesis.
fn log_line(level: &str, rest: &str) -> LogLine {
    let mut text = String::new();
    let mut fields = Vec::new();
    for argument in arguments(rest) {
        if let Some(quoted) = argument.strip_prefix('"') {
            text = without_placeholders(quoted.trim_end_matches('"'));
            break;
        }
        if argument.starts_with("target:") {
            continue;
        }
        let name = argument.split('=').next().unwrap_or_default();
        fields.push(name.trim().trim_start_matches(['%', '?']).to_owned());
    }
    fields.sort();
    LogLine { level: level.to_owned(), text, fields }
}

/// The arguments up to the closing parenthesis.
fn arguments(rest: &str) -> Vec<String> {
    let (mut arguments, mut argument) = (Vec::new(), String::new());
    let (mut depth, mut quoted) = (0, false);
    let mut chars = rest.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' if quoted => {
                argument.push(c);
                argument.extend(chars.next());
                continue;
            }
            '"' => quoted = !quoted,
            '(' | '[' | '{' if !quoted => depth += 1,
            ')' if !quoted && depth == 0 => break,
            ')' | ']' | '}' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                arguments.push(std::mem::take(&mut argument).trim().to_owned());
                continue;
            }
            _ => {}
        }
        argument.push(c);
    }
    arguments.push(argument.trim().to_owned());
    arguments.retain(|argument| !argument.is_empty());
    arguments
}

/// `{}` stays, since it is ours; a text that is nothing but a named one is somebody else's.
fn without_placeholders(text: &str) -> String {
    if text.starts_with('{') { String::new() } else { text.to_owned() }
}

#[test]
fn a_log_line_is_read_from_its_source() {
    let text = "%topic, at = f(a, \"x)\"), \"gone, {} s\", 3) and more";
    let line = log_line("warn", text);
    assert_eq!((line.text.as_str(), line.fields), ("gone, {} s", vec!["at".to_owned(), "topic".to_owned()]));
    assert_eq!(log_line("info", "target: \"t\", \"{text}\")").text, "");
}
