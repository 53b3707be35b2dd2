//! Opens files that are read whole. A pipe that nobody writes to would keep its reader waiting, and a device may have no end, so
//! both are refused before they are opened.

use std::fs::{self, File, FileType};
use std::io::{self, Read as _};
use std::path::Path;

/// Opens a regular file.
///
/// # Errors
/// The system's words, or what it is instead of a regular file.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    match kind(fs::metadata(path)?.file_type()) {
        None => File::open(path),
        Some(kind) => Err(io::Error::other(format!("it is {kind}, not a regular file"))),
    }
}

/// Reads a text, as far as `bytes_max`.
///
/// # Errors
/// The system's words, more bytes than that, or bytes that are no UTF-8.
pub(crate) fn read_text(file: File, bytes_max: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    // The size is judged first: cut off, a text may end within a character.
    if file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)? as u64 > bytes_max {
        return Err(io::Error::other(format!("it has more than {} MiB", bytes_max >> 20)));
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

/// What a file is that is no regular one.
fn kind(kind: FileType) -> Option<&'static str> {
    if kind.is_file() {
        return None;
    }
    if kind.is_dir() {
        return Some("a folder");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return Some("a pipe");
        }
        if kind.is_socket() {
            return Some("a socket");
        }
    }
    Some("a device")
}
