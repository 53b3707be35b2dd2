//! Reads the text of a configuration file into a tree, by the file's extension.
//!
//! It knows notations, not keys.

mod json;
mod toml;
mod yaml;

use std::ops::Range;
use std::path::Path;

use super::tree::Node;

/// A notation in which a configuration may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notation {
    /// TOML: `.toml`.
    Toml,
    /// JSON: `.json`.
    Json,
    /// YAML: `.yaml` and `.yml`.
    Yaml,
}

impl Notation {
    /// The notation that a file's extension promises; nothing when it promises none that is known.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "toml" => Some(Self::Toml),
            "json" => Some(Self::Json),
            "yaml" | "yml" => Some(Self::Yaml),
            _ => None,
        }
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Toml => "TOML",
            Self::Json => "JSON",
            Self::Yaml => "YAML",
        }
    }
}

/// A text that is not written in its notation.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    /// What is wrong.
    pub(crate) message: String,
    /// Where, in bytes.
    pub(crate) span: Range<usize>,
}

/// Reads `text`.
///
/// # Errors
/// The first place at which the text leaves its notation.
pub(crate) fn read(text: &str, notation: Notation) -> Result<Node, SyntaxError> {
    match notation {
        Notation::Toml => toml::read(text),
        Notation::Json => json::read(text),
        Notation::Yaml => yaml::read(text),
    }
}

/// The byte at which a line and a column (both from 1, the column in characters) begin.
fn byte_at(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let rest = text.get(start..).unwrap_or_default();
    start + rest.chars().take(column.saturating_sub(1)).map(char::len_utf8).sum::<usize>()
}
