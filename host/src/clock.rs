//! The one place that asks the system for the time: the monotonic clock, as the core's [`Moment`]s and back, and the calendar's.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use gristmill_core::time::Moment;

/// Now, in milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

/// The process's time: moments count from its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// The instant at which [`Moment`] zero lies.
    pub(crate) fn base(&self) -> Instant {
        self.start
    }

    pub(crate) fn now(&self) -> Moment {
        Moment(u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    pub(crate) fn instant(&self, moment: Moment) -> Instant {
        self.start + Duration::from_micros(moment.0)
    }
}
