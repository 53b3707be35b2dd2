//! Offsets that hold no record: marks that end transactions, and what was aborted. The client reads past them without a word,
//! so its position is asked for, now and then.
//!
//! librdkafka's position is believed under three conditions, which together make it exact. It is asked for by the thread that
//! takes the records, between two takes: so whatever lies before it was taken, and passed on. Only for partitions that were
//! sought in their current reading: a seek resets the position, which otherwise may be that of an older assignment. And for
//! none that had an error since then: the client counts an error as a record (`trouble`).

use std::time::{Duration, Instant};

use gristmill_core::io::{Input, Passed};
use gristmill_core::record::{LeaderEpoch, NextOffset, Partition};

use crate::ownership::Owned;
use crate::recreation;
use crate::shared::Shared;
use crate::sys::OFFSET_INVALID;

/// How often the positions are asked for. Each of them may make a commit for its partition, and in a topic of many small
/// transactions every look finds another one.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// When the next look is due.
pub(crate) struct Lookout(Instant);

impl Lookout {
    /// One that looks soon.
    pub(crate) fn new() -> Self {
        Self(Instant::now() + LOOK_EVERY)
    }

    /// Tells the core how far partitions were read past their last records, if it is time to look.
    pub(crate) fn look_when_due(&mut self, shared: &Shared) {
        let now = Instant::now();
        if self.0 <= now {
            self.0 = now + LOOK_EVERY;
            look(shared);
        }
    }
}

fn look(shared: &Shared) {
    let mut table = shared.ownership.lock();
    // A position in a topic that is gone says nothing about the one of the same name.
    recreation::begin_anew(shared, &mut table);
    let read: Vec<Partition> = table.iter().filter(|(_, owned)| owned.is_on_course()).map(|(at, _)| *at).collect();
    if read.is_empty() {
        return;
    }
    let mut list = shared.list(read.iter().map(|partition| (partition, OFFSET_INVALID)));
    if let Err(code) = shared.client.positions(&mut list) {
        tracing::debug!(?code, "positions could not be read");
        return;
    }
    for row in list.rows().iter().filter(|row| row.result.is_ok()) {
        let partition = shared.topics.partition(&row.topic, row.partition);
        let Some(owned) = table.get_mut(&partition) else { continue };
        if let Some(passed) = pass(partition, owned, row.offset, row.leader_epoch) {
            shared.input(Input::Passed(passed));
        }
    }
}

/// Notes the client's position; gives the news if it lies behind ours. Before anything was read it is negative.
fn pass(partition: Partition, owned: &mut Owned, position: i64, leader_epoch: Option<i32>) -> Option<Passed> {
    let next = NextOffset(position);
    if next <= owned.expected {
        return None;
    }
    owned.expected = next;
    Some(Passed { partition, epoch: owned.current, next, leader_epoch: leader_epoch.map(LeaderEpoch) })
}

#[cfg(test)]
mod tests {
    use gristmill_core::record::{Epoch, Topic};

    use super::*;
    use crate::ownership::Reading;

    const P: Partition = Partition { topic: Topic(0), number: 3 };

    #[test]
    fn only_a_position_behind_ours_is_news_and_only_once() {
        let mut owned = Owned::new(Epoch(1), NextOffset(50), Reading::On);
        assert_eq!(pass(P, &mut owned, OFFSET_INVALID, None), None, "nothing was read yet");
        assert_eq!(pass(P, &mut owned, 50, Some(2)), None);
        let passed = pass(P, &mut owned, 51, Some(2)).expect("it lies behind");
        assert_eq!((passed.epoch, passed.next, passed.leader_epoch), (Epoch(1), NextOffset(51), Some(LeaderEpoch(2))));
        assert_eq!(pass(P, &mut owned, 51, Some(2)), None);
        assert_eq!(owned.expected, NextOffset(51));
    }
}
