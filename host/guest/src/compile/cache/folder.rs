//! The folder of the cache: private, and reached through its open handle, so that it stays the folder that was checked.
//!
//! Knows files and their names, and nothing of what stands in them.

use std::fs::{DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Stat, Timespec, Timestamps, UTIME_NOW, fstat, linkat, open, openat, renameat,
    statat, unlinkat, utimensat,
};
use rustix::io::Errno;
use rustix::process::geteuid;
use rustix::rand::{GetRandomFlags, getrandom};

use super::CacheError;
use super::entry::{KEY_BYTES, Key, Misfit};

/// What the name of every entry ends with.
pub(super) const SUFFIX: &str = ".code";

const KEY_FILE: &str = "key";

/// What the names of files begin with that are being written.
const UNFINISHED: &str = ".new-";

/// After so long nobody finishes a file any more.
const UNFINISHED_AGE_MAX: Duration = Duration::from_secs(3_600);

const OTHERS: u32 = 0o077;

/// An open folder that is this user's own and nobody else's.
pub(super) struct Folder(OwnedFd);

impl Folder {
    pub(super) fn open(path: &Path) -> Result<Self, CacheError> {
        let system = |source| CacheError::System { path: path.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(system)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = open(path, flags, Mode::empty()).map_err(|errno| system(errno.into()))?;
        let stat = fstat(&handle).map_err(|errno| system(errno.into()))?;
        if !is_ours(&stat) {
            return Err(CacheError::Foreign { path: path.to_owned() });
        }
        match stat.st_mode & 0o777 {
            mode if mode & OTHERS == 0 => Ok(Self(handle)),
            mode => Err(CacheError::Open { path: path.to_owned(), mode }),
        }
    }

    /// The key, which the first host that asks for it makes.
    pub(super) fn key(&self, path: &Path) -> Result<Key, CacheError> {
        let broken = || CacheError::Key { path: path.to_owned() };
        let read = || match self.read(KEY_FILE, KEY_BYTES as u64) {
            Ok(found) => Ok(found),
            Err(Misfit::System(source)) => Err(CacheError::System { path: path.to_owned(), source }),
            Err(_) => Err(broken()),
        };
        let found = match read()? {
            Some(found) => found,
            None => {
                self.make_key().map_err(|source| CacheError::System { path: path.to_owned(), source })?;
                read()?.unwrap_or_default()
            }
        };
        Key::of(&found).ok_or_else(broken)
    }

    /// Makes a key, if nobody else does in the same moment.
    fn make_key(&self) -> io::Result<()> {
        let unfinished = self.write_unfinished(&[&random::<KEY_BYTES>()?])?;
        let linked = linkat(&self.0, &*unfinished, &self.0, KEY_FILE, AtFlags::empty());
        self.remove(&unfinished);
        match linked {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// All of a file of ours, if it is there.
    pub(super) fn read(&self, name: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, Misfit> {
        // Not through a link, and without waiting for the writer of a pipe.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let handle = match openat(&self.0, name, flags, Mode::empty()) {
            Ok(handle) => handle,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(Misfit::Foreign),
            Err(errno) => return Err(Misfit::System(errno.into())),
        };
        let stat = fstat(&handle).map_err(io::Error::from)?;
        if !is_file(&stat) || !is_ours(&stat) || stat.st_mode & OTHERS != 0 {
            return Err(Misfit::Foreign);
        }
        let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
        if size > bytes_max {
            return Err(Misfit::Large);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        File::from(handle).take(bytes_max).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Writes a file, which is whole or not there, whoever reads it and whatever happens meanwhile.
    pub(super) fn write(&self, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        let unfinished = self.write_unfinished(parts)?;
        renameat(&self.0, &*unfinished, &self.0, name).map_err(|errno| {
            self.remove(&unfinished);
            errno.into()
        })
    }

    fn write_unfinished(&self, parts: &[&[u8]]) -> io::Result<String> {
        let name = format!("{UNFINISHED}{:016x}", u64::from_le_bytes(random()?));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&self.0, &*name, flags, Mode::RUSR | Mode::WUSR)?);
        match parts.iter().try_for_each(|part| file.write_all(part)) {
            Ok(()) => Ok(name),
            Err(error) => {
                self.remove(&name);
                Err(error)
            }
        }
    }

    /// Marks a file as used now. As far as that goes.
    pub(super) fn touch(&self, name: &str) {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let times = Timestamps { last_access: now, last_modification: now };
        let _ = utimensat(&self.0, name, &times, AtFlags::SYMLINK_NOFOLLOW);
    }

    /// Removes a file, as far as that goes. False: something is still there.
    pub(super) fn remove(&self, name: &str) -> bool {
        matches!(unlinkat(&self.0, name, AtFlags::empty()), Ok(()) | Err(Errno::NOENT))
    }

    /// Removes the entries used longest ago, until no more than so many and so large ones are left, and what nobody finished.
    /// The entry `newest` stays.
    pub(super) fn prune(&self, newest: &str, entries_max: usize, bytes_max: u64) -> io::Result<()> {
        let mut entries = Vec::new();
        for item in Dir::read_from(&self.0)? {
            let item = item?;
            let Ok(name) = item.file_name().to_str() else { continue };
            // Another host may have removed it meanwhile.
            let Ok(stat) = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if name.starts_with(UNFINISHED) && is_forgotten(&stat) {
                self.remove(name);
            } else if name.ends_with(SUFFIX) && is_file(&stat) {
                let used = (name == newest, stat.st_mtime, stat.st_mtime_nsec);
                entries.push((used, u64::try_from(stat.st_size).unwrap_or(0), name.to_owned()));
            }
        }
        entries.sort_unstable_by(|one, other| other.cmp(one));
        let mut kept_bytes = 0_u64;
        for (rank, (_, bytes, name)) in entries.iter().enumerate() {
            kept_bytes = kept_bytes.saturating_add(*bytes);
            if rank > 0 && (rank >= entries_max || kept_bytes > bytes_max) {
                self.remove(name);
            }
        }
        Ok(())
    }
}

fn is_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

fn is_ours(stat: &Stat) -> bool {
    stat.st_uid == geteuid().as_raw()
}

fn is_forgotten(stat: &Stat) -> bool {
    let written = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(stat.st_mtime).unwrap_or(0));
    SystemTime::now().duration_since(written).is_ok_and(|age| age > UNFINISHED_AGE_MAX)
}

fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    // So few bytes come whole or not at all.
    let count = getrandom(&mut bytes, GetRandomFlags::empty())?;
    if count == N { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    /// A folder for one test, which is removed at its end.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            Self(std::env::temp_dir().join(format!("gristmill-cache-{}-{name}", std::process::id())))
        }

        fn files(&self) -> Vec<String> {
            let names =
                std::fs::read_dir(&self.0).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<String> = names.collect();
            names.sort();
            names
        }

        /// Sets when a file was used last, in seconds of the year 1970.
        fn age(&self, name: &str, seconds: u64) {
            let file = File::options().write(true).open(self.0.join(name)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_was_used_longest_ago_goes_first_and_what_is_new_stays() {
        let place = Place::new("prune");
        let folder = Folder::open(&place.0).unwrap();
        for (name, used) in [("a.code", 5), ("b.code", 1), ("c.code", 4), ("d.code", 3), ("key", 0), ("mine.txt", 0)] {
            folder.write(name, &[b"0123456789"]).unwrap();
            place.age(name, used);
        }
        folder.prune("b.code", 3, 1_000).unwrap();
        assert_eq!(
            place.files(),
            ["a.code", "b.code", "c.code", "key", "mine.txt"],
            "three entries, and no other file"
        );
        folder.touch("c.code");
        folder.prune("b.code", 3, 25).unwrap();
        assert_eq!(place.files(), ["b.code", "c.code", "key", "mine.txt"], "twenty-five bytes");
        folder.prune("b.code", 3, 5).unwrap();
        assert_eq!(place.files(), ["b.code", "key", "mine.txt"], "one that is too large alone stays all the same");
    }

    #[test]
    fn what_nobody_finished_goes_after_an_hour() {
        let place = Place::new("unfinished");
        let folder = Folder::open(&place.0).unwrap();
        let (old, new) = (folder.write_unfinished(&[b"a"]).unwrap(), folder.write_unfinished(&[b"b"]).unwrap());
        place.age(&old, 1);
        folder.prune("none", 3, 1_000).unwrap();
        assert_eq!(place.files(), [new]);
    }

    #[test]
    fn the_folder_and_its_files_are_for_this_user_alone() {
        let place = Place::new("modes");
        let folder = Folder::open(&place.0).unwrap();
        folder.key(&place.0).unwrap();
        folder.write("a.code", &[b"a"]).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&place.0), 0o700);
        assert_eq!((mode(&place.0.join("a.code")), mode(&place.0.join(KEY_FILE))), (0o600, 0o600));
    }

    #[test]
    fn only_a_private_regular_file_is_read() {
        let place = Place::new("files");
        let folder = Folder::open(&place.0).unwrap();
        folder.write("a.code", &[b"some bytes"]).unwrap();
        assert_eq!(folder.read("a.code", 10).unwrap().unwrap(), b"some bytes");
        assert!(matches!(folder.read("a.code", 9), Err(Misfit::Large)));
        assert!(folder.read("none.code", 9).unwrap().is_none());
        std::os::unix::fs::symlink(place.0.join("a.code"), place.0.join("link.code")).unwrap();
        assert!(matches!(folder.read("link.code", 10), Err(Misfit::Foreign)));
        std::fs::create_dir(place.0.join("folder.code")).unwrap();
        assert!(matches!(folder.read("folder.code", 10), Err(Misfit::Foreign)));
        std::fs::set_permissions(place.0.join("a.code"), PermissionsExt::from_mode(0o640)).unwrap();
        assert!(matches!(folder.read("a.code", 10), Err(Misfit::Foreign)));
    }

    /// B32: two hosts that start at once agree on one key.
    #[test]
    fn many_that_make_the_key_at_once_get_the_same() {
        let place = Place::new("key");
        let keys: Vec<Vec<u8>> = std::thread::scope(|scope| {
            let one = || {
                let folder = Folder::open(&place.0).unwrap();
                folder.key(&place.0).unwrap();
                folder.read(KEY_FILE, 32).unwrap().unwrap()
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(keys[0].len() == 32 && keys.iter().all(|key| *key == keys[0]), "{}", keys.len());
        assert_eq!(place.files(), [KEY_FILE], "and nothing is left half done");
    }
}
