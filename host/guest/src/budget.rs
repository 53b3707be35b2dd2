//! How much of a plugin's output is passed on, and how often it is said that some was not.
//!
//! A budget outlives instances: a plugin that floods in every batch has no more than one that floods once. It must not know
//! what is printed, and does not ask the clock.

use std::time::{Duration, Instant};

/// The span of time over which output is counted.
const WINDOW: Duration = Duration::from_secs(1);

/// What a line costs at the least: an event has a time, a target and a digest, however short its text is.
const LINE_BYTES_MIN: u64 = 64;

/// What one stream of one plugin may print.
#[derive(Debug)]
pub(crate) struct Budget {
    bytes_max: u64,
    window_began: Option<Instant>,
    window_bytes: u64,
    /// True from the first line that did not pass until the window is over: what comes behind it does not pass either.
    spent: bool,
    told_at: Option<Instant>,
    untold_bytes: u64,
}

impl Budget {
    /// So many bytes in each window.
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self { bytes_max, window_began: None, window_bytes: 0, spent: false, told_at: None, untold_bytes: 0 }
    }

    /// Begins a new window when the last one is over. True: it did.
    pub(crate) fn renew(&mut self, now: Instant) -> bool {
        let over = is_past(self.window_began, now);
        if over {
            self.window_began = Some(now);
            self.window_bytes = 0;
            self.spent = false;
        }
        over
    }

    /// Takes a line out of the budget. False: there is not enough left of this window.
    pub(crate) fn pass(&mut self, line_bytes: u64) -> bool {
        let window_bytes = self.window_bytes.saturating_add(line_bytes.max(LINE_BYTES_MIN));
        let passes = !self.spent && window_bytes <= self.bytes_max;
        if passes {
            self.window_bytes = window_bytes;
        } else {
            self.spent = true;
        }
        passes
    }

    /// True while nothing passes, whatever it is.
    pub(crate) fn is_spent(&self, now: Instant) -> bool {
        self.spent && !is_past(self.window_began, now)
    }

    /// Counts what was not passed on.
    pub(crate) fn note_dropped(&mut self, bytes: u64) {
        self.untold_bytes += bytes;
    }

    /// How much was dropped since this was last told. `None`: nothing, or something was told within the last second; then it is
    /// told with what comes later.
    pub(crate) fn take_notice(&mut self, now: Instant) -> Option<u64> {
        if self.untold_bytes == 0 || !is_past(self.told_at, now) {
            return None;
        }
        self.told_at = Some(now);
        self.take_rest()
    }

    /// How much was dropped since this was last told, however short ago that is.
    pub(crate) fn take_rest(&mut self) -> Option<u64> {
        Some(std::mem::take(&mut self.untold_bytes)).filter(|bytes| *bytes > 0)
    }
}

fn is_past(began: Option<Instant>, now: Instant) -> bool {
    began.is_none_or(|began| now.saturating_duration_since(began) >= WINDOW)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many lines of so many bytes pass now.
    fn passing(budget: &mut Budget, line_bytes: u64) -> usize {
        (0..100_000).take_while(|_| budget.pass(line_bytes)).count()
    }

    #[test]
    fn a_window_is_renewed_when_it_is_over_and_not_before() {
        let (began, mut budget) = (Instant::now(), Budget::new(1_000));
        assert!(budget.renew(began));
        assert_eq!(passing(&mut budget, 100), 10);
        assert!(!budget.renew(began + WINDOW - Duration::from_nanos(1)));
        assert_eq!(passing(&mut budget, 100), 0);
        assert!(budget.renew(began + WINDOW));
        assert_eq!(passing(&mut budget, 100), 10);
    }

    #[test]
    fn behind_a_line_that_did_not_pass_none_does_until_the_window_is_over() {
        let (began, mut budget) = (Instant::now(), Budget::new(1_000));
        budget.renew(began);
        assert!(budget.pass(900) && !budget.is_spent(began));
        assert!(!budget.pass(500) && budget.is_spent(began) && !budget.pass(64));
        assert!(!budget.is_spent(began + WINDOW) && budget.renew(began + WINDOW) && budget.pass(500));
    }

    #[test]
    fn a_line_of_nothing_is_not_free() {
        let mut budget = Budget::new(64 << 10);
        assert_eq!(passing(&mut budget, 1), 1_024);
    }

    #[test]
    fn drops_are_told_at_once_and_then_once_a_window_and_none_is_forgotten() {
        let (began, mut budget) = (Instant::now(), Budget::new(0));
        assert_eq!(budget.take_notice(began), None);
        budget.note_dropped(3);
        assert_eq!(budget.take_notice(began), Some(3));
        budget.note_dropped(5);
        assert_eq!(budget.take_notice(began + WINDOW / 2), None);
        budget.note_dropped(7);
        assert_eq!(budget.take_notice(began + WINDOW), Some(12));
        budget.note_dropped(1);
        assert_eq!(budget.take_rest(), Some(1));
        assert_eq!(budget.take_rest(), None);
    }
}
