//! Seeks, done by the fetch thread between two takes, each partition's result checked.
//!
//! A seek is tried again while its partition is owned and the client cannot do it yet (it was assigned a moment ago, or
//! stops). From the moment it is ordered until it succeeded nothing of the partition is passed on (R3). The retries of
//! one partition do not keep others from being read.
//!
//! A seek of several partitions has one answer, and no record may come before it: the core would not know its epoch and
//! drop it, which makes a hole. So until every partition can be sought, each try seeks all of them again, and the
//! epochs rise together with the answer, before the next record is taken.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use gristmill_core::io::{Assignment, Input, RequestError, RequestId, SeekTo, StartPosition};
use gristmill_core::record::{Epoch, NextOffset, Partition};

use crate::ownership::{Owned, Reading, Table};
use crate::shared::Shared;
use crate::sys::OFFSET_INVALID;

/// One call waits at most this long for the client's own thread, which answers in microseconds unless it is stuck.
const CALL_WAIT: Duration = Duration::from_millis(500);
/// The wait before a seek is tried again that the client could not do yet.
pub(crate) const AGAIN: Duration = Duration::from_millis(10);

/// Why a seek is done.
enum Purpose {
    /// The core asked.
    Answer {
        id: RequestId,
        results: Vec<(Partition, Result<Epoch, RequestError>)>,
        /// When those that did not succeed are given up.
        deadline: Instant,
    },
    /// The start position became known after the assignment.
    Begin(Vec<Assignment>),
    /// librdkafka's position is wrong.
    Repair,
}

/// One partition of a seek.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Target {
    partition: Partition,
    epoch: Epoch,
    next: NextOffset,
}

/// The seeks that are being worked on. Each round of the fetch thread tries at most one of them, in turn: one try may
/// take [`CALL_WAIT`], and whoever wants the thread to park waits for the round.
#[derive(Default)]
pub(crate) struct SeekJobs(VecDeque<SeekJob>);

impl SeekJobs {
    /// Puts one in line.
    pub(crate) fn add(&mut self, job: SeekJob) {
        self.0.push_back(job);
    }

    /// Puts a repair in line, if the partition is still read and no other waits to do the same.
    pub(crate) fn add_repair(&mut self, table: &Table, partition: Partition) {
        if !self.0.iter().any(|job| job.repairs(partition)) {
            self.0.extend(SeekJob::repairing(table, &[partition]));
        }
    }

    /// Puts the first seek of newly assigned partitions in line.
    pub(crate) fn add_confirmation(&mut self, table: &Table, partitions: &[Partition]) {
        self.0.extend(SeekJob::repairing(table, partitions));
    }

    /// True when there is nothing to try.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Tries the next that is due.
    pub(crate) fn step(&mut self, shared: &Shared) {
        if let Some(mut job) = self.take_due(Instant::now())
            && !job.is_done_after_step(shared)
        {
            self.add(job);
        }
    }

    fn take_due(&mut self, now: Instant) -> Option<SeekJob> {
        let due = self.0.iter().position(|job| job.not_before <= now)?;
        self.0.remove(due)
    }
}

/// A seek that is being worked on.
pub(crate) struct SeekJob {
    purpose: Purpose,
    left: Vec<Target>,
    /// No try before this.
    not_before: Instant,
}

impl SeekJob {
    fn new(purpose: Purpose, left: Vec<Target>) -> Self {
        Self { purpose, left, not_before: Instant::now() }
    }

    fn repairs(&self, partition: Partition) -> bool {
        matches!(self.purpose, Purpose::Repair) && self.left.iter().any(|target| target.partition == partition)
    }

    /// A seek that the core asked for. From here on nothing of its partitions is passed on.
    pub(crate) fn answering(shared: &Shared, id: RequestId, targets: Vec<SeekTo>) -> Self {
        let left: Vec<Target> = targets
            .into_iter()
            .map(|seek| Target { partition: seek.partition, epoch: seek.epoch, next: seek.next })
            .collect();
        let mut table = shared.ownership.lock();
        let mut paused = Vec::new();
        for target in &left {
            if let Some(owned) = table.get_mut(&target.partition).filter(|owned| owned.covers(target.epoch)) {
                if owned.reading == Reading::Held {
                    owned.paused = false;
                    paused.push(*target);
                }
                if matches!(owned.reading, Reading::On | Reading::Held) {
                    owned.reading = Reading::Seeking;
                }
            }
        }
        drop(table);
        resume(shared, &paused);
        let deadline = Instant::now() + shared.settings.seek_wait_max;
        Self::new(Purpose::Answer { id, results: Vec::new(), deadline }, left)
    }

    /// The start of partitions that were assigned before their position was known. Goes on until they are gone.
    pub(crate) fn beginning(shared: &Shared, assignments: Vec<Assignment>) -> Self {
        let left: Vec<Target> = assignments
            .iter()
            .filter_map(|assignment| match assignment.start {
                StartPosition::Committed(next) | StartPosition::Reset(next) => {
                    Some(Target { partition: assignment.partition, epoch: assignment.epoch, next })
                }
                StartPosition::Unusable(_) => None,
            })
            .collect();
        resume(shared, &left);
        Self::new(Purpose::Begin(assignments), left)
    }

    /// A seek to where we are already, for those partitions that are still read.
    fn repairing(table: &Table, partitions: &[Partition]) -> Option<Self> {
        let target = |partition: &Partition| {
            let owned = table.get(partition).filter(|owned| owned.reading == Reading::On)?;
            Some(Target { partition: *partition, epoch: owned.current, next: owned.expected })
        };
        let targets: Vec<Target> = partitions.iter().filter_map(target).collect();
        (!targets.is_empty()).then(|| Self::new(Purpose::Repair, targets))
    }

    /// Tries once. True when the job is done and answered.
    pub(crate) fn is_done_after_step(&mut self, shared: &Shared) -> bool {
        self.not_before = Instant::now() + AGAIN;
        if matches!(self.purpose, Purpose::Repair) {
            self.drop_what_was_overtaken(&shared.ownership.lock());
        }
        self.drop_what_is_gone(shared);
        let sought = if self.left.is_empty() { Vec::new() } else { self.seek_once(shared) };
        match &mut self.purpose {
            Purpose::Answer { id, results, deadline } => {
                let late = Instant::now() >= *deadline;
                if sought.len() < self.left.len() && !late {
                    return false;
                }
                results.extend(arrive(&mut shared.ownership.lock(), &sought, || shared.next_epoch()));
                self.left.retain(|target| !sought.iter().any(|done| done.partition == target.partition));
                results.extend(self.left.drain(..).map(|target| (target.partition, Err(RequestError::Temporary))));
                shared.input(Input::Sought { id: *id, results: std::mem::take(results) });
            }
            Purpose::Begin(assignments) => {
                self.left.retain(|target| !sought.iter().any(|done| done.partition == target.partition));
                begin(shared, assignments, &sought);
            }
            Purpose::Repair => {
                repaired(&mut shared.ownership.lock(), &sought);
                self.left.retain(|target| !sought.iter().any(|done| done.partition == target.partition));
            }
        }
        self.left.is_empty()
    }

    /// A repair is of one reading only, and leads to where that stands now. A seek that the core ordered meanwhile goes
    /// somewhere else, and an old repair after it would skip what lies between.
    fn drop_what_was_overtaken(&mut self, table: &Table) {
        self.left.retain_mut(|target| match table.get(&target.partition) {
            Some(owned) if owned.reading == Reading::On && owned.current == target.epoch => {
                target.next = owned.expected;
                true
            }
            Some(_) | None => false,
        });
    }

    /// Gives up on partitions that are not ours any more, and on those that librdkafka will not seek.
    fn drop_what_is_gone(&mut self, shared: &Shared) {
        let table = shared.ownership.lock();
        let mut stranded = false;
        let mut gone = Vec::new();
        self.left.retain(|target| {
            let error = match table.get(&target.partition) {
                Some(owned) if owned.reading == Reading::Stranded => {
                    stranded = true;
                    RequestError::Temporary
                }
                Some(owned) if owned.covers(target.epoch) && !owned.leaving => return true,
                _ => RequestError::NotOurs,
            };
            gone.push((target.partition, Err(error)));
            false
        });
        drop(table);
        if let Purpose::Answer { results, .. } = &mut self.purpose {
            results.extend(gone);
        }
        if stranded {
            shared.ask_rejoin("a stranded partition is to be read again");
        }
    }

    /// Seeks all that is left; gives those that the client now stands at.
    fn seek_once(&self, shared: &Shared) -> Vec<Target> {
        let mut list = shared.seek_list(self.left.iter().map(|target| (target.partition, target.next)));
        if let Err((code, text)) = shared.client.seek(&mut list, CALL_WAIT) {
            tracing::debug!(?code, text, "seek call failed");
        }
        let rows = list.rows();
        let arrived = rows.iter().filter(|row| row.result.is_ok());
        arrived
            .filter_map(|row| {
                let partition = shared.topics.partition(&row.topic, row.partition);
                self.left.iter().find(|target| target.partition == partition).copied()
            })
            .collect()
    }
}

/// The client stands at these positions: what it gives from now on is passed on, under epochs of its own. But for
/// partitions that began anew or strayed while the client was seeking: what was sought for them is not theirs any more.
fn arrive(
    table: &mut Table,
    sought: &[Target],
    mut epoch: impl FnMut() -> Epoch,
) -> Vec<(Partition, Result<Epoch, RequestError>)> {
    let mut results = Vec::new();
    for target in sought {
        let still =
            |owned: &&mut Owned| owned.covers(target.epoch) && owned.reading == Reading::Seeking && !owned.leaving;
        let result = match table.get_mut(&target.partition).filter(still) {
            Some(owned) => {
                owned.current = epoch();
                owned.expected = target.next;
                owned.reading = Reading::On;
                owned.trouble = None;
                owned.astray = false;
                Ok(owned.current)
            }
            None => Err(RequestError::NotOurs),
        };
        results.push((target.partition, result));
    }
    results
}

/// The client stands where the reading does again: what it gives from now on follows what was passed on.
fn repaired(table: &mut Table, sought: &[Target]) {
    for target in sought {
        if let Some(owned) = table.get_mut(&target.partition).filter(|owned| owned.current == target.epoch) {
            owned.astray = false;
        }
    }
}

/// Tells the core of partitions whose start became known late. Under the lock, so that a revocation either finds them
/// announced or keeps them from being.
fn begin(shared: &Shared, assignments: &[Assignment], sought: &[Target]) {
    let mut table = shared.ownership.lock();
    let mut known = Vec::new();
    for assignment in assignments {
        let Some(owned) = table.get_mut(&assignment.partition) else { continue };
        if !owned.may_be_announced() || !owned.covers(assignment.epoch) {
            continue;
        }
        if let StartPosition::Unusable(_) = assignment.start {
            if owned.reading == Reading::Pending {
                owned.reading = Reading::Held;
            }
        } else if let Some(target) = sought.iter().find(|target| target.partition == assignment.partition) {
            owned.reading = Reading::On;
            owned.paused = false;
            owned.expected = target.next;
        } else {
            continue;
        }
        owned.announced = true;
        known.push(*assignment);
    }
    if !known.is_empty() {
        shared.input(Input::Assigned(known));
    }
}

fn resume(shared: &Shared, targets: &[Target]) {
    if targets.is_empty() {
        return;
    }
    let list = shared.list(targets.iter().map(|target| (&target.partition, OFFSET_INVALID)));
    if let Err(code) = shared.client.resume(&list) {
        tracing::debug!(?code, "resume failed");
    }
}

#[cfg(test)]
mod tests {
    use gristmill_core::record::{Offset, Topic};

    use super::*;

    const P: Partition = Partition { topic: Topic(0), number: 3 };
    const Q: Partition = Partition { topic: Topic(0), number: 4 };

    fn table(partitions: &[Partition]) -> Table {
        let owned = |partition: &Partition| (*partition, Owned::new(Epoch(1), NextOffset(100), Reading::On));
        partitions.iter().map(owned).collect()
    }

    fn next_of(job: &SeekJob) -> Vec<NextOffset> {
        job.left.iter().map(|target| target.next).collect()
    }

    /// A repair to 100 cannot be done yet. The core seeks to 50, which can. Done now, the repair would skip 50 to 99,
    /// and they would be committed over.
    #[test]
    fn a_repair_that_a_seek_overtook_is_dropped() {
        let mut table = table(&[P]);
        let mut repair = SeekJob::repairing(&table, &[P]).expect("it is read");
        let owned = table.get_mut(&P).expect("just put in");
        owned.reading = Reading::Seeking;
        repair.drop_what_was_overtaken(&table);
        assert_eq!(next_of(&repair), [], "while the seek is under way");
        let mut repair =
            SeekJob::new(Purpose::Repair, vec![Target { partition: P, epoch: Epoch(1), next: NextOffset(100) }]);
        let owned = table.get_mut(&P).expect("just put in");
        (owned.reading, owned.current, owned.expected) = (Reading::On, Epoch(2), NextOffset(50));
        repair.drop_what_was_overtaken(&table);
        assert_eq!(next_of(&repair), [], "after the seek");
    }

    /// The seek is under way, and the topic turns out to be another one; or records came past the private queue.
    #[test]
    fn a_seek_that_a_new_beginning_overtook_changes_nothing() {
        let target = Target { partition: P, epoch: Epoch(1), next: NextOffset(50) };
        let arrive = |table: &mut Table| arrive(table, &[target], || Epoch(9));
        let mut anew = Table::from([(P, Owned::new(Epoch(7), NextOffset(0), Reading::Pending))]);
        assert_eq!(arrive(&mut anew), [(P, Err(RequestError::NotOurs))]);
        assert_eq!((anew[&P].current, anew[&P].reading), (Epoch(7), Reading::Pending));
        let mut strayed = table(&[P]);
        strayed.get_mut(&P).expect("just put in").strand();
        assert_eq!(arrive(&mut strayed), [(P, Err(RequestError::NotOurs))]);
        assert_eq!(strayed[&P].reading, Reading::Stranded, "a rejoin still has something to help");
        let mut sought = table(&[P]);
        sought.get_mut(&P).expect("just put in").reading = Reading::Seeking;
        assert_eq!(arrive(&mut sought), [(P, Ok(Epoch(9)))]);
    }

    #[test]
    fn a_repair_leads_to_where_its_reading_stands_at_each_try() {
        let mut table = table(&[P]);
        let mut repair = SeekJob::repairing(&table, &[P]).expect("it is read");
        table.get_mut(&P).expect("just put in").expected = NextOffset(107);
        repair.drop_what_was_overtaken(&table);
        assert_eq!(next_of(&repair), [NextOffset(107)]);
    }

    /// Behind a batch that cannot be read come others that can: passed on, they would hide what is missing before them.
    #[test]
    fn what_lies_behind_an_error_about_bytes_is_not_wanted_until_the_repair() {
        let mut table = table(&[P]);
        let owned = table.get_mut(&P).expect("just put in");
        owned.astray = true;
        assert!(!owned.wants(Offset(200)));
        let target = Target { partition: P, epoch: Epoch(1), next: NextOffset(100) };
        repaired(&mut table, &[Target { epoch: Epoch(9), ..target }]);
        assert!(table[&P].astray, "a repair of another reading");
        repaired(&mut table, &[target]);
        assert!(table[&P].wants(Offset(100)) && !table[&P].wants(Offset(99)));
    }

    #[test]
    fn errors_without_end_leave_one_repair_for_each_partition_that_is_read() {
        let mut table = table(&[P, Q]);
        table.get_mut(&Q).expect("just put in").reading = Reading::Held;
        let mut jobs = SeekJobs::default();
        for _ in 0..1000 {
            jobs.add_repair(&table, P);
            jobs.add_repair(&table, Q);
        }
        assert_eq!(jobs.0.len(), 1);
    }

    #[test]
    fn a_round_tries_one_job_and_those_that_wait_keep_no_other_back() {
        let table = table(&[P, Q]);
        let mut jobs = SeekJobs::default();
        jobs.add_repair(&table, P);
        jobs.add_repair(&table, Q);
        let now = Instant::now();
        jobs.0[0].not_before = now + AGAIN;
        let due = jobs.take_due(now).expect("one is due");
        assert!(due.repairs(Q));
        assert!(jobs.take_due(now).is_none() && !jobs.is_empty(), "the other waits for its time");
        assert!(jobs.take_due(now + AGAIN).is_some_and(|job| job.repairs(P)));
    }
}
