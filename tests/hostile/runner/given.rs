//! What the guest of a row is granted: a folder of its own, and a listener that takes every connection and never answers.
//!
//! Must not know what the guest does with it.

use std::fs;
use std::io::Read as _;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use gristmill_guest::egress::address::parse_range;
use gristmill_guest::egress::destination::{HttpOrigin, TcpDestination};
use gristmill_guest::egress::{HttpGrant, Rules};
use gristmill_guest::{FilesGrant, Grants};

use crate::corpus::{Grant, Row};

/// What is there to be granted. The folder goes with it.
pub(crate) struct Given {
    folder: Option<PathBuf>,
    listener: Option<SocketAddr>,
}

impl Given {
    /// Makes what a row grants.
    ///
    /// # Panics
    ///
    /// When the system does not give it.
    pub(crate) fn to(row: &Row) -> Self {
        let connects = row.grants.contains(&Grant::Http) || row.grants.contains(&Grant::Tcp);
        Self { folder: row.grants.contains(&Grant::Files).then(folder), listener: connects.then(listener) }
    }

    /// The grants of a row.
    pub(crate) fn grants(&self, granted: &[Grant]) -> Grants {
        let mut rules = Rules::default();
        if let Some(listener) = self.listener {
            rules.addresses = vec![good(parse_range("127.0.0.0/8"))];
            let (origin, destination) = (format!("http://{listener}"), listener.to_string());
            if granted.contains(&Grant::Http) {
                rules.http.push(good(HttpGrant::new(good(HttpOrigin::parse(&origin)), [])));
            }
            if granted.contains(&Grant::Tcp) {
                rules.tcp.push(good(TcpDestination::parse(&destination)));
            }
        }
        let mount = || "/granted".to_owned();
        let files =
            self.folder.iter().map(|folder| FilesGrant { folder: folder.clone(), mount: mount(), bytes_max: 100 });
        Grants { rules, files: files.collect(), ..Grants::default() }
    }

    /// What a guest is told, with the address of its listener.
    pub(crate) fn told(&self, tell: &str) -> String {
        self.listener.map_or_else(|| tell.to_owned(), |listener| tell.replace("{listener}", &listener.to_string()))
    }

    /// Puts a pipe into the folder, as somebody might who can write there, now that the guest is loaded.
    ///
    /// # Panics
    ///
    /// When there is none to be had.
    pub(crate) fn plant(&self) {
        let Some(folder) = &self.folder else { return };
        let made = good(Command::new("mkfifo").arg(folder.join("pipe")).status());
        assert!(made.success(), "mkfifo: {made}");
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

fn folder() -> PathBuf {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let name = format!("gristmill-hostile-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(name);
    good(fs::create_dir_all(&path));
    good(fs::write(path.join("file"), "content"));
    path
}

fn listener() -> SocketAddr {
    let listener = good(TcpListener::bind("127.0.0.1:0"));
    let address = good(listener.local_addr());
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // Until the other side goes away.
            thread::spawn(move || while stream.read(&mut [0; 4096]).is_ok_and(|length| length > 0) {});
        }
    });
    address
}

fn good<T, E: std::fmt::Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}
