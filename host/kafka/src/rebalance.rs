//! Assignments and revocations, on the event thread: park, change, answer. No logic about batches.
//!
//! The order of steps is what a prototype found to be safe: look up, park, forward each partition *before* the assign
//! call, assign explicit offsets, publish epochs, tell the core, let the fetch thread go on. Every event is answered,
//! also while closing, since an unanswered one hangs the client for ever.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use gristmill_core::io::{Assignment, Input, StartPosition};
use gristmill_core::record::{Epoch, NextOffset, Partition};

use crate::error::ClientErrorKind;
use crate::event::Event;
use crate::lookup::LookupOrder;
use crate::ownership::{Owned, Reading, begin_revocation, remove};
use crate::parking::Work;
use crate::positions::{self, Patience, Start};
use crate::recreation;
use crate::share::Account;
use crate::shared::Shared;
use crate::sys::{Code, List, OFFSET_END, OFFSET_INVALID, Protocol, Row, code_name};

/// How much later than its deadline the core's answer to a revocation is still waited for.
const ANSWER_GRACE: Duration = Duration::from_millis(250);

/// Takes partitions over.
pub(crate) fn assign(shared: &Shared, rows: &[Row]) {
    let partitions: Vec<Partition> =
        rows.iter().map(|row| shared.topics.partition(&row.topic, row.partition)).collect();
    if shared.is_closing() {
        // Nothing will be read any more, and look-ups would wait in vain: the event only wants its answer.
        answer_assign(shared, &List::new());
        return;
    }
    let patience = Patience::short(shared.settings.assign_wait_max);
    let starts = positions::resolve(shared, &partitions, patience);
    let parked = shared.parking.park();
    for partition in &partitions {
        shared.forward(*partition);
    }
    let plans: Vec<Plan> = starts.found.into_iter().map(|(partition, start)| plan(shared, partition, start)).collect();
    let list = shared.list(plans.iter().map(|plan| (&plan.assignment.partition, plan.offset)));
    if !answer_assign(shared, &list) && !plans.is_empty() {
        // No record of them would ever come: they are not ours, and the group is asked for others.
        let _ = shared.lookup_orders.send(LookupOrder::RejoinOnce("an assignment was refused by the client"));
        return;
    }
    pause(shared, &plans);
    let unconfirmed = publish(shared, &plans, starts.heard);
    drop(parked);
    if !unconfirmed.is_empty() {
        shared.parking.leave_work(Work::Confirm(unconfirmed));
    }
    let pending: Vec<(Partition, Epoch)> = plans
        .iter()
        .filter(|plan| plan.reading == Reading::Pending)
        .map(|plan| (plan.assignment.partition, plan.assignment.epoch))
        .collect();
    if !pending.is_empty() {
        // Without the look-up thread the consumer is closing, and the partitions need no start.
        let _ = shared.lookup_orders.send(LookupOrder::FindStart(pending));
    }
}

/// How one partition is taken over.
struct Plan {
    assignment: Assignment,
    offset: i64,
    reading: Reading,
}

fn plan(shared: &Shared, partition: Partition, start: Start) -> Plan {
    let epoch = shared.next_epoch();
    let (position, offset, reading) = match start {
        Start::Known(position) => match position {
            StartPosition::Committed(next) | StartPosition::Reset(next) => (position, next.0, Reading::On),
            StartPosition::Unusable(_) => (position, OFFSET_END, Reading::Held),
        },
        Start::Moved { wanted, now } => {
            shared.tell(Event::PositionMoved { partition, wanted, now });
            (StartPosition::Reset(now), now.0, Reading::On)
        }
        Start::Unknown(code) => {
            let (code, since) = (code_name(code), Duration::ZERO);
            shared.tell(Event::StartUnknown { partitions: vec![partition], code, since });
            // Paused at a place that is never read; the position comes with the seek that begins the reading.
            (StartPosition::Reset(NextOffset(0)), OFFSET_END, Reading::Pending)
        }
    };
    Plan { assignment: Assignment { partition, epoch, start: position }, offset, reading }
}

/// True when the client took the partitions.
fn answer_assign(shared: &Shared, list: &List) -> bool {
    let answered = match shared.client.protocol() {
        Protocol::Eager => shared.client.assign(Some(list)).map_err(|code| (code, String::new())),
        Protocol::Cooperative | Protocol::None => shared.client.assign_more(list),
    };
    let taken = answered.is_ok();
    report(shared, "assigning", answered);
    taken
}

/// Pauses what must not be read yet: partitions without a usable or known position.
fn pause(shared: &Shared, plans: &[Plan]) {
    let held: Vec<&Plan> = plans.iter().filter(|plan| plan.reading != Reading::On).collect();
    if !held.is_empty() {
        let list = shared.list(held.iter().map(|plan| (&plan.assignment.partition, OFFSET_INVALID)));
        report(shared, "pausing", shared.client.pause(&list).map_err(|code| (code, String::new())));
    }
}

/// Makes the partitions ours and tells the core, in one step under the lock. Gives those that are to be sought before
/// anything of them counts: the client compares a position with the log's history when it is sought, not when assigned, and
/// forgets where it stood in an older assignment.
fn publish(shared: &Shared, plans: &[Plan], heard: u64) -> Vec<Partition> {
    let mut table = shared.ownership.lock();
    let mut unconfirmed = Vec::new();
    for plan in plans {
        let partition = plan.assignment.partition;
        let expected = NextOffset(plan.offset.max(0));
        let mut owned = Owned::new(plan.assignment.epoch, expected, plan.reading);
        owned.account = shared.bell.as_ref().map(|bell| Arc::new(Account::new(bell)));
        if owned.reading == Reading::On {
            owned.astray = true;
            unconfirmed.push(partition);
        }
        table.insert(partition, owned);
    }
    let known: Vec<Assignment> =
        plans.iter().filter(|plan| plan.reading != Reading::Pending).map(|plan| plan.assignment).collect();
    if !known.is_empty() {
        shared.input(Input::Assigned(known));
    }
    let new: Vec<Partition> = plans.iter().map(|plan| plan.assignment.partition).collect();
    recreation::begin_new_ones_anew(shared, &mut table, &new, heard);
    unconfirmed
}

/// Gives partitions up.
pub(crate) fn revoke(shared: &Shared, rows: &[Row]) {
    shared.revoking.store(true, Ordering::Release);
    give_up(shared, rows);
    shared.revoking.store(false, Ordering::Release);
}

fn give_up(shared: &Shared, rows: &[Row]) {
    let partitions: Vec<Partition> =
        rows.iter().map(|row| shared.topics.partition(&row.topic, row.partition)).collect();
    let lost = shared.client.assignment_lost();
    let announced = begin_revocation(&mut shared.ownership.lock(), &partitions);
    if !lost && !announced.is_empty() && !shared.is_closing() {
        ask_core(shared, &announced);
    }
    let commit_wait = if lost { Duration::ZERO } else { shared.settings.commit_wait_max };
    if !shared.ownership.close_commits(&partitions, commit_wait) && !lost {
        tracing::warn!("a commit was still on its way when its partitions were given up");
    }
    let parked = shared.parking.park();
    let paused = remove(&mut shared.ownership.lock(), &partitions);
    if !paused.is_empty() {
        // The pause would outlive the assignment (B5).
        let list = shared.list(paused.iter().map(|partition| (partition, OFFSET_INVALID)));
        report(shared, "resuming", shared.client.resume(&list).map_err(|code| (code, String::new())));
    }
    let answered = match shared.client.protocol() {
        Protocol::Eager => shared.client.assign(None).map_err(|code| (code, String::new())),
        Protocol::Cooperative | Protocol::None => {
            shared.client.unassign(&shared.list(partitions.iter().map(|partition| (partition, OFFSET_INVALID))))
        }
    };
    report(shared, "unassigning", answered);
    drop(parked);
    if lost && !partitions.is_empty() {
        tell_eviction(shared);
    }
    if lost && !announced.is_empty() {
        shared.input(Input::Lost(announced));
    }
}

/// Says that the group went on without us, which librdkafka itself does not report: what it calls exceeding the poll
/// interval cannot happen here, since the threads of this edge keep polling. Silent on the way out, and when the client is
/// dead, which is told elsewhere.
fn tell_eviction(shared: &Shared) {
    if !shared.is_closing() && shared.client.fatal_error().is_none() {
        shared.tell(Event::Evicted {
            text: "the brokers did not hear of it within session.timeout.ms, it did not hear of them, or its topics are gone",
        });
    }
}

/// Lets the core finish what it can; waits until it answers or the deadline is over.
fn ask_core(shared: &Shared, partitions: &[Partition]) {
    let id = shared.revocations.open();
    let deadline = Instant::now() + shared.settings.drain_max;
    shared.input(Input::Revoking { id, partitions: partitions.to_vec(), deadline: shared.moment(deadline) });
    if !shared.revocations.wait(shared.settings.drain_max + ANSWER_GRACE) && !shared.is_closing() {
        shared.tell(Event::RevokeUnanswered { partitions: partitions.to_vec() });
    }
}

/// An error in here must not vanish (B7).
fn report(shared: &Shared, what: &'static str, result: Result<(), (Code, String)>) {
    if let Err((code, text)) = result {
        tracing::error!(?code, text, what, "an answer to a rebalance failed");
        let text = format!("{what} failed while rebalancing: {text}");
        let kind = ClientErrorKind::of(code);
        shared.tell(Event::ClientError { kind, code: code_name(code), text, partition: None, fatal: false });
    }
}
