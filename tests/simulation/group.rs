//! The group's coordinator: who is a member, who holds which partition, and how partitions move.
//!
//! Must not know what members do with their partitions.

use std::collections::{BTreeMap, BTreeSet};

use crate::chance::Chance;
use crate::names::{Life, Place};
use crate::scenario::Style;

/// What the coordinator tells a member.
#[derive(Clone, Debug)]
pub(crate) enum GroupNews {
    /// Give these up and say when done.
    Revoke(Vec<Place>),
    /// These are yours.
    Assign(Vec<Place>),
    /// You are no member any more.
    Evicted,
}

type News = Vec<(Life, GroupNews)>;

/// The coordinator's state.
#[derive(Debug)]
pub(crate) struct Group {
    style: Style,
    members: BTreeSet<Life>,
    /// Who may read and commit each partition.
    pub(crate) holder: Vec<Option<Life>>,
    target: Vec<Option<Life>>,
    /// Members that still owe the end of a revocation in this round.
    pending: BTreeSet<Life>,
    running: bool,
    again: bool,
    /// Number of the round, so that its deadline can be told from a later round's.
    pub(crate) round: u64,
    /// Send revocations and assignments without partitions too.
    pub(crate) empty_rounds: bool,
}

impl Group {
    pub(crate) fn new(style: Style, partitions: usize) -> Self {
        Self {
            style,
            members: BTreeSet::new(),
            holder: vec![None; partitions],
            target: vec![None; partitions],
            pending: BTreeSet::new(),
            running: false,
            again: false,
            round: 0,
            empty_rounds: false,
        }
    }

    pub(crate) fn has(&self, life: Life) -> bool {
        self.members.contains(&life)
    }

    /// True when a round is under way, in which the coordinator may refuse commits for a while.
    pub(crate) fn in_round(&self) -> bool {
        self.running
    }

    pub(crate) fn join(&mut self, life: Life, chance: &mut Chance) -> News {
        self.members.insert(life);
        self.shuffle(chance)
    }

    /// The member is gone: it left, was fenced, or was not heard of for too long.
    pub(crate) fn remove(&mut self, life: Life, chance: &mut Chance) -> News {
        if !self.members.remove(&life) {
            return Vec::new();
        }
        for holder in &mut self.holder {
            if *holder == Some(life) {
                *holder = None;
            }
        }
        self.again = true;
        self.settle(life, chance)
    }

    /// The member gave these up.
    pub(crate) fn acknowledge(&mut self, life: Life, places: &[Place], chance: &mut Chance) -> News {
        for &place in places {
            if self.holder[place] == Some(life) {
                self.holder[place] = None;
            }
        }
        self.settle(life, chance)
    }

    /// Members that owe the end of a revocation in round `round`.
    pub(crate) fn late(&self, round: u64) -> Vec<Life> {
        if self.running && self.round == round { self.pending.iter().copied().collect() } else { Vec::new() }
    }

    /// Starts a round, or another one right behind the one that runs.
    pub(crate) fn shuffle(&mut self, chance: &mut Chance) -> News {
        if self.running {
            self.again = true;
            return Vec::new();
        }
        self.running = true;
        self.again = false;
        self.round += 1;
        self.draw_target(chance);
        let mut news = News::new();
        for &life in &self.members {
            let leaves = |place: &Place| {
                self.holder[*place] == Some(life) && (self.style == Style::Eager || self.target[*place] != Some(life))
            };
            let places: Vec<Place> = (0..self.holder.len()).filter(leaves).collect();
            if !places.is_empty() || self.empty_rounds {
                self.pending.insert(life);
                news.push((life, GroupNews::Revoke(places)));
            }
        }
        if self.pending.is_empty() {
            news.extend(self.finish(chance));
        }
        news
    }

    fn settle(&mut self, life: Life, chance: &mut Chance) -> News {
        self.pending.remove(&life);
        if self.running && self.pending.is_empty() {
            return self.finish(chance);
        }
        if !self.running && self.again {
            return self.shuffle(chance);
        }
        if self.style == Style::Incremental { self.hand_out() } else { News::new() }
    }

    fn finish(&mut self, chance: &mut Chance) -> News {
        let mut news = self.hand_out();
        self.running = false;
        if self.again {
            news.extend(self.shuffle(chance));
        }
        news
    }

    fn hand_out(&mut self) -> News {
        let mut given: BTreeMap<Life, Vec<Place>> = BTreeMap::new();
        if self.empty_rounds {
            given.extend(self.members.iter().map(|&life| (life, Vec::new())));
        }
        for place in 0..self.holder.len() {
            if let Some(life) = self.target[place]
                && self.holder[place].is_none()
                && self.members.contains(&life)
            {
                self.holder[place] = Some(life);
                given.entry(life).or_default().push(place);
            }
        }
        given.into_iter().map(|(life, places)| (life, GroupNews::Assign(places))).collect()
    }

    /// Even shares, mostly where they are; now and then everything is dealt out anew.
    fn draw_target(&mut self, chance: &mut Chance) {
        let members: Vec<Life> = self.members.iter().copied().collect();
        if members.is_empty() {
            self.target.fill(None);
            return;
        }
        let share = self.holder.len().div_ceil(members.len());
        let anew = chance.permille(300);
        let mut load: BTreeMap<Life, usize> = BTreeMap::new();
        let mut open = Vec::new();
        for place in 0..self.holder.len() {
            let keeps = self.holder[place]
                .filter(|life| !anew && self.members.contains(life) && load.get(life).copied().unwrap_or(0) < share);
            match keeps {
                Some(life) => {
                    *load.entry(life).or_default() += 1;
                    self.target[place] = Some(life);
                }
                None => open.push(place),
            }
        }
        for place in open {
            let turn = chance.index(members.len());
            let free = (0..members.len())
                .map(|step| members[(turn + step) % members.len()])
                .find(|life| load.get(life).copied().unwrap_or(0) < share);
            let life = free.unwrap_or(members[turn]);
            *load.entry(life).or_default() += 1;
            self.target[place] = Some(life);
        }
    }
}
