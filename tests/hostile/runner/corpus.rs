//! The table of the corpus: which guests there are, and what each must come to.
//!
//! Must not know how they are run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

/// All of `corpus.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Corpus {
    /// The ids that need a row, or a test elsewhere.
    pub(crate) threats: Vec<String>,
    /// Tests that hold what a guest alone cannot show.
    pub(crate) elsewhere: BTreeMap<String, Vec<String>>,
    /// The guests.
    pub(crate) row: Vec<Row>,
}

/// One guest and what it must come to.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    /// Which threat it is.
    pub(crate) id: String,
    /// Its file without the ending; or `mischief`, which is told what to do; or the name of what is made when it is run.
    pub(crate) guest: String,
    /// The key of the first record.
    #[serde(default = "any")]
    pub(crate) tell: String,
    /// Its settings.
    #[serde(default)]
    pub(crate) settings: BTreeMap<String, String>,
    /// What it is granted.
    #[serde(default)]
    pub(crate) grants: Vec<Grant>,
    /// The records behind the first one.
    #[serde(default)]
    pub(crate) batch: Records,
    /// How it must end: one of these words, with `or` between them.
    pub(crate) expect: String,
    /// A part of what is said of it, or of what it says.
    #[serde(default)]
    pub(crate) says: String,
    /// All that it says.
    pub(crate) answers: Option<String>,
    /// It has a sink to emit to, and so room for what it emits.
    #[serde(default)]
    pub(crate) sink: bool,
    /// It is loaded anew each time.
    #[serde(default)]
    pub(crate) anew: bool,
    /// Whose end it is to run into.
    pub(crate) until: Option<Until>,
    /// By how many mebibytes the process may grow while it runs.
    #[serde(default = "little")]
    pub(crate) mebibytes: u64,
}

/// Whose limit ends a guest that would not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Until {
    /// The wall clock's.
    Wall,
    /// The processor time's.
    Cpu,
}

/// Something that a guest is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Grant {
    /// A folder.
    Files,
    /// Requests to a listener.
    Http,
    /// Connections to it.
    Tcp,
}

/// Odd records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Records {
    /// None beside the first.
    #[default]
    None,
    /// Two ordinary ones.
    Two,
    /// Two thousand ordinary ones.
    TwoThousand,
    /// Null, empty and absent, in every place.
    Null,
    /// A value of a hundred megabytes.
    HundredMegabytes,
    /// A hundred thousand headers.
    HundredThousandHeaders,
    /// Names that are no text, and times and offsets at their ends.
    Wild,
}

fn any() -> String {
    "any".to_owned()
}

fn little() -> u64 {
    8
}

impl Row {
    /// Its name for people: what tells it from the others.
    pub(crate) fn name(&self) -> String {
        let mut name = self.guest.clone();
        if self.tell != any() {
            let told: String = self.tell.chars().take(40).collect();
            name += &format!(" {told}");
        }
        for (setting, value) in &self.settings {
            let value: String = value.chars().take(20).collect();
            name += &format!(" {setting}={value}");
        }
        if self.batch != Records::None {
            name += &format!(" {:?}", self.batch);
        }
        if !self.grants.is_empty() {
            name += &format!(" with {:?}", self.grants);
        }
        if self.sink {
            name += " with a sink";
        }
        name
    }

    /// True when ending in this way is right.
    pub(crate) fn expects(&self, class: &str) -> bool {
        self.expect.split(" or ").any(|expected| expected == class)
    }
}

impl Corpus {
    /// The threats that no guest shows and no test elsewhere holds.
    pub(crate) fn uncovered(&self) -> Vec<&str> {
        let has_row = |id: &str| self.row.iter().any(|row| row.id == id);
        let has_test = |id: &str| self.elsewhere.get(id).is_some_and(|tests| !tests.is_empty());
        self.threats.iter().map(String::as_str).filter(|id| !has_row(id) && !has_test(id)).collect()
    }
}

/// The folder of the corpus.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("guests/hostile")
}

/// Reads the table.
///
/// # Panics
///
/// When it is not one.
pub(crate) fn read() -> Corpus {
    let path = folder().join("corpus.toml");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_threat_has_a_guest_or_a_test() {
        assert_eq!(read().uncovered(), [""; 0]);
        let mut corpus = read();
        corpus.row.retain(|row| row.id != "T-01");
        corpus.elsewhere.remove("T-64");
        assert_eq!(corpus.uncovered(), ["T-01", "T-64"]);
    }

    #[test]
    fn every_row_is_about_a_threat_of_the_list() {
        let corpus = read();
        for id in corpus.row.iter().map(|row| &row.id).chain(corpus.elsewhere.keys()) {
            assert!(corpus.threats.contains(id), "{id} is not in the list of threats");
        }
    }

    #[test]
    fn every_test_elsewhere_exists() {
        for name in read().elsewhere.values().flatten() {
            let (target, test) = name.split_once("::").unwrap();
            let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(target);
            assert!(holds(&folder, &format!("fn {test}()")), "there is no test {name}");
        }
    }

    #[test]
    fn every_file_has_a_row_and_every_row_a_guest() {
        let corpus = read();
        // What is made when it is needed takes a while, and is no file.
        for row in corpus.row.iter().filter(|row| row.id != "T-19") {
            assert!(!crate::guests::bytes(row).is_empty(), "{}", row.name());
        }
        for entry in fs::read_dir(folder()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            let is_guest = path.extension().is_some_and(|extension| extension == "wat");
            let is_frame = ["component", "host", "ordinary"].contains(&name);
            assert!(!is_guest || is_frame || corpus.row.iter().any(|row| row.guest == name), "{name} is in no row");
        }
    }

    #[test]
    fn rows_can_be_told_apart() {
        let corpus = read();
        let mut names: Vec<String> =
            corpus.row.iter().map(|row| format!("{} {} {:?}", row.id, row.name(), row.until)).collect();
        names.sort();
        let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
        assert_eq!(twice, None);
    }

    /// Whether a file somewhere in the folder holds the text.
    fn holds(folder: &std::path::Path, text: &str) -> bool {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).any(|path| {
            if path.is_dir() {
                holds(&path, text)
            } else {
                fs::read_to_string(&path).is_ok_and(|file| file.contains(text))
            }
        })
    }
}
