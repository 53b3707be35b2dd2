//! One life of one member: the machine, its Kafka edge, its running guests, and the witness at the border.
//!
//! Must not know the world: it only holds what dies with the process.

use std::collections::{BTreeMap, VecDeque};

use gristmill_core::Machine;
use gristmill_core::io::{Action, DeliveryId, Input, PluginId, StopReason};
use gristmill_core::outcome::Answer;
use gristmill_core::planted::Bug;
use gristmill_core::policy::Policy;
use gristmill_core::record::Partition;
use gristmill_core::time::Moment;

use crate::broker::Broker;
use crate::edge::Edge;
use crate::names::{Body, Place, Violation, place};
use crate::witness::Witness;
use crate::world::Event;

/// A hand-over that a guest works on.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) answer: Answer,
    pub(crate) records: Vec<(Place, i64)>,
    /// Of which records it made others.
    pub(crate) outputs: Vec<(Place, i64)>,
}

/// One process.
pub(crate) struct Member {
    machine: Machine<Body>,
    pub(crate) edge: Edge,
    pub(crate) guests: BTreeMap<DeliveryId, Running>,
    /// What the guest that answered last wants written.
    pub(crate) outputs: BTreeMap<DeliveryId, Vec<(Place, i64)>>,
    pub(crate) witness: Witness,
    /// When the next tick is due.
    pub(crate) tick: Option<Moment>,
    /// The process stands still: what happens to it waits here, in order.
    pub(crate) frozen: Option<VecDeque<Event>>,
    /// Each channel keeps its order: nothing arrives before what was sent before.
    pub(crate) inbox_ready: u64,
    pub(crate) link_ready: u64,
    pub(crate) news_ready: u64,
    /// Nothing ran and nothing was frozen when the healthy world asked it to stop.
    pub(crate) idle_at_stop: bool,
    pub(crate) stopped: Option<StopReason>,
    /// A fingerprint of everything the machine did (I-38).
    pub(crate) fingerprint: u64,
}

impl Member {
    pub(crate) fn new(policy: &Policy, plugin: PluginId, bug: Option<Bug>) -> Self {
        let machine = Machine::new(policy.clone(), plugin);
        let machine = match bug {
            Some(bug) => machine.with_planted(bug),
            None => machine,
        };
        Self {
            machine,
            edge: Edge::default(),
            guests: BTreeMap::new(),
            outputs: BTreeMap::new(),
            witness: Witness::new(policy.clone(), plugin),
            tick: None,
            frozen: None,
            inbox_ready: 0,
            link_ready: 0,
            news_ready: 0,
            idle_at_stop: false,
            stopped: None,
            fingerprint: 0,
        }
    }

    /// Feeds one input and takes every action that follows, under the eyes of the witness.
    pub(crate) fn feed(
        &mut self,
        now: Moment,
        input: Input<Body>,
        broker: &Broker,
        actions: &mut Vec<Action<Body>>,
    ) -> Result<(), Violation> {
        self.witness.hear(now, &input);
        self.machine.handle(now, input);
        while let Some(action) = self.machine.poll() {
            self.fingerprint = self.fingerprint.rotate_left(5) ^ fingerprint(&action);
            self.witness.see(&action, broker)?;
            if let Action::Stopped(reason) = &action {
                self.stopped = Some(reason.clone());
            }
            actions.push(action);
        }
        self.tick = self.machine.next_wakeup();
        self.witness.settle(self.tick)
    }
}

/// A number that differs when the action differs in what matters.
fn fingerprint(action: &Action<Body>) -> u64 {
    let mix =
        |kind: u64, parts: &[u64]| parts.iter().fold(kind, |sum, part| (sum ^ part).wrapping_mul(0x100_0000_01B3));
    let number = |partition: Partition| place(partition) as u64;
    match action {
        Action::Deliver(delivery) => {
            mix(1, &[delivery.id.0, delivery.batch.0, delivery.records.len() as u64, delivery.plugin.0])
        }
        Action::Cancel(id) => mix(2, &[id.0]),
        Action::Commit { id, offsets, .. } => offsets
            .iter()
            .fold(mix(3, &[id.0]), |sum, offset| mix(sum, &[number(offset.partition), offset.next.0.cast_unsigned()])),
        Action::AskCommitted { id, partitions } => mix(4, &[id.0, partitions.len() as u64]),
        Action::Seek { id, targets } => targets
            .iter()
            .fold(mix(5, &[id.0]), |sum, target| mix(sum, &[number(target.partition), target.next.0.cast_unsigned()])),
        Action::AnswerRevoke(id) => mix(6, &[id.0]),
        Action::Produce(production) => mix(10, &[production.id.0, production.letters.len() as u64]),
        Action::Leave => 7,
        Action::Stopped(_) => 8,
        Action::Report(_) => 9,
    }
}
