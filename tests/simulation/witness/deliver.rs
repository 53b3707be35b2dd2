//! Rules for hand-overs: order, gaps, limits, one at a time, budgets and delays.

use std::collections::BTreeMap;
use std::sync::Arc;

use gristmill_core::io::{ClosedBy, Delivery};
use gristmill_core::policy::{Attempts, Scope};

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
        let said = delivery.places.iter().map(|at| (place(at.partition), at.first.0, at.last.next().0));
        let held = parts.iter().map(|part| (part.place, part.first, part.next));
        require!(said.eq(held), "I-16", "{name} lies elsewhere than at {:?}", delivery.places);
        let lane = self.lane(parts.first().map_or(0, |part| part.place));
        self.see_lane(lane, &parts, &name)?;
        self.see_budgets(delivery.attempt, &parts, &name)?;
        self.see_repeated(delivery, &name)?;
        for part in &parts {
            if let Some(watched) = self.watched.get_mut(&part.place) {
                watched.due = Some(part.next);
            }
        }
        let handed = Handed {
            lane,
            batch: delivery.batch,
            plugin: delivery.plugin,
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
        require!(delivery.batch.0 > self.last_batch, "I-12", "{name} has the number of another batch");
        match delivery.closed_by {
            ClosedBy::Records => {
                require!(records == limits.records_max.get() as usize, "I-16", "{name} closed by count at {records}");
            }
            ClosedBy::Wait => {
                let first = delivery.records.iter().map(|record| record.arrived).min().unwrap_or(self.now);
                let due = first.after(limits.wait_max);
                require!(due <= self.now, "A1", "{name} closed by age at {:?}, but is due at {due:?}", self.now);
            }
            ClosedBy::Bytes => {}
        }
        Ok(())
    }

    /// I-10, I-11, I-13: exactly the visible records from the next one due, in order, unmixed, of the current reading.
    fn see_records(&self, delivery: &Delivery<Body>, broker: &Broker, name: &str) -> Result<Vec<Part>, Violation> {
        let mut parts: Vec<Part> = Vec::new();
        let mut at: BTreeMap<Place, usize> = BTreeMap::new();
        for record in &*delivery.records {
            let facts = &record.facts;
            let here = place(facts.partition);
            let offset = facts.offset.0;
            let Some(watched) = self.watched.get(&here) else {
                return Err(Violation {
                    rule: "I-25",
                    text: format!("{name} holds {here}:{offset}, which is not owned"),
                });
            };
            require!(watched.seek.is_none() && !watched.moving, "R3", "{name} holds {here}:{offset} during a seek");
            require!(watched.revoking.is_none(), "B9", "{name} holds {here}:{offset} during its revocation");
            require!(
                watched.live == Some(facts.epoch),
                "I-13",
                "{name} holds {here}:{offset} of {:?}, but {:?} is read",
                facts.epoch,
                watched.live
            );
            let log = &broker.logs[here];
            let known = parts.iter().position(|part| part.place == here);
            let mut index = match at.get(&here) {
                Some(&index) => index,
                None => log.at(watched.due.unwrap_or(i64::MAX)),
            };
            while log.entries.get(index).is_some_and(|entry| entry.compacted && entry.offset != offset) {
                index += 1;
            }
            let due = log.entries.get(index);
            require!(
                due.is_some_and(|entry| entry.offset == offset),
                "I-11",
                "{name} holds {here}:{offset}, but {:?} is due (I-10)",
                due.map(|entry| entry.offset)
            );
            let mangled = record.body != body(here, offset) || due.is_none_or(|entry| entry.bytes != facts.bytes);
            require!(!mangled, "I-12", "{name} holds another record at {here}:{offset}");
            at.insert(here, index + 1);
            match known {
                Some(known) => {
                    let part = &mut parts[known];
                    (part.next, part.leader_epoch) = (offset + 1, facts.leader_epoch);
                    part.records += 1;
                }
                None => parts.push(Part {
                    place: here,
                    assigned: watched.assigned,
                    first: offset,
                    next: offset + 1,
                    leader_epoch: facts.leader_epoch,
                    records: 1,
                }),
            }
        }
        Ok(parts)
    }

    /// I-09 and R8: one hand-over at a time, and none before the last one's commit.
    fn see_lane(&self, lane: Place, parts: &[Part], name: &str) -> Result<(), Violation> {
        let busy = self.out.iter().find(|(_, handed)| handed.lane == lane);
        require!(busy.is_none(), "I-09", "{name} while another is out: {:?}", busy.map(|(id, _)| id));
        if let Scope::Partition { workers } = self.policy.scope {
            require!(self.out.len() < workers.get() as usize, "I-09", "{name} exceeds {workers} workers");
            require!(parts.len() == 1, "I-16", "{name} mixes the lanes of {} partitions", parts.len());
        }
        for (place, watched) in &self.watched {
            let counts = self.lane(*place) == lane && watched.revoking.is_none() && !watched.moving && !watched.asked;
            require!(
                !counts || !watched.unsettled(),
                "R8",
                "{name} while {place} is done up to {} and committed up to {:?}",
                watched.done,
                watched.confirmed
            );
        }
        Ok(())
    }

    /// I-17, R4, R5, S4, F5: no attempt beyond the budget, none before its delay, each with its number.
    fn see_budgets(&self, attempt: u32, parts: &[Part], name: &str) -> Result<(), Violation> {
        let mut most = (0, 0);
        for part in parts {
            let Some(watched) = self.watched.get(&part.place) else { continue };
            require!(!watched.held, "S5", "{name} holds records of {}, which is held", part.place);
            let early = watched.not_before > self.now;
            require!(!early, "R5", "{name} comes at {:?}, not before {:?}", self.now, watched.not_before);
            if watched.budget.first != Some(part.first) {
                continue;
            }
            let (retries, faults) = (watched.budget.retries, watched.budget.faults);
            most = (retries.max(most.0), faults.max(most.1));
            if let Attempts::Limited { max, .. } = self.policy.retry.attempts {
                require!(retries < max.get(), "I-17", "{name} after {retries} retryable answers of {max}");
            }
            let max = self.policy.fault.attempts_max;
            require!(faults < max.get(), "I-17", "{name} after {faults} faults of {max} (F5)");
        }
        let (retries, faults) = most;
        let failed = retries + faults;
        require!(attempt == failed + 1, "R4", "{name} is attempt {attempt} after {failed} failed ones");
        Ok(())
    }

    /// I-12: a batch that comes again is the same, less the partitions that went away.
    fn see_repeated(&mut self, delivery: &Delivery<Body>, name: &str) -> Result<(), Violation> {
        self.last_batch = self.last_batch.max(delivery.batch.0);
        let Some(before) = self.failed.remove(&delivery.batch) else { return Ok(()) };
        let here: Vec<Place> = delivery.records.iter().map(|record| place(record.facts.partition)).collect();
        let still = before.iter().filter(|record| here.contains(&place(record.facts.partition)));
        let facts: Vec<_> = still.map(|record| record.facts).collect();
        let now: Vec<_> = delivery.records.iter().map(|record| record.facts).collect();
        require!(facts == now, "I-12", "{name} is not what failed before: {} records, then {}", facts.len(), now.len());
        Ok(())
    }
}
