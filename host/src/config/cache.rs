//! Where compiled plugins are kept, as it is written: two words, or a folder.
//!
//! What looks like another word would be made as a folder of that name: it is refused with what is meant. Which folder is private
//! enough is the guest edge's knowledge.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::findings::Findings;
use super::paths;
use super::shape::nearest;

/// Where compiled plugins are kept, so that not every start compiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheConfig {
    /// In the usual folder, where there is one.
    Auto,
    /// Nowhere.
    Off,
    /// In this folder.
    Folder(PathBuf),
}

const AUTO: &str = "auto";
const OFF: &str = "off";

/// What is written for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct CacheWord(String);

impl Default for CacheWord {
    fn default() -> Self {
        Self(AUTO.to_owned())
    }
}

impl<'de> Deserialize<'de> for CacheWord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = CacheWord;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "\"{AUTO}\", \"{OFF}\" or a folder, as a string")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<CacheWord, E> {
                Ok(CacheWord(text.to_owned()))
            }
            fn visit_bool<E: Error>(self, truth: bool) -> Result<CacheWord, E> {
                let word = if truth { AUTO } else { OFF };
                Err(E::custom(format_args!(
                    "write \"{word}\"; wanted is \"{AUTO}\", \"{OFF}\" or a folder, as a string"
                )))
            }
        }
        deserializer.deserialize_any(Read)
    }
}

impl JsonSchema for CacheWord {
    fn schema_name() -> Cow<'static, str> {
        "Cache".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "\"auto\", \"off\", or a folder", "type": "string" })
    }
}

/// Parses, and refuses what hardly anybody means as a folder's name.
pub(crate) fn parse(CacheWord(written): &CacheWord, folder: &Path, findings: &mut Findings) -> CacheConfig {
    match written.as_str() {
        AUTO => CacheConfig::Auto,
        OFF => CacheConfig::Off,
        path => {
            if let Some(meant) = meant(path) {
                findings.refuse(&[&["plugin", "cache"]], format!("plugin.cache = {path:?}: {meant}"));
            }
            CacheConfig::Folder(folder.join(path))
        }
    }
}

/// What to write in place of a text that is probably not meant as a folder.
fn meant(written: &str) -> Option<String> {
    let word = written.trim().to_lowercase();
    if word.is_empty() {
        return Some(format!("write \"{AUTO}\", \"{OFF}\" or a folder"));
    }
    if let Some(fault) = paths::stand_in(written) {
        return Some(fault);
    }
    let word = match word.as_str() {
        "none" | "false" | "no" | "never" | "disable" | "disabled" | "null" | "nil" | "0" => OFF,
        "true" | "yes" | "on" | "always" | "enable" | "enabled" | "default" | "1" => AUTO,
        near => nearest(near, [AUTO, OFF].into_iter())?,
    };
    Some(format!("write \"{word}\"; a folder of this name would be \"./{}\"", written.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_meant_by_other_words_is_told() {
        for (written, wanted) in [
            ("Off", "write \"off\""),
            ("OFF ", "write \"off\""),
            ("of", "write \"off\""),
            ("none", "write \"off\""),
            ("false", "write \"off\""),
            ("No", "write \"off\""),
            ("disabled", "write \"off\""),
            ("on", "write \"auto\""),
            ("Auto", "write \"auto\""),
            ("", "write \"auto\", \"off\" or a folder"),
            (" ", "write \"auto\", \"off\" or a folder"),
            ("~", "write \"${HOME}\""),
            ("~/cache", "write \"${HOME}/cache\""),
            ("~me/cache", "write the whole path"),
            ("$HOME/c", "write \"${HOME}/c\""),
            ("%h/c", "write \"${HOME}/c\""),
        ] {
            let meant = meant(written).unwrap_or_default();
            assert!(meant.contains(wanted), "{written:?}: {meant}");
        }
    }

    #[test]
    fn names_of_folders_are_taken_as_they_are() {
        for folder in ["./off", "./~", "/var/cache/gm", "code", "cache", "on/off", "officer", "a~"] {
            assert_eq!(meant(folder), None, "{folder}");
        }
    }
}
