//! When a batch is full: by records, by bytes. Its age is the lane's business, since only the lane knows the time.
//!
//! Counts a growing prefix of a lane's collected records. Knows sizes, not records.

use crate::io::ClosedBy;
use crate::policy::BatchLimits;
use crate::record::RecordFacts;

/// The batch that is being filled: how much of the lane's front belongs to it, and whether it is full.
#[derive(Clone, Debug, Default)]
pub(crate) struct Assembly {
    records: usize,
    bytes: u64,
    /// Bytes of its records that no guest gets.
    aside: u64,
    full: Option<ClosedBy>,
}

/// What became of a record that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offered {
    /// It belongs to the batch.
    Taken,
    /// It starts the next batch; this one is full (A3).
    NextBatch,
    /// It stands at the front, no guest can ever take it (A4), and there is no place to put it aside.
    Impossible,
}

impl Assembly {
    pub(crate) fn records(&self) -> usize {
        self.records
    }

    /// Why the batch is full, once it is.
    pub(crate) fn full(&self) -> Option<ClosedBy> {
        self.full
    }

    /// Offers the next collected record. `put_aside`: there is a place for records that no guest can take.
    pub(crate) fn offer(&mut self, facts: &RecordFacts, limits: &BatchLimits, put_aside: bool) -> Offered {
        if self.full.is_some() {
            return Offered::NextBatch;
        }
        let impossible = !limits.can_be_handed_over(facts);
        if self.records == 0 && impossible && !put_aside {
            return Offered::Impossible;
        }
        // What no guest gets takes no room there.
        let bytes = if impossible { 0 } else { facts.bytes };
        let bytes_max = limits.bytes_max.get();
        let wall = impossible && !put_aside;
        if self.records > 0 && (wall || self.bytes.saturating_add(bytes) > bytes_max) {
            self.full = Some(ClosedBy::Bytes);
            return Offered::NextBatch;
        }
        self.records += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        if impossible {
            self.aside = self.aside.saturating_add(facts.bytes);
        }
        if self.records >= limits.records_max.get() as usize {
            self.full = Some(ClosedBy::Records);
        } else if self.bytes.max(self.aside) >= bytes_max {
            // What is put aside has to be kept here as well: a batch of nothing else must not wait for its time while it fills the
            // memory that the next records would need (I-33).
            self.full = Some(ClosedBy::Bytes);
        }
        Offered::Taken
    }
}

#[cfg(test)]
mod tests {
    use std::num::{NonZeroU32, NonZeroU64};
    use std::time::Duration;

    use super::*;
    use crate::record::{Epoch, Offset, Partition, Topic};

    fn limits(records: u32, bytes: u64) -> BatchLimits {
        BatchLimits {
            records_max: NonZeroU32::new(records).unwrap(),
            bytes_max: NonZeroU64::new(bytes).unwrap(),
            wait_max: Duration::from_secs(1),
            record_bytes_max: NonZeroU64::new(1_000).unwrap(),
        }
    }

    fn record(bytes: u64) -> RecordFacts {
        let partition = Partition { topic: Topic(0), number: 0 };
        let (offset, epoch) = (Offset(0), Epoch(1));
        RecordFacts { partition, offset, epoch, leader_epoch: None, bytes, undecodable: false }
    }

    fn offer(assembly: &mut Assembly, bytes: u64, limits: &BatchLimits) -> Offered {
        assembly.offer(&record(bytes), limits, false)
    }

    #[test]
    fn a2_the_last_record_fills_the_batch_at_once() {
        let mut assembly = Assembly::default();
        for _ in 0..2 {
            assert_eq!(offer(&mut assembly, 10, &limits(3, 100)), Offered::Taken);
            assert_eq!(assembly.full(), None);
        }
        assert_eq!(offer(&mut assembly, 10, &limits(3, 100)), Offered::Taken);
        assert_eq!(assembly.full(), Some(ClosedBy::Records));
        assert_eq!(offer(&mut assembly, 10, &limits(3, 100)), Offered::NextBatch);
    }

    #[test]
    fn a3_a_record_that_would_exceed_the_bytes_starts_the_next_batch() {
        let mut assembly = Assembly::default();
        assert_eq!(offer(&mut assembly, 60, &limits(10, 100)), Offered::Taken);
        assert_eq!(offer(&mut assembly, 41, &limits(10, 100)), Offered::NextBatch);
        assert_eq!((assembly.records(), assembly.bytes, assembly.full()), (1, 60, Some(ClosedBy::Bytes)));
    }

    #[test]
    fn a4_a_single_record_above_the_batch_limit_travels_alone() {
        let mut assembly = Assembly::default();
        assert_eq!(offer(&mut assembly, 500, &limits(10, 100)), Offered::Taken);
        assert_eq!(assembly.full(), Some(ClosedBy::Bytes));
    }

    #[test]
    fn a4_a_record_above_the_hard_cap_is_never_taken() {
        let mut assembly = Assembly::default();
        assert_eq!(offer(&mut assembly, 1_001, &limits(10, 5_000)), Offered::Impossible);
        assert_eq!(offer(&mut assembly, 10, &limits(10, 5_000)), Offered::Taken);
        assert_eq!(offer(&mut assembly, 1_001, &limits(10, 5_000)), Offered::NextBatch);
        assert_eq!(assembly.full(), Some(ClosedBy::Bytes));
    }

    #[test]
    fn what_no_guest_can_take_stays_in_the_batch_where_it_can_be_put_aside() {
        let undecodable = RecordFacts { undecodable: true, ..record(50) };
        let mut assembly = Assembly::default();
        for facts in [undecodable, record(60)] {
            assert_eq!(assembly.offer(&facts, &limits(10, 100), true), Offered::Taken);
        }
        assert_eq!((assembly.records(), assembly.bytes), (2, 60), "it takes no room at the guest");
        assert_eq!(Assembly::default().offer(&undecodable, &limits(10, 100), false), Offered::Impossible);
    }

    /// They take no room at the guest, but they do here, and what is fetched is bounded (I-33).
    #[test]
    fn a4_i33_records_that_are_put_aside_close_a_batch_by_their_bytes_too() {
        let undecodable = RecordFacts { undecodable: true, ..record(60) };
        let mut assembly = Assembly::default();
        assert_eq!(assembly.offer(&undecodable, &limits(10, 100), true), Offered::Taken);
        assert_eq!((assembly.offer(&record(99), &limits(10, 100), true), assembly.full()), (Offered::Taken, None));
        assert_eq!(assembly.offer(&undecodable, &limits(10, 100), true), Offered::Taken);
        assert_eq!((assembly.records(), assembly.full()), (3, Some(ClosedBy::Bytes)));
        assert_eq!(assembly.offer(&record(1), &limits(10, 100), true), Offered::NextBatch);
    }
}
