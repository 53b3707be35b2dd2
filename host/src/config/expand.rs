//! Replaces `${VAR}`, `${VAR:-default}`, `${VAR:?message}` and `${file:PATH}` in the string values of a file.
//!
//! It works on values that were read already, so that no variable can change the structure of the file.

use std::fs::File;
use std::path::Path;

use super::findings::Findings;
use super::tree::{KeyPath, Node, Value};
use crate::regular_file;

/// Looks up an environment variable.
pub(crate) type Lookup<'l> = &'l dyn Fn(&str) -> Option<String>;

/// Replaces every variable in every string of the tree. `$${` stands for a literal `${`. Refuses every variable that is not
/// defined, every file that cannot be read, every `${` that is not closed.
pub(crate) fn expand(findings: &mut Findings, folder: &Path, lookup: Lookup<'_>) {
    let mut broken = Vec::new();
    walk(&mut findings.root, &KeyPath::default(), &mut |path, node| {
        let Value::Text(text) = &node.value else { return };
        if !text.contains("${") {
            return;
        }
        match replace(text, folder, lookup) {
            Ok((text, hidden)) => {
                // What a variable says may be meant as a number or a list: the type that reads it decides.
                node.value = Value::Loose(text);
                node.hidden.extend(hidden);
            }
            Err(message) => broken.push((path.clone(), node.origin.clone(), message)),
        }
    });
    // From the last to the first, so that no item of a list has moved before its turn.
    for (path, origin, message) in broken.into_iter().rev() {
        findings.spoil(&path, &origin, message);
    }
}

fn walk(node: &mut Node, path: &KeyPath, visit: &mut dyn FnMut(&KeyPath, &mut Node)) {
    visit(path, node);
    match &mut node.value {
        Value::Table(entries) => {
            entries.iter_mut().for_each(|entry| walk(&mut entry.node, &path.key(&entry.key), visit));
        }
        Value::List(items) => {
            items.iter_mut().enumerate().for_each(|(at, item)| walk(item, &path.item(at), visit));
        }
        Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Float(_) | Value::Text(_) | Value::Loose(_) => {}
    }
}

/// The text with its variables replaced, and what came from files.
fn replace(text: &str, folder: &Path, lookup: Lookup<'_>) -> Result<(String, Vec<String>), String> {
    let (mut out, mut hidden, mut rest) = (String::new(), Vec::new(), text);
    while let Some(at) = rest.find("${") {
        let before = &rest[..at];
        let after = &rest[at + 2..];
        if let Some(before) = before.strip_suffix('$') {
            out.push_str(before);
            out.push_str("${");
            rest = after;
            continue;
        }
        out.push_str(before);
        let Some(end) = after.find('}') else {
            return Err("a \"${\" is not closed by \"}\"; write \"$${\" for the characters themselves".to_owned());
        };
        let name = &after[..end];
        if let Some(path) = name.strip_prefix("file:") {
            let said = file(&folder.join(path))?;
            out.push_str(&said);
            hidden.push(said);
        } else {
            out.push_str(&variable(name, lookup)?);
        }
        rest = &after[end + 1..];
    }
    out.push_str(rest);
    Ok((out, hidden))
}

/// The longest value that a file may hold.
const VALUE_BYTES_MAX: u64 = 1 << 20;

fn file(path: &Path) -> Result<String, String> {
    // A pipe is fine here, such as a shell makes for a secret: whoever names one writes to it.
    let text = File::open(path).and_then(|file| regular_file::read_text(file, VALUE_BYTES_MAX));
    let text = text.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(text.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text)).unwrap_or(&text).to_owned())
}

fn variable(written: &str, lookup: Lookup<'_>) -> Result<String, String> {
    let (name, otherwise) = match written.find(":-").or_else(|| written.find(":?")) {
        Some(at) => (&written[..at], Some(&written[at + 1..])),
        None => (written, None),
    };
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !plain {
        return Err(format!("\"${{{name}}}\" is no variable; write \"$${{\" for the characters themselves"));
    }
    let value = lookup(name);
    match (value, otherwise) {
        (Some(value), None) => Ok(value),
        (Some(value), Some(_)) if !value.is_empty() => Ok(value),
        (_, Some(otherwise)) => match otherwise.strip_prefix('-') {
            Some(default) => Ok(default.to_owned()),
            None => Err(format!("the variable {name} is not set: {}", otherwise.trim_start_matches('?'))),
        },
        (None, None) => Err(format!("the variable {name} is not set; set it or write ${{{name}:-default}}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(text: &str) -> Result<String, String> {
        let lookup = |name: &str| match name {
            "HOST" => Some("broker".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        replace(text, Path::new(""), &lookup).map(|(text, _)| text)
    }

    #[test]
    fn variables_are_replaced_within_a_text() {
        assert_eq!(replaced("${HOST}:9092,${OTHER:-b}:${PORT:-9092}").unwrap(), "broker:9092,b:9092");
        assert_eq!(replaced("[${EMPTY}]").unwrap(), "[]");
        assert_eq!(replaced("${EMPTY:-filled}").unwrap(), "filled");
        assert_eq!(replaced("a $b {c} $${d}").unwrap(), "a $b {c} ${d}");
    }

    #[test]
    fn an_undefined_variable_is_an_error_with_the_way_out() {
        let error = replaced("${NOWHERE}").unwrap_err();
        assert_eq!(error, "the variable NOWHERE is not set; set it or write ${NOWHERE:-default}");
        assert_eq!(replaced("${NOWHERE:?ask ops}").unwrap_err(), "the variable NOWHERE is not set: ask ops");
        assert!(replaced("${HOST").unwrap_err().contains("is not closed"));
        assert!(replaced("${a b}").unwrap_err().contains("is no variable"));
    }

    #[test]
    fn what_a_variable_says_is_not_replaced_again() {
        let lookup = |_: &str| Some("${AGAIN}".to_owned());
        assert_eq!(replace("${X}", Path::new(""), &lookup).unwrap().0, "${AGAIN}");
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = replaced("${file:no/such/file}").unwrap_err();
        assert!(error.starts_with("cannot read no/such/file: "), "{error}");
    }
}
