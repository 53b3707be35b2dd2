//! Folders that a plugin may read: looked through once when it is loaded, and given to its instances read-only.
//!
//! It must not know what is in the files. Nothing here ever writes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

/// A folder that a plugin may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilesGrant {
    /// The folder.
    pub folder: PathBuf,
    /// What the plugin calls it: an absolute path.
    pub mount: String,
    /// Bytes that all files in it may have together.
    pub bytes_max: u64,
}

/// How many files and folders may lie in a granted one. Looking through more holds up the start.
const ENTRIES_MAX: usize = 10_000;

/// Why a granted folder cannot be given.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// It cannot be read.
    #[error("cannot read {path}, which plugin.grants.files names: {source}; correct the path, or its permissions")]
    Read {
        /// The folder, or what lies in it.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// It is not a folder.
    #[error("{path} is no folder, and plugin.grants.files grants folders; write the one that it lies in")]
    NotAFolder {
        /// What was named.
        path: String,
    },
    /// It holds more than it may.
    #[error(
        "the files in {folder} have more than {bytes_max} bytes; take some away, or raise max_bytes in plugin.grants.files"
    )]
    TooLarge {
        /// The granted folder.
        folder: String,
        /// What they may have.
        bytes_max: u64,
    },
    /// It holds more files than it may.
    #[error(
        "{folder} holds more than {ENTRIES_MAX} files and folders; plugin.grants.files is for lookup data: grant a smaller one"
    )]
    TooMany {
        /// The granted folder.
        folder: String,
    },
    /// It holds what is neither a file nor a folder.
    #[error(
        "{path} is neither file nor folder, and reading it could wait for ever; take it out of what plugin.grants.files grants"
    )]
    Special {
        /// What was found.
        path: String,
    },
}

impl FilesGrant {
    /// Looks through the folder: is it one, is it small enough, and is there nothing in it that a reader could hang on?
    ///
    /// # Errors
    ///
    /// It is not, with the way out.
    pub(crate) fn check(&self) -> Result<(), FilesError> {
        if !fs::metadata(&self.folder).map_err(|source| read_error(&self.folder, source))?.is_dir() {
            return Err(FilesError::NotAFolder { path: shown(&self.folder) });
        }
        let (mut bytes, mut entries, mut waiting) = (0_u64, 0_usize, vec![self.folder.clone()]);
        while let Some(folder) = waiting.pop() {
            for entry in fs::read_dir(&folder).map_err(|source| read_error(&folder, source))? {
                let path = entry.map_err(|source| read_error(&folder, source))?.path();
                // A link is not followed: where it leads out of the folder, the guest is refused as well.
                let what = fs::symlink_metadata(&path).map_err(|source| read_error(&path, source))?;
                entries += 1;
                bytes = bytes.saturating_add(if what.is_file() { what.len() } else { 0 });
                if bytes > self.bytes_max {
                    return Err(FilesError::TooLarge { folder: shown(&self.folder), bytes_max: self.bytes_max });
                }
                if entries > ENTRIES_MAX {
                    return Err(FilesError::TooMany { folder: shown(&self.folder) });
                }
                if what.is_dir() {
                    waiting.push(path);
                } else if !what.is_file() && !what.is_symlink() {
                    return Err(FilesError::Special { path: shown(&path) });
                }
            }
        }
        Ok(())
    }

    /// Gives the folder to an instance.
    ///
    /// # Errors
    ///
    /// It cannot be opened any more.
    pub(crate) fn give(&self, wasi: &mut WasiCtxBuilder) -> wasmtime::Result<()> {
        wasi.preopened_dir(&self.folder, &self.mount, FsPerms::ReadOnly).map(drop).map_err(|error| {
            error.context(format!("cannot open {}, which plugin.grants.files names", shown(&self.folder)))
        })
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn read_error(path: &Path, source: io::Error) -> FilesError {
    FilesError::Read { path: shown(path), source }
}
