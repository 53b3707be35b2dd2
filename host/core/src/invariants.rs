//! Invariants that are cheap enough to be checked on every action, with the ids under which the proof knows them.

use crate::io::{Action, Delivery};

/// True when an action keeps what can be seen from the action alone: a batch is not empty (I-16) and in offset order
/// within each partition (I-10); requests name something; no position lies before the log.
#[must_use]
pub fn action_is_sound<R>(action: &Action<R>) -> bool {
    match action {
        Action::Deliver(delivery) => !delivery.records.is_empty() && delivery.attempt > 0 && is_ordered(delivery),
        Action::Produce(production) => !production.letters.is_empty() || production.emitted_of.is_some(),
        Action::Commit { offsets, .. } => !offsets.is_empty() && offsets.iter().all(|offset| offset.next.0 >= 0),
        Action::AskCommitted { partitions, .. } => !partitions.is_empty(),
        Action::Seek { targets, .. } => !targets.is_empty() && targets.iter().all(|target| target.next.0 >= 0),
        Action::Cancel(_) | Action::AnswerRevoke(_) | Action::Leave | Action::Stopped(_) | Action::Report(_) => true,
    }
}

/// Neighbouring records of one partition have rising offsets. (Records of other partitions may stand between two runs; the
/// simulation checks those too.)
fn is_ordered<R>(delivery: &Delivery<R>) -> bool {
    delivery.records.windows(2).all(|pair| {
        let (first, second) = (&pair[0].facts, &pair[1].facts);
        first.partition != second.partition || first.offset < second.offset
    })
}
