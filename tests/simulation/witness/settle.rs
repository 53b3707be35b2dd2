//! Rules for what may be handed over while something is done and not known to be committed (R8).

use std::collections::BTreeSet;

use super::watched::{Part, Watched};
use super::{Violation, Witness, require};
use crate::names::Place;

impl Witness {
    /// A batch is done.
    pub(super) fn note_settled(&mut self, parts: &[Part]) {
        self.batches_done += 1;
        for part in parts {
            if let Some(watched) = self.watched.get_mut(&part.place).filter(|watched| watched.assigned == part.assigned)
            {
                watched.marks.push((self.batches_done, part.next));
            }
        }
    }

    /// R8: at most one batch of the lane is done and not known to be committed, and nothing has gone wrong with its commit.
    pub(super) fn see_commits_of_lane(&self, lane: Place, name: &str) -> Result<(), Violation> {
        let counts = |watched: &&Watched| watched.revoking.is_none() && !watched.moving && !watched.asked;
        let open: Vec<&Watched> = self.open_in(lane).filter(counts).collect();
        let batches = batches(&open);
        require!(batches.len() <= 1, "R8", "{name} while {} batches are done and not committed", batches.len());
        let failed = open.iter().find(|watched| !flows(watched));
        require!(
            failed.is_none(),
            "R8",
            "{name} while the commit of what is done has failed: {:?}",
            failed.map(|watched| (watched.done, watched.confirmed))
        );
        Ok(())
    }

    /// True when the lane may wait for commits before it hands over.
    pub(super) fn waits_for_commits(&self, lane: Place) -> bool {
        let open: Vec<&Watched> = self.open_in(lane).collect();
        batches(&open).len() > 1 || !open.iter().all(|watched| flows(watched))
    }

    /// Partitions of a lane with something that is done and not known to be committed.
    fn open_in(&self, lane: Place) -> impl Iterator<Item = &Watched> {
        let of_lane = self.watched.iter().filter(move |(place, _)| self.lane(**place) == lane);
        of_lane.map(|(_, watched)| watched).filter(|watched| watched.open_marks().next().is_some())
    }
}

fn batches(open: &[&Watched]) -> BTreeSet<u64> {
    open.iter().flat_map(|watched| watched.open_marks()).collect()
}

/// The commit of what is done is under way, and has not failed.
fn flows(watched: &Watched) -> bool {
    watched.commit.is_some() && !watched.failing && !watched.unknown
}
