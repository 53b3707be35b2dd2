//! What is secret in a configuration, and a type for it that never prints.

use std::fmt;

use gristmill_kafka::properties::{self, Standing, standing};
use serde::{Serialize, Serializer};

use super::tree::Value;

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

/// True for an address that names a user in front of its host: with a password perhaps, which is refused and not shown either.
pub(crate) fn names_a_user(path: &str, value: &Value) -> bool {
    let Value::Text(text) = value else { return false };
    path.starts_with("plugin.grants.http") && text.contains('@')
}

/// True when the words of `text` say that a secret is meant.
pub(crate) fn sounds_secret(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    properties::is_secret(&text)
        || ["passwd", "token", "credential", "authorization", "headers"].iter().any(|word| text.contains(word))
}

/// The message with what a hidden value says replaced by stars, also where only a part of it is quoted, as of a list.
pub(crate) fn blotted(message: &str, value: &str) -> String {
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
    use super::*;

    #[test]
    fn a_quoted_value_is_blotted_out_whole_and_in_parts() {
        let message = "kafka.topics: \"a/b\": a topic's name has no '/'; see tab/b";
        assert_eq!(blotted(message, "x, a/b"), "kafka.topics: \"***\": a topic's name has no '/'; see tab/b");
        assert_eq!(blotted("\"a\\\"b\" is no name", "a\"b"), "\"***\" is no name");
        assert_eq!(blotted("12 is not 112", "12"), "*** is not 112");
        assert_eq!(blotted("nothing", ""), "nothing");
    }
}
