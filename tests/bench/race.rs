//! Rounds in which all take turns on one topic, so that a busy machine slows each of them.
//!
//! It must not know who takes part, nor what becomes of the figures.

use std::collections::BTreeMap;
use std::time::Duration;

use gristmill_tests::unique;
use serde::Serialize;

use crate::contestant::{Contestant, Running};
use crate::cores::Cores;
use crate::course::Course;
use crate::group::Group;
use crate::meter::{Meter, load_average, resident_mib};
use crate::report::note;

const WITHIN: Duration = Duration::from_secs(600);

/// A run is looked at this many times while it goes on.
const LOOKS: u64 = 10;

/// Where a race is run.
pub(crate) struct Track<'t> {
    pub(crate) cores: &'t Cores,
    pub(crate) broker: u32,
    pub(crate) course: &'t Course,
}

/// What one run of one contestant came to.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Run {
    pub(crate) contestant: String,
    pub(crate) round: usize,
    pub(crate) records: u64,
    pub(crate) wall_s: f64,
    pub(crate) processor_s: f64,
    /// How many cores others kept busy meanwhile.
    pub(crate) others_cores: f64,
    pub(crate) load_average: f64,
    pub(crate) resident_most_mib: f64,
    /// On its way, whenever another tenth was committed.
    pub(crate) looks: Vec<Look>,
}

/// A look at a run that goes on.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Look {
    pub(crate) committed: u64,
    pub(crate) processor_s: f64,
    pub(crate) resident_mib: f64,
}

/// Lets all take turns, for so many rounds. One run before, of the first of them, warms the broker up and is not counted.
pub(crate) fn race(track: &Track<'_>, contestants: &[Contestant], rounds: usize) -> Vec<Run> {
    let mut runs = Vec::new();
    if let Some(first) = contestants.first() {
        run(track, first, 0);
    }
    for round in 1..=rounds {
        for contestant in contestants {
            let run = run(track, contestant, round);
            note(&format!(
                "{round}/{rounds} {:<30} {:>6.2} s, {:>6.2} s of processor, others {:.2} cores",
                run.contestant, run.wall_s, run.processor_s, run.others_cores
            ));
            runs.push(run);
        }
    }
    runs
}

/// One run from the assignment to the last commit.
fn run(track: &Track<'_>, contestant: &Contestant, round: usize) -> Run {
    let Track { cores, broker, course } = track;
    let name = unique("bench-group");
    // Made before, so that what it takes is not the run's.
    let group = Group::new(course, &name);
    let mut running = cores.measured(|| contestant.start(course, &name));
    running.wait_until_assigned();
    let meter = Meter::of(running.process_id(), *broker);
    let looks = watch(&meter, &mut running, &group, course, &contestant.name);
    let cost = meter.read();
    let (_, resident_most_mib) = resident_mib(running.process_id());
    let load_average = load_average();
    running.end(course, &contestant.name);
    assert_eq!(group.committed(), course.loaded.end_offsets(), "{} went on committing", contestant.name);
    Run {
        contestant: contestant.name.clone(),
        round,
        records: course.records(),
        wall_s: cost.wall.as_secs_f64(),
        processor_s: cost.processor.as_secs_f64(),
        others_cores: cost.others.as_secs_f64() / cost.wall.as_secs_f64(),
        load_average,
        resident_most_mib,
        looks,
    }
}

/// Waits until all is committed.
fn watch(meter: &Meter, running: &mut Running, group: &Group, course: &Course, name: &str) -> Vec<Look> {
    let ends = course.loaded.end_offsets();
    let mut looks: Vec<Look> = Vec::new();
    loop {
        let committed = group.committed();
        let sum = committed.values().sum::<i64>().unsigned_abs();
        let looked = looks.last().map_or(0, |look| look.committed * LOOKS / course.records().max(1));
        if sum * LOOKS / course.records().max(1) > looked {
            let processor_s = meter.read().processor.as_secs_f64();
            let (resident_mib, _) = resident_mib(running.process_id());
            looks.push(Look { committed: sum, processor_s, resident_mib });
        }
        if committed == ends {
            return looks;
        }
        if let Some(printed) = running.ended() {
            panic!("{name} ended before all was committed; it printed:\n{printed}");
        }
        assert!(meter.begun().elapsed() < WITHIN, "{}", missing(name, &committed, &ends));
        // Often enough to measure a second, seldom enough to cost nothing.
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn missing(name: &str, committed: &BTreeMap<i32, i64>, ends: &BTreeMap<i32, i64>) -> String {
    format!("{name} did not get through within {WITHIN:?}: committed {committed:?} of {ends:?}")
}
