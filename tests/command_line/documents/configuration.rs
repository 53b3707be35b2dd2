//! `docs/configuration.md` against the schema, the defaults, the refusals and the lists of properties.

use std::collections::BTreeMap;

use gristmill_kafka::properties::{self, Standing, standing};
use gristmill_kafka::{HEADER_OVERHEAD_BYTES, RECORD_OVERHEAD_BYTES};
use serde_json::Value;

use super::markdown::{Paper, paper, spans};
use crate::process::{Run, configuration};

fn page() -> Paper {
    paper("docs/configuration.md")
}

/// A key as the schema has it.
#[derive(Debug)]
struct Key {
    kind: String,
    default: String,
}

/// Every key that is no section, by its path.
fn keys() -> BTreeMap<String, Key> {
    let ended = Run::new().with(&["schema", "config"]);
    let schema: Value = serde_json::from_str(&ended.good().stdout).unwrap();
    let mut keys = BTreeMap::new();
    collect(&schema, &schema, "", &mut keys);
    keys
}

fn collect(root: &Value, section: &Value, path: &str, keys: &mut BTreeMap<String, Key>) {
    let required = section["required"].as_array().cloned().unwrap_or_default();
    for (name, property) in section["properties"].as_object().unwrap() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let (named, resolved) = resolve(root, property);
        if resolved["properties"].is_object() {
            collect(root, resolved, &path, keys);
            continue;
        }
        let default = match &property["default"] {
            _ if required.contains(&Value::from(name.as_str())) => "required".to_owned(),
            Value::Null => said_default(&property["description"]),
            Value::Object(table) if table.is_empty() => "empty".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        keys.insert(path, Key { kind: kind(root, named, resolved), default });
    }
}

/// The name of the type and the type itself; `null` beside it is what every optional key may be.
fn resolve<'s>(root: &'s Value, property: &'s Value) -> (&'s str, &'s Value) {
    let inner = property["anyOf"].as_array().and_then(|any| any.iter().find(|one| one["type"] != "null"));
    let inner = inner.unwrap_or(property);
    match inner["$ref"].as_str() {
        Some(reference) => (reference.rsplit('/').next().unwrap(), root.pointer(&reference[1..]).unwrap()),
        None => ("", inner),
    }
}

/// What the description says about a default that depends on something.
fn said_default(description: &Value) -> String {
    let text = description.as_str().unwrap();
    text.split_once("Default: ").map_or("none", |(_, said)| said).trim_end_matches('.').replace('"', "")
}

/// The type in the words of the page.
fn kind(root: &Value, named: &str, schema: &Value) -> String {
    let words = schema["oneOf"].as_array().or(schema["enum"].as_array());
    if let Some(words) = words {
        let words = words.iter().map(|word| word["const"].as_str().or(word.as_str()).unwrap());
        return words.collect::<Vec<_>>().join(", ");
    }
    if let Some(word) = schema["const"].as_str() {
        return word.to_owned();
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    let word = match (named, kind) {
        ("Size", _) => "size",
        ("Span", _) => "time",
        ("Attempts", _) => "whole number or unlimited",
        (_, Some("string")) => "text",
        (_, Some("integer")) => "whole number",
        (_, Some("number")) => "number",
        (_, Some("boolean")) => "true or false",
        (_, Some("array")) => match resolve(root, &schema["items"]).1 {
            items if items["properties"].is_object() => "list of tables",
            items if items["anyOf"].is_array() => "list of texts or tables",
            _ => "list of texts",
        },
        (_, Some("object")) => "table",
        _ => panic!("{named}: {schema}"),
    };
    word.to_owned()
}

/// The rows of the page: type and default by path.
fn rows() -> BTreeMap<String, Key> {
    let rows = page().rows(&["Key", "Type", "Default", "Meaning"]);
    let count = rows.len();
    let plain = |cell: &str| cell.replace('`', "");
    let rows: BTreeMap<String, Key> =
        rows.iter().map(|row| (plain(&row[0]), Key { kind: plain(&row[1]), default: plain(&row[2]) })).collect();
    assert_eq!(rows.len(), count, "a key has two rows");
    rows
}

#[test]
fn every_key_has_a_row_and_every_row_is_a_key() {
    let (keys, rows) = (keys(), rows());
    assert!(keys.keys().eq(rows.keys()), "schema: {:#?}\npage: {:#?}", keys.keys(), rows.keys());
    assert!(keys.len() > 25, "only {} keys were found", keys.len());
    for (path, key) in &keys {
        assert_eq!(rows[path].kind, key.kind, "type of {path}");
        assert_eq!(rows[path].default.replace('`', ""), key.default.replace('`', ""), "default of {path}");
    }
}

#[test]
fn every_default_is_the_one_that_a_configuration_gets() {
    let text = configuration("gristmill-echo", "");
    let ended = Run::new().file("g.toml", text).with(&["check", "g.toml", "--origin", "--output", "json"]);
    ended.good();
    let rows = rows();
    let report = &ended.json()[0];
    let origins = report["origins"].as_array().unwrap();
    let mut seen = 0;
    for line in origins.iter().filter(|line| line["origin"] == "default") {
        let path = line["path"].as_str().unwrap();
        let value = line["value"].as_str().unwrap().trim_matches('"');
        assert_eq!(rows[path].default, value, "{path}");
        seen += 1;
    }
    let literal = rows.values().filter(|key| !key.default.contains(' ') || key.default.ends_with("iB"));
    let literal = literal.filter(|key| !["required", "none", "empty"].contains(&key.default.as_str()));
    // Literals that stand only where another key does: `retry.then`, and what belongs to a dead-letter topic (four) and a registry.
    assert_eq!(literal.count(), seen + 6);
    assert_eq!(report["pipeline"], "orders-to-nowhere", "the pipeline's default is the group id");
}

#[test]
fn every_refusal_is_one() {
    let rows = page().rows(&["Refused", "Because"]);
    for row in &rows {
        let [written] = spans(&row[0])[..] else { panic!("{row:?}") };
        let path = written.split('=').next().unwrap();
        let name = path.strip_prefix("kafka.properties.").unwrap_or(path);
        let text = configuration("gristmill-echo", "");
        let ended = Run::new().file("g.toml", text).with(&["check", "g.toml", "--set", written]);
        ended.refused(78, &[&format!("flag --set {path}: "), name]);
    }
    assert!(rows.len() > 20, "only {} refusals were found", rows.len());
}

#[test]
fn every_section_that_comes_later_is_refused() {
    let page = page();
    let (_, behind) = page.text.split_once("are refused too:").unwrap();
    let named = spans(behind.split(".\n").next().unwrap());
    assert_eq!(named.len(), 1);
    for path in named {
        let text = configuration("gristmill-echo", "");
        let set = format!("{path}=true");
        let ended = Run::new().file("g.toml", text).with(&["check", "g.toml", "--set", &set]);
        ended.refused(78, &[path, "this version does not have it yet"]);
    }
}

#[test]
fn every_warning_is_given_and_no_error() {
    for (set, wanted) in [
        ("shutdown.grace=4s", "shutdown.grace (4s) is shorter than plugin.limits.time (5s)"),
        ("kafka.drain=4s", "kafka.drain (4s) is shorter than plugin.limits.time (5s)"),
    ] {
        let text = configuration("gristmill-echo", "");
        let ended = Run::new().file("g.toml", text).with(&["check", "g.toml", "--set", set]);
        assert!(ended.code == 0 && ended.stderr.contains(wanted), "{ended:#?}");
    }
}

/// The properties of a table with their reasons; "and whatever begins with" is left to the code.
fn reasons(headings: &[&str]) -> BTreeMap<String, String> {
    let mut reasons = BTreeMap::new();
    for row in page().rows(headings) {
        let names = row[0].split(" and ").next().unwrap();
        for name in spans(names) {
            assert_eq!(reasons.insert(name.to_owned(), row[1].clone()), None, "{name} stands there twice");
        }
    }
    reasons
}

fn listed(list: &[(&str, &str)]) -> BTreeMap<String, String> {
    list.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn every_property_of_the_host_has_its_reason() {
    assert_eq!(reasons(&["Owned", "Reason"]), listed(properties::OWNED));
    let mut refused = reasons(&["Never", "Reason"]);
    let mock = refused.remove("test.mock.num.brokers").unwrap();
    assert!(matches!(standing("test.mock.num.brokers"), Standing::Refused(reason) if reason == mock));
    assert_eq!(refused, listed(properties::REFUSED));
    let set = reasons(&["Set", "To"]).into_iter().map(|(name, value)| (name, value.replace('`', ""))).collect();
    assert_eq!(listed(properties::DEFAULTS), set);
}

#[test]
fn the_tuning_page_explains_every_property_that_is_set() {
    let rows = paper("docs/tuning.md").rows(&["Property", "Ours", "librdkafka's", "Why"]);
    let set = rows.iter().map(|row| (spans(&row[0])[0].to_owned(), spans(&row[1])[0].to_owned())).collect();
    assert_eq!(listed(properties::DEFAULTS), set);
    let others = paper("docs/tuning.md").rows(&["Property", "When"]);
    for name in others.iter().map(|row| spans(&row[0])[0]) {
        assert!(matches!(standing(name), Standing::Accepted), "{name} cannot be set");
    }
}

/// A5: what a record counts for beside its bytes stands in the reference.
#[test]
fn the_size_of_a_record_is_written_down() {
    assert!(page().text.contains(&format!(
        "{HEADER_OVERHEAD_BYTES} bytes for each header, and {RECORD_OVERHEAD_BYTES} bytes for itself"
    )));
}

#[test]
fn values_are_laid_over_each_other_as_the_page_says() {
    let text = configuration("gristmill-echo", "[batch]\nmax_records = 4\n");
    let rows = page().rows(&["From", "Written as"]);
    let environment = rows.iter().find(|row| row[0] == "the environment").unwrap();
    let mut run = Run::new().file("g.toml", text).variable("GRISTMILL__BATCH__MAX_BYTES", "1 MiB");
    for (name, value) in spans(&environment[1]).iter().filter_map(|span| span.split_once('=')) {
        run = run.variable(name, value);
    }
    let flags = ["--set", "batch.max_bytes=2 MiB", "-X", "client.rack=b", "--set", "plugin.settings.\"a.b\"=1"];
    let ended = run.with(&[&["check", "g.toml", "--origin"], &flags[..]].concat());
    let printed: Vec<String> =
        ended.good().stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for wanted in [
        "batch.max_records = 100 # environment variable GRISTMILL__BATCH__MAX_RECORDS",
        "batch.max_bytes = \"2 MiB\" # flag --set batch.max_bytes",
        "kafka.properties.\"client.rack\" = \"b\" # flag -X client.rack",
        "plugin.settings.\"a.b\" = *** # flag --set plugin.settings.\"a.b\"",
    ] {
        assert!(printed.iter().any(|line| line == wanted), "{wanted} is not in {printed:#?}");
    }
}
