//! How many dead letters a partition made lately: so many that something else must be wrong, or not (D8).
//!
//! Counts records that left the host for good, dead letters or not. Knows no records.

use std::collections::VecDeque;

use crate::policy::DeadLetterPolicy;
use crate::record::{NextOffset, Offset};

/// One partition's count.
#[derive(Clone, Debug, Default)]
pub(crate) struct LetterCount {
    /// Records before this were counted: what is read again is not counted again.
    counted: Option<NextOffset>,
    /// Dead letters since the last record that was none.
    consecutive: u32,
    /// Records and dead letters of the last batches that had any record, the oldest first.
    window: VecDeque<(u64, u64)>,
    records: u64,
    letters: u64,
}

/// What one batch adds to a partition's count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    counted: Option<NextOffset>,
    consecutive: u32,
    /// The most dead letters in a row.
    longest: u32,
    records: u64,
    letters: u64,
}

impl Tally {
    /// Counts one record, true where it becomes a dead letter. Records come in their order.
    pub(crate) fn add(&mut self, offset: Offset, is_letter: bool) {
        if !self.counts(offset) {
            return;
        }
        self.counted = Some(offset.next());
        self.records += 1;
        self.letters += u64::from(is_letter);
        self.consecutive = if is_letter { self.consecutive.saturating_add(1) } else { 0 };
        self.longest = self.longest.max(self.consecutive);
    }

    /// Counts so many records that lie before `next` and none of which becomes a dead letter. The first was not counted yet.
    pub(crate) fn add_good(&mut self, records: u64, next: NextOffset) {
        self.counted = Some(next);
        self.records += records;
        self.consecutive = 0;
    }

    /// True when a record, and whatever lies behind it, was not counted yet.
    pub(crate) fn counts(&self, offset: Offset) -> bool {
        self.counted.is_none_or(|next| next.reaches(offset))
    }
}

impl LetterCount {
    /// The tally of a batch, before its first record.
    pub(crate) fn begin(&self) -> Tally {
        Tally { counted: self.counted, consecutive: self.consecutive, ..Tally::default() }
    }

    /// Tells in numbers when the dead letters are too many, those of a batch included that is not added yet. A batch without
    /// any is never one too many, though it may be the one with which there are records enough to judge.
    pub(crate) fn too_many(&self, batch: &Tally, policy: &DeadLetterPolicy) -> Option<String> {
        if batch.letters == 0 {
            return None;
        }
        if let Some(max) = policy.consecutive_max
            && batch.longest >= max.get()
        {
            return Some(format!("{} records in a row became dead letters, {max} are too many", batch.longest));
        }
        let share = policy.share_max?;
        let (mut records, mut letters) = (self.records + batch.records, self.letters + batch.letters);
        for (old_records, old_letters) in &self.window {
            if records - old_records < u64::from(share.of_last.get()) {
                break;
            }
            records -= old_records;
            letters -= old_letters;
        }
        let judged = records >= u64::from(share.of_last.get());
        let many = letters.saturating_mul(1000) > records.saturating_mul(u64::from(share.permille));
        (judged && many).then(|| {
            let percent = f64::from(share.permille) / 10.0;
            format!("{letters} of the last {records} records became dead letters, more than {percent} %")
        })
    }

    /// Adds a batch that is done.
    pub(crate) fn add(&mut self, batch: &Tally, policy: &DeadLetterPolicy) {
        if batch.records == 0 {
            return;
        }
        self.counted = batch.counted;
        self.consecutive = batch.consecutive;
        self.window.push_back((batch.records, batch.letters));
        self.records += batch.records;
        self.letters += batch.letters;
        self.forget_what_is_old(policy);
    }

    fn forget_what_is_old(&mut self, policy: &DeadLetterPolicy) {
        let enough = policy.share_max.map_or(0, |share| u64::from(share.of_last.get()));
        while let Some((records, letters)) = self.window.front().copied()
            && self.records - records >= enough
        {
            self.window.pop_front();
            self.records -= records;
            self.letters -= letters;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::policy::Share;

    fn policy(consecutive: u32, permille: u32, of_last: u32) -> DeadLetterPolicy {
        let share = NonZeroU32::new(of_last).map(|of_last| Share { permille, of_last });
        DeadLetterPolicy { consecutive_max: NonZeroU32::new(consecutive), share_max: share }
    }

    /// Counts a batch, and tells when its dead letters are too many.
    fn count(count: &mut LetterCount, from: i64, letters: &[bool], policy: &DeadLetterPolicy) -> Option<String> {
        let mut tally = count.begin();
        for (offset, is_letter) in (from..).map(Offset).zip(letters) {
            tally.add(offset, *is_letter);
        }
        let words = count.too_many(&tally, policy);
        count.add(&tally, policy);
        words
    }

    #[test]
    fn d8_so_many_in_a_row_are_too_many_wherever_the_batches_are_cut() {
        let policy = policy(3, 0, 0);
        let mut letters = LetterCount::default();
        assert_eq!(count(&mut letters, 0, &[true, true, false, true], &policy), None);
        assert_eq!(count(&mut letters, 4, &[true, false], &policy), None);
        assert_eq!(count(&mut letters, 6, &[true, true], &policy), None);
        assert_eq!(count(&mut letters, 6, &[true, true], &policy), None, "read again");
        let words = count(&mut letters, 8, &[true, false], &policy);
        assert_eq!(words.as_deref(), Some("3 records in a row became dead letters, 3 are too many"));
    }

    #[test]
    fn d8_a_share_is_judged_over_the_last_records_and_over_no_fewer() {
        let policy = policy(0, 500, 4);
        let mut letters = LetterCount::default();
        assert_eq!(count(&mut letters, 0, &[true, true, true], &policy), None, "too few to judge");
        assert_eq!(count(&mut letters, 3, &[false], &policy), None, "a good record is not one too many");
        let words = count(&mut letters.clone(), 4, &[true], &policy);
        assert_eq!(words.as_deref(), Some("4 of the last 5 records became dead letters, more than 50 %"));
        assert_eq!(count(&mut letters, 4, &[false, false, true], &policy), None, "the first three are forgotten");
        assert_eq!((letters.records, letters.letters), (4, 1));
    }

    #[test]
    fn d8_without_limits_nothing_is_too_many_and_nothing_is_kept() {
        let mut letters = LetterCount::default();
        for round in 0..10 {
            assert_eq!(count(&mut letters, round * 1000, &[true; 1000], &policy(0, 0, 0)), None);
        }
        assert!(letters.window.is_empty());
    }

    #[test]
    fn d8_records_that_are_counted_at_once_count_as_one_by_one() {
        let policy = policy(3, 500, 4);
        let (mut at_once, mut one_by_one) = (LetterCount::default(), LetterCount::default());
        assert_eq!(count(&mut at_once, 0, &[true, true], &policy), None);
        assert_eq!(count(&mut one_by_one, 0, &[true, true], &policy), None);
        let mut tally = at_once.begin();
        assert!(tally.counts(Offset(2)) && !tally.counts(Offset(1)));
        tally.add_good(3, NextOffset(5));
        at_once.add(&tally, &policy);
        assert_eq!(count(&mut one_by_one, 2, &[false; 3], &policy), None);
        assert_eq!(format!("{at_once:?}"), format!("{one_by_one:?}"));
    }

    #[test]
    fn d8_a_batch_that_was_counted_before_adds_nothing() {
        let policy = policy(0, 500, 4);
        let mut letters = LetterCount::default();
        assert_eq!(count(&mut letters, 0, &[true, false], &policy), None);
        for _ in 0..100 {
            assert_eq!(count(&mut letters, 0, &[true, true], &policy), None);
        }
        assert_eq!((letters.window.len(), letters.records, letters.letters), (1, 2, 1));
    }
}
