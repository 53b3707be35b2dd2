//! Collects everything that is wrong with a configuration, on the whole way from its text to a `Config`.
//!
//! What cannot be read is told and taken out of the tree, so that the rest can be read and judged as well. A required value is
//! replaced by a good one. Whatever hangs on a value that was taken out is not judged: it would be about a default that nobody
//! meant.

use serde::Deserialize;

use super::file::ConfigFile;
use super::problem::{ConfigError, Place, Problem, Source};
use super::reader::Reader;
use super::schema;
use super::secret;
use super::text::{self, Notation};
use super::tree::{KeyPath, Node, Origin, Value};

/// Good values for everything that is required.
const STAND_IN: &str = r#"
[kafka]
bootstrap_servers = "localhost:9092"
group_id = "x"
topics = ["x"]
auto_offset_reset = "error"
[plugin]
path = "x"
"#;

/// A configuration on its way, and what was found wrong with it so far.
pub(crate) struct Findings {
    /// What is left of it.
    pub(crate) root: Node,
    source: Source,
    problems: Vec<Problem>,
    /// Paths of what was taken out.
    spoilt: Vec<KeyPath>,
    /// What works but was perhaps not meant.
    pub(crate) warnings: Vec<String>,
}

impl Findings {
    /// Nothing found yet.
    pub(crate) fn new(root: Node, source: Source) -> Self {
        Self { root, source, problems: Vec::new(), spoilt: Vec::new(), warnings: Vec::new() }
    }

    /// Where the text came from, for saying where something stands in it.
    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// Refuses what stands at `path`, and takes it out. False when there was nothing, and nothing could take its place.
    pub(crate) fn spoil(&mut self, path: &KeyPath, origin: &Origin, message: String) -> bool {
        self.problems.push(self.source.problem(origin, message));
        self.take_out(path)
    }

    fn take_out(&mut self, path: &KeyPath) -> bool {
        let taken = self.root.take(path);
        let good = text::read(STAND_IN, Notation::Toml).ok();
        let good = good.and_then(|root| root.find(&path.keys()).cloned()).filter(|_| !path.ends_in_item());
        self.spoilt.push(path.clone());
        let Some(good) = good else { return taken };
        self.root.place(&path.owned_keys(), good);
        true
    }

    /// True when nothing was taken out at these paths, or above them.
    pub(crate) fn is_whole(&self, paths: &[&[&str]]) -> bool {
        !paths.iter().any(|path| self.spoilt.iter().any(|spoilt| path.starts_with(&spoilt.keys())))
    }

    /// Refuses something that hangs on all of these paths. It is shown at the first of them that was written at all, and not
    /// told when one of them was taken out.
    pub(crate) fn refuse(&mut self, paths: &[&[&str]], message: String) {
        if !self.is_whole(paths) {
            return;
        }
        let message = self.told(paths, message);
        let place = paths.iter().find_map(|path| self.root.find(path));
        let place = place.map(|node| self.source.place(&node.origin));
        self.problems.push(Problem { message, place });
    }

    /// Warns of something that hangs on all of these paths.
    pub(crate) fn warn(&mut self, paths: &[&[&str]], message: String) {
        let message = self.told(paths, message);
        self.warnings.push(message);
    }

    /// Refuses one item of the list at `path`.
    pub(crate) fn refuse_item(&mut self, path: &[&str], item: usize, message: String) {
        let node = self.root.find(path).map(|node| match &node.value {
            Value::List(items) => items.get(item).unwrap_or(node),
            _ => node,
        });
        let message = node.map_or_else(|| message.clone(), |node| secret::told(&message, path, node));
        let place = node.map(|node| self.source.place(&node.origin));
        self.problems.push(Problem { message, place });
    }

    /// The message, in which nothing is shown that what stands at one of these paths hides.
    fn told(&self, paths: &[&[&str]], message: String) -> String {
        paths.iter().fold(message, |message, path| match self.root.find(path) {
            Some(node) => secret::told(&message, path, node),
            None => message,
        })
    }

    /// Reads the tree as what the file means. What does not fit is refused and taken out until the rest does.
    pub(crate) fn read(&mut self) -> Option<ConfigFile> {
        let keys = schema::keys();
        loop {
            let error = match ConfigFile::deserialize(Reader::new(&self.root)) {
                Ok(file) => return Some(file),
                Err(error) => error,
            };
            let message = error.message(&keys);
            let Some((path, origin)) = error.subject() else {
                self.problems.push(Problem { message, place: None });
                return None;
            };
            if error.is_missing() && self.spoilt.iter().any(|spoilt| spoilt.keys() == path.keys()) {
                // It was written, and why it is gone was told. Without it the table that it stood in says nothing.
                if !self.take_out(&path.parent()) {
                    return None;
                }
                continue;
            }
            // Each turn makes the tree smaller, or puts a value there that is never refused. A table goes with the key that it lacks.
            let is_smaller =
                self.spoil(&path, &origin, message) || (error.is_missing() && self.take_out(&path.parent()));
            if !is_smaller {
                return None;
            }
            // A key that is misspelt is not missing as well.
            if let Some(meant) = error.meant().filter(|meant| self.root.find(&meant.keys()).is_none()) {
                self.take_out(&meant);
            }
        }
    }

    /// True when nothing was refused so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    /// Everything that was refused, in the order in which it stands in the file; behind it what came otherwise.
    pub(crate) fn into_error(self) -> ConfigError {
        let mut problems = self.problems;
        problems.sort_by_key(|problem| match &problem.place {
            Some(Place::File(spot)) => (0, spot.line, spot.column),
            Some(Place::Environment(_)) => (1, 0, 0),
            Some(Place::Flag(_)) => (2, 0, 0),
            None => (3, 0, 0),
        });
        ConfigError { problems }
    }
}
