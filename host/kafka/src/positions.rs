//! Where reading of newly assigned partitions starts: the committed offset, or the reset policy made explicit.
//!
//! Asks within a bound and says plainly what it could not find out; a look-up that fails is never taken for "nothing
//! committed", and the reset policy is never a substitute for an answer (B02). Changes nothing.

use std::collections::{BTreeSet, HashMap};
use std::ffi::CStr;
use std::time::{Duration, Instant};

use gristmill_core::io::{OffsetTrouble, StartPosition};
use gristmill_core::record::{NextOffset, Partition};

use crate::error::ClientErrorKind;
use crate::event::Event;
use crate::settings::{RangePolicy, ResetPolicy};
use crate::shared::Shared;
use crate::sys::{Code, OFFSET_INVALID, Row, Watermark, code_name};

/// The wait between two tries.
const AGAIN: Duration = Duration::from_millis(100);

/// How long finding out may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// When what is not known by then counts as unknown.
    deadline: Instant,
    /// One request waits at most this long before it is sent again. Short where a thread waits that others need; long
    /// where none does, since brokers slower than this would never be heard.
    call: Duration,
}

impl Patience {
    /// For the event thread, which must not keep the group or the closing waiting.
    pub(crate) fn short(within: Duration) -> Self {
        Self { deadline: Instant::now() + within, call: within.min(Duration::from_secs(2)) }
    }

    /// For the look-up thread.
    pub(crate) fn long(within: Duration) -> Self {
        Self { deadline: Instant::now() + within, call: within }
    }

    fn left(self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    fn call(self) -> Duration {
        self.call.min(self.left())
    }
}

/// What is known of one partition's start.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Start {
    /// It is known.
    Known(StartPosition),
    /// A committed offset was not in the log, and the policy moves reading.
    Moved {
        /// The committed offset.
        wanted: NextOffset,
        /// Where reading goes on.
        now: NextOffset,
    },
    /// It could not be found out in time.
    Unknown(Code),
}

/// The ends of one partition's log.
type Ends = HashMap<Partition, (i64, i64)>;

/// Where partitions start.
pub(crate) struct Starts {
    /// Each with what was found out.
    pub(crate) found: Vec<(Partition, Start)>,
    /// How many recreations of topics were heard of before it was judged which commits count.
    pub(crate) heard: u64,
}

/// Finds out where the partitions start, until all are known or patience ends.
pub(crate) fn resolve(shared: &Shared, partitions: &[Partition], patience: Patience) -> Starts {
    let (committed, heard) = loop {
        let heard = shared.topics.ids.heard();
        let committed = committed_of(shared, partitions, patience);
        if shared.topics.ids.heard() == heard || patience.left().is_zero() || shared.is_closing() {
            break (committed, heard);
        }
    };
    tell_lost(shared, partitions);
    let ends = ends_of(shared, &committed, patience);
    let found = committed
        .into_iter()
        .map(|(partition, offset)| {
            let start = match offset {
                Ok(offset) => start_of(shared, partition, offset, ends.get(&partition).copied()),
                Err(code) => Start::Unknown(code),
            };
            (partition, start)
        })
        .collect();
    Starts { found, heard }
}

/// A client that will never read one of the partitions again is of no use; a new one can.
fn tell_lost(shared: &Shared, partitions: &[Partition]) {
    for partition in partitions {
        let name = shared.topics.name(partition.topic);
        let Some(name) = name.filter(|name| shared.topics.ids.is_lost(&name.raw, partition.number)) else { continue };
        shared.tell(Event::ClientError {
            kind: ClientErrorKind::Other,
            code: code_name(Code::UnknownLeaderEpoch),
            text: format!(
                "topic {} was deleted and created again, and the new one has seen fewer leaders than the old one: librdkafka \
                 takes them for old news and would never read it; start the host again",
                name.text
            ),
            partition: Some(*partition),
            fatal: true,
        });
    }
}

/// The committed offset of each partition, `None` where nothing is committed.
fn committed_of(
    shared: &Shared,
    partitions: &[Partition],
    patience: Patience,
) -> Vec<(Partition, Result<Option<NextOffset>, Code>)> {
    let mut known: Vec<(Partition, Result<Option<NextOffset>, Code>)> = Vec::new();
    let mut left: Vec<Partition> = partitions.to_vec();
    let mut last = Code::OperationTimedOut;
    while !left.is_empty() {
        let wait = patience.call();
        if wait.is_zero() || shared.is_closing() {
            break;
        }
        let mut list = shared.list(left.iter().map(|partition| (partition, OFFSET_INVALID)));
        match shared.client.committed(&mut list, wait) {
            Ok(()) => {
                let rows = list.rows();
                ask_which_topics(shared, &rows, wait);
                for row in rows {
                    let partition = shared.topics.partition(&row.topic, row.partition);
                    match row.result {
                        Ok(()) => {
                            left.retain(|other| *other != partition);
                            known.push((partition, Ok(committed_or_told(shared, partition, &row))));
                        }
                        Err(code) => last = code,
                    }
                }
            }
            Err(code) => last = code,
        }
        if !left.is_empty() {
            tracing::debug!(code = ?last, partitions = left.len(), "looking up committed offsets failed");
            std::thread::sleep(AGAIN.min(patience.left()));
        }
    }
    known.extend(left.into_iter().map(|partition| (partition, Err(last))));
    known
}

/// Asks the brokers about each topic of which an offset seems to be of another one. Which of the two is the older one only they
/// know: what the client knows of a topic may be minutes old, and learns with the answer.
fn ask_which_topics(shared: &Shared, rows: &[Row], wait: Duration) {
    let doubted: BTreeSet<&CStr> =
        rows.iter().filter(|row| is_of_another(shared, row)).map(|row| row.topic.as_c_str()).collect();
    for topic in doubted {
        let asked = shared.client.count_partitions(topic, wait);
        tracing::debug!(?topic, ?asked, "asked which topic of that name there is");
    }
}

/// True for an offset that was committed for another topic of that name.
fn is_of_another(shared: &Shared, row: &Row) -> bool {
    row.offset >= 0 && shared.topics.ids.is_of_another(&row.topic, &row.metadata)
}

/// What a look-up found for one partition, said where it is of another topic.
fn committed_or_told(shared: &Shared, partition: Partition, row: &Row) -> Option<NextOffset> {
    if is_of_another(shared, row) && shared.topics.ids.is_to_be_told(partition, &row.topic) {
        shared.tell(Event::TopicRecreated { partition, wanted: NextOffset(row.offset) });
    }
    committed_here(shared, row)
}

/// What a look-up found for one partition, unless it was committed for another topic of that name.
pub(crate) fn committed_here(shared: &Shared, row: &Row) -> Option<NextOffset> {
    let is_here = row.offset >= 0 && !is_of_another(shared, row);
    let (partition, next) = (shared.topics.partition(&row.topic, row.partition), NextOffset(row.offset));
    shared.history.note(partition, next, row.leader_epoch.filter(|_| is_here));
    is_here.then_some(next)
}

/// The ends of the logs, as far as they can be learned in time. All together costs two requests for each broker; only
/// when that fails, which it does for all when one partition has no leader, each partition is asked for alone.
fn ends_of(shared: &Shared, committed: &[(Partition, Result<Option<NextOffset>, Code>)], patience: Patience) -> Ends {
    let partitions: Vec<Partition> =
        committed.iter().filter(|(_, offset)| offset.is_ok()).map(|(partition, _)| *partition).collect();
    let mut ends = Ends::new();
    if partitions.is_empty() || shared.is_closing() {
        return ends;
    }
    if let Some(all) = all_ends(shared, &partitions, patience.call()) {
        ends = all;
    }
    for (partition, offset) in committed {
        // With a committed offset the ends are only a check, which the first fetch makes as well.
        if ends.contains_key(partition)
            || !matches!(offset, Ok(None))
            || shared.is_closing()
            || patience.left().is_zero()
        {
            continue;
        }
        if let Some(name) = shared.topics.name(partition.topic)
            && let Ok(found) =
                shared.client.watermarks(&name.raw, partition.number, (patience.call / 4).min(patience.left()))
        {
            ends.insert(*partition, found);
        }
    }
    ends
}

fn all_ends(shared: &Shared, partitions: &[Partition], wait: Duration) -> Option<Ends> {
    let ask = |end| {
        let mut list = shared.list(partitions.iter().map(|partition| (partition, OFFSET_INVALID)));
        let asked = shared.client.watermark_of_all(&mut list, end, wait);
        asked.inspect_err(|code| tracing::debug!(?code, ?end, "asking for the ends of all logs failed")).ok()?;
        Some(list.rows())
    };
    let (low, high) = (ask(Watermark::Low)?, ask(Watermark::High)?);
    let offsets = |rows: Vec<Row>| -> HashMap<Partition, i64> {
        rows.into_iter()
            .filter(|row| row.result.is_ok() && row.offset >= 0)
            .map(|row| (shared.topics.partition(&row.topic, row.partition), row.offset))
            .collect()
    };
    let (low, high) = (offsets(low), offsets(high));
    Some(low.into_iter().filter_map(|(partition, low)| Some((partition, (low, *high.get(&partition)?)))).collect())
}

/// The start of one partition from what was found out.
fn start_of(shared: &Shared, partition: Partition, committed: Option<NextOffset>, ends: Option<(i64, i64)>) -> Start {
    match (committed, ends) {
        (None, _) if shared.settings.auto_offset_reset == ResetPolicy::Error => {
            Start::Known(StartPosition::Unusable(OffsetTrouble::NothingCommitted))
        }
        (None, None) => Start::Unknown(Code::OperationTimedOut),
        (None, Some((low, high))) => {
            let offset = if shared.settings.auto_offset_reset == ResetPolicy::Latest { high } else { low };
            Start::Known(StartPosition::Reset(NextOffset(offset)))
        }
        (Some(wanted), None) => Start::Known(StartPosition::Committed(wanted)),
        (Some(wanted), Some((low, high))) => {
            // Under `read_committed` the known end is the end of what is committed. A position behind it need not be
            // wrong, so only a fetch can tell; this may be the assignment after one that did.
            let refused = shared.refused.is(partition, wanted);
            let certain = shared.settings.reads_uncommitted() || refused;
            let behind = certain && wanted.0 > high;
            // The log was cut off and written anew: it has the offset and not its past. Held, the next fetch says so again;
            // moved by policy, it must not be tried without an end.
            let foreign = refused && shared.settings.on_out_of_range != RangePolicy::Hold;
            if wanted.0 >= low && !behind && !foreign {
                return Start::Known(StartPosition::Committed(wanted));
            }
            match shared.settings.on_out_of_range {
                RangePolicy::Hold => Start::Known(StartPosition::Unusable(OffsetTrouble::OutOfRange {
                    wanted,
                    low: Some(NextOffset(low)),
                    high: Some(NextOffset(high)),
                })),
                RangePolicy::Earliest => Start::Moved { wanted, now: NextOffset(low) },
                RangePolicy::Latest => Start::Moved { wanted, now: NextOffset(high) },
            }
        }
    }
}
