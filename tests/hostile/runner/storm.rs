//! The same end many times in a row, and what is left of it in the process: nothing.
//!
//! Must not know how the core paces what fails; here nothing is paced.

use std::time::{Duration, Instant};

use gristmill_guest::{Limits, Plugin, PluginSettings};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

use crate::guests::{self, Shared, told};
use crate::memory::resident;
use crate::mill::{self, Mill};
use crate::table::mebibytes;

/// What comes in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storm {
    /// Hand-overs that are cancelled at any point.
    Cancels,
    /// Panics.
    Traps,
    /// Waits until the limit.
    Timeouts,
}

impl Storm {
    /// The storm of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "cancels" => Some(Self::Cancels),
            "traps" => Some(Self::Traps),
            "timeouts" => Some(Self::Timeouts),
            _ => None,
        }
    }
}

/// Lets a storm blow, a tenth of it to get warm. Says what came of it; true when every end was the right one, memory stayed flat
/// within two hundredths, and an ordinary batch works afterwards.
pub(crate) fn blow(storm: Storm, times: usize, mut say: impl FnMut(&str)) -> bool {
    let engine = mill::engine();
    let ordinary = mill::ordinary(&engine);
    let limits = match storm {
        Storm::Cancels => Limits { cancel_grace: Duration::ZERO, ..Limits::STRICT },
        Storm::Traps => Limits::STRICT,
        Storm::Timeouts => Limits { time: Duration::from_millis(15), ..Limits::STRICT },
    };
    // Compiled and tried without haste: on a busy machine fifteen milliseconds are not enough to start.
    let plugin = Plugin::load(&engine, "mischief", &guests::mischief(), &PluginSettings::default())
        .and_then(|plugin| plugin.with_settings(&PluginSettings { limits, ..PluginSettings::default() }))
        .unwrap_or_else(|error| panic!("{error}"));
    let mut gale = Gale { storm, plugin, mill: Mill::start(), chance: ChaCha8Rng::seed_from_u64(4_711), wrong: 0 };
    gale.mill.still_works(&ordinary);
    gale.blow(times / 10);
    let before = resident().now;
    let began = Instant::now();
    gale.blow(times);
    let took = began.elapsed();
    let after = resident().now;
    let works = gale.mill.still_works(&ordinary);
    let flat = after.abs_diff(before) * 50 <= before;
    say(&format!(
        "{storm:?}: {times} in a row in {:.1} s, {} of them wrong; {:.1} MiB before and {:.1} MiB after, {}; the next batch works: {works}",
        took.as_secs_f64(),
        gale.wrong,
        mebibytes(before),
        mebibytes(after),
        if flat { "flat" } else { "NOT flat" },
    ));
    flat && works && gale.wrong == 0
}

/// A storm that blows.
struct Gale {
    storm: Storm,
    plugin: Plugin,
    mill: Mill,
    chance: ChaCha8Rng,
    wrong: usize,
}

impl Gale {
    fn blow(&mut self, times: usize) {
        let (spins, waits, panics) = (told("spin"), told("sleep:60000"), told("panic:again"));
        for time in 0..times {
            let right = match self.storm {
                Storm::Cancels => self.cancel(if time % 2 == 0 { &spins } else { &waits }),
                Storm::Traps => self.mill.run(&self.plugin, &panics, false).class == "trap",
                Storm::Timeouts => {
                    let class = self.mill.run(&self.plugin, &waits, false).class;
                    // On a busy machine the start of the instance may use up the time already.
                    matches!(class.as_str(), "timeout" | "start")
                }
            };
            self.wrong += usize::from(!right);
        }
    }

    /// Hands a batch over and cancels it at some moment: before it began, while its guest starts, computes or waits.
    fn cancel(&mut self, batch: &Shared) -> bool {
        let delivery = self.mill.deliver(&self.plugin, batch, false);
        let until = Instant::now() + Duration::from_micros(u64::from(self.chance.next_u32() % 600));
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        self.mill.worker.cancel(delivery);
        mill::end_of(self.mill.next_answer().answer).class == "cancelled"
    }
}
