//! A folder for one test, removed when the test is done with it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A new, empty folder among the system's temporary files; gone when dropped.
#[derive(Debug)]
pub struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// Creates the folder.
    ///
    /// # Panics
    ///
    /// When it cannot be created: no test can go on then.
    #[must_use]
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("gristmill-test-{}-{number}", std::process::id()));
        // A folder of that name was left by a process that had our number before.
        let _ = std::fs::remove_dir_all(&path);
        if let Err(error) = std::fs::create_dir_all(&path) {
            panic!("cannot create {}: {error}", path.display());
        }
        Self(path)
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file in it and returns the file's path.
    ///
    /// # Panics
    ///
    /// When it cannot be written.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        if let Err(error) = std::fs::write(&path, text) {
            panic!("cannot write {}: {error}", path.display());
        }
        path
    }
}

impl Default for TemporaryFolder {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
