//! What a plugin wants done before the commit: records put aside, records to be written, and how far it came.
//!
//! A batch collects these while the plugin works; what becomes of them hangs on the answer. Nothing here writes anything.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::batch::Record;
use crate::outcome::Outcome;

/// What the host shall do before it commits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Records put aside, in the order of the batch.
    pub rejected: Vec<Rejection>,
    /// Records to be written, in the order in which they were emitted.
    pub emitted: Vec<Emitted>,
}

impl Effects {
    /// Nothing but the commit.
    pub const NONE: Self = Self { rejected: Vec::new(), emitted: Vec::new() };
}

/// A record that was put aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Its index in the batch, from 0.
    pub index: usize,
    /// Why, for people.
    pub reason: String,
}

/// A record to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emitted {
    /// The name of a sink in the host's configuration.
    pub sink: String,
    /// The key. `None` is null.
    pub key: Option<Vec<u8>>,
    /// The value. `None` is null.
    pub value: Option<Vec<u8>>,
    /// The headers, in order, as name and value.
    pub headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// The partition to write to. `None`: chosen by the key.
    pub partition: Option<i32>,
    /// The index in the batch of the record that this one was made from.
    pub source: Option<usize>,
}

/// A finished beginning of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The first so many records are done.
    pub records: usize,
    /// Effects of these only.
    pub effects: Effects,
}

/// A record under construction, for [`Batch::emit`](crate::Batch::emit). Key and value are null until said otherwise.
///
/// ```
/// use gristmill_plugin::{Batch, Failure, OutputRecord};
///
/// fn process(batch: &Batch) -> Result<(), Failure> {
///     for record in batch {
///         let size = record.value().map_or(0, <[u8]>::len);
///         let line = OutputRecord::from(record).key(record.topic()).value(size.to_string()).header("unit", Some(b"bytes"));
///         batch.emit("sizes", line);
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug)]
#[must_use = "give it to `Batch::emit`"]
pub struct OutputRecord<'a> {
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    partition: Option<i32>,
    pub(crate) source: Option<Record<'a>>,
}

impl<'a> OutputRecord<'a> {
    /// A record that was made from no one record, such as a sum over many. Write `OutputRecord::from(record)` where there is one:
    /// it then shares that record's fate when only a part of the batch is done.
    pub fn new() -> Self {
        Self { key: None, value: None, headers: Vec::new(), partition: None, source: None }
    }

    /// A record with the key, value and headers of this one.
    pub fn copy_of(record: Record<'a>) -> Self {
        let own = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
        let headers = record.header_bytes().map(|(name, value)| (name.to_vec(), own(value))).collect();
        Self { key: own(record.key()), value: own(record.value()), headers, ..Self::from(record) }
    }

    /// Gives it a key.
    pub fn key(self, key: impl Into<Vec<u8>>) -> Self {
        Self { key: Some(key.into()), ..self }
    }

    /// Gives it a value.
    pub fn value(self, value: impl Into<Vec<u8>>) -> Self {
        Self { value: Some(value.into()), ..self }
    }

    /// Makes its value null, which by Kafka's habit means that the key is to be forgotten.
    pub fn tombstone(self) -> Self {
        Self { value: None, ..self }
    }

    /// Adds a header behind those that it has. A name may occur more than once; `None` is null.
    pub fn header(mut self, name: impl Into<Vec<u8>>, value: Option<&[u8]>) -> Self {
        self.headers.push((name.into(), value.map(<[u8]>::to_vec)));
        self
    }

    /// Takes all headers away.
    pub fn without_headers(self) -> Self {
        Self { headers: Vec::new(), ..self }
    }

    /// Says which partition it goes to. Otherwise the key chooses, as Java clients do.
    pub fn partition(self, partition: i32) -> Self {
        Self { partition: Some(partition), ..self }
    }

    fn emitted(self, sink: String, source: Option<usize>) -> Emitted {
        let Self { key, value, headers, partition, source: _ } = self;
        Emitted { sink, key, value, headers, partition, source }
    }
}

/// A record that was made from this one, of which it takes nothing over.
impl<'a> From<Record<'a>> for OutputRecord<'a> {
    fn from(record: Record<'a>) -> Self {
        Self { source: Some(record), ..Self::new() }
    }
}

impl Default for OutputRecord<'_> {
    fn default() -> Self {
        Self::new()
    }
}

/// What a batch has collected so far.
#[derive(Debug, Default)]
pub(crate) struct Collected(RefCell<Wishes>);

#[derive(Debug, Default)]
struct Wishes {
    rejected: BTreeMap<usize, String>,
    emitted: Vec<Emitted>,
    /// So many records of the batch are done.
    done: usize,
    /// How much had been emitted when that was said. What comes from no record is done with the rest before it.
    emitted_when_done: usize,
}

impl Collected {
    /// The first reason for a record counts: rejecting it again is no contradiction.
    pub(crate) fn reject(&self, index: usize, reason: String) {
        self.0.borrow_mut().rejected.entry(index).or_insert(reason);
    }

    pub(crate) fn emit(&self, sink: String, record: OutputRecord<'_>, source: Option<usize>) {
        self.0.borrow_mut().emitted.push(record.emitted(sink, source));
    }

    /// The first so many records are done. Progress does not shrink.
    pub(crate) fn done(&self, records: usize) {
        let mut wishes = self.0.borrow_mut();
        if records > wishes.done {
            (wishes.done, wishes.emitted_when_done) = (records, wishes.emitted.len());
        }
    }

    /// Puts what was collected into the answer that it belongs to.
    pub(crate) fn into_answer(self, outcome: Outcome) -> Outcome {
        let wishes = self.0.into_inner();
        match outcome {
            Outcome::Ok(Effects { mut rejected, mut emitted }) => {
                rejected.extend(wishes.rejected.into_iter().map(|(index, reason)| Rejection { index, reason }));
                emitted.extend(wishes.emitted);
                Outcome::Ok(Effects { rejected, emitted })
            }
            Outcome::Retryable { reason, after, completed: None, suspect } => {
                Outcome::Retryable { reason, after, completed: wishes.completed(), suspect }
            }
            other @ (Outcome::Retryable { .. } | Outcome::Fatal { .. }) => other,
        }
    }
}

impl Wishes {
    /// What is done, with its effects. Those of the rest are made again when the rest is handed over again.
    fn completed(mut self) -> Option<Progress> {
        let records = self.done;
        let rest = self.rejected.split_off(&records);
        drop(rest);
        let rejected = self.rejected.into_iter().map(|(index, reason)| Rejection { index, reason }).collect();
        let emitted = self.emitted.into_iter().enumerate();
        let emitted = emitted
            .filter(|(number, record)| {
                record.source.map_or(*number < self.emitted_when_done, |source| source < records)
            })
            .map(|(_, record)| record)
            .collect();
        (records > 0).then_some(Progress { records, effects: Effects { rejected, emitted } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Batch, Failure, Fixture, FixtureRecord, Retry, fatal, run_batch};

    fn three() -> Fixture {
        let record = |key: &str| FixtureRecord::new().key(key).value("v").header("h", None).header("h", Some(b"2"));
        Fixture::new().record(record("a")).record(record("b")).record(record("c"))
    }

    fn rejected(effects: &Effects) -> Vec<(usize, &str)> {
        effects.rejected.iter().map(|rejection| (rejection.index, rejection.reason.as_str())).collect()
    }

    fn effects(process: impl FnOnce(&Batch) -> Result<(), Failure>) -> Effects {
        match run_batch(process, three()) {
            Outcome::Ok(effects) => effects,
            other => panic!("not ok: {other:?}"),
        }
    }

    /// Does something to each record and fails at the third.
    fn progress(each: impl Fn(&Batch, Record<'_>)) -> Option<Progress> {
        let process = |batch: &Batch| -> Result<(), Failure> {
            batch.records().for_each(|record| each(batch, record));
            Err(Retry::now().because("down"))
        };
        match run_batch(process, three()) {
            Outcome::Retryable { completed, .. } => completed,
            other => panic!("not retryable: {other:?}"),
        }
    }

    #[test]
    fn what_is_rejected_comes_in_the_order_of_the_batch_and_the_first_reason_counts() {
        let effects = effects(|batch| {
            for record in batch.records().collect::<Vec<_>>().into_iter().rev() {
                batch.reject(record, format!("no {}", record.index()));
                batch.reject(record, "no again");
            }
            Ok(())
        });
        assert_eq!(rejected(&effects), [(0, "no 0"), (1, "no 1"), (2, "no 2")]);
    }

    #[test]
    fn a_copy_has_all_that_the_record_has_and_names_its_source() {
        let effects = effects(|batch| {
            let second = batch.record(1).unwrap();
            batch.emit("copies", OutputRecord::copy_of(second));
            batch.emit("bare", OutputRecord::from(second).key("").partition(4));
            batch.emit("forgotten", OutputRecord::copy_of(second).tombstone().without_headers());
            Ok(())
        });
        let headers = vec![(b"h".to_vec(), None), (b"h".to_vec(), Some(b"2".to_vec()))];
        let (key, value) = (Some(b"b".to_vec()), Some(b"v".to_vec()));
        let copy = Emitted { sink: "copies".into(), key, value, headers, partition: None, source: Some(1) };
        let bare = Emitted {
            sink: "bare".into(),
            key: Some(vec![]),
            value: None,
            headers: vec![],
            partition: Some(4),
            ..copy.clone()
        };
        let forgotten = Emitted { sink: "forgotten".into(), value: None, headers: vec![], ..copy.clone() };
        assert_eq!(effects.emitted, [copy, bare, forgotten]);
    }

    #[test]
    fn of_a_part_that_is_done_only_its_own_effects_are_kept() {
        let progress = progress(|batch, record| {
            batch.emit("out", OutputRecord::from(record).key("own"));
            batch.emit("out", OutputRecord::new().key("sum"));
            batch.reject(record, "no");
            if record.index() == 1 {
                batch.done_through(record);
            }
        });
        let Progress { records, effects } = progress.unwrap();
        let emitted: Vec<_> = effects.emitted.iter().map(|record| record.source).collect();
        assert_eq!((records, emitted), (2, vec![Some(0), None, Some(1), None]));
        assert_eq!(rejected(&effects), [(0, "no"), (1, "no")]);
    }

    #[test]
    fn what_is_emitted_from_a_done_record_counts_however_late_it_is_said() {
        let progress = progress(|batch, record| match record.index() {
            0 => batch.done_through(record),
            1 => batch.emit("out", OutputRecord::new()),
            _ => batch.emit("out", OutputRecord::from(batch.record(0).unwrap())),
        });
        let Progress { records, effects } = progress.unwrap();
        assert_eq!((records, effects.emitted.len(), effects.emitted[0].source), (1, 1, Some(0)));
    }

    #[test]
    fn progress_does_not_shrink_and_none_is_none() {
        let backwards = progress(|batch, record| batch.done_through(batch.record(2 - record.index()).unwrap()));
        assert_eq!(backwards.map(|progress| progress.records), Some(3));
        assert_eq!(progress(|batch, record| batch.reject(record, "no")), None);
    }

    #[test]
    fn with_fatal_nothing_is_done() {
        let process = |batch: &Batch| -> Result<(), Failure> {
            let first = batch.record(0).unwrap();
            batch.reject(first, "no");
            batch.done_through(first);
            Err(fatal("stop"))
        };
        assert_eq!(run_batch(process, three()), Outcome::Fatal { reason: "stop".into() });
    }

    #[test]
    #[should_panic(expected = "record fixture/0/0 is not one of this batch")]
    fn a_record_of_another_batch_is_noticed() {
        run_batch(
            |batch: &Batch| run_batch(|other: &Batch| other.reject(batch.record(0).unwrap(), "no"), three()),
            three(),
        );
    }
}
