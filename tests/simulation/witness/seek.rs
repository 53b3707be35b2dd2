//! Rules for seeks: to the committed offset that was just learnt, or to where this assignment began, and nowhere else.

use gristmill_core::io::{RequestId, SeekTo};

use super::{Violation, Witness, require};
use crate::names::place;

impl Witness {
    pub(super) fn see_seek(&mut self, id: RequestId, targets: &[SeekTo]) -> Result<(), Violation> {
        self.fresh_id(id)?;
        require!(!targets.is_empty(), "I-39", "{id:?} seeks nothing");
        let mut sent = Vec::new();
        for target in targets {
            let here = place(target.partition);
            let now = self.now;
            let Some(watched) = self.watched.get_mut(&here) else {
                return Err(Violation { rule: "I-25", text: format!("{id:?} seeks {here}, which is not owned (B42)") });
            };
            require!(target.epoch >= watched.assigned, "I-05", "{id:?} seeks {here} under the old {:?}", target.epoch);
            require!(watched.seek.is_none(), "R3", "{id:?} seeks {here} while {:?} is under way", watched.seek);
            let only_start = watched.commit.is_none_or(|(_, value)| Some(value) == watched.start);
            require!(only_start, "I-06", "{id:?} seeks {here} while a commit is under way");
            let spaced = watched.seek_not_before <= now;
            require!(spaced, "I-17", "{id:?} seeks {here} at {now:?}, not before {:?}", watched.seek_not_before);
            let next = target.next.0;
            match watched.looked_up {
                None => {
                    return Err(Violation {
                        rule: "R3",
                        text: format!("{id:?} seeks {here} to {next} without a look-up (B02)"),
                    });
                }
                Some(Some(committed)) => {
                    // Another owner's late commit may have set the offset back; what was confirmed to us was handled.
                    let known = next == committed || (next > committed && Some(next) == watched.confirmed);
                    require!(known, "R3", "{id:?} seeks {here} to {next}, but {committed} is committed");
                }
                Some(None) => {
                    let known = Some(next) == watched.start || Some(next) == watched.confirmed;
                    require!(known, "R3", "{id:?} seeks {here} to {next}, which is no start of it (B03)");
                }
            }
            watched.moving = true;
            watched.seek = Some(id);
            watched.live = None;
            sent.push((here, next));
        }
        self.seeks.insert(id, sent);
        Ok(())
    }
}
