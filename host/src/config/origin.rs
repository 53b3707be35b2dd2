//! Where each value of the configuration comes from, for `check --origin`.

use std::path::Path;

use serde::Serialize;
use serde_json::Value as Json;

use super::derived;
use super::file::ConfigFile;
use super::findings::Findings;
use super::secret::{self, STARS};
use super::tree::{Node, Value as Tree, join};

/// One value with its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OriginLine {
    /// Its path.
    pub path: String,
    /// The value, or stars.
    pub value: String,
    /// File with line and column, variable, flag, or `default`, with what it follows from if it does.
    pub origin: String,
}

/// Lists every value of `file`, those included that follow from others. The tree says where it was written; what is not in the
/// tree is a default. `runtime` is the usual folder of control sockets.
pub(crate) fn list(file: &ConfigFile, runtime: &Path, findings: &Findings) -> Vec<OriginLine> {
    let mut lines = Vec::new();
    let value = serde_json::to_value(file.filled(runtime)).unwrap_or_default();
    walk(&value, &mut Vec::new(), &mut |keys, value| {
        let path = keys.iter().fold(String::new(), |path, key| join(&path, key));
        let node = findings.root.find(keys);
        let source = derived::source(&path).filter(|_| node.is_none());
        let origin = match (node, source) {
            (Some(node), _) => findings.source().place(&node.origin).to_string(),
            (None, Some(source)) => format!("default, {} {}", source.how, source.key.join(".")),
            (None, None) => "default".to_owned(),
        };
        let value = match node.or_else(|| derived_from(&path, findings)) {
            _ if secret::is_secret_path(&path) => STARS.to_owned(),
            Some(node) => match shown(value, node) {
                Json::String(stars) if stars == STARS => stars,
                shown => shown.to_string(),
            },
            None => value.to_string(),
        };
        lines.push(OriginLine { path, value, origin });
    });
    lines
}

/// What a default follows from, where that was written.
fn derived_from<'f>(path: &str, findings: &'f Findings) -> Option<&'f Node> {
    let source = derived::source(path)?;
    findings.root.find(source.key).or_else(|| derived_from(&source.key.join("."), findings))
}

/// A value with stars for what its node hides. Lists have as many items as they were written with, unless they were written as a text.
fn shown(value: &Json, node: &Node) -> Json {
    match (value, &node.value) {
        _ if node.is_hidden() => Json::from(STARS),
        (Json::Array(items), Tree::List(nodes)) => {
            items.iter().zip(nodes).map(|(item, node)| shown(item, node)).collect()
        }
        (Json::Object(members), Tree::Table(entries)) => {
            let node = |key: &String| entries.iter().find(|entry| entry.key == *key).map(|entry| &entry.node);
            let member = |(key, value): (&String, &Json)| {
                (key.clone(), node(key).map_or_else(|| value.clone(), |node| shown(value, node)))
            };
            members.iter().map(member).collect()
        }
        _ => value.clone(),
    }
}

fn walk<'v>(value: &'v Json, keys: &mut Vec<&'v str>, visit: &mut dyn FnMut(&[&str], &Json)) {
    match value {
        Json::Object(members) => {
            for (key, value) in members {
                keys.push(key);
                walk(value, keys, visit);
                keys.pop();
            }
        }
        Json::Null => {}
        scalar => visit(keys, scalar),
    }
}
