//! The search for the record that a batch fails on: cut, hand the parts over in their order, cut again what fails (F5).
//!
//! Knows no answer but the record that one blames, and no policy: whether to search is decided elsewhere.

use super::Machine;
use crate::batch::{Batch, Over, Search};
use crate::io::{BatchId, Report};
use crate::lane::Lane;
use crate::outcome::{Answer, Outcome};
use crate::planted::Bug;
use crate::positions::LaneId;

impl<R: Clone> Machine<R> {
    /// Cuts a batch that failed to the last: in halves, or around the record that the plugin blames. The parts come before
    /// anything else, in their order; each has one attempt.
    pub(super) fn cut(&mut self, id: LaneId, batch: Batch<R>, over: Over, reason: String, suspect: Option<usize>) {
        let records = batch.handed.len();
        let whole = batch.id;
        let path = batch.path();
        let cuts = match suspect.filter(|suspect| *suspect < records) {
            Some(suspect) => vec![suspect, suspect + 1],
            None => vec![records / 2],
        };
        let mut parts = Vec::new();
        let (mut rest, mut before) = (Some(batch), 0);
        for cut in cuts {
            let Some(batch) = rest else { break };
            let (left, right) = batch.split(cut - before);
            parts.extend(left);
            (rest, before) = (right, cut);
        }
        parts.extend(rest);
        for part in &mut parts {
            self.ids.batch += 1;
            part.id = BatchId(self.ids.batch);
            part.part = true;
            part.attempt = 0;
            part.search = Some(Search { over, path: path.clone() });
        }
        let sizes = parts.iter().map(|part| u32::try_from(part.handed.len()).unwrap_or(u32::MAX)).collect();
        self.report(Report::Cut { batch: whole, parts: sizes, reason });
        if self.planted(Bug::RightHalfFirst) {
            parts.reverse();
        }
        self.line_up(id, parts);
    }

    /// Puts batches before everything else that the lane has not begun.
    pub(super) fn line_up(
        &mut self,
        id: LaneId,
        batches: impl IntoIterator<Item = Batch<R>, IntoIter: DoubleEndedIterator>,
    ) {
        let now = self.now;
        let lane = self.lanes.entry(id).or_insert_with(|| Lane::new(now));
        for batch in batches.into_iter().rev() {
            lane.parts.push_front(batch);
        }
    }
}

/// The record that the plugin blames: its index in what is left of the batch.
pub(super) fn suspect(answer: &Answer) -> Option<usize> {
    match answer {
        Answer::Outcome(Outcome::Retryable { suspect, completed, .. }) => {
            let done = completed.as_ref().map_or(0, |progress| progress.records);
            suspect.and_then(|index| index.checked_sub(done)).map(|index| index as usize)
        }
        Answer::Outcome(Outcome::Ok(_) | Outcome::Fatal { .. }) | Answer::Fault(_) | Answer::Cancelled => None,
    }
}
