//! Planted bugs: a simulation that finds nothing may be blind, so each wrong decision has to be found.

use gristmill_core::planted::Bug;

use crate::seeds::sweep;

/// Each bug has to be found within this many seeds.
const WITHIN: u64 = 10_000;

#[test]
fn every_planted_bug_is_found() {
    let mut missed = Vec::new();
    let only = std::env::var("GRISTMILL_BUG").ok();
    for &bug in Bug::ALL {
        if only.as_ref().is_some_and(|only| *only != format!("{bug:?}")) {
            continue;
        }
        let sweep = sweep(0, WITHIN, Some(bug));
        match &sweep.broken {
            Some((seed, violation)) => {
                println!("planted {bug:?}: found after {} seeds by {} (seed {seed})", sweep.seeds, violation.rule);
            }
            None => missed.push(bug),
        }
    }
    assert!(missed.is_empty(), "not found within {WITHIN} seeds: {missed:?}");
}
