//! When a batch is full: by records, by bytes. Its age is the lane's business, since only the lane knows the time.
//!
//! Counts a growing prefix of a lane's collected records. Knows sizes, not records.

use crate::io::ClosedBy;
use crate::policy::BatchLimits;

/// The batch that is being filled: how much of the lane's front belongs to it, and whether it is full.
#[derive(Clone, Debug, Default)]
pub(crate) struct Assembly {
    records: usize,
    bytes: u64,
    full: Option<ClosedBy>,
}

/// What became of a record that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offered {
    /// It belongs to the batch.
    Taken,
    /// It starts the next batch; this one is full (A3).
    NextBatch,
    /// It stands at the front and is larger than the plugin can ever take (A4).
    TooLarge,
}

impl Assembly {
    pub(crate) fn records(&self) -> usize {
        self.records
    }

    /// Why the batch is full, once it is.
    pub(crate) fn full(&self) -> Option<ClosedBy> {
        self.full
    }

    /// Offers the next collected record, of this size.
    pub(crate) fn offer(&mut self, bytes: u64, limits: &BatchLimits) -> Offered {
        if self.full.is_some() {
            return Offered::NextBatch;
        }
        let too_large = bytes > limits.record_bytes_max.get();
        if self.records == 0 && too_large {
            return Offered::TooLarge;
        }
        let bytes_max = limits.bytes_max.get();
        if self.records > 0 && (too_large || self.bytes.saturating_add(bytes) > bytes_max) {
            self.full = Some(ClosedBy::Bytes);
            return Offered::NextBatch;
        }
        self.records += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        if self.records >= limits.records_max.get() as usize {
            self.full = Some(ClosedBy::Records);
        } else if self.bytes >= bytes_max {
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

    fn limits(records: u32, bytes: u64) -> BatchLimits {
        BatchLimits {
            records_max: NonZeroU32::new(records).unwrap(),
            bytes_max: NonZeroU64::new(bytes).unwrap(),
            wait_max: Duration::from_secs(1),
            record_bytes_max: NonZeroU64::new(1_000).unwrap(),
        }
    }

    #[test]
    fn a2_the_last_record_fills_the_batch_at_once() {
        let mut assembly = Assembly::default();
        for _ in 0..2 {
            assert_eq!(assembly.offer(10, &limits(3, 100)), Offered::Taken);
            assert_eq!(assembly.full(), None);
        }
        assert_eq!(assembly.offer(10, &limits(3, 100)), Offered::Taken);
        assert_eq!(assembly.full(), Some(ClosedBy::Records));
        assert_eq!(assembly.offer(10, &limits(3, 100)), Offered::NextBatch);
    }

    #[test]
    fn a3_a_record_that_would_exceed_the_bytes_starts_the_next_batch() {
        let mut assembly = Assembly::default();
        assert_eq!(assembly.offer(60, &limits(10, 100)), Offered::Taken);
        assert_eq!(assembly.offer(41, &limits(10, 100)), Offered::NextBatch);
        assert_eq!((assembly.records(), assembly.bytes, assembly.full()), (1, 60, Some(ClosedBy::Bytes)));
    }

    #[test]
    fn a4_a_single_record_above_the_batch_limit_travels_alone() {
        let mut assembly = Assembly::default();
        assert_eq!(assembly.offer(500, &limits(10, 100)), Offered::Taken);
        assert_eq!(assembly.full(), Some(ClosedBy::Bytes));
    }

    #[test]
    fn a4_a_record_above_the_hard_cap_is_never_taken() {
        let mut assembly = Assembly::default();
        assert_eq!(assembly.offer(1_001, &limits(10, 5_000)), Offered::TooLarge);
        assert_eq!(assembly.offer(10, &limits(10, 5_000)), Offered::Taken);
        assert_eq!(assembly.offer(1_001, &limits(10, 5_000)), Offered::NextBatch);
        assert_eq!(assembly.full(), Some(ClosedBy::Bytes));
    }
}
