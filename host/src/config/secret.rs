//! What is secret in a configuration, and a type for it that never prints.

use std::fmt;

use gristmill_kafka::properties;
use serde::{Serialize, Serializer};

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

/// True for the path of a value that may be a secret: every setting of the plugin, and Kafka properties that sound like it.
pub(crate) fn is_secret_path(path: &str) -> bool {
    if path.starts_with("plugin.settings.") {
        return true;
    }
    path.strip_prefix("kafka.properties.").is_some_and(properties::is_secret)
}

/// True when the words of `text` say that a secret is meant.
pub(crate) fn sounds_secret(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    properties::is_secret(&text) || ["passwd", "token", "credential"].iter().any(|word| text.contains(word))
}
