//! How often the same client error is mentioned: a client that cannot reach a broker says so twenty times a second.
//!
//! Pure: told of each error, says whether it is to be mentioned now.

use std::collections::BTreeMap;
use std::time::Duration;

use gristmill_core::record::Partition;
use gristmill_core::time::Moment;

/// The same error about the same thing is mentioned once in this time.
const AGAIN_AFTER: Duration = Duration::from_secs(30);
/// How many different errors are kept apart; with more, the oldest is forgotten and may be mentioned early.
const KEPT_MAX: usize = 256;

/// Remembers which errors were mentioned when.
#[derive(Debug, Default)]
pub(crate) struct ErrorLog {
    mentioned: BTreeMap<(String, Option<Partition>), Mentioned>,
}

#[derive(Debug)]
struct Mentioned {
    at: Moment,
    silent: u64,
}

impl ErrorLog {
    /// How many times the error came since it was last mentioned, if it is to be mentioned now.
    pub(crate) fn mention(&mut self, now: Moment, code: &str, partition: Option<Partition>) -> Option<u64> {
        let key = (code.to_owned(), partition);
        if let Some(known) = self.mentioned.get_mut(&key)
            && now.since(known.at) < AGAIN_AFTER
        {
            known.silent += 1;
            return None;
        }
        if self.mentioned.len() >= KEPT_MAX
            && let Some(oldest) = self.mentioned.iter().min_by_key(|(_, it)| it.at).map(|(key, _)| key.clone())
        {
            self.mentioned.remove(&oldest);
        }
        let before = self.mentioned.insert(key, Mentioned { at: now, silent: 0 });
        Some(before.map_or(0, |it| it.silent))
    }
}

#[cfg(test)]
mod tests {
    use gristmill_core::record::Topic;

    use super::*;

    fn tenths(tenths: u64) -> Moment {
        Moment(tenths * 100_000)
    }

    #[test]
    fn an_error_that_keeps_coming_is_mentioned_once_in_thirty_seconds() {
        let mut log = ErrorLog::default();
        let said: Vec<(u64, u64)> = (0..=600)
            .filter_map(|tenth| Some((tenth, log.mention(tenths(tenth), "_ALL_BROKERS_DOWN", None)?)))
            .collect();
        assert_eq!(said, [(0, 0), (300, 299), (600, 299)]);
    }

    #[test]
    fn errors_about_different_things_do_not_hide_each_other() {
        let mut log = ErrorLog::default();
        let of = |number| Some(Partition { topic: Topic(0), number });
        assert_eq!(log.mention(tenths(0), "_TRANSPORT", None), Some(0));
        assert_eq!(log.mention(tenths(1), "_TRANSPORT", of(1)), Some(0));
        assert_eq!(log.mention(tenths(2), "_SSL", None), Some(0));
        assert_eq!(log.mention(tenths(3), "_TRANSPORT", of(1)), None);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut log = ErrorLog::default();
        for number in 0..1_000 {
            log.mention(tenths(number), &format!("E{number}"), None);
        }
        assert_eq!(log.mentioned.len(), KEPT_MAX);
    }
}
