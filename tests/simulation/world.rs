//! The world of one seed: a queue of events in virtual time, and the parts that they concern.
//!
//! Faults, then healing, then liveness, then the audit. Must not know the rules: the witness and the ledger do.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use gristmill_core::io::{
    CommitOffset, DeliveryId, Input, LetterClass, PluginId, ProduceError, RequestError, RequestId, RevokeId, SeekTo,
    StopReason,
};
use gristmill_core::planted::Bug;
use gristmill_core::record::Partition;
use gristmill_core::time::Moment;

use crate::broker::Broker;
use crate::chance::{Chance, Stream};
use crate::fault::Fault;
use crate::group::{Group, GroupNews};
use crate::guest::Guests;
use crate::ledger::Ledger;
use crate::member::Member;
use crate::names::{Body, Life, Place, Violation, require};
use crate::scenario::Scenario;
use crate::tally::Tally;
use crate::trace::Trace;

/// What a member sends to the coordinator over its one connection, in order.
#[derive(Debug)]
pub(crate) enum ToBroker {
    Join,
    Commit { id: RequestId, offsets: Vec<CommitOffset>, fate: Fate },
    Lookup { id: RequestId, partitions: Vec<Partition> },
    Revoked(Vec<Place>),
    Leave,
}

/// What becomes of a commit: whether it is stored, what is reported, and whether the edge gives up waiting early.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fate {
    pub(crate) stored: bool,
    pub(crate) result: Result<(), RequestError>,
    pub(crate) early: bool,
}

/// What a member has written before a commit, and what becomes of it.
#[derive(Debug)]
pub(crate) struct Writing {
    pub(crate) letters: Vec<(Place, i64, LetterClass)>,
    pub(crate) outputs: Vec<(Place, i64)>,
    pub(crate) stored: bool,
    pub(crate) result: Result<(), ProduceError>,
}

/// Something that will happen.
#[derive(Debug)]
pub(crate) enum Event {
    Append { place: Place, records: u64 },
    Start { slot: usize },
    Inbox(Life),
    Feed(Life, Input<Body>),
    Tick(Life, Moment),
    Fetch(Life),
    Seek { life: Life, id: RequestId, targets: Vec<SeekTo> },
    ToBroker(Life, ToBroker),
    Written { life: Life, id: RequestId, writing: Writing },
    News(Life, GroupNews),
    RoundDeadline(u64),
    GuestDone(Life, DeliveryId),
    Silent(Life),
    CloseRevoke(Life, RevokeId),
    Thaw(Life),
    Operate,
    Heal,
    Mend,
}

struct Scheduled {
    at: u64,
    number: u64,
    event: Event,
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}

impl Eq for Scheduled {}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// What one run did, when nothing was broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) steps: u64,
    pub(crate) handed: u64,
    pub(crate) repeats: u64,
    pub(crate) commits: u64,
    pub(crate) lives: u64,
    pub(crate) fingerprint: u64,
}

/// Everything there is.
pub(crate) struct World {
    pub(crate) scenario: Scenario,
    pub(crate) bug: Option<Bug>,
    pub(crate) now: u64,
    queue: BinaryHeap<Reverse<Scheduled>>,
    scheduled: u64,
    pub(crate) steps: u64,
    pub(crate) broker: Broker,
    pub(crate) group: Group,
    pub(crate) ledger: Ledger,
    pub(crate) guests: Guests,
    pub(crate) members: BTreeMap<Life, Member>,
    /// The living member of each slot.
    pub(crate) slots: Vec<Option<Life>>,
    pub(crate) lives: u32,
    pub(crate) plugin: PluginId,
    pub(crate) healed: bool,
    pub(crate) outage_until: u64,
    pub(crate) delay: Chance,
    pub(crate) chance: Chance,
    pub(crate) edge_chance: Chance,
    pub(crate) broker_chance: Chance,
    pub(crate) group_chance: Chance,
    /// Results that a script prescribes for commits, before chance decides.
    pub(crate) commit_script: std::collections::VecDeque<Fate>,
    /// What a script prescribes for productions: whether they are stored, and what is reported.
    pub(crate) write_script: std::collections::VecDeque<(bool, Result<(), ProduceError>)>,
    /// Kill the first member after this many steps.
    pub(crate) crash_at: Option<u64>,
    pub(crate) fingerprint: u64,
    pub(crate) stopping: bool,
    pub(crate) trace: Trace,
    pub(crate) tally: Option<Tally>,
}

impl World {
    pub(crate) fn new(scenario: Scenario, bug: Option<Bug>) -> Self {
        let seed = scenario.seed;
        let partitions = scenario.partitions;
        let mut group = Group::new(scenario.style, partitions);
        group.empty_rounds = scenario.has(Fault::EmptyRebalance);
        Self {
            bug,
            now: 0,
            queue: BinaryHeap::new(),
            scheduled: 0,
            steps: 0,
            broker: Broker::new(partitions),
            group,
            ledger: Ledger::new(partitions),
            guests: Guests::new(seed),
            members: BTreeMap::new(),
            slots: vec![None; scenario.members],
            lives: 0,
            plugin: PluginId(0),
            healed: false,
            outage_until: 0,
            delay: Chance::new(seed, Stream::Delay),
            chance: Chance::new(seed, Stream::Operator),
            edge_chance: Chance::new(seed, Stream::Edge),
            broker_chance: Chance::new(seed, Stream::Broker),
            group_chance: Chance::new(seed, Stream::Group),
            commit_script: std::collections::VecDeque::new(),
            write_script: std::collections::VecDeque::new(),
            crash_at: None,
            fingerprint: 0,
            stopping: false,
            trace: Trace::default(),
            tally: None,
            scenario,
        }
    }

    /// Lets the world run to its end.
    pub(crate) fn run(&mut self) -> Result<Totals, Violation> {
        self.prepare();
        self.run_prepared()
    }

    /// Lets a world run to its end whose load and members are planned already.
    pub(crate) fn run_prepared(&mut self) -> Result<Totals, Violation> {
        match self.run_through() {
            Ok(()) => {
                let (handed, repeats) = self.ledger.totals();
                Ok(Totals {
                    steps: self.steps,
                    handed,
                    repeats,
                    commits: self.ledger.commits,
                    lives: u64::from(self.lives),
                    fingerprint: self.fingerprint,
                })
            }
            Err(violation) => {
                self.trace.say(self.now, || format!("BROKEN {}: {}", violation.rule, violation.text));
                Err(violation)
            }
        }
    }

    fn run_through(&mut self) -> Result<(), Violation> {
        while let Some(Reverse(next)) = self.queue.pop() {
            require!(next.at >= self.now, "I-36", "an event of the past");
            self.now = next.at;
            require!(self.steps < 400_000, "S6", "the world does not come to rest");
            self.happen(next.event)?;
            if self.stopping && self.slots.iter().all(Option::is_none) {
                return Ok(());
            }
        }
        Ok(())
    }

    pub(crate) fn at(&mut self, at: u64, event: Event) {
        self.scheduled += 1;
        self.queue.push(Reverse(Scheduled { at, number: self.scheduled, event }));
    }

    pub(crate) fn after(&mut self, micros: u64, event: Event) {
        self.at(self.now + micros, event);
    }

    /// How long something is on its way.
    pub(crate) fn travel(&mut self) -> u64 {
        if !self.healed && self.delay.permille(self.scenario.slow) {
            self.delay.between(20_000, 1_500_000)
        } else {
            self.delay.between(50, 3_000)
        }
    }

    /// True when this fault exists and strikes now.
    pub(crate) fn strikes(&mut self, fault: Fault) -> bool {
        !self.healed && self.scenario.has(fault) && self.edge_chance.permille(self.scenario.rate)
    }

    /// Feeds an input to a machine and carries its actions out.
    pub(crate) fn feed(&mut self, life: Life, input: Input<Body>) -> Result<(), Violation> {
        let Some(member) = self.members.get_mut(&life) else { return Ok(()) };
        self.steps += 1;
        self.trace.input(self.now, life, &input);
        if let Some(tally) = &mut self.tally {
            tally.input(&input);
        }
        let answered = match &input {
            Input::Answered { delivery, .. } => Some(*delivery),
            _ => None,
        };
        let mut actions = Vec::new();
        let fed = member.feed(Moment(self.now), input, &self.broker, &mut actions);
        for action in &actions {
            self.trace.action(self.now, life, action);
            if let Some(tally) = &mut self.tally {
                tally.action(action);
            }
        }
        fed?;
        self.plan_tick(life);
        for action in actions {
            self.carry_out(life, action);
        }
        // What an answer made and nobody wants written by now is forgotten.
        if let (Some(member), Some(delivery)) = (self.members.get_mut(&life), answered) {
            member.outputs.remove(&delivery);
        }
        self.crash_by_script();
        Ok(())
    }

    fn plan_tick(&mut self, life: Life) {
        let late = if self.strikes(Fault::LateTicks) { self.edge_chance.below(50_000) } else { 0 };
        let Some(member) = self.members.get(&life) else { return };
        if let Some(due) = member.tick {
            let at = due.0.max(self.now) + late;
            self.at(at, Event::Tick(life, due));
        }
    }

    fn crash_by_script(&mut self) {
        if self.crash_at.is_some_and(|at| self.steps >= at) {
            self.crash_at = None;
            if let Some(Some(life)) = self.slots.first().copied() {
                self.kill(life);
            }
        }
    }

    /// Ends a life at once; what it sent is still on its way.
    pub(crate) fn kill(&mut self, life: Life) {
        self.trace.say(self.now, || format!("{life:?} is killed"));
        self.bury(life);
        self.after(2_000_000, Event::Silent(life));
    }

    /// Removes a life that is over, and lets its slot start again.
    pub(crate) fn bury(&mut self, life: Life) {
        if let Some(member) = self.members.remove(&life) {
            self.fingerprint = self.fingerprint.rotate_left(9) ^ member.fingerprint;
        }
        if let Some(slot) = self.slots.iter().position(|slot| *slot == Some(life)) {
            self.slots[slot] = None;
            if !self.stopping {
                let pause = self.delay.between(50_000, 1_500_000);
                self.after(pause, Event::Start { slot });
            }
        }
    }

    /// The machine of a life has ended by itself.
    pub(crate) fn ended(&mut self, life: Life, reason: &StopReason) -> Result<(), Violation> {
        self.trace.say(self.now, || format!("{life:?} ended: {reason:?}"));
        let idle = self.members.get(&life).is_some_and(|member| member.idle_at_stop);
        if self.stopping && idle {
            let clean = matches!(reason, StopReason::Asked);
            require!(clean, "S1", "{life:?} ended with {reason:?} in a healthy world");
        }
        self.bury(life);
        if self.group.has(life) {
            self.after(2_000_000, Event::Silent(life));
        }
        Ok(())
    }
}
