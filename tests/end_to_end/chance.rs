//! Chance for the moment of a kill or a signal: drawn from a seed that is printed, so that a run can be looked at again.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A small generator of numbers; good enough to pick moments.
#[derive(Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    /// Starts from `GRISTMILL_SEED`, or from the time, and prints which.
    pub(crate) fn new() -> Self {
        let given = std::env::var("GRISTMILL_SEED").ok().and_then(|text| text.parse().ok());
        let nanos = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| u64::from(time.subsec_nanos()));
        let seed = given.unwrap_or_else(nanos);
        println!("GRISTMILL_SEED={seed}");
        Self(seed)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        // The step of SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    }

    /// So many bytes of any kind.
    pub(crate) fn bytes(&mut self, count: u64) -> Vec<u8> {
        (0..count).map(|_| u8::try_from(self.below(256)).unwrap_or(0)).collect()
    }

    /// Lets a random time pass, at most `max`: the moment itself is what is tested, not a condition.
    pub(crate) fn let_pass(&mut self, max: Duration) {
        let micros = u64::try_from(max.as_micros()).unwrap_or(u64::MAX).max(1);
        std::thread::sleep(Duration::from_micros(self.below(micros)));
    }
}

/// Whether the long form was asked for.
pub(crate) fn long() -> bool {
    std::env::var_os("GRISTMILL_LONG").is_some()
}
