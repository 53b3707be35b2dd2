//! The command thread: sends commits and waits, within a bound, for their ends.
//!
//! Whether a partition is still ours is checked and its commit sent under one lock, because the broker does not check.
//! Several commits may be on their way; an end that never comes is reported as *unknown*. Decides nothing about retries.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use gristmill_core::io::{CommitOffset, Input, RequestError, RequestId};
use gristmill_core::record::{Epoch, Partition};

use crate::error::commit_error;
use crate::shared::Shared;
use crate::sys::{ClientEvent, Code, List};

/// How long the thread waits when no commit is on its way. An order wakes it.
const IDLE_WAIT: Duration = Duration::from_secs(1);

/// One order.
#[derive(Debug)]
pub(crate) enum CommitOrder {
    /// Commit, and answer.
    Commit {
        /// Names the answer.
        id: RequestId,
        /// What.
        offsets: Vec<CommitOffset>,
        /// Goes with each offset.
        metadata: String,
    },
    /// End.
    Stop,
}

/// One commit on its way.
struct Sent {
    id: RequestId,
    partitions: Vec<(Partition, Epoch)>,
    /// When its outcome counts as unknown. `None`: that was said already, and only the client's own end is waited for,
    /// since until then the request may still reach the broker.
    deadline: Option<Instant>,
}

/// Runs until it is told to stop.
pub(crate) fn run(shared: &Shared, orders: &Receiver<CommitOrder>) {
    let mut out: HashMap<usize, Sent> = HashMap::new();
    let mut last_ticket = 0;
    loop {
        loop {
            match orders.try_recv() {
                Ok(CommitOrder::Commit { id, offsets, metadata }) => {
                    last_ticket += 1;
                    if let Some(sent) = send(shared, id, &offsets, &metadata, last_ticket) {
                        out.insert(last_ticket, sent);
                    }
                }
                Ok(CommitOrder::Stop) | Err(TryRecvError::Disconnected) => return give_up(shared, out),
                Err(TryRecvError::Empty) => break,
            }
        }
        let now = Instant::now();
        let deadlines = out.values().filter_map(|sent| sent.deadline);
        let wait = deadlines.map(|deadline| deadline.saturating_duration_since(now)).min().unwrap_or(IDLE_WAIT);
        if let Some(ClientEvent::Committed { ticket, result }) = shared.commit_ends.poll(wait)
            && let Some(sent) = out.remove(&ticket)
        {
            end(shared, sent, result.map_err(|code| classify(shared, code)));
        }
        expire(shared, &mut out);
    }
}

/// Sends what is still ours. `None`: nothing was, or it could not be sent, and that was answered.
fn send(shared: &Shared, id: RequestId, offsets: &[CommitOffset], metadata: &str, ticket: usize) -> Option<Sent> {
    let mut list = List::new();
    let mut partitions = Vec::with_capacity(offsets.len());
    let mut table = shared.ownership.lock();
    for offset in offsets {
        let Some(owned) = table.get(&offset.partition).filter(|owned| owned.covers(offset.epoch) && !owned.leaving)
        else {
            continue;
        };
        if let Some(name) = shared.topics.name(offset.partition.topic) {
            let epoch = offset.leader_epoch.map(|epoch| epoch.0);
            list.push_commit(&name.raw, offset.partition.number, offset.next.0, epoch, metadata.as_bytes());
            partitions.push((offset.partition, owned.assigned));
        }
    }
    let sent = if partitions.is_empty() {
        Err(RequestError::NotOurs)
    } else {
        shared.client.commit(&list, &shared.commit_ends, ticket).map_err(|code| classify(shared, code))
    };
    match sent {
        Ok(()) => {
            for (partition, _) in &partitions {
                if let Some(owned) = table.get_mut(partition) {
                    owned.commits_out += 1;
                }
            }
            Some(Sent { id, partitions, deadline: Some(Instant::now() + shared.settings.commit_wait_max) })
        }
        Err(error) => {
            drop(table);
            shared.input(Input::CommitEnded { id, result: Err(error) });
            None
        }
    }
}

fn classify(shared: &Shared, code: Code) -> RequestError {
    tracing::debug!(?code, "commit failed");
    if let Some((Code::FencedInstanceId | Code::Fenced, _)) = shared.client.fatal_error() {
        return RequestError::Fenced;
    }
    commit_error(code, shared.client.assignment_lost())
}

/// Answers first, then lets a revocation that waits for this commit go on: so the core knows the end before the
/// partitions are gone.
fn end(shared: &Shared, sent: Sent, result: Result<(), RequestError>) {
    if sent.deadline.is_some() {
        shared.input(Input::CommitEnded { id: sent.id, result });
    }
    shared.ownership.end_commit(&sent.partitions);
}

/// Says of ends that did not come in time that they are unknown (C5). The commits stay on their way: the client may hold
/// them back until the coordinator is there again, and a revocation has to wait for that, within its own bound.
fn expire(shared: &Shared, out: &mut HashMap<usize, Sent>) {
    let now = Instant::now();
    for sent in out.values_mut().filter(|sent| sent.deadline.is_some_and(|deadline| deadline <= now)) {
        sent.deadline = None;
        shared.input(Input::CommitEnded { id: sent.id, result: Err(RequestError::Unknown) });
    }
}

fn give_up(shared: &Shared, out: HashMap<usize, Sent>) {
    for (_, sent) in out {
        end(shared, sent, Err(RequestError::Unknown));
    }
}

/// Starts the thread.
pub(crate) fn spawn(
    shared: &Arc<Shared>,
    orders: Receiver<CommitOrder>,
) -> std::io::Result<std::thread::JoinHandle<()>> {
    let shared = Arc::clone(shared);
    std::thread::Builder::new().name("kafka-commit".into()).spawn(move || run(&shared, &orders))
}
