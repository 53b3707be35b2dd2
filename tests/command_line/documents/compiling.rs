//! `docs/compiling.md` against the bounds. `tests/tidy` looks after the tests that it names.

use gristmill_guest::{CompileLimits, Limits, SHAPE_BOUNDS};

use super::markdown::paper;

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
    assert!(limits.wall >= 3 * limits.cpu, "a busy machine would refuse what an idle one compiles");
    for wanted in [
        format!(
            "use more than {} s of processor time, or run longer than {} s",
            limits.cpu.as_secs(),
            limits.wall.as_secs()
        ),
        format!("more than {} GiB of address space", limits.address_space_bytes >> 30),
        format!("give back more than {} MiB", limits.artefact_bytes >> 20),
        format!("Larger than {} MiB", Limits::STRICT.file_bytes >> 20),
    ] {
        assert!(text.contains(&wanted), "{wanted}");
    }
}
