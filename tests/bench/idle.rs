//! What it costs to own many partitions in which nothing happens.
//!
//! It must not know the plan.

use std::time::{Duration, Instant};

use gristmill_tests::unique;

use crate::contestant::Contestant;
use crate::course::Course;
use crate::meter::{Meter, resident_mib};
use crate::reading::{hosts, peers, raw_loop};
use crate::report::{Outcome, note};
use crate::scenario::Stage;
use crate::table::{Columns, Table};

const PARTITIONS: i32 = 1_000;

/// After the assignment it takes this long until all fetches are under way.
const SETTLES: Duration = Duration::from_secs(10);
const LOOKED_AT_FOR: Duration = Duration::from_secs(10);

/// How it is told.
pub(crate) fn told() -> String {
    format!("{PARTITIONS} partitions without records, looked at for {} seconds", LOOKED_AT_FOR.as_secs())
}

/// Each owns the partitions by itself for a while.
pub(crate) fn measure(stage: &Stage<'_>) -> Outcome {
    let mut course = Course::empty(&stage.bootstrap(), PARTITIONS, 10_000);
    // One record that never comes: nobody is through.
    course.loaded.partitions.insert(0, 0..1);
    let [_, reused, _] = hosts();
    let contestants: Vec<_> = [raw_loop(), reused].into_iter().chain(peers(stage.peers)).collect();
    let mut burnt = Table::new("CPU-milliseconds per second", 1, Columns::AgainstFirst);
    let mut resident = Table::new("MiB resident", 0, Columns::AgainstFirst);
    // Once before, for a broker that has never seen so many fetched from.
    let _warm = look(stage, &course, &contestants[0]);
    for contestant in &contestants {
        let (milliseconds, mib) = look(stage, &course, contestant);
        burnt.add(&contestant.name, milliseconds);
        resident.add(&contestant.name, vec![mib]);
    }
    Outcome { tables: vec![burnt, resident], runs: Vec::new() }
}

/// The processor time of each second in milliseconds, and the memory in the end in MiB.
fn look(stage: &Stage<'_>, course: &Course, contestant: &Contestant) -> (Vec<f64>, f64) {
    note(&contestant.name);
    let mut running = stage.cores.measured(|| contestant.start(course, &unique("bench-group")));
    running.wait_until_assigned();
    std::thread::sleep(SETTLES);
    let meter = Meter::of(running.process_id(), stage.broker.process_id().unwrap_or_default());
    let mut before = Duration::ZERO;
    let each_second = (1..=LOOKED_AT_FOR.as_secs()).map(|second| {
        let at = meter.begun() + Duration::from_secs(second);
        std::thread::sleep(at.saturating_duration_since(Instant::now()));
        let so_far = meter.read().processor;
        (so_far - std::mem::replace(&mut before, so_far)).as_secs_f64() * 1e3
    });
    let milliseconds = each_second.collect();
    if let Some(printed) = running.ended() {
        panic!("{} ended; it printed:\n{printed}", contestant.name);
    }
    let (mib, _) = resident_mib(running.process_id());
    running.abandon();
    (milliseconds, mib)
}
