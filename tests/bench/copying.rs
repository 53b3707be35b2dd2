//! What it costs to copy each record to another topic, where the brokers have all of a batch before it is committed.
//!
//! It must not know the plan.

use gristmill_tests::{create_topic, unique};

use crate::contestant::Contestant;
use crate::course::{Course, Shape};
use crate::peer::Program;
use crate::race::race;
use crate::reading::compared;
use crate::report::Outcome;
use crate::scenario::Stage;

/// The loop copies by a producer with the host's settings, the host by a plugin that emits.
pub(crate) fn measure(stage: &Stage<'_>, shape: &Shape) -> Outcome {
    let bootstrap = stage.bootstrap();
    let sink = unique("bench-copies");
    create_topic(&bootstrap, &sink, shape.partitions);
    let mut course = stage.cores.anywhere(|| Course::load(&bootstrap, shape));
    course.sink = Some(sink.clone());
    let sections = format!("[sinks.copies]\ntopic = {sink:?}\nprovenance = false\n");
    let contestants = [
        Contestant::peer("the loop with a producer", Program::own("copy")),
        Contestant::gristmill("gristmill, fresh instances", "gristmill-copy", "fresh", &sections),
        Contestant::gristmill("gristmill, reused instance", "gristmill-copy", "reuse", &sections),
    ];
    let outcome = compared(race(&stage.track(&course), &contestants, stage.rounds), &contestants);
    // With the one that warmed the broker up.
    let runs = i64::try_from(outcome.runs.len() + 1).unwrap_or_default();
    match stage.broker.end_offsets(&sink) {
        Ok(ends) => {
            assert_eq!(ends.values().sum::<i64>(), runs * course.loaded.records(), "copies are missing, or too many");
        }
        Err(error) => panic!("cannot count the copies: {error:#}"),
    }
    outcome
}
