//! What the design promises for later versions: written in a configuration today, it is refused with a text that says
//! so. Never silently ignored.

use super::problem::{Problem, Source};
use super::tree::{Node, Origin, Value};

/// Sections and keys that are not here yet: the path, and what this version does instead.
const KEYS: [(&[&str], &str); 5] = [
    (&["dead_letter"], "a record that cannot be handled stops or holds the pipeline"),
    (&["sinks"], "a plugin cannot emit records"),
    (&["admin"], "a running host cannot be talked to"),
    (&["plugin", "grants"], "a plugin reaches no network"),
    (&["fault", "isolate"], "a batch that breaks the plugin is not cut in parts to find the record at fault"),
];

/// Words that are not here yet: the path, the word, and what to write instead.
const WORDS: [(&[&str], &str, &str); 2] = [
    (&["batch", "scope"], "partition", "write \"consumer\""),
    (&["fault", "then"], "dead_letter", "write \"stop\" or \"hold\""),
];

/// A problem for everything in the tree that this version does not have yet.
pub(crate) fn refuse(root: &Node, source: &Source) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, instead) in KEYS {
        if let Some(origin) = key_origin(root, path) {
            let name = path.join(".");
            let message = format!("{name}: this version does not have it yet ({instead}); remove it");
            problems.push(source.problem(&origin, message));
        }
    }
    for (path, word, instead) in WORDS {
        let node = root.find(path);
        if let Some(node) =
            node.filter(|node| matches!(&node.value, Value::Text(text) | Value::Loose(text) if text == word))
        {
            let message = format!("{} = \"{word}\": this version does not have it yet; {instead}", path.join("."));
            problems.push(source.problem(&node.origin, message));
        }
    }
    problems
}

/// Where the key at the end of `path` was written, if it was.
fn key_origin(root: &Node, path: &[&str]) -> Option<Origin> {
    let (last, parents) = path.split_last()?;
    let Value::Table(entries) = &root.find(parents)?.value else { return None };
    entries.iter().find(|entry| entry.key == *last).map(|entry| entry.key_origin.clone())
}
