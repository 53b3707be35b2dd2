//! The files of the repository, read once for each check.

use std::path::Path;

/// One file: its path from the root, with slashes, and its text.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Source {
    #[cfg(test)]
    pub(crate) fn sample(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    pub(crate) fn is_under(&self, folder: &str) -> bool {
        self.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }
}

/// All text files of the repository.
#[derive(Debug)]
pub(crate) struct Repository {
    pub(crate) files: Vec<Source>,
}

impl Repository {
    pub(crate) fn read() -> Self {
        let mut files = Vec::new();
        collect(xtask::workspace::root(), "", &mut files);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        assert!(files.iter().any(|file| file.path == "Cargo.toml"), "the repository was not found");
        Self { files }
    }

    pub(crate) fn rust(&self) -> Vec<Source> {
        self.files.iter().filter(|file| file.path.ends_with(".rs")).cloned().collect()
    }

    /// The manifests of the members, without that of the workspace.
    pub(crate) fn manifests(&self) -> Vec<Source> {
        self.files.iter().filter(|file| file.path.ends_with("/Cargo.toml")).cloned().collect()
    }

    /// The text of one file, empty when there is none.
    pub(crate) fn text(&self, path: &str) -> &str {
        self.files.iter().find(|file| file.path == path).map_or("", |file| &file.text)
    }
}

/// Built things and the history are not part of the repository's form.
const LEFT_OUT: &[&str] = &["target", ".git", "node_modules"];

fn collect(folder: &Path, prefix: &str, files: &mut Vec<Source>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        // The history is a file where the checkout is one of several.
        if LEFT_OUT.contains(&name.as_str()) {
            continue;
        }
        let path = format!("{prefix}{name}");
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), &format!("{path}/"), files);
        } else if let Ok(text) = std::fs::read_to_string(entry.path()) {
            files.push(Source { path, text });
        }
    }
}
