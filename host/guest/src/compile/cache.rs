//! Compiled plugins on disk, between one start of the host and the next.
//!
//! Code is run because it is trusted, so nothing here trusts the disk: the folder is private, and every entry carries a MAC over its
//! name and its bytes under a key that lies in the same folder. An entry is read whole into memory, checked there and loaded from
//! there. Whatever does not fit is as good as not there. Does not know what compiles.

mod entry;
mod folder;

use std::fmt;
use std::hash::{Hash as _, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use wasmtime::Engine;

use self::entry::{Key, Misfit};
use self::folder::Folder;
use super::Artefact;
use crate::plugin::Digest;

/// Entries that are kept. The ones used last stay.
const ENTRIES_MAX: usize = 64;

/// Bytes of entries that are kept. A component of the largest toolchains makes 40 MiB.
const ENTRIES_BYTES_MAX: u64 = 1 << 30;

/// A folder with compiled plugins. More than one host may use it at once. Clones are the same folder.
#[derive(Clone)]
pub struct Cache {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    folder: Folder,
    key: Key,
}

/// Why a folder is no place for compiled plugins.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The system refuses.
    #[error("{}: {source}; make it a folder that this user can write to, or name another in plugin.cache", path.display())]
    System {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Somebody else's.
    #[error("{} belongs to another user, who could put code into it; name a folder of this user's own in plugin.cache", path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
    },
    /// Open to others.
    #[error("{} is open to other users, who could put code into it (its mode is {mode:o}); name a folder of this user's own in plugin.cache, which is made with mode 700 where there is none yet; chmod only one that holds nothing else", path.display())]
    Open {
        /// The folder.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// A key that is none.
    #[error("the key of {} is no private file of 32 bytes; remove the folder, it is made again", path.display())]
    Key {
        /// The folder.
        path: PathBuf,
    },
}

impl Cache {
    /// Opens the folder, and makes it and its key where they are not there yet.
    ///
    /// # Errors
    ///
    /// It is no private folder of this user, or the system refuses.
    pub fn open(path: &Path) -> Result<Self, CacheError> {
        let folder = Folder::open(path)?;
        let key = folder.key(path)?;
        Ok(Self { inner: Arc::new(Inner { path: path.to_owned(), folder, key }) })
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.inner.path
    }

    /// The code under this name, if there is any.
    ///
    /// # Errors
    ///
    /// There is something, and it is not what was put there.
    pub(super) fn find(&self, name: &str) -> Result<Option<Artefact>, Misfit> {
        let Inner { folder, key, .. } = &*self.inner;
        let Some(bytes) = folder.read(name, ENTRIES_BYTES_MAX)? else { return Ok(None) };
        let artefact = entry::open(key, name, bytes)?;
        folder.touch(name);
        Ok(Some(artefact))
    }

    /// Keeps code under this name, and lets older entries go where there are too many.
    ///
    /// # Errors
    ///
    /// The system refuses.
    pub(super) fn keep(&self, name: &str, artefact: &Artefact) -> io::Result<()> {
        let Inner { folder, key, .. } = &*self.inner;
        folder.write(name, &[&entry::head(key, name, artefact.code()), artefact.code()])?;
        folder.prune(name, ENTRIES_MAX, ENTRIES_BYTES_MAX)
    }

    /// Removes what is under this name. False: it stays.
    pub(super) fn forget(&self, name: &str) -> bool {
        self.inner.folder.remove(name)
    }
}

impl PartialEq for Cache {
    fn eq(&self, other: &Self) -> bool {
        self.inner.path == other.inner.path
    }
}

impl Eq for Cache {}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cache").field(&self.inner.path).finish()
    }
}

/// The name of a component's code for an engine: two digests of 256 bits, one of the file's bytes and one of all that decides what
/// the compiler makes of them.
pub(super) fn name(engine: &Engine, component: Digest) -> String {
    struct Collect(Sha256);

    impl Hasher for Collect {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }

        fn finish(&self) -> u64 {
            0
        }
    }

    let mut settings = Collect(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut settings);
    let settings: String = settings.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let component = component.to_string().replace(':', "-");
    format!("{component}-{settings}{}", folder::SUFFIX)
}
