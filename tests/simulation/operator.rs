//! What befalls the world from outside: load, operators, crashes, healing, and the end.

use std::collections::VecDeque;

use gristmill_core::io::{Input, PluginId};

use crate::broker::Entry;
use crate::fault::Fault;
use crate::names::{Life, Violation, partition, require};
use crate::scenario::Reset;
use crate::world::{Event, World};

/// How long after healing everything has to be done, in microseconds.
const LIVELINESS: u64 = 180_000_000;

const OPERATIONS: &[Fault] = &[
    Fault::Rebalance,
    Fault::MembersComeAndGo,
    Fault::Evict,
    Fault::Freeze,
    Fault::Crash,
    Fault::FencedMember,
    Fault::Swap,
    Fault::Pause,
    Fault::Retry,
    Fault::Skip,
    Fault::MemoryShort,
    Fault::Stop,
    Fault::StopNow,
    Fault::Truncation,
    Fault::Compaction,
    Fault::CommitOutage,
];

impl World {
    /// Plans load, members, operations and healing.
    pub(crate) fn prepare(&mut self) {
        let partitions = self.scenario.partitions;
        let end = self.scenario.faults_end;
        let mut left = self.scenario.records;
        // Some of the load is there from the start, some comes, some comes in bursts, some partitions stay empty.
        while left > 0 {
            let place = self.chance.index(partitions);
            let records = self.chance.pick(&[1, 1, 2, 5, 12]).min(left);
            left -= records;
            let at = if self.chance.permille(300) { 0 } else { self.chance.below(end) };
            self.at(at, Event::Append { place, records });
        }
        // Where the reset policy is to hold, somebody has mostly set a start before.
        if self.scenario.reset == Reset::Error {
            for place in 0..partitions {
                if self.chance.permille(700) {
                    self.broker.committed[place] = Some(0);
                }
            }
        }
        for slot in 0..self.scenario.members {
            let late = self.scenario.has(Fault::MembersComeAndGo) && slot > 0;
            let at = if late { self.chance.below(end) } else { self.chance.below(500_000) };
            self.at(at, Event::Start { slot });
        }
        if OPERATIONS.iter().any(|fault| self.scenario.has(*fault)) {
            self.at(300_000, Event::Operate);
        }
        self.at(end, Event::Heal);
    }

    /// One operation, and the plan for the next.
    pub(crate) fn operate(&mut self) -> Result<(), Violation> {
        if self.healed {
            return Ok(());
        }
        let existing: Vec<Fault> = OPERATIONS.iter().copied().filter(|fault| self.scenario.has(*fault)).collect();
        let fault = self.chance.pick(&existing);
        let living = self.living();
        if self.chance.permille(150) {
            self.look_after();
        }
        // What ends a member comes more rarely than the rest, or nobody ever gets to work.
        let ends = matches!(
            fault,
            Fault::Crash | Fault::Stop | Fault::StopNow | Fault::FencedMember | Fault::MembersComeAndGo
        );
        if !living.is_empty() && (!ends || self.chance.permille(300)) {
            let life = self.chance.pick(&living);
            self.trace.say(self.now, || format!("operation {fault:?} on {life:?}"));
            self.befall(fault, life);
        }
        let pace = 400_000_000 / self.scenario.rate.max(1);
        let wait = self.chance.between(pace / 20, pace / 2);
        self.after(wait, Event::Operate);
        Ok(())
    }

    fn befall(&mut self, fault: Fault, life: Life) {
        let soon = self.delay.between(0, 10_000);
        match fault {
            Fault::Rebalance => {
                let news = self.group.shuffle(&mut self.group_chance);
                self.spread(news);
            }
            Fault::MembersComeAndGo | Fault::Stop => self.ask_stop(life),
            Fault::StopNow => {
                self.ask_stop(life);
                let later = self.chance.between(0, 2_000_000);
                self.after(later, Event::Feed(life, Input::StopNowAsked));
            }
            Fault::Evict => self.evict(life),
            Fault::Freeze => {
                let thaw = self.chance.between(50_000, 8_000_000);
                if let Some(member) = self.members.get_mut(&life)
                    && member.frozen.is_none()
                {
                    member.frozen = Some(VecDeque::new());
                    self.after(thaw, Event::Thaw(life));
                    self.after(5_000_000, Event::Silent(life));
                }
            }
            Fault::Crash => self.kill(life),
            Fault::FencedMember => {
                self.evict(life);
                self.after(soon, Event::Feed(life, Input::Fenced));
            }
            Fault::Swap => self.swap(),
            Fault::Pause => {
                self.after(soon, Event::Feed(life, Input::PauseAsked));
                let later = soon + self.chance.between(1_000, 3_000_000);
                self.after(later, Event::Feed(life, Input::ResumeAsked));
            }
            Fault::Retry => self.after(soon, Event::Feed(life, Input::RetryAsked)),
            Fault::Skip => {
                let places = self.broker.logs.len() as u64;
                let only = self.chance.permille(500).then(|| partition(self.chance.between(0, places - 1) as usize));
                let reason = "not worth it".to_owned();
                self.after(soon, Event::Feed(life, Input::SkipAsked { reason, only }));
            }
            Fault::MemoryShort => self.after(soon, Event::Feed(life, Input::MemoryShort)),
            Fault::Truncation => self.truncate(),
            Fault::Compaction => self.compact(),
            Fault::CommitOutage => self.outage_until = self.now + self.chance.between(100_000, 4_000_000),
            _ => {}
        }
    }

    fn ask_stop(&mut self, life: Life) {
        if let Some(member) = self.members.get_mut(&life) {
            let busy = member.witness.is_busy();
            member.idle_at_stop = self.healed && member.guests.is_empty() && member.frozen.is_none() && !busy;
            self.after(0, Event::Feed(life, Input::StopAsked));
        }
    }

    fn swap(&mut self) {
        self.plugin = PluginId(self.plugin.0 + 1);
        let plugin = self.plugin;
        for life in self.living() {
            let wait = self.travel();
            self.after(wait, Event::Feed(life, Input::PluginReady(plugin)));
        }
    }

    fn truncate(&mut self) {
        let place = self.chance.index(self.scenario.partitions);
        let log = &mut self.broker.logs[place];
        let room = u64::try_from(log.high - log.low).expect("not negative");
        let more = i64::try_from(self.chance.below(room / 2 + 1)).expect("small");
        log.low += more;
        for life in self.living() {
            self.arm(life);
        }
    }

    fn compact(&mut self) {
        let place = self.chance.index(self.scenario.partitions);
        let log = &mut self.broker.logs[place];
        if log.entries.len() > 2 {
            let at = self.chance.index(log.entries.len() - 1);
            // What keeps two bad records apart stays: no two of them ever come in a row.
            let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
            let parts_bad_ones = beside.filter_map(|at| log.entries.get(at)).any(Entry::is_bad);
            log.entries[at].compacted |= log.entries[at].is_bad() || !parts_bad_ones;
        }
    }

    /// No more faults: guests and broker work, everybody is there.
    pub(crate) fn heal(&mut self) -> Result<(), Violation> {
        self.trace.say(self.now, || "the world heals".to_owned());
        self.healed = true;
        self.group.empty_rounds = false;
        self.guests.heal();
        for life in self.living() {
            self.after(1_000, Event::Feed(life, Input::ResumeAsked));
        }
        for slot in 0..self.slots.len() {
            if self.slots[slot].is_none() {
                self.after(10_000, Event::Start { slot });
            }
        }
        self.after(500_000, Event::Mend);
        Ok(())
    }

    /// The operator repairs offsets, lets held lanes be tried again, and ends pauses that somebody forgot.
    fn look_after(&mut self) {
        self.repair_offsets();
        for life in self.living() {
            let Some(member) = self.members.get_mut(&life) else { continue };
            let paused = self.healed && member.witness.paused;
            if member.witness.held {
                self.after(1_000, Event::Feed(life, Input::RetryAsked));
            }
            if paused {
                self.after(1_000, Event::Feed(life, Input::ResumeAsked));
            }
        }
    }

    /// The operator looks after the world until everything is done, then stops it.
    pub(crate) fn mend(&mut self) -> Result<(), Violation> {
        self.look_after();
        if self.is_done() {
            return self.finish();
        }
        if self.now > self.scenario.faults_end + LIVELINESS {
            self.ledger.audit(&self.broker, self.cap())?;
            require!(false, "I-40", "members are still ending or starting");
        }
        self.after(2_000_000, Event::Mend);
        Ok(())
    }

    fn cap(&self) -> Option<u64> {
        let policy = &self.scenario.policy;
        policy.dead_letters.is_none().then(|| policy.batch.record_bytes_max.get())
    }

    fn is_done(&self) -> bool {
        let settled = !self.group.in_round() && self.slots.iter().all(Option::is_some);
        let walled = self.members.values().any(|member| member.witness.walled);
        settled && (walled || self.ledger.is_complete(&self.broker, self.cap()))
    }

    /// The operator sets committed offsets that point outside the log to its start.
    fn repair_offsets(&mut self) {
        for place in 0..self.scenario.partitions {
            let log = &self.broker.logs[place];
            let lost = self.broker.committed[place].is_some_and(|next| next < log.low);
            let none = self.broker.committed[place].is_none() && self.scenario.reset == Reset::Error;
            if lost || none {
                let low = log.low;
                self.broker.committed[place] = Some(low);
                self.ledger.moved_by_operator(place, low);
            }
        }
    }

    /// Everything is done: a stop has to be clean and quick.
    fn finish(&mut self) -> Result<(), Violation> {
        self.trace.say(self.now, || "everything is done; all stop".to_owned());
        self.stopping = true;
        for life in self.living() {
            self.ask_stop(life);
        }
        Ok(())
    }
}
