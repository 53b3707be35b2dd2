//! The configuration as a tree of values, each of which remembers where it was written.
//!
//! It does not know what any key means; it is the common ground of TOML, JSON, YAML, the environment and flags.

use std::fmt;
use std::ops::Range;

/// Where a value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// In the file, at these bytes.
    File(Range<usize>),
    /// In this environment variable.
    Environment(String),
    /// In a flag, shown without its value.
    Flag(String),
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// JSON's and YAML's null.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Integer(i128),
    /// A number with a fraction.
    Float(f64),
    /// Text written as text.
    Text(String),
    /// Text from a flag or a variable: whoever reads it decides whether it is a number, a word or a list.
    Loose(String),
    /// A list.
    List(Vec<Node>),
    /// Keys and values.
    Table(Vec<Entry>),
}

impl Value {
    /// The kind of value, for people.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "true or false",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number with a fraction",
            Self::Text(_) | Self::Loose(_) => "a string",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    /// The value.
    pub(crate) value: Value,
    /// Where it was written.
    pub(crate) origin: Origin,
    /// What was read from files with `${file:…}` and became part of it: such a value is not printed.
    pub(crate) hidden: Vec<String>,
}

impl Node {
    /// A value that may be printed.
    pub(crate) fn new(value: Value, origin: Origin) -> Self {
        Self { value, origin, hidden: Vec::new() }
    }

    /// True when part of it was read from a file. What is in a list or a table hides for itself.
    pub(crate) fn is_hidden(&self) -> bool {
        !self.hidden.is_empty()
    }

    /// The same with all that is in it, written at this place.
    pub(crate) fn written_at(mut self, origin: &Origin) -> Self {
        let at = |node: Self| node.written_at(origin);
        self.value = match self.value {
            Value::List(items) => Value::List(items.into_iter().map(at).collect()),
            Value::Table(entries) => Value::Table(
                entries
                    .into_iter()
                    .map(|Entry { key, node, .. }| Entry { key, key_origin: origin.clone(), node: at(node) })
                    .collect(),
            ),
            scalar => scalar,
        };
        self.origin = origin.clone();
        self
    }

    /// The node at the end of `path`, where each step is one key.
    pub(crate) fn find(&self, path: &[&str]) -> Option<&Self> {
        let Some((first, rest)) = path.split_first() else { return Some(self) };
        let Value::Table(entries) = &self.value else { return None };
        entries.iter().find(|entry| entry.key == *first)?.node.find(rest)
    }

    /// Takes the node at the end of `path` out. False when there is none.
    pub(crate) fn take(&mut self, path: &KeyPath) -> bool {
        let Some((last, parents)) = path.0.split_last() else { return false };
        let parent = parents.iter().try_fold(self, |node, step| match (&mut node.value, step) {
            (Value::Table(entries), Step::Key(key)) => {
                entries.iter_mut().find(|entry| entry.key == *key).map(|entry| &mut entry.node)
            }
            (Value::List(items), Step::Item(item)) => items.get_mut(*item),
            _ => None,
        });
        match (parent.map(|node| &mut node.value), last) {
            (Some(Value::Table(entries)), Step::Key(key)) => {
                let before = entries.len();
                entries.retain(|entry| entry.key != *key);
                entries.len() < before
            }
            (Some(Value::List(items)), Step::Item(item)) if *item < items.len() => {
                items.remove(*item);
                true
            }
            _ => false,
        }
    }

    /// Puts `node` at the end of `path`, over whatever was there. What stands in the way of the path is replaced.
    pub(crate) fn place(&mut self, path: &[String], node: Self) {
        let Some((first, rest)) = path.split_first() else {
            *self = node;
            return;
        };
        if !matches!(self.value, Value::Table(_)) {
            self.value = Value::Table(Vec::new());
        }
        let Value::Table(entries) = &mut self.value else { return };
        if let Some(entry) = entries.iter_mut().find(|entry| entry.key == *first) {
            entry.node.place(rest, node);
            return;
        }
        let origin = node.origin.clone();
        let mut child = Self::new(Value::Table(Vec::new()), origin.clone());
        child.place(rest, node);
        entries.push(Entry { key: first.clone(), key_origin: origin, node: child });
    }
}

/// The way from the root to a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyPath(Vec<Step>);

/// One step of a way.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Item(usize),
}

impl KeyPath {
    /// The way to a key.
    pub(crate) fn of(keys: &[&str]) -> Self {
        Self(keys.iter().map(|key| Step::Key((*key).to_owned())).collect())
    }

    /// One key further.
    pub(crate) fn key(&self, key: &str) -> Self {
        self.with(Step::Key(key.to_owned()))
    }

    /// One item of a list further.
    pub(crate) fn item(&self, item: usize) -> Self {
        self.with(Step::Item(item))
    }

    fn with(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// One step back.
    pub(crate) fn parent(&self) -> Self {
        let parents = self.0.split_last().map(|(_, parents)| parents);
        Self(parents.unwrap_or_default().to_vec())
    }

    /// True when it leads to an item of a list.
    pub(crate) fn ends_in_item(&self) -> bool {
        matches!(self.0.last(), Some(Step::Item(_)))
    }

    /// The keys on it.
    pub(crate) fn keys(&self) -> Vec<&str> {
        let steps = self.0.iter();
        let keys = steps.filter_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Item(_) => None,
        });
        keys.collect()
    }

    /// The keys on it, for keeping.
    pub(crate) fn owned_keys(&self) -> Vec<String> {
        self.keys().into_iter().map(str::to_owned).collect()
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.keys().into_iter().fold(String::new(), |path, key| join(&path, key)))
    }
}

/// One key of a table with its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    /// The key.
    pub(crate) key: String,
    /// Where the key was written.
    pub(crate) key_origin: Origin,
    /// Its value.
    pub(crate) node: Node,
}

/// Writes a path as people write it: `kafka.properties."sasl.password"`.
pub(crate) fn join(path: &str, key: &str) -> String {
    let plain = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let key = if plain { key.to_owned() } else { format!("\"{key}\"") };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}
