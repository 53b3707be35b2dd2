//! What is secret in a configuration, and a type for it that never prints.

use std::fmt;

use gristmill_kafka::properties::{self, Standing, standing};
use serde::{Serialize, Serializer};

use super::tree::{Node, Value, join};

/// Stands for a secret wherever one would be printed.
pub(crate) const STARS: &str = "***";

/// A text that never prints: neither in logs, nor in errors, nor in `check --origin`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a text in.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text itself, for the one place that needs it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(STARS)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(STARS)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(STARS)
    }
}

/// The keys of the schema registry that say nothing secret.
const REGISTRY_KEYS: [&str; 4] = ["url", "user", "ca_file", "timeout"];

/// True for the path of a value that may be a secret: every setting and secret of the plugin, headers that the host adds to its requests,
/// who we are to the schema registry, and Kafka
/// properties that sound like it. Where there is no such key it may be one whose name was mistyped.
pub(crate) fn is_secret_path(path: &str) -> bool {
    if path.starts_with("plugin.settings.") {
        return true;
    }
    if let Some(key) = path.strip_prefix("plugin.secrets.") {
        return !key.ends_with(".expose");
    }
    if let Some(key) = path.strip_prefix("plugin.grants.http") {
        return !(key.is_empty() || key.ends_with(']') || key.ends_with(".url"));
    }
    if let Some(key) = path.strip_prefix("schema_registry.") {
        return !REGISTRY_KEYS.contains(&key);
    }
    let property = path.strip_prefix("kafka.properties.").or_else(|| path.strip_prefix("producer.properties."));
    // A name with dots stands in quotes.
    let is_mistyped = |name: &str| standing(name.trim_matches('"')) == Standing::Unknown { for_producers: false };
    property.is_some_and(|name| properties::is_secret(name) || is_mistyped(name))
}

/// Tables and lists that hold secrets. Where one is written as a text, by a variable or a flag for example, the text holds them too.
const HOLDERS: [&str; 6] =
    ["plugin", "plugin.settings", "plugin.secrets", "plugin.grants", "plugin.grants.http", "schema_registry"];

/// True for a single value at this path that may hold a secret, whatever should stand there.
pub(crate) fn may_hold_secrets(path: &str) -> bool {
    HOLDERS.contains(&path) || is_secret_path(path)
}

/// True for an address with more than scheme, host and port: it is refused, and what stands before or behind them may be a password or a
/// token.
pub(crate) fn is_more_than_an_address(path: &str, value: &Value) -> bool {
    let Value::Text(text) = value else { return false };
    let behind_scheme = || text.split_once("://").map_or(text.as_str(), |(_, behind)| behind);
    match path {
        "kafka.bootstrap_servers" => text.contains('@'),
        "schema_registry.url" => text.contains(['@', '?', '#']),
        "plugin.grants.tcp" => text.contains(['@', '/', '?', '#', '\\', '=']),
        _ => path.starts_with("plugin.grants.http") && behind_scheme().contains(['@', '/', '?', '#', '\\', '=']),
    }
}

/// True when the words of `text` say that a secret is meant.
pub(crate) fn sounds_secret(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    properties::is_secret(&text)
        || ["passwd", "token", "credential", "authorization", "headers"].iter().any(|word| text.contains(word))
}

/// A message about what stands at `path`, without what that hides. Where stars are not enough, since the message has it in another
/// form, it is told without its reason.
pub(crate) fn told(message: &str, path: &[&str], node: &Node) -> String {
    let path = path.iter().fold(String::new(), |path, key| join(&path, key));
    let mut texts = Vec::new();
    hidden_texts(&path, node, &mut texts);
    let told = texts.iter().fold(message.to_owned(), |message, text| blotted(&message, text));
    let beside_key = told.replace(&path, "").to_lowercase();
    if texts.iter().any(|text| shows(&beside_key, text)) {
        return format!(
            "{path}: what its file says is not as it should be, and the reason would show it; write it here to be told why"
        );
    }
    told
}

/// What a value hides, and what it says with that. Messages quote nothing that stands where a secret stands.
fn hidden_texts<'n>(path: &str, node: &'n Node, texts: &mut Vec<&'n str>) {
    match &node.value {
        Value::List(items) => items.iter().for_each(|item| hidden_texts(path, item, texts)),
        Value::Table(entries) => {
            let entries = entries.iter().map(|entry| (join(path, &entry.key), &entry.node));
            let shown = entries.filter(|(path, _)| !is_secret_path(path));
            shown.for_each(|(path, node)| hidden_texts(&path, node, texts));
        }
        Value::Text(text) | Value::Loose(text) if node.is_hidden() => {
            texts.push(text);
            texts.extend(node.hidden.iter().map(String::as_str));
        }
        Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Float(_) | Value::Text(_) | Value::Loose(_) => {}
    }
}

/// As many characters in a row are taken for a part of what is hidden.
const SHOWN_CHARS: usize = 4;

/// True where a message without capitals may still tell a part of `text`. Numbers may stand there in another unit.
fn shows(message: &str, text: &str) -> bool {
    let chars: Vec<char> = text.trim().to_lowercase().chars().collect();
    let is_number = chars.first().is_some_and(char::is_ascii_digit);
    let mut parts = chars.windows(SHOWN_CHARS.min(chars.len()).max(1)).map(String::from_iter);
    is_number || parts.any(|part: String| !part.contains(char::is_whitespace) && message.contains(&part))
}

/// The message with what a hidden value says replaced by stars, also where only a part of it is quoted, as of a list.
fn blotted(message: &str, value: &str) -> String {
    let parts = value.split([',', ' ']).map(str::trim).filter(|part| !part.is_empty());
    let forms =
        std::iter::once(value.trim()).chain(parts).flat_map(|part| [part.escape_debug().to_string(), part.into()]);
    forms.fold(message.to_owned(), |message, form| blot_words(&message, &form))
}

/// Replaces `word` where it is no part of a longer one.
fn blot_words(message: &str, word: &str) -> String {
    let (mut out, mut rest) = (String::new(), message);
    while let Some(at) = rest.find(word).filter(|_| !word.is_empty()) {
        let (before, behind) = (&rest[..at], &rest[at + word.len()..]);
        let joins = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let inside = joins(before.chars().next_back().or(out.chars().next_back())) || joins(behind.chars().next());
        out.push_str(before);
        out.push_str(if inside { word } else { STARS });
        rest = behind;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::super::tree::Origin;
    use super::*;

    #[test]
    fn a_reason_that_tells_what_a_file_says_in_another_form_is_left_out() {
        let origin = Origin::Flag("--set".to_owned());
        let hidden = |whole: &str, said: &str| {
            let node =
                Node { hidden: vec![said.to_owned()], ..Node::new(Value::Loose(whole.to_owned()), origin.clone()) };
            Node::new(Value::List(vec![node]), origin.clone())
        };
        let told = |message: &str, node: &Node| told(message, &["kafka", "topics"], node);
        let quoted = "kafka.topics: \"kafka-a/b\" has no '/'";
        assert_eq!(told(quoted, &hidden("kafka-a/b", "a/b")), "kafka.topics: \"***\" has no '/'");
        let left_out = "kafka.topics: what its file says is not as it should be, and the reason would show it; write it here to be told why";
        for (message, whole, said) in [
            ("kafka.topics: https://abcd.example is granted twice", "https://ABCD.example:443", "ABCD.example"),
            ("kafka.topics: \"***\" has the port \"hunter2\"", "db:hunter2", "db:hunter2"),
            ("kafka.topics (8 KiB) is too little", "8192", "8192"),
            ("kafka.topics: xaby is no name", "xAbY", "Ab"),
        ] {
            assert_eq!(told(message, &hidden(whole, said)), left_out, "{message}");
        }
        let plain = Node::new(Value::Loose("a/b".to_owned()), origin.clone());
        assert_eq!(told("kafka.topics: a/b", &plain), "kafka.topics: a/b", "nothing is hidden");
    }

    #[test]
    fn a_quoted_value_is_blotted_out_whole_and_in_parts() {
        let message = "kafka.topics: \"a/b\": a topic's name has no '/'; see tab/b";
        assert_eq!(blotted(message, "x, a/b"), "kafka.topics: \"***\": a topic's name has no '/'; see tab/b");
        assert_eq!(blotted("\"a\\\"b\" is no name", "a\"b"), "\"***\" is no name");
        assert_eq!(blotted("12 is not 112", "12"), "*** is not 112");
        assert_eq!(blotted("nothing", ""), "nothing");
    }
}
