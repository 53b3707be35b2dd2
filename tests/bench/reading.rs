//! Who reads a topic fastest: librdkafka's own loop, the host, and what a user could take instead.
//!
//! It must not know the plan.

use crate::contestant::Contestant;
use crate::course::{Course, Shape};
use crate::peer::Program;
use crate::race::{Run, race};
use crate::report::Outcome;
use crate::scenario::Stage;
use crate::table::{Columns, Table};

/// The host with a plugin that does nothing, in whatever forms there are.
pub(crate) fn hosts() -> [Contestant; 3] {
    [
        Contestant::gristmill("gristmill, fresh instances", "gristmill-noop", "fresh", ""),
        Contestant::gristmill("gristmill, reused instance", "gristmill-noop", "reuse", ""),
        Contestant::gristmill("gristmill, lists of records", "gristmill-noop-records", "reuse", ""),
    ]
}

/// What the others are compared with.
pub(crate) fn raw_loop() -> Contestant {
    Contestant::peer("librdkafka's batch loop", Program::own("loop"))
}

/// What a user could take instead.
pub(crate) fn peers(built: &[(String, Program)]) -> Vec<Contestant> {
    let own = [("rdkafka BaseConsumer", "base"), ("rdkafka StreamConsumer", "stream")];
    let own = own.map(|(name, word)| Contestant::peer(name, Program::own(word)));
    own.into_iter().chain(built.iter().map(|(name, program)| Contestant::peer(name, program.clone()))).collect()
}

/// All read the same topic.
pub(crate) fn measure(stage: &Stage<'_>, shape: &Shape) -> Outcome {
    let bootstrap = stage.bootstrap();
    let course = stage.cores.anywhere(|| Course::load(&bootstrap, shape));
    let mut contestants = vec![raw_loop()];
    contestants.extend(hosts());
    contestants.extend(peers(stage.peers));
    compared(race(&stage.track(&course), &contestants, stage.rounds), &contestants)
}

/// The tables of a race.
pub(crate) fn compared(runs: Vec<Run>, contestants: &[Contestant]) -> Outcome {
    let table = |what: &str, digits, figure: fn(&Run) -> f64| {
        let mut table = Table::new(what, digits, Columns::AgainstFirst);
        for contestant in contestants {
            let own = runs.iter().filter(|run| run.contestant == contestant.name);
            table.add(&contestant.name, own.map(figure).collect());
        }
        table
    };
    let tables = vec![
        table("CPU-seconds per million records", 3, |run| run.processor_s * 1e6 / count(run.records)),
        table("records per second", 0, |run| count(run.records) / run.wall_s),
        table("MiB resident at most", 0, |run| run.resident_most_mib),
    ];
    Outcome { tables, runs }
}

/// A count as a number that can be divided by.
#[expect(clippy::cast_precision_loss, reason = "a rate needs no exact count")]
pub(crate) fn count(records: u64) -> f64 {
    records as f64
}
