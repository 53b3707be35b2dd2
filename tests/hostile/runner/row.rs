//! One row in a process of its own: its guest several times, an ordinary batch after each, and what the process grew by.
//!
//! Must not know how it had to end.

use std::time::{Duration, Instant};

use gristmill_guest::{Engine, Limits, Plugin, PluginSettings};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::corpus::{Row, Until};
use crate::given::Given;
use crate::guests::{self, Shared};
use crate::memory::{self, milliseconds};
use crate::mill::{self, End, Mill};

/// What became of a row.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Report {
    /// How its guest ended, each time in another way where it did.
    pub(crate) classes: Vec<String>,
    /// What was said of it, or what it said.
    pub(crate) says: String,
    /// How long each run took, in milliseconds beyond the limit of time that it ran into. Without one: in all. Processor time is
    /// that of the whole process, which does nothing else.
    pub(crate) took_ms: Vec<f64>,
    /// The most by which the process grew while the guest ran.
    pub(crate) grown_bytes: u64,
    /// What of that it still held at the end.
    pub(crate) kept_bytes: u64,
    /// How often the ordinary batch behind it did not work.
    pub(crate) spoilt: usize,
}

/// Runs a row so many times.
pub(crate) fn run(row: &Row, rounds: usize) -> Report {
    let engine = mill::engine();
    let ordinary = mill::ordinary(&engine);
    let mut mill = Mill::start();
    let runner = Runner::load(&engine, row, mill::limits(row.until));
    mill.still_works(&ordinary);
    // What is needed once, whatever the guest, is no growth of this one: pages of our own code, the tables of names.
    runner.run(&mut mill);
    let limit_ms = row.until.map_or(0.0, |until| {
        let limits = mill::limits(Some(until));
        milliseconds(if until == Until::Wall { limits.time } else { limits.cpu })
    });
    memory::forget_most();
    let before = memory::resident();
    let mut report = Report::default();
    for _ in 0..rounds {
        let cpu = process_time();
        let end = runner.run(&mut mill);
        // What the host says that a guest used is not what is believed here.
        let took = if row.until == Some(Until::Cpu) { process_time() - cpu } else { end.took };
        report.took_ms.push(milliseconds(took) - limit_ms);
        report.says = end.says;
        if !report.classes.contains(&end.class) {
            report.classes.push(end.class);
        }
        report.spoilt += usize::from(!mill.still_works(&ordinary));
    }
    let after = memory::resident();
    report.grown_bytes = after.most.saturating_sub(before.now);
    report.kept_bytes = after.now.saturating_sub(before.now);
    report
}

/// A guest that is run again and again.
pub(crate) struct Runner {
    engine: Engine,
    bytes: Vec<u8>,
    settings: PluginSettings,
    /// The guest under settings that let it start, from which it is loaded without being compiled again.
    compiled: Option<Plugin>,
    loaded: Option<Plugin>,
    batch: Shared,
    sink: bool,
    /// Kept for as long as the guest may want it.
    _given: Given,
    name: String,
}

impl Runner {
    /// Makes a row's guest ready to run, as far as it lets itself be.
    pub(crate) fn load(engine: &Engine, row: &Row, limits: Limits) -> Self {
        let bytes = guests::bytes(row);
        let given = Given::to(row);
        let settings = mill::settings(row, &given, limits);
        // Only what fails with its settings alone compiles without them.
        let mut plain = settings.clone();
        plain.grants.settings.clear();
        let compiled = if row.anew { None } else { Plugin::load(engine, &row.guest, &bytes, &plain).ok() };
        let loaded = compiled.as_ref().and_then(|plugin| plugin.with_settings(&settings).ok());
        let batch = guests::batch(row, &given.told(&row.tell));
        given.plant();
        Self {
            engine: engine.clone(),
            bytes,
            settings,
            compiled,
            loaded,
            batch,
            sink: row.sink,
            _given: given,
            name: row.guest.clone(),
        }
    }

    /// Runs it once.
    pub(crate) fn run(&self, mill: &mut Mill) -> End {
        if let Some(plugin) = &self.loaded {
            return mill.run(plugin, &self.batch, self.sink);
        }
        let began = Instant::now();
        let loaded = match &self.compiled {
            Some(compiled) => compiled.with_settings(&self.settings),
            None => Plugin::load(&self.engine, &self.name, &self.bytes, &self.settings),
        };
        match loaded {
            Ok(plugin) => {
                let end = mill.run(&plugin, &self.batch, self.sink);
                End { took: began.elapsed(), ..end }
            }
            Err(error) => End { took: began.elapsed(), ..mill::end_of_loading(&error) },
        }
    }
}

/// The processor time that the whole process has used so far.
fn process_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}
