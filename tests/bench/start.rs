//! How long the host takes from its start to its first assignment, where it has to compile its plugin and where it has it compiled.
//!
//! It must not know the plan.

use std::time::Instant;

use gristmill_tests::{TemporaryFolder, unique};

use crate::contestant::Contestant;
use crate::course::Course;
use crate::report::{Outcome, note};
use crate::scenario::Stage;
use crate::table::{Columns, Table};

/// A small plugin, and the largest of ours that needs nothing from outside.
const PLUGINS: [&str; 2] = ["gristmill-noop", "gristmill-count"];

/// How it is told.
pub(crate) fn told() -> String {
    "from its start to its first assignment, with nothing compiled yet and with everything compiled".to_owned()
}

/// Starts with an empty cache of compiled plugins, and again with what that left.
pub(crate) fn measure(stage: &Stage<'_>) -> Outcome {
    let course = Course::empty(&stage.bootstrap(), 6, 10_000);
    let mut table = Table::new("milliseconds from the start to the assignment", 0, Columns::Spread);
    for package in PLUGINS {
        let (mut cold, mut cached) = (Vec::new(), Vec::new());
        for _ in 0..stage.rounds {
            let folder = TemporaryFolder::new();
            let cache = folder.path().join("compiled").display().to_string();
            let contestant = Contestant::gristmill(package, package, "reuse", &format!("cache = {cache:?}\n"));
            for taken in [&mut cold, &mut cached] {
                let begun = Instant::now();
                let running = stage.cores.measured(|| contestant.start(&course, &unique("bench-group")));
                running.wait_until_assigned();
                taken.push(begun.elapsed().as_secs_f64() * 1e3);
                running.end(&course, package);
            }
        }
        note(package);
        table.add(&format!("{package}, cold"), cold);
        table.add(&format!("{package}, cached"), cached);
    }
    Outcome { tables: vec![table], runs: Vec::new() }
}
