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
    pub(crate) fn look<'p>(
        &mut self,
        now: Moment,
        partitions: impl Iterator<Item = (Partition, &'p Progress)>,
    ) -> Vec<(Partition, Duration)> {
        let stalled: BTreeMap<Partition, Duration> = partitions
            .map(|(partition, progress)| (partition, progress.age(now)))
            .filter(|(_, age)| *age >= STALLED_AFTER)
            .collect();
        self.mentioned.retain(|partition, _| stalled.contains_key(partition));
        let is_due = |then: &Moment| now.since(*then) >= AGAIN_AFTER;
        let due: Vec<_> = stalled.into_iter().filter(|(it, _)| self.mentioned.get(it).is_none_or(is_due)).collect();
        self.mentioned.extend(due.iter().map(|(partition, _)| (*partition, now)));
        due
    }
}

#[cfg(test)]
mod tests {
    use gristmill_core::record::{NextOffset, Topic};

    use super::*;

    const STUCK: Partition = Partition { topic: Topic(0), number: 0 };
    const FLOWS: Partition = Partition { topic: Topic(0), number: 1 };

    fn assigned(now: u64, lag: i64) -> [(Partition, Progress); 2] {
        let (committed, end) = (Some(NextOffset(5)), Some(NextOffset(5 + lag)));
        let stuck = Progress { committed, end, moved: Moment(0) };
        let flows = Progress { moved: Moment(now), ..stuck };
        [(STUCK, stuck), (FLOWS, flows)]
    }

    fn look(watch: &mut StallWatch, now: Moment, lag: i64) -> Vec<(Partition, Duration)> {
        let assigned = assigned(now.0, lag);
        watch.look(now, assigned.iter().map(|(partition, progress)| (*partition, progress)))
    }

    fn seconds(seconds: u64) -> Moment {
        Moment(seconds * 1_000_000)
    }

    #[test]
    fn o4_a_partition_that_stands_still_is_mentioned_while_others_flow() {
        let mut watch = StallWatch::default();
        let mut said = Vec::new();
        for second in 0..=100 {
            said.extend(look(&mut watch, seconds(second), 7));
        }
        assert_eq!(said, [(STUCK, Duration::from_secs(30)), (STUCK, Duration::from_secs(90))]);
    }

    #[test]
    fn o4_a_partition_without_lag_may_rest() {
        assert_eq!(look(&mut StallWatch::default(), seconds(500), 0), []);
    }
}
