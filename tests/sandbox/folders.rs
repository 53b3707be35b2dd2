//! Folders that were granted can be read. Nothing can be written, nothing beside them be reached, and the host not be held up.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gristmill_guest::{FilesError, FilesGrant, Grants, Limits, LoadError, PluginSettings, ReachError};

use crate::caller::{caller, caller_with, grants};
use crate::journal;
use crate::mill::{mischief, with_limits};

/// A folder of its own for a test, gone afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("gristmill-folders-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("lookup")).unwrap();
        fs::write(path.join("secret"), "hunter2").unwrap();
        fs::write(path.join("lookup/zones"), "eu us").unwrap();
        Self(path)
    }

    fn grant(&self) -> FilesGrant {
        FilesGrant { folder: self.0.join("lookup"), mount: "/lookup".to_owned(), bytes_max: 100 }
    }

    /// Puts a pipe into the granted folder, which nobody writes to.
    fn pipe(&self, name: &str) {
        let made = std::process::Command::new("mkfifo").arg(self.at("lookup").join(name)).status().unwrap();
        assert!(made.success());
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn with_folder(files: FilesGrant) -> Grants {
    Grants { files: vec![files], ..grants() }
}

#[test]
fn a_granted_folder_can_be_read_and_nothing_in_it_changed() {
    let folder = Folder::new("read");
    let mut mill = caller(with_folder(folder.grant()));
    assert_eq!(mill.call("read /lookup/zones", ""), "reached: eu us");
    let told = mill.call("write /lookup/zones", "");
    assert!(told.starts_with("refused") && told.contains("; refused"), "{told}");
    let told = mill.call("write /lookup/new", "");
    assert!(told.starts_with("refused"), "{told}");
    assert_eq!(fs::read_to_string(folder.at("lookup/zones")).unwrap(), "eu us");
    assert!(!folder.at("lookup/new").exists());
}

/// B129: each of what would write is an ordinary error, and one line says that nothing grants it.
#[test]
fn whatever_would_write_in_a_granted_folder_is_refused_and_told() {
    journal::listen();
    let folder = Folder::new("writing");
    fs::create_dir(folder.at("lookup/more")).unwrap();
    let before = fs::metadata(folder.at("lookup/zones")).unwrap().modified().unwrap();
    for function in [
        "open-at",
        "write-via-stream",
        "append-via-stream",
        "write",
        "set-size",
        "set-times",
        "set-times-at",
        "create-directory-at",
        "remove-directory-at",
        "unlink-file-at",
        "symlink-at",
        "rename-at",
        "link-at",
    ] {
        // One plugin is told ten different things a minute.
        let mut mill = caller(with_folder(folder.grant()));
        assert_eq!(mill.call(&format!("change {function}"), ""), "refused: not-permitted", "{function}");
        let event =
            journal::event_with(&format!("{function} in a granted folder, to write there"), "plugin was denied");
        assert!(event.contains("nothing grants it"), "{event}");
    }
    let mut left: Vec<_> = fs::read_dir(folder.at("lookup")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["more", "zones"]);
    assert_eq!(fs::read_to_string(folder.at("lookup/zones")).unwrap(), "eu us");
    assert_eq!(fs::metadata(folder.at("lookup/zones")).unwrap().modified().unwrap(), before);
}

/// B129: the guest's own library would refuse some of these paths by itself, so they are asked for without it.
#[test]
fn a_path_that_leads_out_of_a_granted_folder_is_refused_and_told() {
    journal::listen();
    let folder = Folder::new("leaving");
    std::os::unix::fs::symlink("../secret", folder.at("lookup/link")).unwrap();
    std::os::unix::fs::symlink(folder.at("secret"), folder.at("lookup/absolute")).unwrap();
    let mut mill = caller(with_folder(folder.grant()));
    let outside = folder.at("secret").display().to_string();
    for path in ["../secret", "./../lookup/zones", "link", "absolute", "/lookup/zones", &outside] {
        assert_eq!(mill.call(&format!("open {path}"), ""), "refused: not-permitted", "{path}");
        for function in ["stat-at", "metadata-hash-at"] {
            assert_eq!(
                mill.call(&format!("look {function} {path}"), ""),
                "refused: not-permitted",
                "{function} {path}"
            );
        }
    }
    assert_eq!(mill.call("look readlink-at ../secret", ""), "refused: not-permitted");
    for function in ["open-at", "stat-at", "metadata-hash-at", "readlink-at"] {
        let event = journal::event_with(&format!("{function} with a path that leads out"), "plugin was denied");
        assert!(event.contains("plugin.grants.files = ["), "{event}");
    }
    for function in ["stat-at", "metadata-hash-at"] {
        assert_eq!(mill.call(&format!("look {function} zones"), ""), "reached", "{function}");
    }
}

#[test]
fn what_lies_beside_a_granted_folder_is_out_of_reach() {
    let folder = Folder::new("beside");
    std::os::unix::fs::symlink("../secret", folder.at("lookup/link")).unwrap();
    std::os::unix::fs::symlink(folder.at("secret"), folder.at("lookup/absolute")).unwrap();
    let mut mill = caller(with_folder(folder.grant()));
    let outside = folder.at("secret").display().to_string();
    for path in ["/lookup/../secret", "/lookup/link", "/lookup/absolute", "/secret", &outside, "/lookup/./../secret"] {
        let told = mill.call(&format!("read {path}"), "");
        assert!(told.starts_with("refused") && !told.contains("hunter2"), "{path}: {told}");
    }
}

/// What keeps a file open counts, and nothing else does: of a file that was closed its stream may be left.
#[test]
fn a_guest_has_64_files_open_and_one_more_is_an_error_of_its_own() {
    journal::listen();
    let folder = Folder::new("many-files");
    let mut mill = caller(with_folder(folder.grant()));
    for word in ["keep-files", "keep-streams"] {
        let told = mill.call(&format!("{word} zones"), "");
        assert_eq!(told, "64 kept, then refused: quota; then reached", "{word}");
    }
    journal::event_with("more than 64 files and folders open at once", "plugin was denied");
}

#[test]
fn a_guest_has_eight_listings_open_and_one_more_is_an_error_of_its_own() {
    journal::listen();
    let folder = Folder::new("many-listings");
    let mut mill = caller(with_folder(folder.grant()));
    assert_eq!(mill.call("keep-listings", ""), "8 kept, then refused: quota; then reached");
    journal::event_with("more than 8 listings of folders at once", "plugin was denied");
}

#[test]
fn a_listing_has_every_name_with_its_kind() {
    let folder = Folder::new("listing");
    fs::create_dir(folder.at("lookup/more")).unwrap();
    std::os::unix::fs::symlink("zones", folder.at("lookup/link")).unwrap();
    let mut mill = caller(with_folder(folder.grant()));
    folder.pipe("pipe");
    assert_eq!(
        mill.call("list", ""),
        "link DescriptorType::SymbolicLink, more DescriptorType::Directory, pipe DescriptorType::Fifo, \
         zones DescriptorType::RegularFile"
    );
}

/// A folder that grew after the load is not read into the host's memory whole.
#[test]
fn the_listing_of_a_folder_with_more_names_than_may_be_granted_is_refused() {
    let folder = Folder::new("grown");
    let mut mill = caller(with_folder(folder.grant()));
    for at in 0..9_999 {
        fs::File::create(folder.at(&format!("lookup/{at}"))).unwrap();
    }
    assert!(mill.call("keep-listings", "").starts_with("8 kept"));
    fs::File::create(folder.at("lookup/one-more")).unwrap();
    assert_eq!(mill.call("keep-listings", ""), "0 kept, then refused: quota; then refused: quota");
}

#[test]
fn a_hundred_thousand_files_can_be_opened_one_after_the_other() {
    let folder = Folder::new("one-by-one");
    let limits = Limits { time: Duration::from_secs(28), cpu: Duration::from_secs(28), ..Limits::STRICT };
    let grants = with_folder(folder.grant());
    let mut mill = caller_with(PluginSettings { grants, limits, ..PluginSettings::default() });
    assert_eq!(mill.call("open-and-close zones", ""), "reached");
}

/// Opening a pipe to read it waits until somebody opens it to write, which nobody does here. Where the host waited, the call would end
/// at its limit of time, 5 s, and the thread that waits never.
#[test]
fn a_pipe_that_came_into_the_folder_after_the_load_is_refused_without_waiting() {
    journal::listen();
    let folder = Folder::new("planted");
    let mut mill = caller(with_folder(folder.grant()));
    folder.pipe("planted-pipe");
    let began = Instant::now();
    assert_eq!(mill.call("open planted-pipe", ""), "refused: not-permitted");
    let told = mill.call("read /lookup/planted-pipe", "");
    assert!(told.starts_with("refused"), "{told}");
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    journal::event_with("planted-pipe is neither file nor folder", "plugin was denied");
    assert_eq!(mill.call("read /lookup/zones", ""), "reached: eu us");
}

/// The folder is opened when the plugin is loaded, and that one is what every instance gets.
#[test]
fn a_folder_that_takes_the_name_of_a_granted_one_is_not_read() {
    let folder = Folder::new("swapped");
    let mut mill = caller(with_folder(folder.grant()));
    assert_eq!(mill.call("read /lookup/zones", ""), "reached: eu us");
    fs::rename(folder.at("lookup"), folder.at("away")).unwrap();
    std::os::unix::fs::symlink(&folder.0, folder.at("lookup")).unwrap();
    assert_eq!(mill.call("read /lookup/zones", ""), "reached: eu us");
    assert!(mill.call("read /lookup/secret", "").starts_with("refused"));
}

fn refused(files: FilesGrant) -> FilesError {
    let mut settings = with_limits(|_| {});
    settings.grants.files = vec![files];
    match mischief(&settings) {
        Err(LoadError::Reach { source: ReachError::Files(error), .. }) => error,
        other => panic!("wanted a refused folder, got {other:?}"),
    }
}

#[test]
fn a_folder_with_more_than_its_quota_is_refused_at_load() {
    let folder = Folder::new("quota");
    fs::write(folder.at("lookup/large"), vec![0; 96]).unwrap();
    let error = refused(folder.grant());
    assert!(matches!(error, FilesError::TooLarge { bytes_max: 100, .. }), "{error}");
    assert!(error.to_string().contains("max_bytes in plugin.grants.files"), "{error}");
}

/// Reading a pipe would hold a thread of the host up for ever.
#[test]
fn a_folder_with_a_pipe_in_it_is_refused_at_load() {
    let folder = Folder::new("pipe");
    folder.pipe("pipe");
    let error = refused(folder.grant());
    assert!(matches!(&error, FilesError::Special { path } if path.ends_with("pipe")), "{error}");
}

#[test]
fn what_is_no_folder_or_not_there_is_refused_at_load() {
    let folder = Folder::new("missing");
    let named = |path: &Path| FilesGrant { folder: path.to_owned(), ..folder.grant() };
    assert!(matches!(refused(named(&folder.at("secret"))), FilesError::NotAFolder { .. }));
    assert!(matches!(refused(named(&folder.at("nothing"))), FilesError::Read { .. }));
}
