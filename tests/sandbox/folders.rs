//! Folders that were granted can be read, and nothing can be written, nor anything beside them be reached.

use std::fs;
use std::path::{Path, PathBuf};

use gristmill_guest::{FilesError, FilesGrant, Grants, LoadError, ReachError};

use crate::caller::{caller, grants};
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
    let made = std::process::Command::new("mkfifo").arg(folder.at("lookup/pipe")).status().unwrap();
    assert!(made.success());
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
