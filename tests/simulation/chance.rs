//! Chance that can be replayed: one seed, split into an independent stream for each component.
//!
//! Must not know what the numbers decide.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Which component draws. Each has a stream of its own, so that a change in one does not stir the others.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stream {
    /// Draws the scenario itself.
    Scenario = 1,
    /// Delays on every channel.
    Delay = 2,
    /// The broker's faults.
    Broker = 3,
    /// The group's assignments.
    Group = 4,
    /// The members' Kafka edges.
    Edge = 5,
    /// The guests.
    Guest = 6,
    /// The operator, crashes, freezes.
    Operator = 7,
}

/// A stream of chance.
pub(crate) struct Chance(ChaCha8Rng);

impl Chance {
    /// The stream of one component under one seed.
    pub(crate) fn new(seed: u64, stream: Stream) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream as u64);
        Self(rng)
    }

    /// A number below `bound`; zero when `bound` is zero.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.0.next_u64() % bound }
    }

    /// A number in `low..=high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True in `permille` of a thousand cases.
    pub(crate) fn permille(&mut self, permille: u64) -> bool {
        self.below(1000) < permille
    }

    /// One of the choices.
    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        let at = self.below(choices.len() as u64);
        choices[usize::try_from(at).expect("an index fits")]
    }

    /// An index below `len`.
    pub(crate) fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).expect("an index fits")
    }
}
