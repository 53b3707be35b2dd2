//! What does not fit when a tree is read into the configuration's types: a key, a word, a kind of value.
//!
//! Carries the path and the place of the misfit; the caller turns it into a `Problem`.

use std::fmt;

use serde::de;

use super::schema::Key;
use super::secret::{self, STARS};
use super::tree::{KeyPath, Node, Origin, Value};

/// A misfit, with its place as soon as the reader has passed by it.
#[derive(Debug)]
pub(crate) struct ShapeError {
    misfit: Misfit,
    /// Path and origin of the value or key, and the value as it may be shown.
    at: Option<Box<At>>,
}

#[derive(Debug)]
struct At {
    path: KeyPath,
    origin: Origin,
    shown: Option<String>,
}

#[derive(Debug)]
enum Misfit {
    UnknownKey { key: String, known: &'static [&'static str] },
    MissingKey(&'static str),
    UnknownWord { known: &'static [&'static str], written: String },
    WrongKind { wanted: String },
    Other(String),
}

impl ShapeError {
    /// A value of another kind than wanted.
    pub(crate) fn wrong_kind(wanted: impl Into<String>) -> Self {
        Self { misfit: Misfit::WrongKind { wanted: wanted.into() }, at: None }
    }

    /// Says that it happened at this value, unless a place deeper down is known.
    pub(crate) fn at(mut self, path: &KeyPath, node: &Node) -> Self {
        if self.at.is_none() {
            let shown = shown(&path.to_string(), node);
            self.at = Some(Box::new(At { path: path.clone(), origin: node.origin.clone(), shown }));
        }
        self
    }

    /// Says that it happened at this key of the table at `path`.
    pub(crate) fn at_key(mut self, path: &KeyPath, origin: &Origin) -> Self {
        if self.at.is_none() {
            self.at = Some(Box::new(At { path: path.clone(), origin: origin.clone(), shown: None }));
        }
        self
    }

    /// What does not fit, or is missing, and where that shows.
    pub(crate) fn subject(&self) -> Option<(KeyPath, Origin)> {
        let at = self.at.as_ref()?;
        let path = match &self.misfit {
            Misfit::UnknownKey { key, .. } => at.path.key(key),
            Misfit::MissingKey(key) => at.path.key(key),
            Misfit::UnknownWord { .. } | Misfit::WrongKind { .. } | Misfit::Other(_) => at.path.clone(),
        };
        Some((path, at.origin.clone()))
    }

    /// True when a key is missing that has to be there.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self.misfit, Misfit::MissingKey(_))
    }

    /// True when a table was wanted.
    pub(crate) fn wants_table(&self) -> bool {
        matches!(&self.misfit, Misfit::WrongKind { wanted } if plain(wanted) == TABLE)
    }

    /// The key that was probably meant by one that is not known.
    pub(crate) fn meant(&self) -> Option<KeyPath> {
        let (Misfit::UnknownKey { key, known }, Some(at)) = (&self.misfit, &self.at) else { return None };
        nearest(key, known.iter().copied()).map(|near| at.path.key(near))
    }

    /// What is wrong and the way out; `keys` are all keys that exist, for better advice.
    pub(crate) fn message(&self, keys: &[Key]) -> String {
        let path = &self.at.as_ref().map(|at| at.path.to_string()).unwrap_or_default();
        let shown = self.at.as_ref().and_then(|at| at.shown.as_deref());
        let value = shown.map_or_else(|| path.to_owned(), |shown| format!("{path} = {shown}"));
        match &self.misfit {
            Misfit::UnknownKey { key, known } => unknown_key(path, key, known, keys),
            Misfit::MissingKey(key) => missing_key(path, key, keys),
            Misfit::UnknownWord { known, written } => {
                let advice = nearest(written, known.iter().copied()).filter(|_| shown != Some(STARS));
                let advice = advice.map(|word| format!("; did you mean \"{word}\"?")).unwrap_or_default();
                format!("{value}: wanted {}{advice}", one_of(known))
            }
            Misfit::WrongKind { wanted } => {
                let notation = self.at.as_deref().filter(|_| self.wants_table()).and_then(table_notation);
                format!("{value}: wanted {}{}", plain(wanted), notation.unwrap_or_default())
            }
            Misfit::Other(text) => format!("{value}: {text}"),
        }
    }
}

/// How a table is given where it was tried in one flag or variable.
fn table_notation(At { path, origin, .. }: &At) -> Option<String> {
    if path.ends_in_item() {
        return Some(" for each item, as in [{ key = \"value\" }]".to_owned());
    }
    match origin {
        Origin::Flag(_) => Some(format!("; give each of its keys a flag of its own, such as --set {path}.KEY=VALUE")),
        Origin::Environment(name) => {
            Some(format!("; give each of its keys a variable of its own, such as {name}__KEY=VALUE"))
        }
        Origin::File(_) => None,
    }
}

/// The value as it may be shown in an error.
fn shown(path: &str, node: &Node) -> Option<String> {
    let scalar = match &node.value {
        Value::Table(_) | Value::List(_) => return Some(format!("({})", node.value.kind())),
        Value::Null => "null".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Text(text) | Value::Loose(text) => format!("{text:?}"),
    };
    let secret = node.is_hidden() || secret::may_hold_secrets(path);
    Some(if secret { STARS.to_owned() } else { scalar })
}

fn missing_key(path: &str, key: &str, keys: &[Key]) -> String {
    let full = super::tree::join(path, key);
    let meaning = keys.iter().find(|known| known.path == full).map(|known| known.meaning.as_str()).unwrap_or_default();
    let meaning = meaning.strip_suffix('.').unwrap_or(meaning);
    let meaning = if meaning.is_empty() { String::new() } else { format!(" ({meaning})") };
    if path.is_empty() {
        format!("the section [{key}] is missing{meaning}; add it")
    } else {
        format!("[{path}] lacks the key \"{key}\"{meaning}; add it")
    }
}

fn unknown_key(path: &str, key: &str, known: &[&str], keys: &[Key]) -> String {
    let place = if path.is_empty() { "at the top level".to_owned() } else { format!("in [{path}]") };
    if let Some(near) = nearest(key, known.iter().copied()) {
        return format!("unknown key \"{key}\" {place}; did you mean \"{near}\"?");
    }
    let elsewhere = keys.iter().map(|known| &known.path).find(|path| path.rsplit('.').next() == Some(key));
    match elsewhere {
        Some(other) => format!("unknown key \"{key}\" {place}; did you mean \"{other}\"?"),
        None => format!("unknown key \"{key}\" {place}; known are {}", list(known)),
    }
}

/// The known word that `written` most likely stands for.
pub(crate) fn nearest<'k>(written: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let written = written.to_lowercase().replace('-', "_");
    let length = written.chars().count();
    let allowed = (length / 3).max(1);
    // Lengths alone are a distance; the time and the memory that the rest takes grow with both.
    known
        .filter(|word| word.chars().count().abs_diff(length) <= allowed)
        .map(|word| (strsim::damerau_levenshtein(&written, word), word))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

fn list(words: &[&str]) -> String {
    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
}

fn one_of(words: &[&str]) -> String {
    match words {
        [only] => format!("\"{only}\""),
        _ => format!("one of {}", list(words)),
    }
}

/// What keys and values are called together.
const TABLE: &str = "a table";

/// Names of the machine's types, in words.
fn plain(wanted: &str) -> String {
    let number = |low: u64, high: u64| format!("a whole number from {low} to {high}");
    match wanted {
        "u32" => number(0, u32::MAX.into()),
        "a nonzero u32" => number(1, u32::MAX.into()),
        "u64" | "a nonzero u64" => number(u64::from(wanted != "u64"), u64::MAX),
        "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => TABLE.to_owned(),
        other if other.starts_with("struct ") => TABLE.to_owned(),
        other if other.starts_with("enum ") => "a word".to_owned(),
        other => other.to_owned(),
    }
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message(&[]))
    }
}

impl std::error::Error for ShapeError {}

impl de::Error for ShapeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { misfit: Misfit::Other(message.to_string()), at: None }
    }

    fn invalid_type(_: de::Unexpected<'_>, wanted: &dyn de::Expected) -> Self {
        Self::wrong_kind(wanted.to_string())
    }

    fn invalid_value(_: de::Unexpected<'_>, wanted: &dyn de::Expected) -> Self {
        Self::wrong_kind(wanted.to_string())
    }

    fn unknown_variant(word: &str, known: &'static [&'static str]) -> Self {
        Self { misfit: Misfit::UnknownWord { known, written: word.to_owned() }, at: None }
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        Self { misfit: Misfit::UnknownKey { key: key.to_owned(), known }, at: None }
    }

    fn missing_field(key: &'static str) -> Self {
        Self { misfit: Misfit::MissingKey(key), at: None }
    }
}
