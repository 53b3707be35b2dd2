//! What is fetched and made once and then kept in the target folder, whoever else wants it at the same time.
//!
//! It must not know what it is.

use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context, Result};

/// Creates the folder of an installation, and keeps other processes and threads from working on it until the lock is dropped.
pub(crate) fn lock(folder: &Path) -> Result<File> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let path = folder.join("lock");
    let lock = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
    lock.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(lock)
}

/// Makes one part of the installation under another name and gives it its own only when it is whole, so that an
/// interrupted run leaves nothing that looks finished.
pub(crate) fn step(folder: &Path, name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let finished = folder.join(name);
    if finished.is_dir() {
        return Ok(());
    }
    let unfinished = folder.join(format!("{name}.unfinished"));
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).with_context(|| format!("cannot remove {}", unfinished.display()))?;
    }
    make(&unfinished)?;
    fs::rename(&unfinished, &finished).with_context(|| format!("cannot move {name} into place"))
}

#[expect(clippy::print_stderr, reason = "progress is for the person who waits, and must stay out of the output")]
pub(crate) fn note(text: &str) {
    eprintln!("xtask: {text}");
}
