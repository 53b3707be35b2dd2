//! Notices partitions that have lag and make no progress, also while all others flow (O4).
//!
//! Pure: looks at what is known now, remembers what it said.

use std::collections::BTreeMap;
use std::time::Duration;

use gristmill_core::record::Partition;
use gristmill_core::time::Moment;

use crate::status::Progress;

/// Lag without progress for this long is worth a line.
const STALLED_AFTER: Duration = Duration::from_secs(30);
/// The same partition is mentioned again after this long.
const AGAIN_AFTER: Duration = Duration::from_secs(60);

/// Remembers which stalled partitions were mentioned when.
#[derive(Debug, Default)]
pub(crate) struct StallWatch {
    mentioned: BTreeMap<Partition, Moment>,
}

impl StallWatch {
    /// The partitions to mention now, each with how long it has stood still.
    pub(crate) fn look(&mut self, now: Moment, assigned: &BTreeMap<Partition, Progress>) -> Vec<(Partition, Duration)> {
        let stands = |partition: &Partition| assigned.get(partition).is_some_and(|it| it.age(now) >= STALLED_AFTER);
        self.mentioned.retain(|partition, _| stands(partition));
        let mut stalled = Vec::new();
        for (&partition, progress) in assigned.iter().filter(|(partition, _)| stands(partition)) {
            if self.mentioned.get(&partition).is_none_or(|then| now.since(*then) >= AGAIN_AFTER) {
                self.mentioned.insert(partition, now);
                stalled.push((partition, progress.age(now)));
            }
        }
        stalled
    }
}

#[cfg(test)]
mod tests {
    use gristmill_core::record::{NextOffset, Topic};

    use super::*;

    const STUCK: Partition = Partition { topic: Topic(0), number: 0 };
    const FLOWS: Partition = Partition { topic: Topic(0), number: 1 };

    fn assigned(now: u64, lag: i64) -> BTreeMap<Partition, Progress> {
        let (committed, end) = (Some(NextOffset(5)), Some(NextOffset(5 + lag)));
        let stuck = Progress { committed, end, moved: Moment(0) };
        let flows = Progress { moved: Moment(now), ..stuck };
        BTreeMap::from([(STUCK, stuck), (FLOWS, flows)])
    }

    fn seconds(seconds: u64) -> Moment {
        Moment(seconds * 1_000_000)
    }

    #[test]
    fn o4_a_partition_that_stands_still_is_mentioned_while_others_flow() {
        let mut watch = StallWatch::default();
        let mut said = Vec::new();
        for second in 0..=100 {
            said.extend(watch.look(seconds(second), &assigned(second * 1_000_000, 7)));
        }
        assert_eq!(said, [(STUCK, Duration::from_secs(30)), (STUCK, Duration::from_secs(90))]);
    }

    #[test]
    fn o4_a_partition_without_lag_may_rest() {
        assert_eq!(StallWatch::default().look(seconds(500), &assigned(0, 0)), []);
    }
}
