//! The demo's closing table, and whether its figures add up.

use crate::cli::grouped;
use crate::status::Counts;

/// What the demo did, from both ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Totals {
    /// Records that the broker acknowledged to the demo's producer.
    pub(crate) produced: u64,
    /// What the host counted.
    pub(crate) counts: Counts,
    /// Records between the committed offsets and the ends, as read from the broker afterwards.
    pub(crate) lag: Option<u64>,
}

impl Totals {
    /// Every record that went in came out, once, and every extra hand-over was a redelivery.
    pub(crate) fn add_up(&self) -> bool {
        let counts = &self.counts;
        counts.committed == self.produced
            && counts.handed_over == counts.committed + counts.redelivered
            && counts.records_in - counts.stale == self.produced
            && self.lag == Some(0)
    }

    /// The table.
    pub(crate) fn render(&self) -> String {
        let counts = &self.counts;
        let rows = [
            ("records produced", self.produced, "acknowledged by the broker"),
            ("records in", counts.records_in - counts.stale, "fetched, repeats of the client taken off"),
            ("records handed over", counts.handed_over, "every attempt counted"),
            ("  of these again", counts.redelivered, "after a retryable answer or a trap"),
            ("records committed", counts.committed, "handed over - again"),
            ("batches closed by size", counts.closed_by_records + counts.closed_by_bytes, ""),
            ("batches closed by age", counts.closed_by_wait, ""),
            ("retryable answers", counts.retries, ""),
            ("traps survived", counts.faults, ""),
        ];
        let mut text = String::new();
        for (name, figure, note) in rows {
            let note = if note.is_empty() { String::new() } else { format!("   {note}") };
            text.push_str(&format!("  {name:<24} {:>8}{note}\n", grouped(figure)));
        }
        let lag = self.lag.map_or_else(|| "?".to_owned(), grouped);
        text.push_str(&format!("  {:<24} {lag:>8}   end of the log - committed offset", "lag"));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals() -> Totals {
        let counts = Counts {
            records_in: 102,
            stale: 2,
            handed_over: 130,
            redelivered: 30,
            committed: 100,
            ..Counts::default()
        };
        Totals { produced: 100, counts, lag: Some(0) }
    }

    #[test]
    fn a_lost_or_repeated_record_does_not_add_up() {
        assert!(totals().add_up());
        let mut lost = totals();
        lost.counts.committed = 99;
        assert!(!lost.add_up());
        let mut repeated = totals();
        repeated.counts.handed_over = 131;
        assert!(!repeated.add_up());
        let behind = Totals { lag: Some(1), ..totals() };
        assert!(!behind.add_up());
    }
}
