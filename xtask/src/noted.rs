//! The note of a server that outlives the command that started it: its process, its folder, its address.
//!
//! It must not know what kind of server that is.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// What was noted of a server.
#[derive(Debug)]
pub(crate) struct Noted {
    pub(crate) process: u32,
    pub(crate) folder: PathBuf,
    pub(crate) address: String,
}

impl Noted {
    /// What was noted in a file, whether the server still runs or not; `None` where nothing is.
    pub(crate) fn of(file: &Path) -> Result<Option<Self>> {
        fs::read_to_string(file).map_or(Ok(None), |text| Self::read(&text))
    }

    /// Reads a note; `None` where it is none.
    fn read(text: &str) -> Result<Option<Self>> {
        let lines: Vec<&str> = text.lines().collect();
        let [process, folder, address] = lines.as_slice() else { return Ok(None) };
        let process = process.parse().context("the note of the running server is damaged")?;
        Ok(Some(Self { process, folder: PathBuf::from(folder), address: (*address).to_owned() }))
    }

    /// Writes the note.
    pub(crate) fn write(&self, file: &Path) -> Result<()> {
        let folder = file.parent().context("a note lies in a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let text = format!("{}\n{}\n{}\n", self.process, self.folder.display(), self.address);
        fs::write(file, text).context("cannot note the server's process")
    }

    /// True when that process still is the server that was noted: a number may have been given to another process since, but
    /// the server's command line names its folder.
    pub(crate) fn runs(&self) -> bool {
        let command_line = fs::read(format!("/proc/{}/cmdline", self.process)).unwrap_or_default();
        String::from_utf8_lossy(&command_line).contains(&*self.folder.to_string_lossy())
    }

    /// Removes the server's folder, which may be gone, but never one that no server of ours made: a note may be damaged.
    pub(crate) fn remove_folder(&self, prefix: &str, file: &Path) -> Result<()> {
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with(prefix) {
            bail!("{} is no folder of a server of ours: remove {}", self.folder.display(), file.display());
        }
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", self.folder.display()))
            }
            _ => Ok(()),
        }
    }
}

/// Removes a note.
pub(crate) fn forget(file: &Path) -> Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error).context("cannot forget the server"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFIX: &str = "gristmill-noted-";

    fn noted_at(folder: &Path) -> Noted {
        // Our own process is none that names the folder.
        let text = format!("{}\n{}\n127.0.0.1:9092\n", std::process::id(), folder.display());
        Noted::read(&text).unwrap().unwrap()
    }

    #[test]
    fn the_folder_of_a_server_that_ended_by_itself_is_removed() {
        let folder = std::env::temp_dir().join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir_all(folder.join("data")).unwrap();
        let noted = noted_at(&folder);
        assert!(!noted.runs());
        noted.remove_folder(PREFIX, Path::new("note")).unwrap();
        assert!(!folder.exists());
        noted.remove_folder(PREFIX, Path::new("note")).expect("a folder that is gone is no trouble");
    }

    #[test]
    fn a_folder_of_somebody_else_stays() {
        let folder = std::env::temp_dir().join(format!("gristmill-somebody-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let refusal = noted_at(&folder).remove_folder(PREFIX, Path::new("note")).unwrap_err().to_string();
        assert!(refusal.contains("no folder of a server of ours"), "{refusal}");
        fs::remove_dir(&folder).expect("it was removed");
    }

    #[test]
    fn a_note_is_read_as_it_was_written_and_forgotten() {
        let file = std::env::temp_dir().join(format!("{PREFIX}note-{}", std::process::id())).join("up");
        noted_at(Path::new("/a/b")).write(&file).unwrap();
        let noted = Noted::of(&file).unwrap().expect("it was noted");
        assert_eq!((noted.process, noted.folder.as_path()), (std::process::id(), Path::new("/a/b")));
        forget(&file).unwrap();
        assert!(Noted::of(&file).unwrap().is_none());
        forget(&file).expect("what is forgotten is no trouble");
        fs::remove_dir(file.parent().unwrap()).unwrap();
    }
}
