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
use crate::ownership::Table;
use crate::recreation;
use crate::shared::Shared;
use crate::sys::{ClientEvent, Code, List, code_name};

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
    /// False when some of what was wanted was left out.
    whole: bool,
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
    let mut table = shared.ownership.lock();
    let (list, partitions) = loop {
        let heard = shared.topics.ids.heard();
        recreation::begin_anew(shared, &mut table);
        let ours = ours(&table, offsets);
        let list = list_of(shared, &ours, metadata);
        // Heard of later, the mark may be that of a topic in which these offsets mean nothing.
        if shared.topics.ids.heard() == heard {
            break (list, ours.iter().map(|(offset, assigned)| (offset.partition, *assigned)).collect::<Vec<_>>());
        }
    };
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
            let whole = partitions.len() == offsets.len();
            Some(Sent { id, partitions, whole, deadline: Some(Instant::now() + shared.settings.commit_wait_max) })
        }
        Err(error) => {
            drop(table);
            shared.input(Input::CommitEnded { id, result: Err(error) });
            None
        }
    }
}

fn list_of(shared: &Shared, ours: &[(CommitOffset, Epoch)], metadata: &str) -> List {
    let mut list = List::new();
    for (offset, _) in ours {
        if let Some(name) = shared.topics.name(offset.partition.topic) {
            let epoch = offset.leader_epoch.map(|epoch| epoch.0);
            let metadata = shared.topics.ids.marked(&name.raw, metadata);
            list.push_with_epoch(&name.raw, offset.partition.number, offset.next.0, epoch, &metadata);
        }
    }
    list
}

/// What may still be committed, each with the epoch of its assignment.
fn ours(table: &Table, offsets: &[CommitOffset]) -> Vec<(CommitOffset, Epoch)> {
    let is_ours = |offset: &CommitOffset| {
        let owned = table.get(&offset.partition).filter(|owned| owned.covers(offset.epoch) && !owned.leaving)?;
        Some((*offset, owned.assigned))
    };
    offsets.iter().filter_map(is_ours).collect()
}

impl Sent {
    /// The one answer that it gets, `None` when that was given. A success is not one of those that were left out, and
    /// for all together there is one answer only: it is unknown, and a look-up tells them apart (C5).
    fn answer(&mut self, result: Result<(), RequestError>) -> Option<Result<(), RequestError>> {
        self.deadline.take()?;
        Some(if self.whole { result } else { result.and(Err(RequestError::Unknown)) })
    }

    /// True when it is time to answer without waiting any longer.
    fn is_late(&self, now: Instant) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }
}

fn classify(shared: &Shared, code: Code) -> RequestError {
    tracing::debug!(?code, "commit failed");
    if let Some((Code::FencedInstanceId | Code::Fenced, _)) = shared.client.fatal_error() {
        return RequestError::Fenced;
    }
    let error = commit_error(code, shared.client.assignment_lost());
    if error == RequestError::Refused {
        // The core ends for it and knows no codes.
        tracing::error!(code = code_name(code), "the broker refuses a commit for good");
    }
    error
}

/// Answers first, then lets a revocation that waits for this commit go on: so the core knows the end before the
/// partitions are gone.
fn end(shared: &Shared, mut sent: Sent, result: Result<(), RequestError>) {
    if let Some(result) = sent.answer(result) {
        shared.input(Input::CommitEnded { id: sent.id, result });
    }
    shared.ownership.end_commit(&sent.partitions);
}

/// Says of ends that did not come in time that they are unknown (C5). The commits stay on their way: the client may hold
/// them back until the coordinator is there again, and a revocation has to wait for that, within its own bound.
fn expire(shared: &Shared, out: &mut HashMap<usize, Sent>) {
    let now = Instant::now();
    for sent in out.values_mut().filter(|sent| sent.is_late(now)) {
        if let Some(result) = sent.answer(Err(RequestError::Unknown)) {
            shared.input(Input::CommitEnded { id: sent.id, result });
        }
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

#[cfg(test)]
mod tests {
    use gristmill_core::record::{NextOffset, Topic};

    use super::*;
    use crate::ownership::{Owned, Reading};

    const P: Partition = Partition { topic: Topic(0), number: 3 };
    const Q: Partition = Partition { topic: Topic(0), number: 4 };

    fn sent(whole: bool, deadline: Instant) -> Sent {
        Sent { id: RequestId(1), partitions: vec![(P, Epoch(5))], whole, deadline: Some(deadline) }
    }

    #[test]
    fn what_leaves_or_is_of_an_older_assignment_is_left_out() {
        let mut table: Table = [P, Q].map(|one| (one, Owned::new(Epoch(5), NextOffset(0), Reading::On))).into();
        let wish = |partition, epoch| CommitOffset { partition, epoch, next: NextOffset(7), leader_epoch: None };
        let wishes = [wish(P, Epoch(5)), wish(Q, Epoch(4))];
        assert_eq!(ours(&table, &wishes), [(wishes[0], Epoch(5))]);
        table.get_mut(&P).expect("just put in").leaving = true;
        assert_eq!(ours(&table, &wishes), []);
    }

    #[test]
    fn a_late_commit_is_answered_once_and_its_own_end_says_nothing_more() {
        let deadline = Instant::now();
        let mut sent = sent(true, deadline);
        assert!(sent.is_late(deadline));
        assert_eq!(sent.answer(Err(RequestError::Unknown)), Some(Err(RequestError::Unknown)));
        assert!(!sent.is_late(deadline));
        assert_eq!(sent.answer(Ok(())), None);
    }

    #[test]
    fn a_success_of_some_is_not_told_as_a_success_of_all() {
        let now = Instant::now();
        assert_eq!(sent(true, now).answer(Ok(())), Some(Ok(())));
        assert_eq!(sent(false, now).answer(Ok(())), Some(Err(RequestError::Unknown)));
        assert_eq!(sent(false, now).answer(Err(RequestError::Fenced)), Some(Err(RequestError::Fenced)));
    }
}
