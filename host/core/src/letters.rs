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
    /// Records and dead letters of the last batches, the oldest first.
    window: VecDeque<(u64, u64)>,
    records: u64,
    letters: u64,
}

impl LetterCount {
    /// Counts the records of one batch in their order, true for each that became a dead letter. Tells in numbers when those
    /// are too many.
    pub(crate) fn add(
        &mut self,
        batch: impl Iterator<Item = (Offset, bool)>,
        policy: &DeadLetterPolicy,
    ) -> Option<String> {
        let (mut records, mut letters) = (0, 0);
        let mut longest = 0;
        for (offset, is_letter) in batch {
            if !self.counted.is_none_or(|next| next.reaches(offset)) {
                continue;
            }
            self.counted = Some(offset.next());
            records += 1;
            letters += u64::from(is_letter);
            self.consecutive = if is_letter { self.consecutive.saturating_add(1) } else { 0 };
            longest = longest.max(self.consecutive);
        }
        self.window.push_back((records, letters));
        self.records += records;
        self.letters += letters;
        self.forget_what_is_old(policy);
        if let Some(max) = policy.consecutive_max
            && longest >= max.get()
        {
            return Some(format!("{longest} records in a row became dead letters, {max} are too many"));
        }
        let share = policy.share_max?;
        let judged = self.records >= u64::from(share.of_last.get());
        let many = self.letters.saturating_mul(1000) > self.records.saturating_mul(u64::from(share.permille));
        (judged && many).then(|| {
            let percent = f64::from(share.permille) / 10.0;
            format!("{} of the last {} records became dead letters, more than {percent} %", self.letters, self.records)
        })
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

    fn batch(from: i64, letters: &[bool]) -> impl Iterator<Item = (Offset, bool)> {
        (from..).map(Offset).zip(letters.iter().copied())
    }

    #[test]
    fn d8_so_many_in_a_row_are_too_many_wherever_the_batches_are_cut() {
        let policy = policy(3, 0, 0);
        let mut count = LetterCount::default();
        assert_eq!(count.add(batch(0, &[true, true, false, true]), &policy), None);
        assert_eq!(count.add(batch(4, &[true, false]), &policy), None);
        assert_eq!(count.add(batch(6, &[true, true]), &policy), None);
        assert_eq!(count.add(batch(6, &[true, true]), &policy), None, "read again");
        let words = count.add(batch(8, &[true, false]), &policy);
        assert_eq!(words.as_deref(), Some("3 records in a row became dead letters, 3 are too many"));
    }

    #[test]
    fn d8_a_share_is_judged_over_the_last_records_and_over_no_fewer() {
        let policy = policy(0, 500, 4);
        let mut count = LetterCount::default();
        assert_eq!(count.add(batch(0, &[true, true, true]), &policy), None, "too few to judge");
        let words = count.add(batch(3, &[false]), &policy);
        assert_eq!(words.as_deref(), Some("3 of the last 4 records became dead letters, more than 50 %"));
        assert_eq!(count.add(batch(4, &[false, false, true]), &policy), None, "the first three are forgotten");
        assert_eq!((count.records, count.letters), (4, 1));
    }

    #[test]
    fn d8_without_limits_nothing_is_too_many_and_nothing_is_kept() {
        let mut count = LetterCount::default();
        for round in 0..10 {
            assert_eq!(count.add(batch(round * 1000, &[true; 1000]), &policy(0, 0, 0)), None);
        }
        assert!(count.window.is_empty());
    }
}
