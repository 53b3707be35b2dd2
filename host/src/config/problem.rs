//! What is wrong with a configuration, where, and the way out: the error type of this folder.
//!
//! It never shows a secret: the lines it underlines come from a copy of the file in which secrets are blotted out.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::excerpt::{around, both_ends};

use super::file::ConfigFile;
use super::schema::Known;
use super::secret;
use super::tree::{Node, Origin, Value};

/// Everything that was found wrong; at least one problem.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ConfigError {
    /// The problems, in the order in which they were found.
    pub problems: Vec<Problem>,
}

impl From<Problem> for ConfigError {
    fn from(problem: Problem) -> Self {
        Self { problems: vec![problem] }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong and the way out, in one line.
    pub message: String,
    /// Where it was written, when that is one place.
    pub place: Option<Place>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = both_ends(&self.message);
        match &self.place {
            Some(place) => write!(f, "{place}: {message}"),
            None => f.write_str(&message),
        }
    }
}

/// A place where something was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the configuration file.
    File(Spot),
    /// In this environment variable.
    Environment(String),
    /// In this flag.
    Flag(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(spot) => write!(f, "{}:{}:{}", spot.path.display(), spot.line, spot.column),
            Self::Environment(name) => write!(f, "environment variable {name}"),
            Self::Flag(flag) => write!(f, "flag {flag}"),
        }
    }
}

/// A spot in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The file.
    pub path: PathBuf,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What stands in the line around the spot, with secrets blotted out, and the bytes of it to underline; absent when it
    /// cannot be shown.
    pub shown: Option<(String, Range<usize>)>,
}

/// The configuration file as text, for saying where something stands in it.
#[derive(Debug)]
pub(crate) struct Source {
    path: PathBuf,
    text: String,
    blotted: Option<String>,
}

impl Source {
    /// A file whose tree is not known yet: lines that may hold a secret are not shown.
    pub(crate) fn new(path: &Path, text: String) -> Self {
        Self { path: path.to_owned(), text, blotted: None }
    }

    /// The text as it was read.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Takes note of which bytes hold secrets, so that the other lines may be shown.
    pub(crate) fn blot(&mut self, root: &Node) {
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        self.text = String::from_utf8_lossy(&bytes).into_owned();
        let schema = schemars::schema_for!(ConfigFile);
        blot_node(&mut bytes, "", root, Some(Known::new(schema.as_value())));
        self.blotted = String::from_utf8(bytes).ok();
    }

    /// The place that an origin means.
    pub(crate) fn place(&self, origin: &Origin) -> Place {
        match origin {
            Origin::File(span) => Place::File(self.spot(span)),
            Origin::Environment(name) => Place::Environment(name.clone()),
            Origin::Flag(flag) => Place::Flag(flag.clone()),
        }
    }

    /// A problem at this origin.
    pub(crate) fn problem(&self, origin: &Origin, message: impl Into<String>) -> Problem {
        Problem { message: message.into(), place: Some(self.place(origin)) }
    }

    fn spot(&self, span: &Range<usize>) -> Spot {
        let start = floor(&self.text, span.start);
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |at| start + at);
        let end = floor(&self.text, span.end).clamp(start, line_end);
        let line = self.text[..start].matches('\n').count() + 1;
        let column = self.text[line_start..start].chars().count() + 1;
        let shown = match &self.blotted {
            Some(blotted) => Some(&blotted[line_start..line_end]),
            None if self.may_hold_secret(line_start, line_end) => None,
            None => Some(&self.text[line_start..line_end]),
        };
        let shown = shown.map(str::trim_end).map(|line| {
            let (from, to) = (start - line_start, end - line_start);
            around(line, from.min(line.len())..to.min(line.len()))
        });
        Spot { path: self.path.clone(), line, column, shown }
    }

    /// For a text that could not be read as a tree: could this line hold a secret?
    fn may_hold_secret(&self, start: usize, end: usize) -> bool {
        let section =
            self.text[..start].lines().rev().find(|line| line.trim_start().starts_with('[')).unwrap_or_default();
        let line = &self.text[start..end];
        let inside = ["plugin", "properties", "schema_registry"]
            .iter()
            .any(|word| section.contains(word) || line.contains(word));
        let notation_without_sections = !self.text.lines().any(|line| line.trim_start().starts_with('['));
        inside || notation_without_sections || line.contains(['@', '{']) || secret::sounds_secret(line)
    }
}

/// Replaces what stands at a secret's span by stars, byte for byte, so that all other spans stay right. Where there is no such key, a
/// text may be a secret whose key was mistyped.
fn blot_node(bytes: &mut [u8], path: &str, node: &Node, known: Option<Known<'_>>) {
    if known.is_none() && matches!(node.value, Value::Table(_) | Value::List(_) | Value::Text(_)) {
        return blot_all(bytes, node);
    }
    match &node.value {
        Value::Table(entries) => {
            for entry in entries {
                let known = known.and_then(|known| known.key(&entry.key));
                blot_node(bytes, &super::tree::join(path, &entry.key), &entry.node, known);
            }
        }
        Value::List(items) => {
            let known = known.and_then(Known::item);
            items.iter().for_each(|item| blot_node(bytes, path, item, known));
        }
        Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Float(_) | Value::Text(_) | Value::Loose(_) => {
            if secret::may_hold_secrets(path) || secret::is_more_than_an_address(path, &node.value) {
                blot_all(bytes, node);
            }
        }
    }
}

/// Replaces all single values in it by stars.
fn blot_all(bytes: &mut [u8], node: &Node) {
    match &node.value {
        Value::Table(entries) => entries.iter().for_each(|entry| blot_all(bytes, &entry.node)),
        Value::List(items) => items.iter().for_each(|item| blot_all(bytes, item)),
        Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Float(_) | Value::Text(_) | Value::Loose(_) => {
            let Origin::File(span) = &node.origin else { return };
            let span = span.start.min(bytes.len())..span.end.min(bytes.len());
            bytes[span].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b'*');
        }
    }
}

/// The last border between characters at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
