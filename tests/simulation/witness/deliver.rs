//! Rules for hand-overs: order, gaps, limits, one at a time, budgets and delays.

use std::sync::Arc;

use gristmill_core::io::{ClosedBy, Delivery};
use gristmill_core::policy::{Attempts, Scope};
use gristmill_core::record::Record;

use super::watched::{Handed, Part, name};
use super::{Violation, Witness, require};
use crate::broker::Broker;
use crate::names::{Body, Place, body, place};

impl Witness {
    pub(super) fn see_deliver(&mut self, delivery: &Delivery<Body>, broker: &Broker) -> Result<(), Violation> {
        let name = name(delivery.id, delivery.batch);
        require!(!self.paused, "I-25", "{name} during a pause");
        require!(!self.ending.has_cause(), "I-35", "{name} after {:?}", self.ending.cause);
        require!(delivery.plugin == self.plugin, "S4", "{name} to {:?}, but {:?} runs", delivery.plugin, self.plugin);
        require!(delivery.id.0 > self.last_delivery, "I-39", "{name} uses an old number");
        self.last_delivery = delivery.id.0;
        self.see_limits(delivery, &name)?;
        let parts = self.see_records(delivery, broker, &name)?;
        let lane = self.lane(parts.first().map_or(0, |part| part.place));
        self.see_lane(lane, &parts, &name)?;
        self.see_budgets(delivery, &parts, &name)?;
        self.see_repeated(delivery, &name)?;
        for part in &parts {
            if let Some(watched) = self.watched.get_mut(&part.place) {
                watched.due = Some(part.next);
            }
        }
        let handed = Handed {
            lane,
            batch: delivery.batch,
            delivery: delivery.id,
            plugin: delivery.plugin,
            part: delivery.part,
            parts,
            records: Arc::clone(&delivery.records),
            cancelled: false,
        };
        self.out.insert(delivery.id, handed);
        Ok(())
    }

    /// I-16, A1 to A6.
    fn see_limits(&self, delivery: &Delivery<Body>, name: &str) -> Result<(), Violation> {
        let limits = &self.policy.batch;
        let records = delivery.records.len();
        let bytes: u64 = delivery.records.iter().map(|record| record.facts.bytes).sum();
        require!(records > 0, "I-16", "{name} is empty (A6)");
        require!(records <= limits.records_max.get() as usize, "I-16", "{name} holds {records} records (A2)");
        require!(bytes == delivery.bytes, "I-16", "{name} says {} bytes and holds {bytes}", delivery.bytes);
        require!(records == 1 || bytes <= limits.bytes_max.get(), "I-16", "{name} holds {bytes} bytes (A3)");
        let largest = delivery.records.iter().map(|record| record.facts.bytes).max().unwrap_or(0);
        require!(largest <= limits.record_bytes_max.get(), "I-16", "{name} holds a record of {largest} bytes (A4)");
        if self.failed.contains_key(&delivery.batch) {
            return Ok(());
        }
        require!(!self.batches.contains(&delivery.batch), "I-12", "{name} has the number of another batch");
        if delivery.part {
            return Ok(());
        }
        if let Scope::Partition { lanes_bytes_max, .. } = self.policy.scope {
            let share = lanes_bytes_max.get() / (4 * self.watched.len().max(1) as u64);
            require!(records == 1 || bytes <= share, "I-33", "{name} holds {bytes} bytes of its lane's {share}");
        }
        let alone = self.impossible_within(delivery) == 0;
        match delivery.closed_by {
            ClosedBy::Records => {
                require!(
                    !alone || records == limits.records_max.get() as usize,
                    "I-16",
                    "{name} closed by count at {records}"
                );
            }
            ClosedBy::Wait => {
                let first = delivery.records.iter().map(|record| record.arrived).min().unwrap_or(self.now);
                let due = first.after(limits.wait_max);
                // The first record of the batch may be one that no guest can take.
                require!(
                    !alone || due <= self.now,
                    "A1",
                    "{name} closed by age at {:?}, but is due at {due:?}",
                    self.now
                );
            }
            ClosedBy::Bytes => {}
        }
        Ok(())
    }

    fn impossible_within(&self, delivery: &Delivery<Body>) -> usize {
        let cap = self.policy.batch.record_bytes_max.get();
        let of_place = |at: &gristmill_core::io::Place| {
            let watched = self.watched.get(&place(at.partition));
            let arrivals = watched.into_iter().flat_map(|watched| &watched.arrivals);
            arrivals.filter(|it| (at.first.0..=at.last.0).contains(&it.offset) && it.is_impossible(cap)).count()
        };
        delivery.places.iter().map(of_place).sum()
    }

    /// I-10, I-11, I-13: exactly the records that arrived from the next one due, in order, of the current reading, less those
    /// that no guest can take.
    fn see_records(&self, delivery: &Delivery<Body>, broker: &Broker, name: &str) -> Result<Vec<Part>, Violation> {
        let cap = self.policy.batch.record_bytes_max.get();
        let mut parts: Vec<Part> = Vec::new();
        let mut seen = 0;
        for at in &delivery.places {
            let here = place(at.partition);
            let (first, next) = (at.first.0, at.last.0 + 1);
            let Some(watched) = self.watched.get(&here) else {
                return Err(Violation {
                    rule: "I-25",
                    text: format!("{name} holds {here}:{first}, which is not owned"),
                });
            };
            require!(watched.seek.is_none() && !watched.moving, "R3", "{name} holds {here}:{first} during a seek");
            require!(watched.revoking.is_none(), "B9", "{name} holds {here}:{first} during its revocation");
            let due = watched.due.unwrap_or(i64::MAX);
            let due = watched.arrivals.iter().map(|arrival| arrival.offset).find(|offset| *offset >= due);
            require!(due == Some(first), "I-11", "{name} begins with {here}:{first}, but {due:?} is due (I-10)");
            let within = watched.arrivals.iter().filter(|arrival| (first..next).contains(&arrival.offset));
            let wanted: Vec<i64> = within.clone().filter(|it| !it.is_impossible(cap)).map(|it| it.offset).collect();
            let records = delivery.records.iter().filter(|record| record.facts.partition == at.partition);
            let held: Vec<i64> = records.clone().map(|record| record.facts.offset.0).collect();
            require!(held == wanted, "I-11", "{name} holds {held:?} of {here}, but {wanted:?} is due (I-10)");
            for record in records {
                let facts = &record.facts;
                let offset = facts.offset.0;
                let live = watched.live;
                require!(live == Some(facts.epoch), "I-13", "{name} holds {here}:{offset} of {:?}", facts.epoch);
                let log = &broker.logs[here];
                let entry = log.entries.get(log.at(offset)).filter(|entry| entry.offset == offset);
                let mangled = record.body != body(here, offset) || entry.is_none_or(|it| it.bytes != facts.bytes);
                require!(!mangled, "I-12", "{name} holds another record at {here}:{offset}");
            }
            seen += held.len();
            let records = within.count() as u64;
            parts.push(Part { place: here, assigned: watched.assigned, first, next, records });
        }
        require!(seen == delivery.records.len(), "I-25", "{name} holds records of other partitions than it says");
        Ok(parts)
    }

    /// I-09 and R8: one hand-over at a time, and none before the commit of the last but one.
    pub(super) fn see_lane(&self, lane: Place, parts: &[Part], name: &str) -> Result<(), Violation> {
        require!(!self.is_producing(lane), "R8", "{name} while what the last batch made is being written");
        let busy = self.out.iter().find(|(_, handed)| handed.lane == lane);
        require!(busy.is_none(), "I-09", "{name} while another is out: {:?}", busy.map(|(id, _)| id));
        if let Scope::Partition { workers, .. } = self.policy.scope {
            require!(self.out.len() < workers.get() as usize, "I-09", "{name} exceeds {workers} workers");
            let written = self.productions.len();
            let room = self.out.len() + written < 2 * workers.get() as usize;
            require!(room, "I-33", "{name} while what {written} batches made is being written by {workers} workers");
            require!(parts.len() == 1, "I-16", "{name} mixes the lanes of {} partitions", parts.len());
        }
        self.see_commits_of_lane(lane, name)
    }

    /// I-17, R4, R5, S4, F5: no attempt beyond the budget, none before its delay, each with its number.
    fn see_budgets(&self, delivery: &Delivery<Body>, parts: &[Part], name: &str) -> Result<(), Violation> {
        let attempt = delivery.attempt;
        let mut most = (0, 0);
        for part in parts {
            let Some(watched) = self.watched.get(&part.place) else { continue };
            require!(!watched.held, "S5", "{name} holds records of {}, which is held", part.place);
            let early = watched.not_before > self.now;
            require!(!early, "R5", "{name} comes at {:?}, not before {:?}", self.now, watched.not_before);
            if watched.budget.first != Some(part.first) {
                continue;
            }
            // What failed to the last and is searched has one attempt more, also where it was read again meanwhile; and what
            // was to be put aside has one where it had to be read again before it was.
            // What the operator skips and is not in memory any more has to come once again.
            let first = (part.place, part.first);
            let searched = self.skipping
                || self.searched.contains_key(&first)
                || self.excused.contains(&first)
                || self.condemned.contains(&first);
            let (retries, faults) = (watched.budget.retries, watched.budget.faults);
            most = (retries.max(most.0), faults.max(most.1));
            if let Attempts::Limited { max, .. } = self.policy.retry.attempts {
                require!(searched || retries < max.get(), "I-17", "{name} after {retries} retryable answers of {max}");
            }
            let max = self.policy.fault.attempts_max;
            require!(searched || faults < max.get(), "I-17", "{name} after {faults} faults of {max} (F5)");
        }
        let (retries, faults) = most;
        let failed = retries + faults;
        require!(attempt == failed + 1, "R4", "{name} is attempt {attempt} after {failed} failed ones");
        Ok(())
    }

    /// I-12: a batch that comes again is the same, less the partitions that went away.
    fn see_repeated(&mut self, delivery: &Delivery<Body>, name: &str) -> Result<(), Violation> {
        self.batches.insert(delivery.batch);
        let Some(before) = self.failed.get_mut(&delivery.batch) else { return Ok(()) };
        let here: Vec<Place> = delivery.records.iter().map(|record| place(record.facts.partition)).collect();
        let now: Vec<_> = delivery.records.iter().map(|record| record.facts).collect();
        let comes_again = |records: &Arc<[Record<Body>]>| {
            let still = records.iter().filter(|record| here.contains(&place(record.facts.partition)));
            still.map(|record| record.facts).eq(now.iter().copied())
        };
        let same = before.iter().position(comes_again);
        require!(same.is_some(), "I-12", "{name} is not what failed before: {} records", now.len());
        same.map(|same| before.remove(same));
        if before.is_empty() {
            self.failed.remove(&delivery.batch);
        }
        Ok(())
    }
}
