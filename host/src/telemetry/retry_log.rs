//! How often a batch that fails again and again is mentioned: the first time, the second time with notice, then one summary
//! per window. A batch that is retried for an hour does not write a million lines.
//!
//! Goes by the number of the attempt and not of the batch: where a batch is read again for each attempt it has a new number each
//! time, and only the attempts go on counting.

use std::time::Duration;

use gristmill_core::time::Moment;

/// How to mention a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mention {
    /// As news.
    First,
    /// Again, with the notice that from now on there is one line per window.
    SecondWithNotice,
    /// In one line for all that was not mentioned since.
    Summary {
        /// How many attempts this line stands for.
        attempts: u32,
    },
    /// Not at all.
    Silent,
}

/// Remembers what was mentioned of the batch that fails.
#[derive(Clone, Debug)]
pub struct RetryLog {
    window: Duration,
    current: Option<Current>,
}

#[derive(Clone, Debug)]
struct Current {
    mentioned: u32,
    last: Moment,
    unmentioned: u32,
}

impl RetryLog {
    /// Starts with nothing mentioned; after the second mention there is one line in each `window`.
    #[must_use]
    pub fn new(window: Duration) -> Self {
        Self { window, current: None }
    }

    /// Says how to mention that this attempt failed at `now`. The first attempt since the last progress is number 1.
    pub fn failed(&mut self, attempt: u32, now: Moment) -> Mention {
        let Some(current) = self.current.as_mut().filter(|_| attempt > 1) else {
            self.current = Some(Current { mentioned: 1, last: now, unmentioned: 0 });
            return Mention::First;
        };
        current.unmentioned = current.unmentioned.saturating_add(1);
        let mention = match current.mentioned {
            1 => Mention::SecondWithNotice,
            _ if now.since(current.last) >= self.window => Mention::Summary { attempts: current.unmentioned },
            _ => return Mention::Silent,
        };
        *current = Current { mentioned: current.mentioned.saturating_add(1), last: now, unmentioned: 0 };
        mention
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_of_retries_is_a_few_lines() {
        let mut log = RetryLog::new(Duration::from_secs(60));
        let mentions: Vec<_> =
            (0..36_000).map(|tenth| log.failed(tenth + 1, Moment(u64::from(tenth) * 100_000))).collect();
        let said = mentions.iter().filter(|mention| **mention != Mention::Silent);
        assert_eq!(said.count(), 61);
        assert_eq!(mentions[..3], [Mention::First, Mention::SecondWithNotice, Mention::Silent]);
    }

    #[test]
    fn a_summary_counts_what_was_not_mentioned() {
        let mut log = RetryLog::new(Duration::from_secs(10));
        for second in 0..11 {
            log.failed(second + 1, Moment(u64::from(second) * 1_000_000));
        }
        assert_eq!(log.failed(12, Moment(11_000_000)), Mention::Summary { attempts: 10 });
        assert_eq!(log.failed(13, Moment(12_000_000)), Mention::Silent);
    }

    #[test]
    fn another_batch_is_news() {
        let mut log = RetryLog::new(Duration::from_secs(10));
        log.failed(1, Moment(0));
        log.failed(2, Moment(1));
        assert_eq!(log.failed(1, Moment(2)), Mention::First);
    }
}
