//! Stories: a machine told what happens, step by step, with the witness listening. Each step panics when the machine does
//! something else than the story says.
//!
//! Records are written `place:offset`, as in `"0:4 0:5 1:7"`; places are partitions by index.

use std::collections::VecDeque;
use std::time::Duration;

use gristmill_core::Machine;
use gristmill_core::io::{
    Action, Assignment, CommitOffset, Delivery, DeliveryId, Input, OffsetTrouble, Passed, PluginId, Report,
    RequestError, RequestId, RevokeId, SeekTo, StartPosition, StopReason,
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
    actions: VecDeque<Action<Body>>,
    pub(super) reports: Vec<Report>,
    epochs: Vec<u64>,
    next_epoch: u64,
    out: VecDeque<DeliveryId>,
    pub(super) last: Option<Delivery<Body>>,
    commit: Option<RequestId>,
    lookup: Option<RequestId>,
    seek: Option<(RequestId, Vec<SeekTo>)>,
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
        for (place, offset) in parse(records) {
            let log = &mut self.broker.logs[place];
            if offset >= log.high {
                log.append(offset - log.high, bytes, false);
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

    fn next_action(&mut self, wanted: &str) -> Action<Body> {
        self.actions.pop_front().unwrap_or_else(|| panic!("at {:?}: {wanted} was due, nothing came", self.now))
    }

    /// The next action hands exactly these records over.
    pub(super) fn delivers(&mut self, records: &str) -> &mut Self {
        match self.next_action("a hand-over") {
            Action::Deliver(delivery) => {
                let got: Vec<(Place, i64)> = delivery
                    .records
                    .iter()
                    .map(|record| (place(record.facts.partition), record.facts.offset.0))
                    .collect();
                assert_eq!(got, parse(records), "handed over at {:?}", self.now);
                self.out.push_back(delivery.id);
                self.last = Some(delivery);
            }
            other => panic!("at {:?}: a hand-over of {records} was due, not {other:?}", self.now),
        }
        self
    }

    /// Hands over when the first record has waited long enough.
    pub(super) fn delivers_after_wait(&mut self, records: &str) -> &mut Self {
        self.passes(1_000).delivers(records)
    }

    /// The next action hands one of these over.
    pub(super) fn delivers_one_of(&mut self, choices: &[&str]) -> &mut Self {
        let Some(Action::Deliver(delivery)) = self.actions.front() else {
            panic!("a hand-over was due, not {:?}", self.actions.front());
        };
        let first = delivery.records[0].facts;
        let first = (place(first.partition), first.offset.0);
        let choice = choices.iter().find(|choice| parse(choice)[0] == first).expect("one of the choices");
        self.delivers(choice)
    }

    /// The next action commits something, and it works.
    pub(super) fn commit_any(&mut self) -> &mut Self {
        match self.next_action("a commit") {
            Action::Commit { id, .. } => self.commit = Some(id),
            other => panic!("a commit was due, not {other:?}"),
        }
        self.commit_ends(Ok(()))
    }

    /// The attempt number of the last hand-over.
    pub(super) fn attempt(&self) -> u32 {
        self.last.as_ref().expect("something was handed over").attempt
    }

    /// The guest that started first answers.
    pub(super) fn says(&mut self, answer: Answer) -> &mut Self {
        let delivery = self.out.pop_front().expect("a hand-over is out");
        self.feed(Input::Answered { delivery, answer })
    }

    pub(super) fn cancels(&mut self) -> &mut Self {
        match self.next_action("a cancel") {
            Action::Cancel(id) => assert!(self.out.contains(&id), "{id:?} is not out"),
            other => panic!("a cancel was due, not {other:?}"),
        }
        self
    }

    /// The next action commits exactly these positions, written as records are.
    pub(super) fn commits(&mut self, positions: &str) -> &mut Self {
        match self.next_action("a commit") {
            Action::Commit { id, offsets, .. } => {
                let got = |offset: &CommitOffset| (place(offset.partition), offset.next.0);
                assert_eq!(sorted(offsets.iter().map(got)), parse(positions), "committed at {:?}", self.now);
                self.commit = Some(id);
            }
            other => panic!("at {:?}: a commit of {positions} was due, not {other:?}", self.now),
        }
        self
    }

    pub(super) fn commit_ends(&mut self, result: Result<(), RequestError>) -> &mut Self {
        let id = self.commit.expect("a commit is under way");
        self.feed(Input::CommitEnded { id, result })
    }

    /// A whole happy batch: handed over, ok, committed.
    pub(super) fn finishes(&mut self, records: &str, positions: &str) -> &mut Self {
        self.delivers(records).says(ok()).commits(positions).commit_ends(Ok(()))
    }

    pub(super) fn asks(&mut self, places: &[Place]) -> &mut Self {
        match self.next_action("a look-up") {
            Action::AskCommitted { id, partitions } => {
                assert_eq!(sorted(partitions.into_iter().map(place)), places);
                self.lookup = Some(id);
            }
            other => panic!("at {:?}: a look-up of {places:?} was due, not {other:?}", self.now),
        }
        self
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

    pub(super) fn seeks(&mut self, positions: &str) -> &mut Self {
        match self.next_action("a seek") {
            Action::Seek { id, targets } => {
                let got = |target: &SeekTo| (place(target.partition), target.next.0);
                assert_eq!(sorted(targets.iter().map(got)), parse(positions), "sought at {:?}", self.now);
                self.seek = Some((id, targets));
            }
            other => panic!("at {:?}: a seek to {positions} was due, not {other:?}", self.now),
        }
        self
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

    pub(super) fn answers_revoke(&mut self, id: u64) -> &mut Self {
        match self.next_action("the answer to a revocation") {
            Action::AnswerRevoke(got) => assert_eq!(got, RevokeId(id)),
            other => panic!("at {:?}: the answer to revocation {id} was due, not {other:?}", self.now),
        }
        self
    }

    pub(super) fn leaves(&mut self) -> &mut Self {
        match self.next_action("leaving") {
            Action::Leave => self,
            other => panic!("at {:?}: leaving was due, not {other:?}", self.now),
        }
    }

    /// The group is left: the machine ends with this reason.
    pub(super) fn ends(&mut self, wanted: &StopReason) -> &mut Self {
        self.leaves().feed(Input::Left);
        match self.next_action("the end") {
            Action::Stopped(reason) => assert_eq!(reason, *wanted),
            other => panic!("the end was due, not {other:?}"),
        }
        self
    }

    /// Nothing is to be done now.
    pub(super) fn is_quiet(&mut self) -> &mut Self {
        assert!(self.actions.is_empty(), "at {:?}: nothing was due, but {:?}", self.now, self.actions);
        self
    }

    /// Records that were dropped so far because they were read twice or under an old epoch.
    pub(super) fn dropped(&self) -> u64 {
        let count = |report: &Report| if let Report::DroppedStale { records } = report { *records } else { 0 };
        self.reports.iter().map(count).sum()
    }

    pub(super) fn holds(&self) -> usize {
        self.reports.iter().filter(|report| matches!(report, Report::Held { .. })).count()
    }
}

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort();
    items
}

fn parse(records: &str) -> Vec<(Place, i64)> {
    let one = |text: &str| {
        let (place, offset) = text.split_once(':').expect("place:offset");
        (place.parse().expect("a place"), offset.parse().expect("an offset"))
    };
    records.split_whitespace().map(one).collect()
}
