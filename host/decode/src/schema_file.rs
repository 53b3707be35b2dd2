//! Reads a schema file whole, within a bound.
//!
//! It does not know what a schema is.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

/// How large a schema file may be: beyond it, it is refused.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The bytes of the file.
///
/// # Errors
/// The system's words; a file that is too large; one that is no regular file: a pipe would keep us waiting, a device never ends.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::other(format!("it has more than {} MiB", FILE_BYTES_MAX >> 20)));
    }
    Ok(bytes)
}

/// The text of the file.
///
/// # Errors
/// As [`read`], and bytes that are no UTF-8.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}
