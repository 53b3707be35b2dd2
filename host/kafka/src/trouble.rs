//! Errors about one partition that come in place of its records.
//!
//! Tells three kinds apart: the position is not in the log (O1), the bytes at the position cannot be read, and everything
//! else, which the client retries by itself. Runs on the fetch thread under the ownership lock; waits for nothing.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use gristmill_core::io::{Input, OffsetTrouble};
use gristmill_core::record::{NextOffset, Offset, Partition};

use crate::error::{ClientErrorKind, is_about_data};
use crate::event::Event;
use crate::lookup::LookupOrder;
use crate::ownership::{Owned, Reading, Trouble};
use crate::parking::Work;
use crate::settings::RangePolicy;
use crate::shared::Shared;
use crate::sys::{Code, Message, code_name};

/// An error that keeps coming is told again this often.
const TELL_AGAIN: Duration = Duration::from_secs(30);

/// Notes an error at a partition's position; gives the news that it makes.
pub(crate) fn note(
    shared: &Shared,
    partition: Partition,
    owned: &mut Owned,
    code: Code,
    message: Message<'_>,
) -> Vec<Event> {
    if code == Code::AutoOffsetReset {
        return note_out_of_range(shared, partition, owned).into_iter().collect();
    }
    if owned.reading != Reading::On {
        return Vec::new();
    }
    let known = owned.trouble.filter(|trouble| are_same(trouble.code, code));
    let mut trouble = known.unwrap_or(Trouble { code, since: Instant::now(), reported: false });
    let mut news = Vec::new();
    if is_about_data(code) && trouble.since.elapsed() >= shared.settings.unreadable_after {
        owned.reading = Reading::Seeking;
        news.push(unreadable(partition, owned));
    } else if is_about_data(code) || leads_astray(owned, message.offset()) {
        owned.astray = true;
        shared.parking.leave_work(Work::Repair(partition));
    }
    if !is_about_data(code) && trouble.reported && trouble.since.elapsed() >= TELL_AGAIN {
        trouble = Trouble { code, since: Instant::now(), reported: false };
    }
    if !trouble.reported {
        trouble.reported = true;
        news.push(Event::ClientError {
            kind: ClientErrorKind::of(code),
            code: code_name(code),
            text: message.error_text(),
            partition: Some(partition),
            fatal: false,
        });
    }
    owned.trouble = Some(trouble);
    news
}

/// librdkafka counts an error that has an offset as a record: it believes that it stands behind it, and the pause of the next
/// rebalance would make that true. A seek puts it back to where we are; what it gives until then is dropped.
fn leads_astray(owned: &Owned, offset: i64) -> bool {
    owned.expected.reaches(Offset(offset))
}

/// Bytes that cannot be read make several errors in turn, all of them about one thing.
fn are_same(one: Code, other: Code) -> bool {
    one == other || (is_about_data(one) && is_about_data(other))
}

fn unreadable(partition: Partition, owned: &Owned) -> Event {
    let trouble = OffsetTrouble::Unreadable { at: owned.expected };
    Event::Input(Input::PositionTrouble { partition, epoch: owned.current, trouble })
}

/// The position is not in the log any more, or not yet. librdkafka reads this partition no further until it is assigned
/// again. With a policy, a rejoin of the group lets the assignment resolve the position by that policy.
fn note_out_of_range(shared: &Shared, partition: Partition, owned: &mut Owned) -> Option<Event> {
    match owned.strand() {
        Reading::On => {}
        // Whatever makes it readable is a seek, of the core or of a late start: that finds the partition stranded and
        // asks for a new assignment. Earlier it would help nobody, and a rejoin disturbs all partitions.
        Reading::Seeking | Reading::Held | Reading::Pending | Reading::Stranded => return None,
    }
    // Bytes that cannot be read were taken for an offset, and that offset is not in the log. Ours is, so no policy for
    // offsets applies, and a new assignment would end here again.
    if owned.trouble.is_some_and(|trouble| is_about_data(trouble.code)) {
        return Some(unreadable(partition, owned));
    }
    shared.refused.note(partition, owned.expected);
    if shared.settings.on_out_of_range == RangePolicy::Hold {
        // Without the look-up thread the consumer is closing, and nothing is held any more.
        let order = LookupOrder::OutOfRange { partition, epoch: owned.current, wanted: owned.expected };
        let _ = shared.lookup_orders.send(order);
    } else {
        shared.ask_rejoin("a position is out of range");
    }
    None
}

/// The positions that a fetch found not to be in the log. An assignment cannot always tell by itself: under
/// `read_committed` the end that it can ask for is not the end of the log.
#[derive(Debug, Default)]
pub(crate) struct Refused(Mutex<HashMap<Partition, NextOffset>>);

impl Refused {
    fn note(&self, partition: Partition, position: NextOffset) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(partition, position);
    }

    /// True when the last such position of the partition was this one.
    pub(crate) fn is(&self, partition: Partition, position: NextOffset) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&partition) == Some(&position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wrong checksum makes the client read on in the middle of a batch, which is no batch of any version it knows. Taken
    /// for two troubles that take turns, neither would ever last.
    #[test]
    fn errors_about_bytes_that_take_turns_are_one_trouble() {
        assert!(are_same(Code::BadMessage, Code::NotImplemented));
        assert!(are_same(Code::BrokerTransportFailure, Code::BrokerTransportFailure));
        assert!(!are_same(Code::BrokerTransportFailure, Code::BadMessage));
    }
}
