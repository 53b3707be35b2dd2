//! Rules for commits and look-ups.

use gristmill_core::io::{CommitOffset, PluginId, RequestId};
use gristmill_core::record::Partition;

use super::{Violation, Witness, require};
use crate::broker::Broker;
use crate::names::{Place, place};

impl Witness {
    pub(super) fn see_commit(
        &mut self,
        id: RequestId,
        offsets: &[CommitOffset],
        plugin: PluginId,
        broker: &Broker,
    ) -> Result<(), Violation> {
        self.fresh_id(id)?;
        require!(!offsets.is_empty(), "C9", "{id:?} commits nothing");
        require!(!self.ending.left_ordered, "I-05", "{id:?} commits after leaving");
        let mut sent: Vec<(Place, i64)> = Vec::new();
        for offset in offsets {
            let here = place(offset.partition);
            require!(!sent.iter().any(|(place, _)| *place == here), "I-07", "{id:?} names {here} twice");
            self.see_commit_offset(id, here, offset, plugin, broker)?;
            sent.push((here, offset.next.0));
        }
        self.commits.insert(id, sent);
        Ok(())
    }

    fn see_commit_offset(
        &mut self,
        id: RequestId,
        here: Place,
        offset: &CommitOffset,
        plugin: PluginId,
        _broker: &Broker,
    ) -> Result<(), Violation> {
        let now = self.now;
        // What the guest works on meanwhile may be done, and is committed with what is done already then.
        let at_work = self.out.values().any(|handed| handed.parts.iter().any(|part| part.place == here))
            || self.productions.values().any(|finishing| finishing.parts.iter().any(|part| part.place == here));
        let value = offset.next.0;
        let ending = self.ending.has_cause();
        let policy = self.policy.commit;
        let Some(watched) = self.watched.get_mut(&here) else {
            return Err(Violation {
                rule: "I-05",
                text: format!("{id:?} commits {value} on {here}, which is not owned"),
            });
        };
        require!(offset.epoch >= watched.assigned, "I-05", "{id:?} commits {here} under the old {:?}", offset.epoch);
        require!(watched.commit.is_none(), "I-07", "{id:?} commits {here} while {:?} is under way", watched.commit);
        require!(!watched.unknown, "I-06", "{id:?} commits {here} before a look-up");
        let start = watched.reset && watched.confirmed.is_none() && Some(value) == watched.start;
        let target = watched.target();
        require!(start || value <= target, "I-02", "{id:?} commits {value} on {here}, done is {target}");
        require!(start || value == target, "C1", "{id:?} commits {value} on {here}, done is {target}");
        let confirmed = watched.confirmed.unwrap_or(i64::MIN);
        require!(value > confirmed, "C9", "{id:?} commits {value} on {here}, which is committed up to {confirmed}");
        if value > watched.done {
            let passed = watched.passed().1;
            require!(offset.leader_epoch == passed, "C7", "{id:?} commits {here} with {:?}", offset.leader_epoch);
        } else if let Some((by, leader_epoch)) = watched.done_by.filter(|_| !start) {
            require!(plugin == by, "C7", "{id:?} commits {here} in the name of {plugin:?}, not {by:?}");
            require!(offset.leader_epoch == leader_epoch, "C7", "{id:?} commits {here} with {:?}", offset.leader_epoch);
        }
        let another = watched.tried != Some(value) && start;
        let spaced = another || watched.commit_not_before <= now || watched.revoking.is_some() || ending;
        require!(spaced, "C2", "{id:?} retries {here} at {now:?}, not before {:?}", watched.commit_not_before);
        if watched.tried != Some(value) {
            watched.tried = Some(value);
            watched.tries = 0;
        }
        // Whoever is on the way out will not read anything again, and tries until the time is up.
        let leaving = watched.revoking.is_some() || ending;
        let bounded = start || !watched.unsettled() || leaving || at_work || watched.tries < policy.tries_max.get();
        require!(bounded, "I-17", "{id:?} tries {here} again after {} tries (C2)", watched.tries);
        watched.commit = Some((id, value));
        Ok(())
    }

    pub(super) fn see_lookup(&mut self, id: RequestId, partitions: &[Partition]) -> Result<(), Violation> {
        self.fresh_id(id)?;
        require!(!partitions.is_empty(), "I-39", "{id:?} asks for nothing");
        let mut places = Vec::new();
        for &partition in partitions {
            let here = place(partition);
            let Some(watched) = self.watched.get_mut(&here) else {
                return Err(Violation { rule: "I-25", text: format!("{id:?} asks for {here}, which is not owned") });
            };
            require!(watched.commit.is_none(), "I-06", "{id:?} asks for {here} while a commit is under way");
            watched.asked |= !watched.unknown;
            places.push((here, watched.assigned));
        }
        self.lookups.insert(id, places);
        Ok(())
    }
}
