//! From a plugin's file to a plugin that loaded: read once, held against its pinned digest, handed to the guest edge.
//!
//! What makes a plugin fit is the guest edge's knowledge, not ours.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read as _;
use std::path::Path;

use gristmill_guest::{Digest, Engine, LoadError, Plugin, PluginSettings};

use crate::compiling;
use crate::config::Place;
use crate::regular_file;

/// Who named a plugin's file: that is where its path is corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedBy {
    /// `plugin.path` of a configuration.
    Configuration,
    /// An argument.
    CommandLine,
}

impl NamedBy {
    /// What to do about a file that is not the one that was pinned.
    fn way_to_digest(self, found: &Digest) -> String {
        match self {
            Self::Configuration => "deploy the file that was pinned, or pin this one".to_owned(),
            Self::CommandLine => {
                format!("name the file that was pinned, or take this one with --set plugin.digest={found}")
            }
        }
    }
}

impl fmt::Display for NamedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Configuration => "plugin.path",
            Self::CommandLine => "the path on the command line",
        })
    }
}

/// Why a plugin's file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum PluginFileError {
    /// The file cannot be read.
    #[error("cannot read the plugin {path}: {source}; check {named_by}")]
    Read {
        /// The file.
        path: String,
        /// Who named it.
        named_by: NamedBy,
        /// What the system said.
        source: std::io::Error,
    },
    /// Another file than the one that was pinned.
    #[error("the plugin {path} has the digest {found}, but plugin.digest is {pinned}; {}", named_by.way_to_digest(found))]
    OtherDigest {
        /// The file.
        path: String,
        /// Who named it.
        named_by: NamedBy,
        /// Its digest.
        found: Digest,
        /// The digest that was wanted.
        pinned: String,
    },
    /// It does not start, perhaps because of a secret.
    #[error("cannot load plugin {plugin}: it does not start: {detail}; correct it, or {at}")]
    Start {
        /// The plugin's name.
        plugin: String,
        /// What broke.
        detail: String,
        /// Where else to look.
        at: String,
    },
    /// The guest edge refused it.
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl PluginFileError {
    /// The same, where a start broke that was given secrets: with the places of those that the plugin's words name.
    pub(crate) fn with_secrets(self, secrets: &BTreeMap<String, Place>) -> Self {
        let Self::Load(LoadError::Start { plugin, fault }) = self else { return self };
        if secrets.is_empty() {
            return Self::Load(LoadError::Start { plugin, fault });
        }
        let named = secrets.iter().filter(|(name, _)| names(&fault.detail, name));
        let named: Vec<_> = named.map(|(name, place)| format!("plugin.secrets.{name} ({place})")).collect();
        let at = if named.is_empty() {
            "its settings in plugin.settings and plugin.secrets".to_owned()
        } else {
            named.join(" and ")
        };
        Self::Start { plugin, detail: fault.detail, at }
    }
}

/// True when the word stands in the text, and not as a part of a longer one.
fn names(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part))
}

/// Reads a plugin's file, but not much more of it than a plugin may have.
///
/// # Errors
/// The file cannot be read, or is no regular one.
pub(crate) fn read(path: &Path, named_by: NamedBy, settings: &PluginSettings) -> Result<Vec<u8>, PluginFileError> {
    let read_error = |source| PluginFileError::Read { path: path.display().to_string(), named_by, source };
    let file = regular_file::open(path).map_err(read_error)?;
    let mut bytes = Vec::new();
    // One byte more than allowed is enough to see that it is too large.
    file.take(settings.limits.file_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(read_error)?;
    Ok(bytes)
}

/// Holds what was read against the digest that was pinned.
///
/// # Errors
/// It is another file.
pub(crate) fn compare(
    path: &Path,
    named_by: NamedBy,
    pinned: Option<&str>,
    bytes: &[u8],
    settings: &PluginSettings,
) -> Result<(), PluginFileError> {
    let Some(pinned) = pinned else { return Ok(()) };
    // Of a file that is too large only a part was read, and the guest edge refuses it by its size.
    let is_whole = bytes.len() as u64 <= settings.limits.file_bytes;
    let found = Digest::of(bytes);
    if !is_whole || pinned == found.to_string() {
        return Ok(());
    }
    Err(PluginFileError::OtherDigest { path: path.display().to_string(), named_by, found, pinned: pinned.to_owned() })
}

/// Reads and loads a plugin. Blocks while it compiles and starts for trial.
///
/// # Errors
/// The file cannot be read, is not the pinned one, or is no plugin that this host runs.
pub(crate) fn load(
    path: &Path,
    named_by: NamedBy,
    pinned: Option<&str>,
    engine: &Engine,
    settings: &PluginSettings,
) -> Result<Plugin, PluginFileError> {
    let bytes = read(path, named_by, settings)?;
    compare(path, named_by, pinned, &bytes, settings)?;
    let plugin = Plugin::load(engine, &path.display().to_string(), &bytes, settings)?;
    compiling::tell(&plugin, path);
    Ok(plugin)
}
