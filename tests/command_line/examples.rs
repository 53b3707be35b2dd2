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

#[test]
fn every_example_prints_what_it_promises() {
    let mut seen = 0;
    for entry in std::fs::read_dir(examples()).expect("the examples are there") {
        let folder = entry.expect("the folder can be read").path();
        let path = |name: &str| folder.join(name).display().to_string();
        let expected = std::fs::read_to_string(path("expected.jsonl")).expect("an example says what it prints");
        let expected: Vec<Value> =
            expected.lines().map(|line| serde_json::from_str(line).expect("expected.jsonl is JSON Lines")).collect();
        // The only plugin of the examples so far; one that brings its own will have to say so.
        let plugin = plugin("gristmill-count");
        let (records, config) = (path("records.jsonl"), path("pipeline.toml"));
        Run::new().with(&["check", &config]).good();
        let ended = Run::new().with(&["call", &plugin, &records, "--config", &config, "--output", "json"]);
        assert_eq!(without_measurements(ended.json()), expected, "{}", folder.display());
        seen += 1;
    }
    assert!(seen > 0, "there are no examples");
}
