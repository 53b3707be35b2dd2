//! Everything under `examples/` runs and prints what it says it prints.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::process::{Run, plugin};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")
}

/// The lines of a run for machines, without what differs from run to run.
fn without_measurements(lines: Vec<Value>) -> Vec<Value> {
    let strip = |mut line: Value| {
        if let Some(fields) = line.as_object_mut() {
            fields.retain(|name, _| !matches!(name.as_str(), "duration_ms" | "guest_memory_bytes"));
        }
        line
    };
    lines.into_iter().map(strip).collect()
}

/// What `call` prints for the records of an example with one of its configurations.
fn called(folder: &Path, config: &str) -> Vec<Value> {
    let path = |name: &str| folder.join(name).display().to_string();
    let (records, config) = (path("records.jsonl"), path(config));
    let text = std::fs::read_to_string(&config).unwrap();
    let file = text.lines().find_map(|line| line.strip_prefix("path = ")?.trim_matches('"').rsplit('/').next());
    let package = file.and_then(|file| file.strip_suffix(".wasm")).unwrap().replace('_', "-");
    let plugin = plugin(&package);
    let ended = Run::new().with(&["call", &plugin, &records, "--config", &config, "--output", "json"]);
    without_measurements(ended.json())
}

/// What a file of an example promises.
fn promised(folder: &Path, name: &str) -> Vec<Value> {
    let expected = std::fs::read_to_string(folder.join(name)).unwrap();
    expected.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Examples that need servers besides Kafka; `tests/end_to_end/examples.rs` runs them.
const WITH_SERVERS: [&str; 2] = ["purl-batch-to-http", "scan-results-to-postgres"];

#[test]
fn every_example_prints_what_it_promises() {
    let mut seen = 0;
    for entry in std::fs::read_dir(examples()).expect("the examples are there") {
        let folder = entry.expect("the folder can be read").path();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        if !folder.join("pipeline.toml").exists() {
            continue; // It shows how hosts are run, not a pipeline.
        }
        Run::new().with(&["check", &folder.join("pipeline.toml").display().to_string()]).good();
        if !WITH_SERVERS.contains(&name.as_str()) {
            assert_eq!(called(&folder, "pipeline.toml"), promised(&folder, "expected.jsonl"), "{name}");
        }
        seen += 1;
    }
    assert!(seen > WITH_SERVERS.len() + 1, "there are too few examples");
}

#[test]
fn the_repaired_pipeline_differs_in_its_schema_only_and_takes_what_the_other_one_rejects() {
    let folder = examples().join("dead-letters");
    assert_eq!(called(&folder, "repaired.toml"), promised(&folder, "expected-repaired.jsonl"));
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let (broken, repaired) = (read("pipeline.toml"), read("repaired.toml"));
    let differing: Vec<_> = broken.lines().zip(repaired.lines()).filter(|(one, other)| one != other).collect();
    assert_eq!(broken.lines().count(), repaired.lines().count());
    let [(comment, _), (one, other)] = differing[..] else { panic!("{differing:#?}") };
    assert!(comment.starts_with("# "), "{comment}");
    assert_eq!(one.replace("[\"EUR\"]", "[\"EUR\", \"GBP\"]"), other);
}
