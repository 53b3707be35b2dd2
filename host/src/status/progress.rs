//! How far one partition is: what is committed, where the log ends, when that last moved.
//!
//! It does not know why a partition stands still.

use std::time::Duration;

use gristmill_core::io::{OffsetTrouble, StartPosition};
use gristmill_core::record::NextOffset;
use gristmill_core::time::Moment;

/// How far one partition is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// As last confirmed.
    pub(crate) committed: Option<NextOffset>,
    /// End of the log, as last heard.
    pub(crate) end: Option<NextOffset>,
    /// When the committed offset last moved, or the partition was assigned (O4).
    pub(crate) moved: Moment,
}

impl Progress {
    /// A partition as it is assigned. Of one that cannot be read the trouble tells what nobody else will.
    pub(crate) fn at_start(now: Moment, start: &StartPosition) -> Self {
        let (committed, end) = match start {
            StartPosition::Committed(next) | StartPosition::Reset(next) => (Some(*next), None),
            StartPosition::Unusable(OffsetTrouble::NothingCommitted) => (None, None),
            StartPosition::Unusable(OffsetTrouble::OutOfRange { wanted, high, .. }) => (Some(*wanted), *high),
            StartPosition::Unusable(OffsetTrouble::Unreadable { at }) => (Some(*at), None),
        };
        Self { committed, end, moved: now }
    }

    /// Records between the committed offset and the end, where both are known. Control records count as well.
    pub(crate) fn lag(&self) -> Option<u64> {
        let (committed, end) = (self.committed?, self.end?);
        Some(u64::try_from(end.0 - committed.0).unwrap_or(0))
    }

    /// How long there has been lag without progress.
    pub(crate) fn age(&self, now: Moment) -> Duration {
        if self.lag().unwrap_or(0) == 0 { Duration::ZERO } else { now.since(self.moved) }
    }
}
