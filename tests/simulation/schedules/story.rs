//! Stories: a machine told what happens, step by step, with the witness listening. Each step panics when the machine does
//! something else than the story says.
//!
//! Records are written `place:offset`, as in `"0:4 0:5 1:7"`; places are partitions by index. One that cannot be decoded has a
//! mark behind it: `"0:4 0:5! 1:7"`.

use std::collections::VecDeque;
use std::time::Duration;

use gristmill_core::Machine;
use gristmill_core::io::{
    Action, Assignment, Delivery, DeliveryId, Input, OffsetTrouble, Passed, PluginId, ProduceError, Production, Report,
    RequestError, RequestId, RevokeId, SeekTo, StartPosition,
};
use gristmill_core::outcome::Answer;
use gristmill_core::policy::Policy;
use gristmill_core::record::{Epoch, LeaderEpoch, NextOffset, Offset, RecordFacts};
use gristmill_core::time::Moment;

use crate::broker::{Broker, leader_epoch_before};
use crate::names::{Body, Place, body, partition, place};
use crate::witness::Witness;

pub(super) use super::words::*;

/// A machine and what it has said so far.
pub(super) struct Story {
    machine: Machine<Body>,
    witness: Witness,
    broker: Broker,
    pub(super) now: Moment,
    /// What the machine wants done and the story has not mentioned yet.
    pub(super) actions: VecDeque<Action<Body>>,
    pub(super) reports: Vec<Report>,
    epochs: Vec<u64>,
    next_epoch: u64,
    pub(super) out: VecDeque<DeliveryId>,
    pub(super) last: Option<Delivery<Body>>,
    pub(super) commit: Option<RequestId>,
    pub(super) lookup: Option<RequestId>,
    pub(super) seek: Option<(RequestId, Vec<SeekTo>)>,
    /// What was written last.
    pub(super) production: Option<Production<Body>>,
}

impl Story {
    pub(super) fn new(policy: Policy) -> Self {
        let plugin = PluginId(0);
        Self {
            machine: Machine::new(policy.clone(), plugin),
            witness: Witness::new(policy, plugin),
            broker: Broker::new(4),
            now: Moment(1_000_000),
            actions: VecDeque::new(),
            reports: Vec::new(),
            epochs: vec![0; 4],
            next_epoch: 0,
            out: VecDeque::new(),
            last: None,
            commit: None,
            lookup: None,
            seek: None,
            production: None,
        }
    }

    /// A machine that owns these places, each committed at zero.
    pub(super) fn owning(policy: Policy, places: &[Place]) -> Self {
        let mut story = Self::new(policy);
        for &place in places {
            story.assigned(place, StartPosition::Committed(NextOffset(0)));
        }
        story
    }

    /// Feeds one input; every action is held against the rules.
    pub(super) fn feed(&mut self, input: Input<Body>) -> &mut Self {
        self.witness.hear(self.now, &input);
        self.machine.handle(self.now, input);
        while let Some(action) = self.machine.poll() {
            if let Err(broken) = self.witness.see(&action, &self.broker) {
                panic!("{} at {:?}: {}", broken.rule, self.now, broken.text);
            }
            match action {
                Action::Report(report) => self.reports.push(report),
                action => self.actions.push_back(action),
            }
        }
        if let Err(broken) = self.witness.settle(self.machine.next_wakeup()) {
            panic!("{} at {:?}: {}", broken.rule, self.now, broken.text);
        }
        self
    }

    /// Lets time go by, ticking whenever the machine wants to be woken.
    pub(super) fn passes(&mut self, millis: u64) -> &mut Self {
        let until = self.now.after(Duration::from_millis(millis));
        while let Some(due) = self.machine.next_wakeup().filter(|due| *due <= until) {
            self.now = due.max(self.now);
            self.feed(Input::Tick);
        }
        self.now = until;
        self
    }

    /// When the machine wants to be woken, in milliseconds from now.
    pub(super) fn wakes_in(&mut self) -> Option<u64> {
        let due = self.machine.next_wakeup()?;
        Some(u64::try_from(due.since(self.now).as_millis()).unwrap())
    }

    pub(super) fn assigned(&mut self, place: Place, start: StartPosition) -> &mut Self {
        self.next_epoch += 1;
        self.epochs[place] = self.next_epoch;
        let assignment = Assignment { partition: partition(place), epoch: Epoch(self.next_epoch), start };
        self.feed(Input::Assigned(vec![assignment]))
    }

    /// Records of 100 bytes arrive, under the current epochs.
    pub(super) fn fetches(&mut self, records: &str) -> &mut Self {
        let epochs = self.epochs.clone();
        self.fetches_as(records, 100, |place| epochs[place])
    }

    pub(super) fn fetches_of(&mut self, records: &str, bytes: u64) -> &mut Self {
        let epochs = self.epochs.clone();
        self.fetches_as(records, bytes, |place| epochs[place])
    }

    /// Records arrive that were read under an older epoch.
    pub(super) fn fetches_under(&mut self, epoch: u64, records: &str) -> &mut Self {
        self.fetches_as(records, 100, |_| epoch)
    }

    fn fetches_as(&mut self, records: &str, bytes: u64, epoch: impl Fn(Place) -> u64) -> &mut Self {
        let mut list = Vec::new();
        for (place, offset, undecodable) in parse_marked(records) {
            let log = &mut self.broker.logs[place];
            if offset >= log.high {
                log.append(offset - log.high, bytes, undecodable);
            }
            let entry = &log.entries[log.at(offset)];
            let facts = RecordFacts {
                partition: partition(place),
                offset: Offset(offset),
                epoch: Epoch(epoch(place)),
                leader_epoch: Some(LeaderEpoch(entry.leader_epoch)),
                bytes: entry.bytes,
                undecodable: entry.undecodable,
            };
            list.push((facts, body(place, offset)));
        }
        self.feed(Input::Fetched(list))
    }

    /// Reading goes past offsets without a record, under the current epoch.
    pub(super) fn reads_past(&mut self, place: Place, next: i64) -> &mut Self {
        let epoch = self.epochs[place];
        self.reads_past_under(epoch, place, next)
    }

    pub(super) fn reads_past_under(&mut self, epoch: u64, place: Place, next: i64) -> &mut Self {
        let log = &mut self.broker.logs[place];
        log.high = log.high.max(next);
        let leader_epoch = Some(leader_epoch_before(next));
        let passed = Passed { partition: partition(place), epoch: Epoch(epoch), next: NextOffset(next), leader_epoch };
        self.feed(Input::Passed(passed))
    }

    /// The guest that started first answers.
    pub(super) fn says(&mut self, answer: Answer) -> &mut Self {
        let delivery = self.out.pop_front().expect("a hand-over is out");
        self.feed(Input::Answered { delivery, answer })
    }

    pub(super) fn commit_ends(&mut self, result: Result<(), RequestError>) -> &mut Self {
        let id = self.commit.expect("a commit is under way");
        self.feed(Input::CommitEnded { id, result })
    }

    /// The brokers have what was to be written, or have not.
    pub(super) fn written(&mut self, result: Result<(), ProduceError>) -> &mut Self {
        let id = self.production.as_ref().expect("something is being written").id;
        self.feed(Input::Produced { id, result })
    }

    /// The operator skips what is held.
    pub(super) fn skips(&mut self, reason: &str) -> &mut Self {
        self.feed(Input::SkipAsked { reason: reason.to_owned(), only: None })
    }

    /// The operator skips what is held of one place.
    pub(super) fn skips_at(&mut self, place: Place, reason: &str) -> &mut Self {
        self.feed(Input::SkipAsked { reason: reason.to_owned(), only: Some(partition(place)) })
    }

    pub(super) fn knows(&mut self, committed: &[(Place, Option<i64>)]) -> &mut Self {
        let id = self.lookup.expect("a look-up is under way");
        let known = committed.iter().map(|&(place, next)| (partition(place), next.map(NextOffset))).collect();
        self.feed(Input::CommittedKnown { id, result: Ok(known) })
    }

    pub(super) fn lookup_fails(&mut self, error: RequestError) -> &mut Self {
        let id = self.lookup.expect("a look-up is under way");
        self.feed(Input::CommittedKnown { id, result: Err(error) })
    }

    /// The seek ends: it fails for these places and works for the others.
    pub(super) fn sought_except(&mut self, failed: &[Place]) -> &mut Self {
        let (id, targets) = self.seek.take().expect("a seek is under way");
        let mut results = Vec::new();
        for target in targets {
            let here = place(target.partition);
            let result = if failed.contains(&here) {
                Err(RequestError::Temporary)
            } else {
                self.next_epoch += 1;
                self.epochs[here] = self.next_epoch;
                Ok(Epoch(self.next_epoch))
            };
            results.push((target.partition, result));
        }
        self.feed(Input::Sought { id, results })
    }

    pub(super) fn sought(&mut self) -> &mut Self {
        self.sought_except(&[])
    }

    /// A revocation of these places, due in so many milliseconds.
    pub(super) fn revoking(&mut self, id: u64, places: &[Place], millis: u64) -> &mut Self {
        let deadline = self.now.after(Duration::from_millis(millis));
        let partitions = places.iter().map(|&place| partition(place)).collect();
        self.feed(Input::Revoking { id: RevokeId(id), partitions, deadline })
    }

    pub(super) fn lost(&mut self, places: &[Place]) -> &mut Self {
        self.feed(Input::Lost(places.iter().map(|&place| partition(place)).collect()))
    }

    pub(super) fn troubled(&mut self, place: Place, trouble: OffsetTrouble) -> &mut Self {
        let epoch = Epoch(self.epochs[place]);
        self.feed(Input::PositionTrouble { partition: partition(place), epoch, trouble })
    }
}
