//! The arrows of the architecture: `host → {kafka, guest} → core`, `host → decode`, `guest → egress`; input and output in two crates, decisions in one.

use crate::form::places;
use crate::manifest::{dependencies, is_ours};
use crate::source::Source;

/// Which of our crates each crate may depend on. A crate that is not listed is free (tests and plugins come and go).
const MAY_DEPEND_ON: &[(&str, &[&str])] = &[
    ("host/core/Cargo.toml", &[]),
    ("host/kafka/Cargo.toml", &["gristmill-core"]),
    ("host/guest/Cargo.toml", &["gristmill-core", "gristmill-egress"]),
    ("host/egress/Cargo.toml", &[]),
    ("host/decode/Cargo.toml", &[]),
    ("host/Cargo.toml", &["gristmill-core", "gristmill-kafka", "gristmill-guest", "gristmill-decode"]),
    ("plugins/sdk/rust/Cargo.toml", &[]),
    ("xtask/Cargo.toml", &[]),
];

/// The core's dependencies, of every kind.
const CORE_DEPENDENCIES: &[&str] = &["thiserror"];

/// Names that may not stand in the code of a folder, each with the reason.
const MAY_NOT_NAME: &[(&str, &[&str], &str)] = &[
    ("host/core/src", &["gristmill_kafka", "gristmill_guest", "gristmill"], "the core knows no edge"),
    ("host/kafka/src", &["gristmill_guest", "gristmill", "wasmtime"], "the Kafka edge knows the core and nobody else"),
    ("host/guest/src", &["gristmill_kafka", "gristmill", "rdkafka"], "the guest edge knows the core and the way out"),
    (
        "host/decode/src",
        &["gristmill_core", "gristmill_kafka", "gristmill_guest", "gristmill", "wasmtime", "rdkafka_sys"],
        "the decoder knows bytes and schemas",
    ),
    (
        "host/egress/src",
        &["gristmill_core", "gristmill_kafka", "gristmill_guest", "gristmill", "wasmtime", "rdkafka_sys"],
        "the way out knows addresses and requests, and no guest",
    ),
    ("host/src", &["wasmtime", "wasmtime_wasi", "rdkafka_sys"], "input and output happen in the two edges"),
    ("tests/src", &["gristmill", "gristmill_core", "gristmill_kafka", "gristmill_guest"], "a judge shares no code"),
];

/// What the core may not ask: the clock, the environment, chance, threads, the world.
const IMPURE: &[&str] = &[
    "Instant",
    "SystemTime",
    "std::env",
    "std::thread",
    "std::fs",
    "std::net",
    "std::io",
    "std::process",
    "std::sync::Mutex",
    "println!",
    "eprintln!",
];

/// Dependencies that point upwards or sideways, and those that the core may not have.
pub(crate) fn wrong_dependencies(manifests: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, allowed) in MAY_DEPEND_ON {
        let Some(manifest) = manifests.iter().find(|manifest| manifest.path == *path) else {
            complaints.push(format!("{path}: is not there, and the check for it finds nothing any more"));
            continue;
        };
        for dependency in dependencies(&manifest.text) {
            let wrong_arrow = is_ours(&dependency.name) && !allowed.contains(&dependency.name.as_str());
            let impure = *path == "host/core/Cargo.toml" && !CORE_DEPENDENCIES.contains(&dependency.name.as_str());
            if wrong_arrow || impure {
                complaints.push(format!("{path}:{}: may not depend on {}", dependency.line, dependency.name));
            }
        }
    }
    complaints
}

/// Code that names a crate it may not know.
pub(crate) fn wrong_uses(files: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for (folder, names, why) in MAY_NOT_NAME {
        for name in *names {
            let places = places(files, |file| file.is_under(folder), |line| begins_path(line, name));
            complaints.extend(places.iter().map(|place| format!("{place}: names {name}: {why}")));
        }
    }
    complaints
}

/// Whether a path in the line begins with the name of that crate.
fn begins_path(line: &str, name: &str) -> bool {
    let is_inside = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let path = format!("{name}::");
    line.match_indices(&path).any(|(at, _)| !line[..at].chars().next_back().is_some_and(is_inside))
}

/// Code of the core that asks somebody.
pub(crate) fn impurities(files: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for name in IMPURE {
        let places = places(files, |file| file.is_under("host/core/src"), |line| line.contains(name));
        complaints.extend(places.iter().map(|place| format!("{place}: {name}: it has to come in as an input")));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifests(changed: &str, text: &str) -> Vec<Source> {
        MAY_DEPEND_ON.iter().map(|(path, _)| Source::sample(path, if *path == changed { text } else { "" })).collect()
    }

    #[test]
    fn an_arrow_that_points_the_wrong_way_is_found() {
        let sideways = manifests("host/kafka/Cargo.toml", "[dependencies]\ngristmill-guest.workspace = true\n");
        assert_eq!(wrong_dependencies(&sideways), ["host/kafka/Cargo.toml:2: may not depend on gristmill-guest"]);
        let upwards = manifests("host/core/Cargo.toml", "[dev-dependencies]\ngristmill.workspace = true\n");
        assert_eq!(wrong_dependencies(&upwards).len(), 1);
        let downwards = manifests("host/Cargo.toml", "[dependencies]\ngristmill-core.workspace = true\n");
        assert_eq!(wrong_dependencies(&downwards), [""; 0]);
    }

    #[test]
    fn a_dependency_of_the_core_is_found() {
        let tokio = manifests("host/core/Cargo.toml", "[dependencies]\nthiserror.workspace = true\ntokio = \"1\"\n");
        assert_eq!(wrong_dependencies(&tokio), ["host/core/Cargo.toml:3: may not depend on tokio"]);
    }

    #[test]
    fn a_crate_that_is_gone_is_noticed() {
        assert_eq!(wrong_dependencies(&[]).len(), MAY_DEPEND_ON.len());
    }

    #[test]
    fn a_use_of_the_wrong_crate_is_found() {
        let kafka =
            Source::sample("host/kafka/src/error.rs", "use gristmill_guest::Fault;\n// gristmill_guest::Fault\n");
        assert_eq!(wrong_uses(&[kafka]).len(), 1);
        let core = Source::sample("host/kafka/src/error.rs", "use gristmill_core::Partition;\n");
        assert_eq!(wrong_uses(&[core]), [""; 0]);
        let generated = Source::sample("host/guest/src/bindings.rs", "use generated::exports::gristmill::plugin;\n");
        assert_eq!(wrong_uses(&[generated]), [""; 0]);
    }

    #[test]
    fn a_core_that_asks_the_clock_is_found() {
        let clock = Source::sample("host/core/src/lane.rs", "let now = std::time::Instant::now();");
        assert_eq!(impurities(&[clock]).len(), 1);
        let pure = Source::sample("host/core/src/lane.rs", "use std::time::Duration; // never Instant");
        assert_eq!(impurities(&[pure]), [""; 0]);
    }
}
