//! The witness of one machine: stands at its border, hears every input and sees every action, and knows the rules.
//!
//! Reads nothing from inside the machine. What it believes follows from the inputs alone; each action is held against that.

mod answer;
mod commit;
mod deliver;
mod hear;
mod produce;
mod prompt;
mod seek;
mod settle;
mod stop;
mod watched;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use gristmill_core::io::{Action, BatchId, DeliveryId, HeldReason, PluginId, Report, RequestId, RevokeId};
use gristmill_core::policy::{Backoff, Policy, Scope};
use gristmill_core::record::{Epoch, Record};
use gristmill_core::time::Moment;

use crate::broker::Broker;
use crate::names::{Body, Place, Violation, require};
use produce::Finishing;
use stop::Ending;
use watched::{Handed, Watched};

/// What the border of one machine shows.
pub(crate) struct Witness {
    policy: Policy,
    pub(crate) now: Moment,
    plugin: PluginId,
    watched: BTreeMap<Place, Watched>,
    /// Hand-overs that have not been answered.
    out: BTreeMap<DeliveryId, Handed>,
    /// What failed of each batch: a redelivery has to be the same.
    failed: BTreeMap<BatchId, Vec<Arc<[Record<Body>]>>>,
    batches: BTreeSet<BatchId>,
    /// What the last answer finished, until it is clear what has to be written for it.
    finishing: Option<Finishing>,
    productions: BTreeMap<RequestId, Finishing>,
    /// How many batches were done.
    batches_done: u64,
    /// Records of batches that were cut, in search of one that breaks (true) or that cannot be done (false).
    searched: BTreeMap<(Place, i64), bool>,
    /// Records that may have one attempt more than their budget: what had been decided about them was undone.
    excused: BTreeSet<(Place, i64)>,
    /// Records that failed to the last and alone, as far as the policy wants that.
    condemned: BTreeSet<(Place, i64)>,
    /// The operator skipped something.
    skipping: bool,
    /// A budget was spent that holds its lane.
    exhausted: bool,
    /// The brokers refused to take something.
    not_written: bool,
    commits: BTreeMap<RequestId, Vec<(Place, i64)>>,
    lookups: BTreeMap<RequestId, Vec<(Place, Epoch)>>,
    seeks: BTreeMap<RequestId, Vec<(Place, i64)>>,
    revokes: BTreeMap<RevokeId, (Vec<Place>, Moment)>,
    used: BTreeSet<u64>,
    last_delivery: u64,
    pub(crate) paused: bool,
    ending: Ending,
    /// Batches whose guest said ok and counts, until the machine reports them (I-37).
    ok_unreported: BTreeMap<BatchId, u64>,
    /// The machine said that something is held, and nobody asked for a retry since.
    pub(crate) held: bool,
    /// True when a record larger than the plugin can take blocks a lane.
    pub(crate) walled: bool,
    idle_ticks: u32,
    /// Records of the last input that had to be dropped, and those that the machine says it dropped.
    stale: u64,
    dropped: u64,
    /// How long a lane may be kept back by a failed batch.
    blocked: BTreeMap<Place, Moment>,
}

impl Witness {
    pub(crate) fn new(policy: Policy, plugin: PluginId) -> Self {
        Self {
            policy,
            now: Moment::default(),
            plugin,
            watched: BTreeMap::new(),
            out: BTreeMap::new(),
            failed: BTreeMap::new(),
            batches: BTreeSet::new(),
            finishing: None,
            productions: BTreeMap::new(),
            batches_done: 0,
            searched: BTreeMap::new(),
            excused: BTreeSet::new(),
            condemned: BTreeSet::new(),
            skipping: false,
            exhausted: false,
            not_written: false,
            commits: BTreeMap::new(),
            lookups: BTreeMap::new(),
            seeks: BTreeMap::new(),
            revokes: BTreeMap::new(),
            used: BTreeSet::new(),
            last_delivery: 0,
            paused: false,
            ending: Ending::default(),
            ok_unreported: BTreeMap::new(),
            held: false,
            walled: false,
            idle_ticks: 0,
            stale: 0,
            dropped: 0,
            blocked: BTreeMap::new(),
        }
    }

    /// Holds one action against the rules.
    pub(crate) fn see(&mut self, action: &Action<Body>, broker: &Broker) -> Result<(), Violation> {
        require!(!self.ending.stopped, "I-35", "{action:?} after the end");
        self.idle_ticks = 0;
        match action {
            Action::Deliver(delivery) => self.see_deliver(delivery, broker),
            Action::Cancel(id) => self.see_cancel(*id),
            Action::Produce(production) => self.see_produce(production),
            Action::Commit { id, offsets, plugin } => self.see_commit(*id, offsets, *plugin, broker),
            Action::AskCommitted { id, partitions } => self.see_lookup(*id, partitions),
            Action::Seek { id, targets } => self.see_seek(*id, targets),
            Action::AnswerRevoke(id) => self.see_revoke_answered(*id),
            Action::Leave => self.see_leave(),
            Action::Stopped(reason) => self.see_stopped(reason),
            Action::Report(report) => self.see_report(report),
        }
    }

    /// After an input is handled and every action taken: what is overdue now?
    pub(crate) fn settle(&mut self, wakeup: Option<Moment>) -> Result<(), Violation> {
        // Not written, so not done: whoever forgets it never gets on.
        let unwritten = self.finishing.take();
        if self.ending.stopped {
            return Ok(());
        }
        if let Some(finishing) = unwritten {
            self.forget_unwritten(finishing);
        }
        for (id, (places, deadline)) in &self.revokes {
            require!(*deadline > self.now, "I-23", "{id:?} of {places:?} is not answered at its deadline {deadline:?}");
            require!(
                wakeup.is_some_and(|at| at <= *deadline),
                "I-23",
                "nothing wakes the machine for {id:?}: {wakeup:?}"
            );
        }
        self.settle_ending(wakeup)?;
        self.settle_dropped()?;
        self.settle_commits()?;
        self.settle_lanes()?;
        // A machine that asks to be woken at once, again and again, burns the processor.
        self.idle_ticks += 1;
        let spins = wakeup.is_some_and(|at| at <= self.now) && self.idle_ticks > 4;
        require!(!spins, "S6", "the machine wants to be woken at {wakeup:?}, which is now, and does nothing");
        if let Some((batch, _)) = self.ok_unreported.first_key_value() {
            return Err(Violation { rule: "I-37", text: format!("{batch:?} was ok and is not reported so") });
        }
        Ok(())
    }

    /// The machine did not write what an answer made: it holds the lane, or ends.
    fn forget_unwritten(&mut self, finishing: Finishing) {
        if let Some((batch, _)) = finishing.batch {
            self.excuse_rest(finishing.lane, batch);
        }
        for part in &finishing.parts {
            if let Some(watched) = self.watched.get_mut(&part.place) {
                watched.due = Some(part.first);
                watched.failed = true;
                watched.held = true;
            }
        }
        self.block_after_failure(finishing.lane);
        if let Some((batch, records)) = finishing.batch {
            self.ok_unreported.remove(&batch);
            self.fail_batch(batch, records);
        }
    }

    fn see_cancel(&mut self, id: DeliveryId) -> Result<(), Violation> {
        let handed = self.out.get_mut(&id);
        require!(handed.as_ref().is_some_and(|handed| !handed.cancelled), "I-39", "cancel of {id:?}, which is not out");
        if let Some(handed) = handed {
            handed.cancelled = true;
        }
        Ok(())
    }

    fn see_report(&mut self, report: &Report) -> Result<(), Violation> {
        match report {
            Report::Waiting { delay, fault, attempt, .. } => {
                let longest = if *fault {
                    longest(&self.policy.fault.backoff)
                } else {
                    longest(&self.policy.retry.backoff).max(self.policy.retry.after_max)
                };
                require!(*delay <= longest, "R5", "attempt {attempt} waits {delay:?}, longer than {longest:?}");
            }
            Report::WriteFailed { delay, tries, .. } => {
                let longest = longest(&self.policy.retry.backoff);
                require!(*delay <= longest, "R5", "write {tries} waits {delay:?}, longer than {longest:?}");
            }
            Report::BatchOk { batch, records } => {
                let expected = self.ok_unreported.remove(batch);
                require!(expected.is_some(), "I-37", "{batch:?} is reported ok, which nobody said");
                require!(expected == Some(*records), "I-37", "{batch:?} had {expected:?} records, not {records}");
            }
            Report::Held { reason } => {
                self.held = true;
                self.walled |= matches!(reason, HeldReason::RecordTooLarge { .. } | HeldReason::Undecodable { .. });
                self.see_held(reason)?;
                self.see_held_letter(reason)?;
            }
            Report::DroppedStale { records } => self.dropped += records,
            Report::GivenUp { .. } => {
                if !self.ending.has_cause() && self.are_letters_too_many() {
                    self.must_end(stop::Cause::DeadLetters);
                }
            }
            Report::Assigned { .. }
            | Report::Removed { .. }
            | Report::LateAnswer(_)
            | Report::Committed { .. }
            | Report::RequestFailed { .. }
            | Report::Rewound { .. }
            | Report::Released { .. }
            | Report::Cut { .. }
            | Report::Produced { .. }
            | Report::PluginSwitched { .. } => {}
        }
        Ok(())
    }

    fn see_revoke_answered(&mut self, id: RevokeId) -> Result<(), Violation> {
        let Some((places, deadline)) = self.revokes.remove(&id) else {
            return Err(Violation { rule: "I-39", text: format!("{id:?} is answered, which nobody asks") });
        };
        if self.now < deadline && !self.ending.left_ordered {
            for place in &places {
                let busy = self.commits.iter().find(|(_, sent)| self.counts(sent, *place));
                require!(busy.is_none(), "B1", "{id:?} is answered while {busy:?} is under way for {place}");
                let out = self.out.iter().find(|(_, handed)| !handed.cancelled && self.concerns(handed, *place));
                require!(out.is_none(), "B1", "{id:?} is answered while a guest works on {place}");
                let written = self.productions.iter().find(|(_, finishing)| {
                    let assigned = self.watched.get(place).map(|watched| watched.assigned);
                    finishing.parts.iter().any(|part| part.place == *place && Some(part.assigned) == assigned)
                });
                require!(written.is_none(), "B1", "{id:?} is answered while {place} is being written");
            }
        }
        for place in &places {
            self.watched.remove(place);
        }
        Ok(())
    }

    fn counts(&self, sent: &[(Place, i64)], place: Place) -> bool {
        let current = self.watched.get(&place).and_then(|watched| watched.commit);
        sent.iter().any(|&(sent, value)| sent == place && current.is_some_and(|(_, now)| now == value))
    }

    fn concerns(&self, handed: &Handed, place: Place) -> bool {
        let assigned = self.watched.get(&place).map(|watched| watched.assigned);
        handed.parts.iter().any(|part| part.place == place && Some(part.assigned) == assigned)
    }

    fn lane(&self, place: Place) -> Place {
        match self.policy.scope {
            Scope::Consumer => 0,
            Scope::Partition { .. } => place,
        }
    }

    fn fresh_id(&mut self, id: RequestId) -> Result<(), Violation> {
        require!(self.used.insert(id.0), "I-39", "{id:?} is used twice");
        Ok(())
    }
}

/// The shortest wait that a back-off allows after failure number `failures`.
fn shortest(backoff: &Backoff, failures: u32) -> Duration {
    let doubled = backoff.initial.saturating_mul(1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX));
    let base = doubled.min(backoff.max);
    base.saturating_sub(base * backoff.jitter_permille / 1000).saturating_sub(Duration::from_micros(1))
}

fn longest(backoff: &Backoff) -> Duration {
    backoff.max + backoff.max * backoff.jitter_permille / 1000 + Duration::from_micros(1)
}
