//! From a plugin's file to a plugin that loaded: read once, held against its pinned digest, handed to the guest edge.
//!
//! What makes a plugin fit is the guest edge's knowledge, not ours.

use std::fmt;
use std::io::Read as _;
use std::path::Path;

use gristmill_guest::{Digest, Engine, LoadError, Plugin, PluginSettings};

use crate::compiling;
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
    /// The guest edge refused it.
    #[error(transparent)]
    Load(#[from] LoadError),
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
