//! Where each value of the configuration comes from, for `check --origin`.

use std::path::Path;

use serde::Serialize;

use super::derived;
use super::file::ConfigFile;
use super::findings::Findings;
use super::secret::{self, STARS};
use super::tree::join;

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
        let from = node.or_else(|| findings.root.find(source?.key));
        let secret = secret::is_secret_path(&path) || from.is_some_and(|node| node.hidden);
        let value = if secret { STARS.to_owned() } else { value.to_string() };
        lines.push(OriginLine { path, value, origin });
    });
    lines
}

fn walk<'v>(value: &'v serde_json::Value, keys: &mut Vec<&'v str>, visit: &mut dyn FnMut(&[&str], &serde_json::Value)) {
    match value {
        serde_json::Value::Object(members) => {
            for (key, value) in members {
                keys.push(key);
                walk(value, keys, visit);
                keys.pop();
            }
        }
        serde_json::Value::Null => {}
        scalar => visit(keys, scalar),
    }
}
