//! Where a host's control socket lies: the usual folders, the file's name, its length.
//!
//! Makes and opens nothing. Host and commands both ask here, so that they agree.
//!
//! Two hosts of one pipeline on one machine are legal, since they share a group. The first has `PIPELINE.sock`, each further one
//! `PIPELINE-PID.sock` beside it: refusing to start would forbid what the documentation recommends.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gristmill_guest::Digest;

/// Bytes of a path that a Unix socket may have: the system's field holds 108 and ends with a zero.
pub(crate) const PATH_BYTES_MAX: usize = 107;

/// What a socket's file is called at its end.
const EXTENSION: &str = "sock";

/// Bytes of a pipeline's name that stand in a file's name. With the longest usual folder and the number of a process this stays
/// below [`PATH_BYTES_MAX`].
const NAME_BYTES_MAX: usize = 48;

/// Names the one folder for sockets; no other is used or searched.
const OWN: &str = "GRISTMILL_RUNTIME_DIR";
/// The system's name for a user's folder for such things.
const USERS: &str = "XDG_RUNTIME_DIR";

/// The folder in which hosts of this user make their sockets; `variable` reads the environment. The standard says that a relative
/// one counts as none.
pub(crate) fn usual_folder(variable: impl Fn(&str) -> Option<String>) -> PathBuf {
    let users = || absolute(variable(USERS)).map(|runtime| runtime.join("gristmill"));
    absolute(variable(OWN)).or_else(users).unwrap_or_else(fallback_folder)
}

fn absolute(folder: Option<String>) -> Option<PathBuf> {
    folder.map(PathBuf::from).filter(|folder| folder.is_absolute())
}

/// Where a host without a runtime folder makes its socket.
fn fallback_folder() -> PathBuf {
    Path::new("/tmp").join(format!("gristmill-{}", user()))
}

/// The folders in which sockets of this user's hosts may lie, the likeliest first: a service often has no `XDG_RUNTIME_DIR`, and who
/// logs in has one.
pub(crate) fn usual_folders(variable: impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let mut folders = vec![usual_folder(&variable)];
    if absolute(variable(OWN)).is_some() {
        return folders;
    }
    for other in [PathBuf::from(format!("/run/user/{}/gristmill", user())), fallback_folder()] {
        if !folders.contains(&other) {
            folders.push(other);
        }
    }
    folders
}

/// The user whose rights this process has.
pub(crate) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The file's name for a pipeline. Characters that a file's name should not have stand there by their numbers; of a long name the
/// beginning stands there, and enough of its digest to tell it from others.
pub(crate) fn file_name(pipeline: &str) -> String {
    let mut name = String::new();
    for byte in pipeline.bytes() {
        match byte {
            b'.' if name.is_empty() => name.push_str("%2E"),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => name.push(char::from(byte)),
            other => name.push_str(&format!("%{other:02X}")),
        }
    }
    if name.len() > NAME_BYTES_MAX {
        let digest = Digest::of(pipeline.as_bytes()).short();
        name.truncate(NAME_BYTES_MAX - digest.len() - 1);
        name = format!("{name}~{digest}");
    }
    format!("{name}.{EXTENSION}")
}

/// The path for one more host beside the one at `path`.
pub(crate) fn beside(path: &Path, pid: u32) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{pid}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// True when a file of this name may be one more host's beside the one at `path`.
pub(crate) fn is_beside(path: &Path, name: &OsStr) -> bool {
    let stem = path.file_stem().unwrap_or_default().as_bytes();
    let rest = name.as_bytes().strip_prefix(stem).and_then(|rest| rest.strip_prefix(b"-"));
    let end = path.extension().map_or_else(Vec::new, |extension| [b".", extension.as_bytes()].concat());
    let number = rest.and_then(|rest| rest.strip_suffix(end.as_slice()));
    number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
}

/// True when a file of this name is a socket of ours by its name.
pub(crate) fn is_socket_name(name: &OsStr) -> bool {
    Path::new(name).extension() == Some(OsStr::new(EXTENSION))
}

/// Why no socket can lie at this path, if none can.
pub(crate) fn fault(path: &Path) -> Option<String> {
    let bytes = path.as_os_str().as_bytes();
    if bytes.contains(&0) {
        return Some("holds a zero byte".to_owned());
    }
    if path.file_name().is_none() {
        return Some("names no file".to_owned());
    }
    (bytes.len() > PATH_BYTES_MAX)
        .then(|| format!("has {} bytes, and the path of a socket has {PATH_BYTES_MAX} at the most", bytes.len()))
}

/// Where a host listens, as it is told to people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address(Arc<Path>);

impl Address {
    pub(crate) fn new(path: &Path) -> Self {
        Self(path.into())
    }

    /// The command that asks exactly this host, as a shell takes it.
    pub(crate) fn command(&self, name: &str) -> String {
        format!("gristmill {name} --socket {}", quoted(self.0.as_os_str()))
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.display().fmt(f)
    }
}

/// In quotes where a shell would take it for something else.
fn quoted(word: &OsStr) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+=:@%,~".contains(byte);
    let text = OsString::from(word).to_string_lossy().into_owned();
    let is_plain = word.as_bytes().iter().all(plain) && !text.starts_with('~');
    if is_plain { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_pipeline_has_a_file_of_its_own_in_the_folder() {
        assert_eq!(file_name("orders-to-postgres"), "orders-to-postgres.sock");
        assert_eq!(file_name("../../etc/passwd"), "%2E.%2F..%2Fetc%2Fpasswd.sock");
        assert_eq!(file_name("a b\u{e9}"), "a%20b%C3%A9.sock");
        let (long, longer) = ("x".repeat(249), "x".repeat(250));
        assert_ne!(file_name(&long), file_name(&longer));
        for name in [file_name(&long), file_name(&"é".repeat(100))] {
            assert!(name.len() <= NAME_BYTES_MAX + ".sock".len(), "{name}");
        }
        let longest = Path::new("/run/user/4294967295/gristmill").join(file_name(&long));
        assert_eq!(fault(&beside(&longest, 4_194_304)), None);
    }

    #[test]
    fn a_further_host_lies_beside_the_first_and_is_found_there() {
        for (path, wanted) in
            [("/r/orders.sock", "/r/orders-77.sock"), ("/r/a.b.sock", "/r/a.b-77.sock"), ("/r/ctl", "/r/ctl-77")]
        {
            let beside = beside(Path::new(path), 77);
            assert_eq!(beside, Path::new(wanted));
            assert!(is_beside(Path::new(path), beside.file_name().unwrap()), "{path}");
        }
        for other in ["orders.sock", "orders-.sock", "orders-1x.sock", "orders-1.lock", "border-1.sock"] {
            assert!(!is_beside(Path::new("/r/orders.sock"), OsStr::new(other)), "{other}");
        }
    }

    #[test]
    fn a_relative_runtime_folder_counts_as_none() {
        let of = |users: &'static str| usual_folder(move |name| (name == USERS).then(|| users.to_owned()));
        assert_eq!(of("/run/user/7"), Path::new("/run/user/7/gristmill"));
        let none = usual_folder(|_| None);
        assert!(none.starts_with("/tmp"), "{none:?}");
        assert_eq!((of("run"), of("")), (none.clone(), none.clone()));
        assert!(usual_folders(|name| (name == USERS).then(|| "/run/user/7".to_owned())).contains(&none));
    }

    #[test]
    fn the_folder_that_is_named_is_the_only_one() {
        let both = |name: &str| Some(if name == OWN { "/srv/mill" } else { "/run/user/7" }.to_owned());
        assert_eq!(usual_folder(both), Path::new("/srv/mill"));
        assert_eq!(usual_folders(both), [Path::new("/srv/mill")]);
        let relative = |name: &str| Some(if name == OWN { "mill" } else { "/run/user/7" }.to_owned());
        assert_eq!(usual_folder(relative), Path::new("/run/user/7/gristmill"));
    }

    #[test]
    fn a_path_that_is_too_long_is_refused_with_both_numbers() {
        let path = |bytes: usize| PathBuf::from(format!("/{}", "x".repeat(bytes - 1)));
        assert_eq!(fault(&path(PATH_BYTES_MAX)), None);
        let fault = fault(&path(PATH_BYTES_MAX + 1)).unwrap();
        assert!(fault.contains("108 bytes") && fault.contains("107"), "{fault}");
    }

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        let command = |path: &str| Address::new(Path::new(path)).command("retry");
        assert_eq!(
            command("/run/user/0/gristmill/orders.sock"),
            "gristmill retry --socket /run/user/0/gristmill/orders.sock"
        );
        assert_eq!(command("/a b/it's.sock"), r"gristmill retry --socket '/a b/it'\''s.sock'");
    }
}
