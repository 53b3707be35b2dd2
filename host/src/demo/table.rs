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
    /// True when somebody stopped the demo before the host was through with everything.
    pub(crate) stopped: bool,
}

impl Totals {
    /// Every record that went in came out, once, and every extra hand-over was a redelivery. What a stop left in the log may have
    /// been fetched, and handed over in vain.
    pub(crate) fn add_up(&self) -> bool {
        let counts = &self.counts;
        let Some(lag) = self.lag else { return false };
        let (Some(fetched), Some(first_time)) =
            (counts.records_in.checked_sub(counts.stale), counts.handed_over.checked_sub(counts.redelivered))
        else {
            return false;
        };
        counts.committed + lag == self.produced
            && (self.stopped || lag == 0)
            && (counts.committed..=self.produced).contains(&first_time)
            && (first_time..=self.produced).contains(&fetched)
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
        Totals { produced: 100, counts, lag: Some(0), stopped: false }
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

    #[test]
    fn what_a_stop_left_in_the_log_is_part_of_the_sum() {
        let stopped = Totals { produced: 140, lag: Some(40), stopped: true, ..totals() };
        assert!(stopped.add_up());
        assert!(!Totals { stopped: false, ..stopped }.add_up(), "nobody stopped it, and it is not through");
        assert!(!Totals { lag: Some(39), ..stopped }.add_up());
        let mut in_vain = stopped;
        (in_vain.counts.records_in, in_vain.counts.handed_over) = (142, 170);
        assert!(in_vain.add_up());
        in_vain.counts.handed_over = 171;
        assert!(!in_vain.add_up(), "more than was fetched");
    }
}
