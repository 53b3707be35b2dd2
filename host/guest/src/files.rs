//! Folders that a plugin may read: opened and looked through once, when it is loaded.
//!
//! It must not know what is in the files, nor what instances do with the folders. Nothing here ever writes.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, open, openat2, statat};
use rustix::io::Errno;
use wasmtime_wasi::filesystem;
use wasmtime_wasi::{FsPerms, OpenMode};

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
pub(crate) const ENTRIES_MAX: usize = 10_000;

/// How often an opening is tried again that failed because something in its way was renamed meanwhile, anywhere on the machine.
const OPEN_TRIES: u32 = 4;

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
    /// The system has no way to keep a path within a folder.
    #[error(
        "cannot open {folder}, which plugin.grants.files names, in a way that keeps its plugin within it: the call openat2 fails; it \
         takes Linux 5.6, and a sandbox around the host that lets it pass"
    )]
    NoWayToOpen {
        /// The granted folder.
        folder: String,
    },
}

/// A granted folder as it was when the plugin was loaded: whatever takes its name later is another one. Clones are one descriptor.
#[derive(Clone)]
pub(crate) struct Folder {
    pub(crate) dir: filesystem::Dir,
    /// What the plugin calls it.
    pub(crate) mount: String,
}

impl FilesGrant {
    /// Opens the folder and looks through it: is it one, is it small enough, and is there nothing in it that a reader could hang on?
    ///
    /// # Errors
    ///
    /// It is not, with the way out.
    pub(crate) fn open(&self) -> Result<Folder, FilesError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder: File = match open(&self.folder, flags, Mode::empty()) {
            Ok(folder) => folder.into(),
            Err(Errno::NOTDIR) => return Err(FilesError::NotAFolder { path: shown(&self.folder) }),
            Err(error) => return Err(read_error(&self.folder, error)),
        };
        match open_beneath(&folder, Path::new("."), OFlags::DIRECTORY) {
            Ok(_) => {}
            // What an older kernel says, and what a sandbox around the host says.
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {
                return Err(FilesError::NoWayToOpen { folder: shown(&self.folder) });
            }
            Err(error) => return Err(read_error(&self.folder, error)),
        }
        self.look_through(&folder)?;
        let dir = filesystem::Dir::new(folder, FsPerms::ReadOnly, OpenMode::READ, false);
        Ok(Folder { dir, mount: self.mount.clone() })
    }

    fn look_through(&self, folder: &File) -> Result<(), FilesError> {
        let named = |path: &Path| self.folder.join(path.strip_prefix(".").unwrap_or(path));
        let (mut bytes, mut entries, mut waiting) = (0_u64, 0_usize, vec![PathBuf::from(".")]);
        while let Some(at) = waiting.pop() {
            let failed = |error| read_error(&named(&at), error);
            let opened = open_beneath(folder, &at, OFlags::DIRECTORY | OFlags::NOFOLLOW).map_err(failed)?;
            for entry in Dir::read_from(&opened).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                let name = entry.file_name();
                if is_dots(name.to_bytes()) {
                    continue;
                }
                let path = at.join(OsStr::from_bytes(name.to_bytes()));
                // A link is not followed: where it leads out of the folder, the guest is refused as well.
                let what = statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_err(|error| read_error(&named(&path), error))?;
                entries += 1;
                match FileType::from_raw_mode(what.st_mode) {
                    FileType::RegularFile => bytes = bytes.saturating_add(u64::try_from(what.st_size).unwrap_or(0)),
                    FileType::Directory => waiting.push(path),
                    FileType::Symlink => {}
                    _ => return Err(FilesError::Special { path: shown(&named(&path)) }),
                }
                if bytes > self.bytes_max {
                    return Err(FilesError::TooLarge { folder: shown(&self.folder), bytes_max: self.bytes_max });
                }
                if entries > ENTRIES_MAX {
                    return Err(FilesError::TooMany { folder: shown(&self.folder) });
                }
            }
        }
        Ok(())
    }
}

/// Opens what a path leads to within a folder, in order to read it. It waits for nobody: a pipe without a writer is opened, and a file
/// that another process holds a lease of is not. What was opened may be anything.
///
/// # Errors
///
/// `EXDEV` is a path that leads out of the folder.
pub(crate) fn open_beneath(folder: &File, path: &Path, flags: OFlags) -> rustix::io::Result<File> {
    let flags = flags | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mut tries = 0..OPEN_TRIES;
    loop {
        match openat2(folder, path, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS) {
            Err(Errno::AGAIN) if tries.next().is_some() => {}
            opened => return opened.map(Into::into),
        }
    }
}

/// True for the two entries that every folder has.
pub(crate) fn is_dots(name: &[u8]) -> bool {
    matches!(name, b"." | b"..")
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn read_error(path: &Path, error: Errno) -> FilesError {
    FilesError::Read { path: shown(path), source: error.into() }
}
