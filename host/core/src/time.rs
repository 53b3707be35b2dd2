//! Time as the core sees it: a number handed in. The core never asks a clock.

use std::time::Duration;

/// A point in time, in microseconds since a start that only the caller knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(pub u64);

impl Moment {
    /// The moment `wait` later; saturates at the end of time instead of overflowing.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        let micros = u64::try_from(wait.as_micros()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(micros))
    }

    /// How long ago `earlier` was; zero when it lies in the future.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}
