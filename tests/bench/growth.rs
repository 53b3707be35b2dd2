//! Whether a record costs the same however many there were before it, and whether memory stays.
//!
//! It must not know the plan.

use crate::contestant::Contestant;
use crate::course::{Course, Shape};
use crate::race::{Run, race};
use crate::reading::{count, hosts, raw_loop};
use crate::report::Outcome;
use crate::scenario::Stage;
use crate::table::{Columns, Table};

/// What part of the records each step has.
const STEPS: [u64; 3] = [100, 10, 1];

/// A topic grows; at each step all read it from its beginning.
pub(crate) fn measure(stage: &Stage<'_>, shape: &Shape) -> Outcome {
    let bootstrap = stage.bootstrap();
    let [fresh, reused, _] = hosts();
    let contestants = [raw_loop(), fresh, reused];
    let mut course = Course::empty(&bootstrap, shape.partitions, shape.batch);
    let mut outcome = Outcome::default();
    let mut last = Vec::new();
    for part in STEPS {
        let wanted = (shape.records / part).saturating_sub(course.records());
        stage.cores.anywhere(|| course.load_more(shape, wanted));
        last = race(&stage.track(&course), &contestants, stage.rounds);
        outcome.tables.push(costs(&course, &contestants, &last));
        outcome.runs.extend(last.iter().cloned());
    }
    outcome.tables.push(memory(&contestants, &last));
    outcome
}

fn costs(course: &Course, contestants: &[Contestant], runs: &[Run]) -> Table {
    let what = format!("CPU-seconds per million records, of {} records", course.records());
    let mut table = Table::new(&what, 3, Columns::AgainstFirst);
    for contestant in contestants {
        let own = runs.iter().filter(|run| run.contestant == contestant.name);
        table.add(&contestant.name, own.map(|run| run.processor_s * 1e6 / count(run.records)).collect());
    }
    table
}

/// Memory on the way to the end: at each look the median of the rounds.
fn memory(contestants: &[Contestant], runs: &[Run]) -> Table {
    let mut table = Table::new("MiB resident when so many tenths were committed", 0, Columns::Steps);
    for contestant in contestants {
        let own: Vec<&Run> = runs.iter().filter(|run| run.contestant == contestant.name).collect();
        let steps = own.iter().map(|run| run.looks.len()).min().unwrap_or_default();
        let at = |step: usize| {
            let mut looks: Vec<f64> = own.iter().map(|run| run.looks[step].resident_mib).collect();
            looks.sort_by(f64::total_cmp);
            looks[looks.len() / 2]
        };
        table.add(&contestant.name, (0..steps).map(at).collect());
    }
    table
}
