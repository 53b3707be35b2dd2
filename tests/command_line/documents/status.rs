//! `docs/operating.md` against what a running host says of itself: the schema, real answers, refusals, the commands.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::markdown::{Paper, paper, spans};
use super::source::file;
use crate::control::Station;
use crate::process::Run;

fn page() -> Paper {
    paper("docs/operating.md")
}

/// Every path of the schema that holds a value, with its type in the words of the page.
fn paths() -> BTreeMap<String, String> {
    let ended = Run::new().with(&["schema", "status"]);
    let schema: Value = serde_json::from_str(&ended.good().stdout).unwrap();
    let mut paths = BTreeMap::new();
    collect(&schema, &schema, "", &mut paths);
    paths
}

fn collect(root: &Value, table: &Value, path: &str, paths: &mut BTreeMap<String, String>) {
    for (name, property) in table["properties"].as_object().unwrap() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let inner = property["anyOf"].as_array().map(|any| &any[0]);
        let (property, null) = (resolve(root, inner.unwrap_or(property)), inner.is_some());
        let kind = property["type"].as_str().or_else(|| property["type"][0].as_str()).unwrap();
        let null = null || property["type"].is_array();
        let items = resolve(root, &property["items"]);
        let word = match kind {
            "object" if null => "table",
            "object" => "",
            "array" if items["type"] == "string" => "list of texts",
            "array" => "",
            "string" => "text",
            "integer" => "number",
            "boolean" => "true or false",
            other => panic!("{path}: {other}"),
        };
        if !word.is_empty() {
            paths.insert(path.clone(), if null { format!("{word} or null") } else { word.to_owned() });
        }
        match kind {
            "object" => collect(root, property, &path, paths),
            "array" if items["properties"].is_object() => collect(root, items, &format!("{path}[]"), paths),
            _ => {}
        }
    }
}

fn resolve<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    schema["$ref"].as_str().map_or(schema, |reference| root.pointer(&reference[1..]).unwrap())
}

/// Every path of a value.
fn paths_of(value: &Value, path: &str, paths: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                paths_of(value, &path, paths);
            }
            paths.insert(path.to_owned());
        }
        Value::Array(items) => {
            paths.insert(path.to_owned());
            items.iter().for_each(|item| paths_of(item, &format!("{path}[]"), paths));
        }
        _ => drop(paths.insert(path.to_owned())),
    }
}

#[test]
fn every_field_of_a_status_has_its_row_and_its_type() {
    let rows = page().rows(&["Path", "Type", "Meaning"]);
    let named: BTreeMap<String, String> =
        rows.iter().map(|row| (spans(&row[0])[0].to_owned(), row[1].clone())).collect();
    let paths = paths();
    assert!(paths.len() > 40, "{paths:#?}");
    assert_eq!(named, paths);
}

/// A host that holds something and one whose batch waits say everything that there is to say, and nothing else.
#[test]
fn every_field_of_a_status_is_in_an_answer() {
    let mut said = BTreeSet::new();
    for (key, state) in [("fatal:no table", "held"), ("retry:no database", "waiting")] {
        let station = Station::start("[retry]\ninitial = \"1h\"\nmax = \"2h\"\n");
        station.put(key);
        paths_of(&station.wait_until(state, |status| status["state"] == state), "", &mut said);
        station.stop();
    }
    let paths = paths();
    let missing: Vec<_> = paths.keys().filter(|path| !said.contains(*path)).collect();
    assert!(missing.is_empty(), "nobody said {missing:#?}");
    // Tables and lists have no row of their own.
    let leads_to = |path: &str, known: &str| {
        let rest = known.strip_prefix(path);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let is_known = |path: &String| {
        let path = if paths.get(path.trim_end_matches("[]")).is_some_and(|kind| kind == "list of texts") {
            path.trim_end_matches("[]")
        } else {
            path
        };
        path.is_empty() || paths.keys().any(|known| leads_to(path, known))
    };
    let unknown: Vec<_> = said.iter().filter(|path| !is_known(path)).collect();
    assert!(unknown.is_empty(), "no row for {unknown:#?}");
}

#[test]
fn every_refusal_has_its_row() {
    let source = file("host/src/control/request.rs");
    let body = source.split("enum RefusalCode {").nth(1).unwrap().split("\n}").next().unwrap();
    let names = body.lines().map(str::trim).filter_map(|line| line.strip_suffix(',')).filter(|name| *name != "Other");
    let codes: BTreeSet<String> = names.map(snake).collect();
    assert!(codes.len() > 8, "{codes:?}");
    let rows = page().rows(&["Refusal", "Why"]);
    let named: BTreeSet<String> = rows.iter().map(|row| spans(&row[0])[0].to_owned()).collect();
    assert_eq!(named, codes);
}

fn snake(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    snake
}

/// The bounds stand in the page in words.
#[test]
fn the_bounds_of_clients_are_what_the_page_says() {
    let source = file("host/src/control/server.rs");
    for (constant, words) in [
        ("CLIENTS_MAX: usize = 64;", "64 clients are served at once"),
        ("REQUEST_BYTES_MAX: u64 = 64 << 10;", "A request has 64 KiB at the most"),
        ("REQUEST_WAIT_MAX: Duration = Duration::from_secs(10);", "to come within 10 s"),
        ("LOOP_WAIT_MAX: Duration = Duration::from_secs(10);", "did not come to it within 10 s"),
        ("READ_WAIT_MAX: Duration = Duration::from_secs(5);", "has to be read within 5 s"),
        ("WISH_EVERY: Duration = Duration::from_millis(5);", "5 ms at the most"),
    ] {
        assert!(source.contains(constant), "{constant}");
        let page = page().text.replace('\n', " ");
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn the_shown_status_is_the_one_that_is_rendered() {
    let page = page();
    let shown = page.blocks().into_iter().find(|block| block.text.starts_with("orders: held for ")).unwrap();
    let sources = ["host/src/cli/status_text.rs", "host/src/status/held.rs"].map(file).concat();
    for name in ["plugin", "group", "process", "held", "records", "answers", "partition"] {
        assert!(shown.text.contains(&format!("\n  {name} ")), "{name}");
        assert!(sources.contains(&format!("\"{name}\"")), "{name}");
    }
    let whens = shown.text.lines().filter_map(|line| line.trim().strip_suffix(':'));
    let whens: Vec<&str> = whens.collect();
    assert_eq!(whens.len(), 2, "{whens:?}");
    whens.iter().for_each(|when| assert!(sources.contains(&format!("\"{when}\"")), "{when}"));
}
