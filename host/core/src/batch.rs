//! A closed batch: its records, which of them a guest gets, and which part of each partition they are.

use std::sync::Arc;

use crate::io::{BatchId, ClosedBy, DeadLetter, LetterClass, Place, PluginId, Verdict};
use crate::outcome::Rejection;
use crate::record::{Epoch, LeaderEpoch, NextOffset, Offset, Partition, Record, RecordFacts};

/// A closed batch. Its records never change, so that a redelivery is the same batch byte for byte (A10).
#[derive(Clone, Debug)]
pub(crate) struct Batch<R> {
    pub(crate) id: BatchId,
    /// All of them.
    pub(crate) records: Arc<[Record<R>]>,
    /// Those that a guest gets; the others become dead letters. The same list where there are no others.
    pub(crate) handed: Arc<[Record<R>]>,
    /// Of those that a guest gets.
    pub(crate) bytes: u64,
    pub(crate) closed_by: ClosedBy,
    /// One for each partition in the batch, in order of first appearance.
    pub(crate) spans: Vec<Span>,
    /// True: cut out of a larger one that failed to the last.
    pub(crate) part: bool,
    /// Set while such a part is handed over to find the record that fails.
    pub(crate) search: Option<Search>,
    /// The number of its last hand-over since the last progress. 0: there was none.
    pub(crate) attempt: u32,
    /// Set once all of it is to be put aside.
    condemned: Option<Box<Condemned<R>>>,
}

/// Why no guest gets any more what one could have got.
#[derive(Clone, Debug)]
struct Condemned<R> {
    verdict: Verdict,
    /// The version that had its last try.
    plugin: PluginId,
    /// Whom the verdict is about.
    records: Arc<[Record<R>]>,
}

/// The search for the record that a batch fails on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Search {
    pub(crate) over: Over,
    /// How many records each batch and part handed over that failed to the last, the whole batch first.
    pub(crate) path: Vec<u32>,
}

/// Which failure is searched for: any other is met as if nobody searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Faults,
    Retries,
}

/// The part of one partition that a batch holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) partition: Partition,
    /// The assignment under which the records were read. A later owner of the same number is somebody else.
    pub(crate) assigned: Epoch,
    /// Offset of its first record: where a rewind has to lead.
    pub(crate) first: Offset,
    pub(crate) last: Offset,
    /// What a commit says once the batch is done (C1).
    pub(crate) next: NextOffset,
    pub(crate) leader_epoch: Option<LeaderEpoch>,
    pub(crate) records: u64,
}

impl<R: Clone> Batch<R> {
    /// Closes a batch over `records`, of which a guest gets those that `takes` says; `assigned` tells the assignment of each
    /// partition in it.
    pub(crate) fn close(
        id: BatchId,
        records: Vec<Record<R>>,
        closed_by: ClosedBy,
        takes: impl Fn(&RecordFacts) -> bool,
        assigned: impl Fn(Partition) -> Option<Epoch>,
    ) -> Self {
        let spans = spans(&records, assigned);
        let records: Arc<[Record<R>]> = records.into();
        let handed = if records.iter().all(|record| takes(&record.facts)) {
            Arc::clone(&records)
        } else {
            records.iter().filter(|record| takes(&record.facts)).cloned().collect()
        };
        let bytes = bytes(&handed);
        Self { id, records, handed, bytes, closed_by, spans, part: false, search: None, attempt: 0, condemned: None }
    }

    /// The batch without the partitions that `keep` rejects. `None` when nothing is left.
    pub(crate) fn retain(self, keep: impl Fn(&Span) -> bool) -> Option<Self> {
        let kept: Vec<Span> = self.spans.iter().filter(|span| keep(span)).copied().collect();
        if kept.len() == self.spans.len() {
            return Some(self);
        }
        if kept.is_empty() {
            return None;
        }
        let stay = |records: &[Record<R>]| -> Vec<Record<R>> {
            let stays = |record: &&Record<R>| kept.iter().any(|span| span.partition == record.facts.partition);
            records.iter().filter(stays).cloned().collect()
        };
        let mut left = self.with(stay(&self.records), stay(&self.handed));
        left.condemned.iter_mut().for_each(|condemned| condemned.records = stay(&condemned.records).into());
        Some(left)
    }

    /// Cuts the batch behind so many of the records that a guest gets: in each partition behind the last of those (R7). A
    /// record that none gets goes with the next of its partition that one does. A side is `None` when nothing is on it.
    pub(crate) fn split(self, handed: usize) -> (Option<Self>, Option<Self>) {
        if handed == 0 {
            return (None, Some(self));
        }
        if handed >= self.handed.len() {
            return (Some(self), None);
        }
        let mut last: Vec<(Partition, Offset)> = Vec::new();
        for record in &self.handed[..handed] {
            let facts = &record.facts;
            match last.iter_mut().find(|(partition, _)| *partition == facts.partition) {
                Some((_, offset)) => *offset = facts.offset,
                None => last.push((facts.partition, facts.offset)),
            }
        }
        let is_left = |record: &&Record<R>| {
            last.iter()
                .any(|(partition, offset)| *partition == record.facts.partition && record.facts.offset <= *offset)
        };
        let (left, right) = self.records.iter().partition::<Vec<&Record<R>>, _>(is_left);
        let cloned = |records: Vec<&Record<R>>| records.into_iter().cloned().collect();
        let left = self.with(cloned(left), self.handed[..handed].to_vec());
        let right = self.with(cloned(right), self.handed[handed..].to_vec());
        (Some(left), Some(right))
    }

    /// The same batch with these of its records only.
    fn with(&self, records: Vec<Record<R>>, handed: Vec<Record<R>>) -> Self {
        let assigned = |partition| self.spans.iter().find(|span| span.partition == partition).map(|span| span.assigned);
        let (spans, bytes) = (spans(&records, assigned), bytes(&handed));
        Self { records: records.into(), handed: handed.into(), bytes, spans, ..self.clone() }
    }

    /// Nothing of it is handed over any more: all of it becomes dead letters, after the last try of `plugin`. The first verdict
    /// stays.
    pub(crate) fn condemn(self, class: LetterClass, reason: &str, plugin: PluginId) -> Self {
        if self.condemned.is_some() {
            return self;
        }
        let verdict = Verdict { path: self.path(), ..Verdict::of(class, reason, self.attempt) };
        let condemned = Some(Box::new(Condemned { verdict, plugin, records: Arc::clone(&self.handed) }));
        Self { handed: Arc::new([]), bytes: 0, condemned, search: None, ..self }
    }

    /// The same for an operator's reason, of a batch that was held because of what was `said`.
    pub(crate) fn skip(self, reason: &str, said: Option<&str>, plugin: PluginId) -> Self {
        if self.condemned.is_some() {
            return self;
        }
        let mut skipped = self.condemn(LetterClass::Skipped, reason, plugin);
        if let Some(condemned) = &mut skipped.condemned {
            condemned.verdict.said = said.map(str::to_owned);
        }
        skipped
    }

    /// The version whose last try condemned it.
    pub(crate) fn condemned_after(&self) -> Option<PluginId> {
        self.condemned.as_ref().map(|condemned| condemned.plugin)
    }

    /// How many records were handed over in each failed attempt of a search that ends with this one; this one alone where
    /// nobody searched.
    pub(crate) fn path(&self) -> Vec<u32> {
        let before = self.search.as_ref().map_or(&[][..], |search| &search.path);
        before.iter().copied().chain([u32::try_from(self.handed.len()).unwrap_or(u32::MAX)]).collect()
    }

    /// What becomes dead letters once the batch is done, in its order. `rejected` are indexes of what was handed over.
    pub(crate) fn letters(&self, rejected: &[Rejection]) -> Vec<DeadLetter<R>> {
        if rejected.is_empty() && self.handed.len() == self.records.len() {
            return Vec::new();
        }
        let mut rejected: Vec<&Rejection> = rejected.iter().collect();
        rejected.sort_unstable_by_key(|rejection| rejection.index);
        let mut rejected = rejected.into_iter().peekable();
        let mut handed = self.handed.iter().zip(0_u32..).peekable();
        let condemned = self.condemned.iter();
        let mut condemned = condemned.flat_map(|it| it.records.iter().map(|record| (&it.verdict, record))).peekable();
        let mut letters = Vec::new();
        for record in &*self.records {
            let verdict = if let Some((_, index)) = handed.next_if(|(next, _)| is_same(next, record)) {
                rejected
                    .next_if(|rejection| rejection.index == index)
                    .map(|rejection| Verdict::of(LetterClass::Rejected, &rejection.reason, self.attempt))
            } else if let Some((verdict, _)) = condemned.next_if(|(_, next)| is_same(next, record)) {
                Some(verdict.clone())
            } else {
                let undecodable = record.facts.undecodable;
                let class = if undecodable { LetterClass::Undecodable } else { LetterClass::TooLarge };
                Some(Verdict::of(class, "", 0))
            };
            letters.extend(verdict.map(|verdict| DeadLetter { record: record.clone(), verdict }));
        }
        letters
    }

    /// For each of its records: the index of its span.
    pub(crate) fn spans_of_records(&self) -> impl Iterator<Item = usize> {
        let mut at = 0;
        self.records.iter().map(move |record| {
            // Records come in runs of one partition: look at the last span first.
            if !self.spans[at].holds(&record.facts) {
                at = self.spans.iter().position(|span| span.holds(&record.facts)).unwrap_or(at);
            }
            at
        })
    }

    /// Where its records lie.
    pub(crate) fn places(&self) -> Vec<Place> {
        self.spans.iter().map(|&Span { partition, first, last, .. }| Place { partition, first, last }).collect()
    }
}

impl Span {
    pub(crate) fn holds(&self, facts: &RecordFacts) -> bool {
        self.partition == facts.partition
    }
}

impl<R> Batch<R> {
    pub(crate) fn covers(&self, partition: Partition) -> bool {
        self.spans.iter().any(|span| span.partition == partition)
    }
}

impl Verdict {
    pub(crate) fn of(class: LetterClass, reason: &str, attempts: u32) -> Self {
        Self { class, reason: reason.to_owned(), said: None, attempts, path: Vec::new() }
    }
}

/// True when both are the same record of the log.
pub(crate) fn is_same<R>(one: &Record<R>, other: &Record<R>) -> bool {
    (one.facts.partition, one.facts.offset) == (other.facts.partition, other.facts.offset)
}

fn bytes<R>(records: &[Record<R>]) -> u64 {
    records.iter().map(|record| record.facts.bytes).sum()
}

fn spans<R>(records: &[Record<R>], assigned: impl Fn(Partition) -> Option<Epoch>) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut at = 0;
    for record in records {
        let facts = &record.facts;
        // Records come in runs of one partition: look at the last span first.
        if spans.get(at).is_none_or(|span| span.partition != facts.partition) {
            at = spans.iter().position(|span| span.partition == facts.partition).unwrap_or(spans.len());
        }
        if at == spans.len() {
            spans.push(Span {
                partition: facts.partition,
                assigned: assigned(facts.partition).unwrap_or(facts.epoch),
                first: facts.offset,
                last: facts.offset,
                next: facts.offset.next(),
                leader_epoch: facts.leader_epoch,
                records: 0,
            });
        }
        let span = &mut spans[at];
        span.last = facts.offset;
        span.next = facts.offset.next();
        span.leader_epoch = facts.leader_epoch;
        span.records += 1;
    }
    spans
}
