//! Rules for what is written before a commit: which dead letters, which emitted records, and no commit before the brokers'
//! word (D1, D2).

use std::collections::BTreeMap;
use std::sync::Arc;

use gristmill_core::io::{
    BatchId, DeadLetter, DeliveryId, HeldReason, LetterClass, PluginId, ProduceError, Production, RequestId,
};
use gristmill_core::policy::{Scope, Share};
use gristmill_core::record::Record;
use gristmill_core::time::Moment;

use super::watched::{Part, Spent};
use super::{Violation, Witness, require};
use crate::names::{Body, Place, body, place};

/// Records that are done as soon as what they made is written.
#[derive(Debug)]
pub(super) struct Finishing {
    pub(super) lane: Place,
    pub(super) parts: Vec<Part>,
    pub(super) plugin: PluginId,
    /// Who did them. `None`: no guest can take them.
    pub(super) delivery: Option<DeliveryId>,
    pub(super) rejected: Vec<(Place, i64)>,
    pub(super) emits: bool,
    /// What is put aside on the way.
    pub(super) letters: Vec<(Place, i64)>,
    pub(super) batch: Option<(BatchId, Arc<[Record<Body>]>)>,
}

impl Witness {
    /// True when something has to be written before these records are done.
    pub(super) fn has_to_write(&self, finishing: &Finishing) -> bool {
        finishing.emits || !finishing.rejected.is_empty() || !self.impossible_in(&finishing.parts).is_empty()
    }

    /// Records in these parts that no guest can take.
    fn impossible_in(&self, parts: &[Part]) -> Vec<(Place, i64)> {
        let cap = self.policy.batch.record_bytes_max.get();
        let mut found = Vec::new();
        for part in parts {
            let Some(watched) = self.watched.get(&part.place) else { continue };
            let here = watched.arrivals.iter().filter(|arrival| (part.first..part.next).contains(&arrival.offset));
            found.extend(here.filter(|arrival| arrival.is_impossible(cap)).map(|arrival| (part.place, arrival.offset)));
        }
        found
    }

    /// Records that arrived and lie in a part.
    pub(super) fn count(&self, part: &Part) -> u64 {
        let Some(watched) = self.watched.get(&part.place) else { return 0 };
        watched.arrivals.iter().filter(|arrival| (part.first..part.next).contains(&arrival.offset)).count() as u64
    }

    pub(super) fn finish(&mut self, finishing: &Finishing) {
        self.note_settled(&finishing.parts);
        for part in &finishing.parts {
            if let Some(watched) = self.watched.get_mut(&part.place).filter(|watched| watched.assigned == part.assigned)
            {
                let (counted, mut run) = watched.letters;
                let mut share = (0, 0);
                for arrival in watched.arrivals.iter().filter(|it| (part.first..part.next).contains(&it.offset)) {
                    if arrival.offset >= counted {
                        let aside = finishing.letters.contains(&(part.place, arrival.offset));
                        run = if aside { run + 1 } else { 0 };
                        share = (share.0 + 1, share.1 + u64::from(aside));
                    }
                }
                watched.letters = (counted.max(part.next), run);
                watched.shares.extend((share.0 > 0).then_some(share));
                watched.finish(part.first, part.next, finishing.plugin);
                // What was skipped waits no longer.
                watched.not_before = Moment::default();
                if watched.budget.first.is_some_and(|first| first < part.next) {
                    watched.budget = Spent::default();
                }
            }
            let outside = |(at, offset): &(Place, i64)| *at != part.place || !(part.first..part.next).contains(offset);
            self.searched.retain(|name, _| outside(name));
            self.excused.retain(outside);
        }
    }

    pub(super) fn is_producing(&self, lane: Place) -> bool {
        self.productions.values().any(|finishing| finishing.lane == lane)
    }

    pub(super) fn see_produce(&mut self, production: &Production<Body>) -> Result<(), Violation> {
        let id = production.id;
        self.fresh_id(id)?;
        require!(!self.ending.left_ordered, "I-35", "{id:?} writes after leaving");
        require!(!production.letters.is_empty() || production.emitted_of.is_some(), "I-39", "{id:?} writes nothing");
        let topic = self.policy.dead_letters.is_some() || production.letters.is_empty();
        require!(topic, "D1", "{id:?} writes dead letters, and there is no place for them");
        for letter in &production.letters {
            self.see_letter(id, letter)?;
        }
        let finishing = match self.finishing.take() {
            Some(finishing) => self.see_effects(production, finishing)?,
            None => self.see_put_aside(production)?,
        };
        self.see_letter_runs(id, &finishing, production)?;
        let finishing = Finishing { letters: named(&production.letters), ..finishing };
        self.productions.insert(id, finishing);
        Ok(())
    }

    /// D3, D9: each letter is the record as it was read, and there is a reason to put it aside.
    fn see_letter(&self, id: RequestId, letter: &DeadLetter<Body>) -> Result<(), Violation> {
        let facts = &letter.record.facts;
        let at @ (here, offset) = (place(facts.partition), facts.offset.0);
        require!(letter.record.body == body(here, offset), "D3", "{id:?} writes another record than {here}:{offset}");
        let cap = self.policy.batch.record_bytes_max.get();
        let fits = match letter.verdict.class {
            LetterClass::Undecodable => facts.undecodable,
            LetterClass::TooLarge => !facts.undecodable && facts.bytes > cap,
            LetterClass::Rejected => self.finishing.as_ref().is_some_and(|finishing| finishing.rejected.contains(&at)),
            LetterClass::Fault(_) | LetterClass::Retries => self.condemned.contains(&at),
            LetterClass::Skipped => self.skipping,
        };
        require!(fits, "D3", "{id:?} puts {here}:{offset} aside as {:?}", letter.verdict.class);
        Ok(())
    }

    /// What an answer made is written, all of it and nothing else.
    fn see_effects(&mut self, production: &Production<Body>, finishing: Finishing) -> Result<Finishing, Violation> {
        let id = production.id;
        let emitted_of = finishing.delivery.filter(|_| finishing.emits);
        let emitted = production.emitted_of;
        require!(emitted == emitted_of, "D1", "{id:?} writes what {emitted:?} emitted, not {emitted_of:?}");
        let mut wanted = self.impossible_in(&finishing.parts);
        wanted.extend(&finishing.rejected);
        wanted.sort_unstable();
        let letters = named(&production.letters);
        require!(letters == wanted, "D1", "{id:?} puts {letters:?} aside, not {wanted:?}");
        Ok(finishing)
    }

    /// Records that no guest gets are put aside in their turn.
    fn see_put_aside(&mut self, production: &Production<Body>) -> Result<Finishing, Violation> {
        let id = production.id;
        require!(production.emitted_of.is_none(), "D1", "{id:?} writes what {:?} emitted", production.emitted_of);
        let mut parts: BTreeMap<Place, Part> = BTreeMap::new();
        for (here, offset) in named(&production.letters) {
            let Some(watched) = self.watched.get(&here) else {
                return Err(Violation { rule: "I-25", text: format!("{id:?} puts {here}:{offset} aside: not owned") });
            };
            let fresh = Part { place: here, assigned: watched.assigned, first: offset, next: offset, records: 0 };
            let part = parts.entry(here).or_insert(fresh);
            let due = if part.records == 0 { watched.due.unwrap_or(i64::MAX) } else { part.next };
            let next = watched.arrivals.iter().map(|arrival| arrival.offset).find(|arrived| *arrived >= due);
            require!(next == Some(offset), "I-11", "{id:?} puts {here}:{offset} aside, but {next:?} is due");
            part.next = offset + 1;
            part.records += 1;
        }
        let parts: Vec<Part> = parts.into_values().collect();
        let lane = self.lane(parts.first().map_or(0, |part| part.place));
        self.see_lane(lane, &parts, &format!("{id:?}"))?;
        for part in &parts {
            if let Some(watched) = self.watched.get_mut(&part.place) {
                watched.due = Some(part.next);
            }
        }
        let plugin = production.plugin;
        Ok(Finishing {
            lane,
            parts,
            plugin,
            delivery: None,
            rejected: Vec::new(),
            emits: false,
            letters: Vec::new(),
            batch: None,
        })
    }

    /// D8: no partition is drained into the dead-letter topic.
    fn see_letter_runs(
        &mut self,
        id: RequestId,
        finishing: &Finishing,
        production: &Production<Body>,
    ) -> Result<(), Violation> {
        let Some(policy) = self.policy.dead_letters else { return Ok(()) };
        let letters = named(&production.letters);
        for part in &finishing.parts {
            let Some(watched) = self.watched.get(&part.place) else { continue };
            let (counted, mut run) = watched.letters;
            let mut share = (0, 0);
            let first = part.first.max(counted);
            for arrival in watched.arrivals.iter().filter(|arrival| (first..part.next).contains(&arrival.offset)) {
                let aside = letters.contains(&(part.place, arrival.offset));
                run = if aside { run + 1 } else { 0 };
                share = (share.0 + 1, share.1 + u64::from(aside));
                let many = policy.consecutive_max.is_some_and(|max| run >= max.get());
                require!(!many, "D8", "{id:?} puts {run} records of {} in a row aside", part.place);
            }
            let many = policy.share_max.is_some_and(|max| is_too_large(&watched.shares, share, max));
            require!(!many, "D8", "{id:?} puts {share:?} records of {} aside, too large a share", part.place);
        }
        Ok(())
    }

    /// True when what waits to be put aside, with what was just before, reaches a limit in some partition.
    pub(super) fn are_letters_too_many(&self) -> bool {
        let Some(policy) = self.policy.dead_letters else { return false };
        let cap = self.policy.batch.record_bytes_max.get();
        let rejected = self.finishing.iter().flat_map(|finishing| &finishing.rejected);
        let rejected: Vec<&(Place, i64)> = rejected.collect();
        self.watched.iter().any(|(here, watched)| {
            let (counted, mut run) = watched.letters;
            let mut share = (0, 0);
            watched.arrivals.iter().filter(|arrival| arrival.offset >= counted).any(|arrival| {
                let at = (*here, arrival.offset);
                let aside = arrival.is_impossible(cap) || self.condemned.contains(&at) || rejected.contains(&&at);
                let aside = aside || self.skipping;
                run = if aside { run + 1 } else { 0 };
                share = (share.0 + 1, share.1 + u64::from(aside));
                policy.consecutive_max.is_some_and(|max| run >= max.get())
                    || policy.share_max.is_some_and(|max| is_too_large(&watched.shares, share, max))
            })
        })
    }

    pub(super) fn hear_produced(&mut self, id: RequestId, result: &Result<(), ProduceError>) {
        let Some(finishing) = self.productions.remove(&id) else { return };
        match result {
            Ok(()) => self.finish(&finishing),
            Err(error) => {
                if let Some((batch, _)) = finishing.batch {
                    self.excuse_rest(finishing.lane, batch);
                }
                for part in &finishing.parts {
                    if let Some(watched) =
                        self.watched.get_mut(&part.place).filter(|watched| watched.assigned == part.assigned)
                    {
                        watched.due = Some(part.first);
                        watched.failed = true;
                        watched.held |= matches!(error, ProduceError::Refused(_));
                    }
                }
                self.not_written |= matches!(error, ProduceError::Refused(_));
                self.block_after_failure(finishing.lane);
                if let Some((batch, records)) = finishing.batch {
                    self.fail_batch(batch, records);
                }
            }
        }
    }

    /// The rest of a batch that was done in part comes again behind that part, whatever had been decided about it.
    pub(super) fn excuse_rest(&mut self, lane: Place, batch: BatchId) {
        let rest = self.failed.get(&batch).into_iter().flatten().flat_map(|records| records.iter());
        let names = rest.map(|record| (place(record.facts.partition), record.facts.offset.0));
        let names: Vec<(Place, i64)> = names.collect();
        for name in names {
            self.excused.insert(name);
        }
        let by_partition = matches!(self.policy.scope, Scope::Partition { .. });
        for (here, watched) in self.watched.iter_mut().filter(|(here, _)| !by_partition || **here == lane) {
            if let Some(first) = watched.budget.first {
                self.excused.insert((*here, first));
            }
            watched.held &= watched.start.is_none();
            watched.not_before = Moment::default();
        }
    }

    /// A batch has to come again as it was.
    pub(super) fn fail_batch(&mut self, batch: BatchId, records: Arc<[Record<Body>]>) {
        self.failed.entry(batch).or_default().push(records);
    }

    /// A lane may only be held by what really happened.
    pub(super) fn see_held_letter(&self, reason: &HeldReason) -> Result<(), Violation> {
        let nowhere = self.policy.dead_letters.is_none();
        match reason {
            HeldReason::Undecodable { facts } => {
                require!(facts.undecodable && nowhere, "D1", "held as undecodable: {facts:?}");
            }
            HeldReason::Rejected { facts, .. } => {
                let at = (place(facts.partition), facts.offset.0);
                let rejected = self.finishing.as_ref().is_some_and(|finishing| finishing.rejected.contains(&at));
                require!(rejected && nowhere, "D1", "held as rejected: {facts:?}");
            }
            HeldReason::NotWritten { .. } => require!(self.not_written, "D2", "held as not written"),
            HeldReason::Fatal { .. }
            | HeldReason::Exhausted { .. }
            | HeldReason::RecordTooLarge { .. }
            | HeldReason::Offset { .. } => {}
        }
        Ok(())
    }
}

/// True when a batch that has dead letters, with as few batches before it as hold enough records to judge, has too large a share of dead letters.
fn is_too_large(before: &[(u64, u64)], batch: (u64, u64), max: Share) -> bool {
    let enough = u64::from(max.of_last.get());
    let (mut records, mut letters) = (0, 0);
    for share in std::iter::once(&batch).chain(before.iter().rev()) {
        if records >= enough {
            break;
        }
        records += share.0;
        letters += share.1;
    }
    batch.1 > 0 && records >= enough && letters * 1000 > records * u64::from(max.permille)
}

fn named(letters: &[DeadLetter<Body>]) -> Vec<(Place, i64)> {
    let name = |letter: &DeadLetter<Body>| (place(letter.record.facts.partition), letter.record.facts.offset.0);
    let mut names: Vec<_> = letters.iter().map(name).collect();
    names.sort_unstable();
    names
}
