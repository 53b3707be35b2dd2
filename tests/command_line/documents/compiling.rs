//! `docs/compiling.md` against the bounds, and against the tests that it names.

use std::collections::BTreeSet;
use std::path::Path;

use gristmill_guest::{CompileLimits, Limits, SHAPE_BOUNDS};

use super::markdown::{paper, root, spans};

#[test]
fn every_bound_of_a_shape_has_its_row() {
    let rows = paper("docs/compiling.md").rows(&["Bound", "What it bounds"]);
    let named: Vec<(String, u64)> =
        rows.iter().map(|row| (row[1].clone(), row[0].replace(',', "").parse().unwrap())).collect();
    assert_eq!(named, SHAPE_BOUNDS.map(|(what, bound)| (what.to_owned(), bound)));
}

#[test]
fn the_limits_of_the_child_are_those_of_the_page() {
    let text = paper("docs/compiling.md").text;
    let limits = CompileLimits::STRICT;
    assert_eq!(limits.cpu, limits.wall);
    for wanted in [
        format!("run longer than {} s", limits.wall.as_secs()),
        format!("more than {} GiB of address space", limits.address_space_bytes >> 30),
        format!("give back more than {} MiB", limits.artefact_bytes >> 20),
        format!("Larger than {} MiB", Limits::STRICT.file_bytes >> 20),
    ] {
        assert!(text.contains(&wanted), "{wanted}");
    }
}

/// All names of functions in the Rust files of a folder.
fn functions(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            functions(&path, names);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(path).unwrap();
            let found = text.split("\n#[test]\n").skip(1).flat_map(|rest| rest.lines());
            let found = found
                .filter_map(|line| line.trim().strip_prefix("fn ")?.split_once('(').map(|(name, _)| name.to_owned()));
            names.extend(found);
            let inner = text.split("    #[test]\n").skip(1).flat_map(|rest| rest.lines().take(1));
            names.extend(
                inner.filter_map(|line| {
                    line.trim().strip_prefix("fn ")?.split_once('(').map(|(name, _)| name.to_owned())
                }),
            );
        }
    }
}

#[test]
fn every_test_that_the_page_names_is_one() {
    let mut names = BTreeSet::new();
    for folder in ["host/guest/src", "tests/sandbox", "tests/command_line"] {
        functions(&root().join(folder), &mut names);
    }
    let page = paper("docs/compiling.md");
    let prose = page.prose();
    let named: Vec<&str> =
        spans(&prose).into_iter().filter(|span| span.matches('_').count() > 2 && !span.contains([' ', '='])).collect();
    assert!(named.len() > 25, "only {named:?}");
    let missing: Vec<_> = named.iter().filter(|name| !names.contains(**name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
