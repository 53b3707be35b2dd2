//! `docs/operating.md` against what `dead-letters` prints for machines.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::markdown::{paper, spans};
use crate::dead_letters::{TWICE, cluster, put, run};

/// What the page says of a table: each path with its type.
fn named(heading: &str) -> BTreeMap<String, String> {
    let rows = paper("docs/operating.md").rows(&[heading, "Type", "Meaning"]);
    rows.iter().map(|row| (spans(&row[0])[0].to_owned(), row[1].clone())).collect()
}

/// Adds the paths of a value, each with the types that it has. A table that the page describes as a whole is not looked into.
fn add(value: &Value, path: &str, whole: &[&str], paths: &mut BTreeMap<String, BTreeSet<&'static str>>) {
    let word = match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list of texts",
        Value::Object(_) => "table",
    };
    match value.as_object().filter(|_| !whole.contains(&path)) {
        Some(members) => {
            for (name, value) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                add(value, &path, whole, paths);
            }
        }
        None => drop(paths.entry(path.to_owned()).or_default().insert(word)),
    }
}

/// The page's words for the types that values have: a table that may be null stands as what is in it.
fn told(mut paths: BTreeMap<String, BTreeSet<&'static str>>) -> BTreeMap<String, String> {
    let tables: Vec<String> =
        paths.keys().filter(|path| paths.keys().any(|other| other.starts_with(&format!("{path}.")))).cloned().collect();
    paths.retain(|path, _| !tables.contains(path));
    paths.into_iter().map(|(path, words)| (path, words.into_iter().filter(|word| *word != "null").collect())).collect()
}

#[test]
fn every_field_of_a_dead_letter_and_of_what_is_counted_has_its_row() {
    let cluster = cluster();
    put(&cluster, b"twice", b"", &TWICE);
    let json = |arguments: &[&str]| run(&cluster, &[arguments, &["g.toml", "--output", "json"]].concat()).json();
    let mut letters = BTreeMap::new();
    json(&["show"]).iter().for_each(|letter| add(letter, "", &["record"], &mut letters));
    assert_eq!(told(letters), without_null(named("Of a dead letter")));
    let mut listed = BTreeMap::new();
    add(json(&["list"]).last().unwrap(), "", &["summary.classes"], &mut listed);
    let wanted = named("Of what is counted");
    let of_list = wanted.iter().filter(|(path, _)| path.starts_with("summary."));
    assert_eq!(told(listed), of_list.map(|(path, kind)| (path.clone(), kind.clone())).collect());
    let mut replayed = BTreeMap::new();
    let replay = json(&["replay", "--all", "--to", "origin"]);
    add(&replay[0], "", &["summary.classes", "topics"], &mut replayed);
    assert_eq!(told(replayed), without_null(wanted));
}

fn without_null(named: BTreeMap<String, String>) -> BTreeMap<String, String> {
    named.into_iter().map(|(path, kind)| (path, kind.trim_end_matches(" or null").to_owned())).collect()
}
