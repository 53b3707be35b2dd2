//! Rules for what has to happen at once: a commit after ok, a hand-over when a batch is full and nothing stands before it.
//!
//! A machine that forgets and is reminded by whatever comes next would pass every other rule.

use std::collections::BTreeMap;

use gristmill_core::io::Passed;
use gristmill_core::record::RecordFacts;
use gristmill_core::time::Moment;

use super::watched::Watched;
use super::{Violation, Witness, require};
use crate::names::{Body, Place, place};

impl Witness {
    /// Records arrive: remembers how far each reading got, and counts what has to be dropped (I-13).
    pub(super) fn hear_fetched(&mut self, records: &[(RecordFacts, Body)]) {
        self.stale = 0;
        for (facts, _) in records {
            let Some(watched) = self.watched.get_mut(&place(facts.partition)) else {
                self.stale += 1;
                continue;
            };
            let next = facts.offset.0 + 1;
            if watched.live.is_some_and(|live| live != facts.epoch) || watched.fetched.is_some_and(|seen| seen >= next)
            {
                self.stale += 1;
            } else if watched.live.is_some() && watched.revoking.is_none() {
                watched.arrive(facts);
            }
        }
    }

    /// Reading went past offsets without a record.
    pub(super) fn hear_passed(&mut self, passed: &Passed) {
        let Some(watched) = self.watched.get_mut(&place(passed.partition)) else { return };
        let news = watched.fetched.is_some_and(|seen| seen < passed.next.0);
        if watched.live == Some(passed.epoch) && news && watched.revoking.is_none() {
            watched.fetched = Some(passed.next.0);
            watched.passed_epoch = passed.leader_epoch;
        }
    }

    /// After an input: whatever had to be dropped was dropped and counted.
    pub(super) fn settle_dropped(&mut self) -> Result<(), Violation> {
        let (stale, dropped) = (std::mem::take(&mut self.stale), std::mem::take(&mut self.dropped));
        let ending = self.ending.has_cause();
        require!(ending || dropped >= stale, "I-13", "{stale} records had to be dropped, {dropped} were counted");
        Ok(())
    }

    /// After an input: what is done is being committed.
    pub(super) fn settle_commits(&self) -> Result<(), Violation> {
        if self.ending.left_ordered {
            return Ok(());
        }
        for (here, watched) in &self.watched {
            let backs_off = self.now <= watched.commit_not_after;
            let asks = self.lookups.values().flatten().any(|(asked, _)| asked == here);
            let waits = watched.commit.is_some() || watched.unknown || asks || backs_off || rewinds(watched);
            require!(
                waits || !watched.is_behind(),
                "C6",
                "{here} is done up to {}, committed up to {:?}, and no commit is under way",
                watched.target(),
                watched.confirmed
            );
        }
        Ok(())
    }

    /// After an input: no lane sits on a full batch (A2), or with no wait on any record at all (A11).
    pub(super) fn settle_lanes(&self) -> Result<(), Violation> {
        if self.paused || self.walled || self.ending.has_cause() || !self.has_worker() {
            return Ok(());
        }
        let no_wait = self.policy.batch.wait_max.is_zero();
        let full = if no_wait { 1 } else { self.policy.batch.records_max.get() as usize };
        let mut waiting: BTreeMap<Place, usize> = BTreeMap::new();
        for (here, watched) in &self.watched {
            let lane = self.lane(*here);
            let blocked = self.blocked.get(&lane).is_some_and(|until| self.now <= *until)
                || watched.held
                || self.waits_for_commits(lane)
                || rewinds(watched)
                || self.is_producing(lane)
                || self.out.values().any(|handed| handed.lane == lane);
            let records = waiting.entry(lane).or_default();
            *records = if blocked { usize::MAX } else { records.saturating_add(Self::behind(watched)) };
        }
        let idle = waiting.into_iter().find(|(_, records)| (full..usize::MAX).contains(records));
        require!(
            idle.is_none(),
            "A2",
            "(lane, records) {idle:?} wait, nothing is before them, and nothing is handed over"
        );
        Ok(())
    }

    /// Another batch may be handed over, as far as workers and what is being written go.
    fn has_worker(&self) -> bool {
        let workers = self.policy.scope.workers().get() as usize;
        self.out.len() < workers && self.out.len() + self.productions.len() < 2 * workers
    }

    /// Records of a partition that arrived and were not handed over.
    fn behind(watched: &Watched) -> usize {
        let (Some(due), None) = (watched.due, watched.revoking) else { return 0 };
        watched.arrivals.iter().filter(|arrival| arrival.offset >= due).count()
    }

    /// A failed batch keeps its lane back, at most this long.
    pub(super) fn block(&mut self, lane: Place, until: Moment) {
        let blocked = self.blocked.entry(lane).or_default();
        *blocked = until.max(*blocked);
    }
}

/// The position is being moved, or is about to be.
fn rewinds(watched: &Watched) -> bool {
    watched.asked || watched.rewinding || watched.moving || watched.seek.is_some() || watched.live.is_none()
}
