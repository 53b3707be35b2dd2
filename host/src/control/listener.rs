//! Makes the socket's file, in a folder that only its owner can change, and takes it away again.
//!
//! What is said through the socket is not its business.
//!
//! A race that the folder's lock prevents: two hosts find the same file of a dead one; the first removes it and makes its own; the
//! second, which has looked before, removes that one. Both believe that they can be reached, and one cannot.

use std::fs::{self, DirBuilder, File, Metadata, Permissions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::time::{sleep, timeout};

use super::place;
use crate::config::ControlConfig;

/// How long another host may need to make its own socket; after that this one has none.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(2);

/// How long a socket that is already there may need to take a connection. One that does not is not replaced: its host may be
/// stopped for a debugger.
const CONNECT_WAIT_MAX: Duration = Duration::from_secs(1);

/// Files beside ours that are looked at when we clear up after hosts that were killed.
const SWEPT_MAX: usize = 1_000;

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ListenError {
    /// Something about the folder.
    #[error("the folder {folder} {why}")]
    Folder {
        /// Which one.
        folder: String,
        /// What is wrong with it, and the way out.
        why: String,
    },
    /// A path that cannot be used.
    #[error("the path {path} {why}")]
    Path {
        /// Which one.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// The system refuses.
    #[error("cannot make {path}: {source}")]
    System {
        /// What was to be made.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// Other hosts have both paths.
    #[error("other processes listen at {first} and at {second}")]
    Taken {
        /// The usual one.
        first: String,
        /// The one beside it.
        second: String,
    },
}

/// The socket's file. Gone when dropped.
#[derive(Debug)]
pub(crate) struct SocketFile {
    pub(crate) path: PathBuf,
    /// Which file it is, since another one may have come in its place.
    inode: Option<(u64, u64)>,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.inode.is_some() && fs::symlink_metadata(&self.path).ok().map(|it| inode(&it)) == self.inode {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes the socket; where another host already listens, beside it.
///
/// # Errors
/// Why there is none.
pub(crate) async fn listen(config: &ControlConfig) -> Result<(UnixListener, SocketFile), ListenError> {
    let (path, usual) = match config {
        ControlConfig::Usual(path) => (path, true),
        ControlConfig::At(path) => (path, false),
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder_error = |why: String| ListenError::Folder { folder: folder.display().to_string(), why };
    if usual {
        make_folder(folder).map_err(|error| folder_error(format!("cannot be made: {error}")))?;
    }
    check_folder(folder, usual).map_err(folder_error)?;
    let lock = lock(folder).await.map_err(folder_error)?;
    let second = place::beside(path, std::process::id());
    for candidate in [path, &second] {
        if let Some(listener) = take(candidate).await? {
            sweep(path, folder).await;
            drop(lock);
            return Ok(listener);
        }
    }
    Err(ListenError::Taken { first: path.display().to_string(), second: second.display().to_string() })
}

/// Makes the folder for its owner alone. One that is there stays as it is, and is checked next.
fn make_folder(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}

/// Refuses a folder in which somebody else could put a socket in our socket's place. The usual one is ours alone; of one that was
/// configured others may see what is in it.
fn check_folder(folder: &Path, usual: bool) -> Result<(), String> {
    // A link to a folder of somebody else's choice would be followed otherwise.
    let metadata = if usual { fs::symlink_metadata(folder) } else { fs::metadata(folder) };
    let metadata = metadata.map_err(|error| format!("cannot be used: {error}; make it"))?;
    let (user, owner, mode) = (place::user(), metadata.uid(), metadata.mode() & 0o777);
    if !metadata.is_dir() {
        return Err("is no folder".to_owned());
    }
    if owner != user && (usual || owner != 0) {
        return Err(format!("belongs to the user {owner}, and this host runs as {user}"));
    }
    let (open, wanted) = if usual { (0o077, "0700") } else { (0o022, "0755 or less") };
    if mode & open != 0 {
        return Err(format!("has the mode {mode:04o}, which lets others in; give it {wanted}"));
    }
    Ok(())
}

/// Keeps other hosts from making their sockets here at the same time.
async fn lock(folder: &Path) -> Result<File, String> {
    /// Between two tries.
    const AGAIN_AFTER: Duration = Duration::from_millis(10);
    let unlocked = File::open(folder).map_err(|error| format!("cannot be opened: {error}"))?;
    let tries = LOCK_WAIT_MAX.as_millis() / AGAIN_AFTER.as_millis();
    for _ in 0..tries {
        match unlocked.try_lock() {
            Ok(()) => return Ok(unlocked),
            Err(TryLockError::WouldBlock) => sleep(AGAIN_AFTER).await,
            Err(TryLockError::Error(error)) => return Err(format!("cannot be locked: {error}")),
        }
    }
    Err(format!("is kept locked by another process for more than {} s", LOCK_WAIT_MAX.as_secs()))
}

/// Makes the socket at this path. `None`: another host listens there.
async fn take(path: &Path) -> Result<Option<(UnixListener, SocketFile)>, ListenError> {
    let path_error = |why: String| ListenError::Path { path: path.display().to_string(), why };
    if let Some(fault) = place::fault(path) {
        return Err(path_error(fault));
    }
    match occupant(path).await {
        Occupant::Nobody => {}
        Occupant::Dead => remove(path)?,
        Occupant::Alive => return Ok(None),
        Occupant::Foreign(why) => return Err(path_error(why)),
    }
    let system = |source| ListenError::System { path: path.display().to_string(), source };
    let listener = UnixListener::bind(path).map_err(system)?;
    // From here on it is ours, and taken away again also where something below fails.
    let inode = fs::symlink_metadata(path).ok().map(|it| inode(&it));
    let file = SocketFile { path: path.to_owned(), inode };
    fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(system)?;
    Ok(Some((listener, file)))
}

fn remove(path: &Path) -> Result<(), ListenError> {
    fs::remove_file(path).map_err(|source| ListenError::System { path: path.display().to_string(), source })
}

/// Who has a path.
enum Occupant {
    Nobody,
    /// A host that ended without clearing up.
    Dead,
    /// A host, also one that does not answer just now.
    Alive,
    /// Something that is not ours to remove.
    Foreign(String),
}

async fn occupant(path: &Path) -> Occupant {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Occupant::Nobody,
        Err(error) => return Occupant::Foreign(format!("cannot be looked at: {error}")),
        Ok(metadata) if !metadata.file_type().is_socket() => {
            return Occupant::Foreign(
                "holds something that is no socket; name another one in control.socket".to_owned(),
            );
        }
        Ok(_) => {}
    }
    match timeout(CONNECT_WAIT_MAX, UnixStream::connect(path)).await {
        Ok(Err(error)) if error.kind() == ErrorKind::ConnectionRefused => Occupant::Dead,
        // Somebody was faster.
        Ok(Err(error)) if error.kind() == ErrorKind::NotFound => Occupant::Nobody,
        // The queue of a host that stands still is full.
        Ok(Err(error)) if error.kind() == ErrorKind::WouldBlock => Occupant::Alive,
        Ok(Err(error)) => Occupant::Foreign(format!("cannot be reached: {error}")),
        Ok(Ok(_)) | Err(_) => Occupant::Alive,
    }
}

/// Removes what further hosts of this pipeline left behind when they were killed.
async fn sweep(path: &Path, folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.take(SWEPT_MAX).flatten() {
        let beside = entry.path();
        if place::is_beside(path, &entry.file_name()) && matches!(occupant(&beside).await, Occupant::Dead) {
            let _ = fs::remove_file(&beside);
        }
    }
}

/// What tells one file from another in the same place.
fn inode(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener as StdListener;
    use std::time::Instant;

    use super::*;

    /// A folder of this test's own, with a mode.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str, mode: u32) -> Self {
            let path = std::env::temp_dir().join(format!("gristmill-listener-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir(&path).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            Self(path)
        }

        fn usual(&self) -> ControlConfig {
            ControlConfig::Usual(self.0.join("orders.sock"))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn listened(config: &ControlConfig) -> Result<(UnixListener, SocketFile), ListenError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        // The listener must not outlive its runtime in a test that uses it; these look at the file only.
        runtime.block_on(listen(config))
    }

    #[test]
    fn the_folder_is_made_for_its_owner_and_so_is_the_socket() {
        let outer = Folder::new("made", 0o700);
        let config = ControlConfig::Usual(outer.0.join("gristmill/orders.sock"));
        let (listener, file) = listened(&config).unwrap();
        let mode = |path: &Path| fs::symlink_metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&outer.0.join("gristmill")), mode(&file.path)), (0o700, 0o600));
        let path = file.path.clone();
        drop((listener, file));
        assert!(!path.exists(), "the file stayed behind");
    }

    #[test]
    fn a_folder_that_lets_others_in_is_refused() {
        for (mode, usual, good) in
            [(0o750, true, false), (0o755, false, true), (0o775, false, false), (0o777, false, false)]
        {
            let folder = Folder::new(&format!("{mode:o}-{usual}"), mode);
            let path = folder.0.join("orders.sock");
            let config = if usual { ControlConfig::Usual(path) } else { ControlConfig::At(path) };
            match listened(&config) {
                Ok(_) => assert!(good, "{mode:o} was taken"),
                Err(error) => {
                    let text = error.to_string();
                    assert!(!good && text.contains(&format!("has the mode {mode:04o}")), "{text}");
                }
            }
        }
    }

    #[test]
    fn the_usual_folder_is_no_link() {
        let outer = Folder::new("link", 0o700);
        fs::create_dir(outer.0.join("real")).unwrap();
        std::os::unix::fs::symlink("real", outer.0.join("gristmill")).unwrap();
        let error = listened(&ControlConfig::Usual(outer.0.join("gristmill/orders.sock"))).unwrap_err().to_string();
        assert!(error.contains("is no folder"), "{error}");
    }

    /// A socket that nobody listens at any more. A program that another test starts holds what is open here until it has begun.
    fn leave_dead(path: &Path) {
        drop(StdListener::bind(path).unwrap());
        let deadline = Instant::now() + Duration::from_secs(20);
        while std::os::unix::net::UnixStream::connect(path).is_ok() {
            assert!(Instant::now() < deadline, "{} still takes connections", path.display());
        }
    }

    #[test]
    fn a_dead_hosts_socket_is_replaced_and_a_living_ones_is_not() {
        let folder = Folder::new("dead", 0o700);
        let path = folder.0.join("orders.sock");
        leave_dead(&path);
        let gone = folder.0.join("orders-1.sock");
        leave_dead(&gone);
        let stranger = folder.0.join("other-1.sock");
        leave_dead(&stranger);
        let first = listened(&folder.usual()).unwrap();
        assert_eq!(first.1.path, path);
        assert!(!gone.exists() && stranger.exists());
        let second = listened(&folder.usual()).unwrap();
        assert_eq!(second.1.path, place::beside(&path, std::process::id()));
        let error = listened(&folder.usual()).unwrap_err().to_string();
        assert!(error.contains("other processes listen at"), "{error}");
    }

    /// See the head of this file.
    #[test]
    fn two_hosts_that_find_a_dead_ones_socket_can_both_be_reached() {
        let folder = Folder::new("race", 0o700);
        let path = folder.0.join("orders.sock");
        for _ in 0..100 {
            leave_dead(&path);
            let both = [(); 2].map(|()| {
                let config = folder.usual();
                std::thread::spawn(move || listened(&config).unwrap())
            });
            let both = both.map(|one| one.join().unwrap());
            for (_, file) in &both {
                assert_eq!(fs::symlink_metadata(&file.path).ok().map(|it| inode(&it)), file.inode, "{file:?}");
            }
            assert_ne!(both[0].1.path, both[1].1.path);
        }
    }

    #[test]
    fn a_file_that_is_no_socket_is_left_alone() {
        let folder = Folder::new("file", 0o700);
        let path = folder.0.join("orders.sock");
        fs::write(&path, "precious").unwrap();
        let error = listened(&folder.usual()).unwrap_err().to_string();
        assert!(error.contains("is no socket"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }

    #[test]
    fn what_came_in_the_place_of_our_socket_is_not_removed() {
        let folder = Folder::new("place", 0o700);
        let (listener, file) = listened(&folder.usual()).unwrap();
        let path = file.path.clone();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "another's").unwrap();
        drop((listener, file));
        assert!(path.exists());
    }
}
