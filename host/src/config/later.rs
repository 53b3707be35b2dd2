//! What the design promises for later versions: written in a configuration today, it is refused with a text that says
//! so. Never silently ignored.

use super::findings::Findings;
use super::tree::{KeyPath, Node, Origin, Value};

/// Sections and keys that are not here yet: the path, and what this version does instead.
const KEYS: [(&[&str], &str); 1] =
    [(&["admin"], "a running host is talked to through its control socket, see [control]")];

/// Refuses everything in the tree that this version does not have yet.
pub(crate) fn refuse(findings: &mut Findings) {
    for (path, instead) in KEYS {
        if let Some(origin) = key_origin(&findings.root, path) {
            let name = path.join(".");
            let message = format!("{name}: this version does not have it yet ({instead}); remove it");
            findings.spoil(&KeyPath::of(path), &origin, message);
        }
    }
}

/// Where the key at the end of `path` was written, if it was.
fn key_origin(root: &Node, path: &[&str]) -> Option<Origin> {
    let (last, parents) = path.split_last()?;
    let Value::Table(entries) = &root.find(parents)?.value else { return None };
    entries.iter().find(|entry| entry.key == *last).map(|entry| entry.key_origin.clone())
}
