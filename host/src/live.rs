//! The live line of a run on a terminal: when it is drawn, and from what. What it looks like is [`crate::cli`]'s business.

use std::time::Duration;

use gristmill_core::time::Moment;

use crate::cli::{LiveLine, Snapshot};
use crate::status::{State, Status};

/// How often the line is drawn.
const EVERY: Duration = Duration::from_millis(250);

/// Draws the live line.
pub(crate) struct Live {
    line: LiveLine,
    records_max: u32,
    due: Moment,
    rate: Rate,
}

impl Live {
    pub(crate) fn new(line: LiveLine, records_max: u32) -> Self {
        Self { line, records_max, due: Moment(0), rate: Rate::default() }
    }

    /// When it is to be drawn next.
    pub(crate) fn due(&self) -> Moment {
        self.due
    }

    pub(crate) fn show(&mut self, now: Moment, status: &Status) {
        if now < self.due {
            return;
        }
        self.due = now.after(EVERY);
        let state = status.state();
        let (detail, next_in) = match &state {
            State::Waiting { attempt, until, reason, .. } => {
                (Some(format!("attempt {attempt}: {reason}")), Some(until.since(now)))
            }
            State::Held { reason, .. } => (Some(reason.clone()), None),
            State::Joining | State::Running | State::Paused | State::Draining | State::Stopped => (None, None),
        };
        self.line.draw(&Snapshot {
            state: state.word(),
            detail,
            next_in,
            partitions: status.assigned.len(),
            records_per_second: self.rate.per_second(now, status.counts.committed),
            lag: status.lag(),
            filling: status.filling,
            records_max: self.records_max,
            committed: status.counts.committed,
        });
    }

    /// Takes the line away, so that what follows stands on a line of its own.
    pub(crate) fn clear(&mut self) {
        self.line.clear();
    }
}

/// A rate over the last few draws.
#[derive(Debug, Default)]
struct Rate {
    /// Moment and count at each of the last draws, the oldest first.
    seen: std::collections::VecDeque<(Moment, u64)>,
}

/// Draws that the rate looks back over: two seconds.
const DRAWS: usize = 8;

impl Rate {
    fn per_second(&mut self, now: Moment, count: u64) -> f64 {
        self.seen.push_back((now, count));
        if self.seen.len() > DRAWS {
            self.seen.pop_front();
        }
        let Some(&(then, before)) = self.seen.front() else { return 0.0 };
        let seconds = now.since(then).as_secs_f64();
        if seconds > 0.0 { (count - before) as f64 / seconds } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_looks_back_two_seconds() {
        let mut rate = Rate::default();
        let mut shown = 0.0;
        for draw in 0..20u64 {
            shown = rate.per_second(Moment(draw * 250_000), draw * 100);
        }
        assert!((shown - 400.0).abs() < 1.0, "{shown}");
    }
}
