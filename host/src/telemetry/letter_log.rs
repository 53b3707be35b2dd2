//! How often dead letters are mentioned: at once, and then in one line per window for all that came since. A batch with one in a hundred
//! records put aside does not write a line for each.

use std::collections::BTreeMap;
use std::time::Duration;

use gristmill_core::io::LetterClass;
use gristmill_core::time::Moment;

/// Remembers what was not mentioned yet.
#[derive(Clone, Debug)]
pub struct LetterLog {
    window: Duration,
    mentioned: Option<Moment>,
    unmentioned: BTreeMap<&'static str, u64>,
}

impl LetterLog {
    /// Starts with nothing to mention.
    #[must_use]
    pub fn new(window: Duration) -> Self {
        Self { window, mentioned: None, unmentioned: BTreeMap::new() }
    }

    /// Notes dead letters. Gives how many there were of each class since the last mention, if they are to be mentioned now.
    pub fn written(&mut self, now: Moment, letters: &[LetterClass]) -> Option<BTreeMap<&'static str, u64>> {
        for class in letters {
            *self.unmentioned.entry(class.as_str()).or_default() += 1;
        }
        let due = self.mentioned.is_none_or(|at| now.since(at) >= self.window);
        if !due || self.unmentioned.is_empty() {
            return None;
        }
        self.mentioned = Some(now);
        Some(std::mem::take(&mut self.unmentioned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_mentioned_at_once_and_then_all_of_a_window_in_one_line() {
        let mut log = LetterLog::new(Duration::from_secs(10));
        let at = |second: u64| Moment(second * 1_000_000);
        let (rejected, skipped) = (LetterClass::Rejected, LetterClass::Skipped);
        assert_eq!(log.written(at(1), &[]), None);
        assert_eq!(log.written(at(1), &[rejected]), Some(BTreeMap::from([("rejected", 1)])));
        assert_eq!(log.written(at(2), &[rejected, skipped]), None);
        assert_eq!(log.written(at(10), &[rejected]), None);
        // Also with what came before, where nothing is added.
        assert_eq!(log.written(at(11), &[]), Some(BTreeMap::from([("rejected", 2), ("skipped", 1)])));
        assert_eq!(log.written(at(30), &[]), None);
    }
}
