//! How often the same client error is mentioned: a client that cannot reach a broker says so twenty times a second, under each
//! of its names and addresses.
//!
//! Pure: told of each error, says whether it is to be mentioned now.

use std::collections::BTreeMap;
use std::time::Duration;

use gristmill_core::record::Partition;
use gristmill_core::time::Moment;
use gristmill_kafka::broker_of;

/// The same error about the same thing is mentioned once in this time.
const AGAIN_AFTER: Duration = Duration::from_secs(30);
/// How many different errors are kept apart; with more, the oldest is forgotten and may be mentioned early.
const KEPT_MAX: usize = 256;

/// Remembers which errors were mentioned when.
#[derive(Debug, Default)]
pub(crate) struct ErrorLog {
    mentioned: BTreeMap<Cause, Mentioned>,
}

/// What an error is about: its code, the partition, the broker.
type Cause = (String, Option<Partition>, Option<String>);

/// librdkafka's code for what follows from the errors of the single brokers.
const ALL_BROKERS_DOWN: &str = "_ALL_BROKERS_DOWN";

#[derive(Debug)]
struct Mentioned {
    at: Moment,
    silent: u64,
}

impl ErrorLog {
    /// How many times the error came since it was last mentioned, if it is to be mentioned now.
    pub(crate) fn mention(&mut self, now: Moment, code: &str, text: &str, partition: Option<Partition>) -> Option<u64> {
        if code == ALL_BROKERS_DOWN && self.knows_of_brokers(now) {
            return None;
        }
        let key = (code.to_owned(), partition, broker_of(text).map(str::to_owned));
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

    /// True when an error of a broker was mentioned lately.
    fn knows_of_brokers(&self, now: Moment) -> bool {
        self.mentioned.iter().any(|((_, _, broker), it)| broker.is_some() && now.since(it.at) < AGAIN_AFTER)
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
            .filter_map(|tenth| {
                Some((tenth, log.mention(tenths(tenth), "_ALL_BROKERS_DOWN", "1/1 brokers are down", None)?))
            })
            .collect();
        assert_eq!(said, [(0, 0), (300, 299), (600, 299)]);
    }

    #[test]
    fn errors_about_different_things_do_not_hide_each_other() {
        let mut log = ErrorLog::default();
        let of = |number| Some(Partition { topic: Topic(0), number });
        assert_eq!(log.mention(tenths(0), "_TRANSPORT", "it broke", None), Some(0));
        assert_eq!(log.mention(tenths(1), "_TRANSPORT", "it broke", of(1)), Some(0));
        assert_eq!(log.mention(tenths(2), "_SSL", "it broke", None), Some(0));
        assert_eq!(log.mention(tenths(3), "_TRANSPORT", "it broke", of(1)), None);
        assert_eq!(log.mention(tenths(4), "_TRANSPORT", "b:1/1: refused", None), Some(0));
        assert_eq!(log.mention(tenths(5), "_TRANSPORT", "c:1/2: refused", None), Some(0));
    }

    #[test]
    fn a_broker_that_is_not_there_is_one_cause() {
        let mut log = ErrorLog::default();
        let heard = [
            (
                "_TRANSPORT",
                "b:1/bootstrap: Connect to ipv6#[::1]:1 failed: Connection refused (after 0ms in state CONNECT)",
            ),
            ("_ALL_BROKERS_DOWN", "1/1 brokers are down"),
            (
                "_TRANSPORT",
                "b:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused (after 1ms in state CONNECT)",
            ),
            ("_TRANSPORT", "GroupCoordinator: b:1: Connect to ipv4#127.0.0.1:1 failed: Connection refused"),
        ];
        let said = heard.iter().filter(|(code, text)| log.mention(tenths(0), code, text, None).is_some()).count();
        assert_eq!(said, 1);
        assert_eq!(log.mention(tenths(301), "_ALL_BROKERS_DOWN", "1/1 brokers are down", None), Some(0));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut log = ErrorLog::default();
        for number in 0..1_000 {
            log.mention(tenths(number), &format!("E{number}"), "", None);
        }
        assert_eq!(log.mentioned.len(), KEPT_MAX);
    }
}
