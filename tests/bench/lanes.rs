//! Whether two workers do twice as much as one, where the plugin is what takes the time.
//!
//! It must not know the plan.

use crate::contestant::Contestant;
use crate::course::Shape;
use crate::decoding::{self, Format};
use crate::race::race;
use crate::reading::compared;
use crate::report::Outcome;
use crate::scenario::Stage;

/// How often the plugin reads each record, so that nothing else counts.
const TIMES: u32 = 20;

/// How it is told.
pub(crate) fn told() -> String {
    format!("a plugin that reads each record as JSON {TIMES} times")
}

/// The first has batches of a partition each and one worker; it is what the others are compared with.
pub(crate) fn measure(stage: &Stage<'_>, shape: &Shape) -> Outcome {
    let course = decoding::load(stage, Format::Json, shape);
    let settings = format!("[plugin.settings]\ntimes = \"{TIMES}\"\n");
    let of_one_partition = |workers| format!("max_wait = \"200ms\"\nscope = \"partition\"\nworkers = {workers}");
    let gristmill = |name| Contestant::gristmill(name, "gristmill-sum", "reuse", &settings);
    let contestants = [
        gristmill("gristmill, scope partition, 1 worker").batching(&of_one_partition(1)),
        gristmill("gristmill, scope partition, 2 workers").batching(&of_one_partition(2)),
        gristmill("gristmill, scope consumer"),
    ];
    compared(race(&stage.track(&course), &contestants, stage.rounds), &contestants)
}
