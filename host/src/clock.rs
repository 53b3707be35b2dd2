//! The one place that turns the system's monotonic clock into the core's [`Moment`]s, and back.

use std::time::{Duration, Instant};

use gristmill_core::time::Moment;

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
