//! The judge over the whole group: reads only what the broker stored and what guests finished.
//!
//! Must not know anything a member believes.

use crate::broker::{Broker, Entry, Log};
use crate::names::{Life, Place, Violation, require};

/// What became of one record.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    /// Some guest finished it.
    done: bool,
    /// The guest that did made another record of it.
    needs_output: bool,
    /// That one is written.
    output: bool,
    /// Its dead letter is.
    lettered: bool,
}

/// What independent observers saw of one partition.
#[derive(Debug, Default)]
struct Page {
    /// For each entry of the log: what became of it.
    fates: Vec<Fate>,
    /// Where the first owner started when nothing was committed; records before it are nobody's business.
    floor: Option<i64>,
    /// Everything before was checked.
    checked: i64,
    /// Highest position that a member committed.
    highest: Option<i64>,
    /// Hand-overs of records that a guest had finished before.
    repeats: u64,
    handed: u64,
}

/// The whole group's pages.
#[derive(Debug)]
pub(crate) struct Ledger {
    pages: Vec<Page>,
    pub(crate) commits: u64,
}

impl Ledger {
    pub(crate) fn new(partitions: usize) -> Self {
        Self { pages: (0..partitions).map(|_| Page::default()).collect(), commits: 0 }
    }

    /// A record was handed over.
    pub(crate) fn handed(&mut self, place: Place, log: &Log, offset: i64) {
        let page = &mut self.pages[place];
        page.handed += 1;
        page.repeats += u64::from(page.fates.get(log.at(offset)).is_some_and(|fate| fate.done));
    }

    fn fate(&mut self, place: Place, log: &Log, offset: i64) -> &mut Fate {
        let at = log.at(offset);
        let page = &mut self.pages[place];
        if page.fates.len() <= at {
            page.fates.resize(at + 1, Fate::default());
        }
        &mut page.fates[at]
    }

    /// A guest finished a record.
    pub(crate) fn done(&mut self, place: Place, log: &Log, offset: i64, needs_output: bool) {
        let fate = self.fate(place, log, offset);
        (fate.done, fate.needs_output) = (true, needs_output);
    }

    /// The dead letter of a record is written.
    pub(crate) fn lettered(&mut self, place: Place, log: &Log, offset: i64) {
        self.fate(place, log, offset).lettered = true;
    }

    /// What a guest made of a record is written. Of what no guest finished nothing may be.
    pub(crate) fn output(&mut self, place: Place, log: &Log, offset: i64) -> Result<(), Violation> {
        let fate = self.fate(place, log, offset);
        require!(fate.done, "D1", "what was made of {place}:{offset} is written, and no guest finished it");
        fate.output = true;
        Ok(())
    }

    /// An owner starts where nothing is committed; `start` is the resolved reset policy.
    pub(crate) fn started(&mut self, place: Place, start: i64) {
        let page = &mut self.pages[place];
        if page.highest.is_none() {
            page.floor = Some(start);
            page.checked = page.checked.max(start);
        }
    }

    /// The operator moved the committed offset; what expired before it is nobody's business.
    pub(crate) fn moved_by_operator(&mut self, place: Place, next: i64) {
        let page = &mut self.pages[place];
        page.floor = Some(page.floor.map_or(next, |floor| floor.max(next)));
    }

    /// The broker stored a commit: I-01, I-04, I-24.
    pub(crate) fn committed(
        &mut self,
        place: Place,
        log: &Log,
        next: i64,
        by: Life,
        holder: Option<Life>,
    ) -> Result<(), Violation> {
        self.commits += 1;
        let page = &mut self.pages[place];
        require!(holder == Some(by), "I-24", "{by:?} committed {next} on {place}, which {holder:?} holds");
        let highest = page.highest.unwrap_or(i64::MIN);
        require!(next >= highest, "I-04", "{by:?} moved {place} back from {highest} to {next}");
        require!(next <= log.high, "C1", "{by:?} committed {next} on {place} behind the end {}", log.high);
        page.highest = Some(next);
        let from = page.checked.max(page.floor.unwrap_or(0));
        for at in log.at(from)..log.at(next) {
            let entry = &log.entries[at];
            let excused = entry.compacted || entry.offset < log.low;
            let fate = page.fates.get(at).copied().unwrap_or_default();
            let done = fate.lettered || (fate.done && (fate.output || !fate.needs_output));
            require!(done || excused, "I-01", "{by:?} committed {next} on {place}, but {}: {fate:?}", entry.offset);
        }
        page.checked = page.checked.max(next);
        Ok(())
    }

    /// True when everything that has to be committed is. `cap`: a record that no guest can take is a wall; `None` where such a
    /// record is put aside.
    pub(crate) fn is_complete(&self, broker: &Broker, cap: Option<u64>) -> bool {
        (0..self.pages.len()).all(|place| self.missing(place, broker, cap).is_none())
    }

    /// I-40: everything is committed, or blocked by a record that no plugin can take.
    pub(crate) fn audit(&self, broker: &Broker, cap: Option<u64>) -> Result<(), Violation> {
        for place in 0..self.pages.len() {
            if let Some(text) = self.missing(place, broker, cap) {
                return Err(Violation { rule: "I-40", text });
            }
        }
        Ok(())
    }

    fn missing(&self, place: Place, broker: &Broker, cap: Option<u64>) -> Option<String> {
        let log = &broker.logs[place];
        let Some(committed) = broker.committed[place] else {
            return Some(format!("nothing was ever committed on {place} (C8)"));
        };
        let floor = self.pages[place].floor.unwrap_or(0);
        let readable = |offset: i64| offset >= log.low.max(floor).max(committed);
        let blocks = |entry: &&Entry| cap.is_some_and(|cap| entry.bytes > cap || entry.undecodable);
        let wall = log.entries.iter().filter(blocks).find(|entry| readable(entry.offset) && !entry.compacted);
        let end = wall.map_or(log.high, |entry| entry.offset);
        let left = log.entries.iter().find(|entry| readable(entry.offset) && !entry.compacted && entry.offset < end);
        let Some(left) = left else {
            let passed = wall.is_some() || committed >= log.high;
            return (!passed).then(|| {
                format!("{place} stands at {committed}; no record waits, the log ends at {} (C10)", log.high)
            });
        };
        Some(format!("{place} stands at {committed}; {} waits, the log ends at {}", left.offset, log.high))
    }

    /// Hand-overs, and how many of them were of records finished before.
    pub(crate) fn totals(&self) -> (u64, u64) {
        (self.pages.iter().map(|page| page.handed).sum(), self.pages.iter().map(|page| page.repeats).sum())
    }
}
