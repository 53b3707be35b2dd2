//! The state machine: takes in what happened ([`Machine::handle`]), gives out what to do ([`Machine::poll`]), says when it
//! wants to be asked again ([`Machine::next_wakeup`]).
//!
//! It never blocks, never asks a clock and never fails: every input is legal at every time, late and repeated ones
//! included. One call of `handle` changes the state by the input and then lets everything advance that can.

mod answer;
mod assign;
mod commit;
mod deliver;
mod isolate;
mod misbehave;
mod operate;
mod produce;
mod rewind;
mod stop;

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU64;

use crate::invariants;
use crate::io::{Action, DeliveryId, Input, PluginId, Report, RequestId, RevokeId, StopReason};
use crate::lane::Lane;
use crate::planted::Bug;
use crate::policy::{BatchLimits, Policy, Scope};
use crate::positions::{LaneId, Owned};
use crate::record::Partition;
use crate::time::Moment;

/// The whole state of one member of a consumer group.
#[derive(Debug)]
pub struct Machine<R> {
    policy: Policy,
    now: Moment,
    plugin: PluginId,
    partitions: BTreeMap<Partition, Owned>,
    lanes: BTreeMap<LaneId, Lane<R>>,
    /// The lane that handed over last; the search for the next one starts behind it, so that none starves.
    turn: Option<LaneId>,
    revokes: Vec<Revoke>,
    paused: bool,
    phase: Phase,
    actions: VecDeque<Action<R>>,
    ids: Ids,
    #[cfg(feature = "planted")]
    planted: Option<Bug>,
    /// Where partitions stood when they went away: only a planted bug looks back.
    #[cfg(feature = "planted")]
    gone: BTreeMap<Partition, crate::record::NextOffset>,
}

/// A revocation that waits for its answer.
#[derive(Debug)]
struct Revoke {
    id: RevokeId,
    partitions: Vec<Partition>,
    deadline: Moment,
}

/// Where the machine stands between start and end.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    /// No new hand-overs; what is out and what is being committed may end until the deadline (S1).
    Draining {
        reason: StopReason,
        deadline: Moment,
    },
    /// Leaving the group; nothing is committed any more.
    Leaving {
        reason: StopReason,
    },
    Stopped,
}

/// The last numbers given out.
#[derive(Debug, Default)]
struct Ids {
    batch: u64,
    delivery: u64,
    request: u64,
}

impl Ids {
    fn request(&mut self) -> RequestId {
        self.request += 1;
        RequestId(self.request)
    }

    fn delivery(&mut self) -> DeliveryId {
        self.delivery += 1;
        DeliveryId(self.delivery)
    }
}

impl<R: Clone> Machine<R> {
    /// A machine that owns nothing yet and hands its batches to `plugin`.
    #[must_use]
    pub fn new(policy: Policy, plugin: PluginId) -> Self {
        Self {
            policy,
            now: Moment::default(),
            plugin,
            partitions: BTreeMap::new(),
            lanes: BTreeMap::new(),
            turn: None,
            revokes: Vec::new(),
            paused: false,
            phase: Phase::Running,
            actions: VecDeque::new(),
            ids: Ids::default(),
            #[cfg(feature = "planted")]
            planted: None,
            #[cfg(feature = "planted")]
            gone: BTreeMap::new(),
        }
    }

    /// Takes in what happened at `now`. Time that runs backwards counts as standing still.
    pub fn handle(&mut self, now: Moment, input: Input<R>) {
        self.now = self.now.max(now);
        let by_tick = matches!(input, Input::Tick);
        match input {
            Input::Tick => {}
            Input::Assigned(assignments) => self.handle_assigned(&assignments),
            Input::Revoking { id, partitions, deadline } => self.handle_revoking(id, partitions, deadline),
            Input::Lost(partitions) => self.handle_lost(&partitions),
            Input::Fetched(records) => self.handle_fetched(records),
            Input::Passed(passed) => self.handle_passed(&passed),
            Input::PositionTrouble { partition, epoch, trouble } => self.handle_trouble(partition, epoch, trouble),
            Input::Answered { delivery, answer } => self.handle_answered(delivery, answer),
            Input::Produced { id, result } => self.handle_produced(id, result),
            Input::SkipAsked { reason, only } => self.handle_skip(&reason, only),
            Input::CommitEnded { id, result } => self.handle_commit_ended(id, result),
            Input::CommittedKnown { id, result } => self.handle_committed_known(id, result),
            Input::Sought { id, results } => self.handle_sought(id, &results),
            Input::PluginReady(plugin) => self.handle_plugin_ready(plugin),
            Input::PauseAsked => self.paused = true,
            Input::ResumeAsked => self.handle_resume(),
            Input::RetryAsked => self.handle_retry(),
            Input::MemoryShort => self.handle_memory_short(),
            Input::StopAsked => self.drain(StopReason::Asked),
            Input::StopNowAsked => self.handle_stop_now(),
            Input::Fenced => self.abandon(StopReason::Fenced),
            Input::Left => self.handle_left(),
        }
        self.advance(by_tick);
    }

    /// The next thing to do, until there is none.
    pub fn poll(&mut self) -> Option<Action<R>> {
        let action = self.actions.pop_front()?;
        debug_assert!(self.planted_bug().is_some() || invariants::action_is_sound(&action), "unsound action");
        Some(action)
    }

    /// When the machine wants a [`Input::Tick`] at the latest. `None`: nothing is due, however long it takes (S6).
    #[must_use]
    pub fn next_wakeup(&mut self) -> Option<Moment> {
        if self.is_leaving() {
            // Nothing is tried again on the way out; only a revocation still has its deadline.
            return self.revokes.iter().map(|revoke| revoke.deadline).min();
        }
        let rewinds = |partition, owned| !self.rewind_rests(owned) && !self.rewind_waits(partition);
        let of_partitions =
            self.partitions.iter().filter_map(|(&partition, owned)| owned.wakeup(rewinds(partition, owned))).min();
        let of_lanes = self.lanes_wakeup();
        let of_revokes = self.revokes.iter().map(|revoke| revoke.deadline).min();
        let of_phase = match &self.phase {
            Phase::Draining { deadline, .. } => Some(*deadline),
            Phase::Running | Phase::Leaving { .. } | Phase::Stopped => None,
        };
        [of_partitions, of_lanes, of_revokes, of_phase].into_iter().flatten().min()
    }

    /// Lets everything advance that can. The order is the order in which one thing makes room for the next.
    fn advance(&mut self, by_tick: bool) {
        self.end_backoffs_of_commits();
        self.advance_rewinds();
        self.send_commits();
        self.answer_revokes();
        self.advance_settling();
        self.finish_waiting();
        if !(by_tick && self.planted(Bug::WaitNeedsRecord)) {
            self.deliver_ready();
        }
        self.advance_stop();
        // Once the group is being left, nothing is worth waiting for.
        self.answer_revokes();
        self.drop_idle_lanes();
    }

    fn act(&mut self, action: Action<R>) {
        self.actions.push_back(action);
    }

    fn report(&mut self, report: Report) {
        self.act(Action::Report(report));
    }

    fn lane_of(&self, partition: Partition) -> LaneId {
        match self.policy.scope {
            Scope::Consumer => LaneId::Consumer,
            Scope::Partition { .. } => LaneId::Of(partition),
        }
    }

    /// When a batch closes. Where lanes share their memory a batch is no larger than its lane can hold beside the next one.
    fn limits_of_lane(&self) -> BatchLimits {
        let limits = self.policy.batch;
        match self.policy.scope {
            Scope::Consumer => limits,
            Scope::Partition { .. } if self.planted(Bug::IgnoreShare) => limits,
            Scope::Partition { lanes_bytes_max, .. } => {
                let share = lanes_bytes_max.get() / (4 * self.partitions.len().max(1) as u64);
                BatchLimits {
                    bytes_max: limits.bytes_max.min(NonZeroU64::new(share).unwrap_or(NonZeroU64::MIN)),
                    ..limits
                }
            }
        }
    }

    /// True while something of the partition is with the guest, or being written.
    fn is_at_work_on(&self, partition: Partition) -> bool {
        self.lanes.get(&self.lane_of(partition)).is_some_and(|lane| lane.is_at_work_on(partition))
    }

    /// A lane of a partition that went away is kept only while a guest still works for it.
    fn drop_idle_lanes(&mut self) {
        let partitions = &self.partitions;
        self.lanes.retain(|id, lane| match id {
            LaneId::Consumer => true,
            LaneId::Of(partition) => partitions.contains_key(partition) || !lane.is_idle(),
        });
    }
}
