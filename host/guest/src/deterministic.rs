//! What makes the same batch get the same answer: a clock that stands, chance from a seed, and processor time counted in
//! instructions.
//!
//! It must not know the machine's clock or chance. What a guest reaches over the network is not covered, and neither is a wall
//! clock that runs out.

use std::time::Duration;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng as _;
use sha2::{Digest as _, Sha256};
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtxBuilder};

use crate::lower::{BatchSource, Timestamp};
use crate::plugin::Digest;

/// Instructions that stand for a second of processor time. A guest that computes does between one and four thousand million in a
/// second (`cargo test --workspace --test sandbox deterministic -- --nocapture` prints it for this machine).
const INSTRUCTIONS_PER_SECOND: u64 = 1_000_000_000;

/// How many instructions a guest may use that may use so much processor time.
pub(crate) fn instructions(cpu: Duration) -> u64 {
    let per_nano = u128::from(INSTRUCTIONS_PER_SECOND) * cpu.as_nanos() / 1_000_000_000;
    u64::try_from(per_nano).unwrap_or(u64::MAX)
}

/// Time and chance of one instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fixed {
    now: Duration,
    seed: [u8; 32],
}

impl Fixed {
    /// For a start without a batch: the beginning of time, and chance that hangs on the file alone.
    pub(crate) fn of_trial(digest: Digest) -> Self {
        Self { now: Duration::ZERO, seed: seed(digest, "", None) }
    }

    /// For a batch: the time of its newest record, and chance that hangs on the plugin, the pipeline and the first record's place.
    pub(crate) fn of_batch(digest: Digest, pipeline: &str, batch: &dyn BatchSource) -> Self {
        let newest_ms = (0..batch.len()).filter_map(|index| match batch.record(index).timestamp {
            Timestamp::None => None,
            Timestamp::CreateTime(ms) | Timestamp::LogAppendTime(ms) => u64::try_from(ms).ok(),
        });
        let now = Duration::from_millis(newest_ms.max().unwrap_or(0));
        Self { now, seed: seed(digest, pipeline, (!batch.is_empty()).then_some(batch)) }
    }

    /// Gives an instance this time and this chance.
    pub(crate) fn arrange(&self, wasi: &mut WasiCtxBuilder) {
        let chance = |stream: u64| {
            let mut chance = ChaCha20Rng::from_seed(self.seed);
            chance.set_stream(stream);
            chance
        };
        let [first, ..] = self.seed.as_chunks::<16>().0 else { return };
        wasi.wall_clock(Standing(self.now))
            .monotonic_clock(Standing(self.now))
            .secure_random(chance(0))
            .insecure_random(chance(1))
            .insecure_random_seed(u128::from_le_bytes(*first));
    }
}

fn seed(digest: Digest, pipeline: &str, batch: Option<&dyn BatchSource>) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(digest.to_string());
    hash.update((pipeline.len() as u64).to_le_bytes());
    hash.update(pipeline);
    if let Some(batch) = batch {
        let first = batch.record(0);
        hash.update(first.topic);
        hash.update(first.partition.to_le_bytes());
        hash.update(first.offset.to_le_bytes());
    }
    hash.finalize().into()
}

/// A clock that stands.
struct Standing(Duration);

impl HostWallClock for Standing {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn now(&self) -> Duration {
        self.0
    }
}

impl HostMonotonicClock for Standing {
    fn resolution(&self) -> u64 {
        1_000_000
    }

    fn now(&self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_of_processor_time_is_a_number_of_instructions() {
        assert_eq!(instructions(Duration::from_millis(1_500)), 1_500_000_000);
        assert_eq!(instructions(Duration::MAX), u64::MAX);
    }

    #[test]
    fn the_seed_hangs_on_plugin_and_pipeline() {
        let (one, other) = (Digest::of(b"one"), Digest::of(b"other"));
        assert_eq!(seed(one, "orders", None), seed(one, "orders", None));
        assert_ne!(seed(one, "orders", None), seed(other, "orders", None));
        assert_ne!(seed(one, "orders", None), seed(one, "refunds", None));
    }
}
