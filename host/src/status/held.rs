//! What is blocked on purpose, since when and why, and what releases it (S5).
//!
//! It holds and releases nothing; it names the commands by which an operator does.

use gristmill_core::io::{HeldReason, Place};
use gristmill_core::record::Partition;
use gristmill_core::time::Moment;

use gristmill_guest::NAMED_MAX;

use super::Status;
use crate::narrate::{TopicNames, held_words, trouble_words};
use crate::whereabouts::in_words;

/// Something that is blocked on purpose.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) since: Moment,
    pub(crate) reason: HeldReason,
    /// The partition that is held; none where all of them are.
    pub(crate) partition: Option<Partition>,
    /// Where the batch or the record lies that it is about, as far as that is this host's. Empty: it is about neither.
    pub(crate) places: Vec<Place>,
    /// The same in words.
    pub(crate) positions: Option<String>,
    /// What the machine does not know of the cause.
    pub(crate) detail: Option<String>,
}

/// What is held. There is one hold at most of each lane, and one of each position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HeldKey {
    /// None: all partitions.
    partition: Option<Partition>,
    /// The partition cannot be read, whatever its lane does.
    position: bool,
}

/// A way to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    /// Ask for another attempt.
    Retry,
    /// Put the batch aside.
    Skip,
    /// End the host, to start it again.
    Stop,
}

impl Release {
    /// The command's name.
    pub(crate) fn command(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Skip => "skip --reason WHY",
            Self::Stop => "stop",
        }
    }
}

/// Places in words. Nothing where there are none.
pub(super) fn words_of(places: &[Place], topics: &impl TopicNames) -> Option<String> {
    (!places.is_empty()).then(|| in_words(places, topics, NAMED_MAX))
}

impl Held {
    /// The kind of cause, for machines.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.reason {
            HeldReason::Fatal { .. } => "fatal",
            HeldReason::Exhausted { .. } => "exhausted",
            HeldReason::RecordTooLarge { .. } => "record_too_large",
            HeldReason::Undecodable { .. } => "undecodable",
            HeldReason::Rejected { .. } => "rejected",
            HeldReason::NotWritten { .. } => "not_written",
            HeldReason::Offset { .. } => "position",
        }
    }

    /// What it is about and why, in one text.
    pub(crate) fn words(&self, topics: &impl TopicNames) -> String {
        self.detailed(held_words(&self.reason, topics))
    }

    /// What is left of it where a partition is gone.
    pub(crate) fn forget(&mut self, gone: Partition, topics: &impl TopicNames) {
        if self.places.iter().any(|place| place.partition == gone) {
            self.places.retain(|place| place.partition != gone);
            self.positions = words_of(&self.places, topics);
        }
    }

    /// What to write for a way to go on. With the place of what is skipped: the next one that is held may be another one.
    pub(crate) fn command(&self, release: Release) -> String {
        let at = self.positions.as_ref().filter(|_| release == Release::Skip);
        at.map_or_else(|| release.command().to_owned(), |at| format!("{} --at \"{at}\"", release.command()))
    }

    /// Why, without the place.
    pub(crate) fn why(&self) -> String {
        self.detailed(trouble_words(&self.reason))
    }

    fn detailed(&self, words: String) -> String {
        match &self.detail {
            Some(detail) => format!("{words}: {detail}"),
            None => words,
        }
    }

    /// The ways to go on, the lightest first, each with what has to come before it. Only where there is a place for what is
    /// skipped can it be.
    pub(crate) fn releases(&self, dead_letter_topic: bool) -> impl Iterator<Item = (Release, &'static str)> {
        let releases = self.all_releases().iter().copied();
        releases.filter(move |(release, _)| dead_letter_topic || *release != Release::Skip)
    }

    fn all_releases(&self) -> &'static [(Release, &'static str)] {
        match &self.reason {
            HeldReason::Fatal { .. } | HeldReason::Exhausted { .. } => &[
                (Release::Retry, "once its cause is corrected in what the plugin talks to"),
                (Release::Skip, "to write all records of the batch to the dead-letter topic and go on behind them"),
                (Release::Stop, "to start again with another plugin, settings or limits"),
            ],
            // The limits are read at the start only: the same record would be held again.
            HeldReason::RecordTooLarge { .. } => {
                &[(Release::Stop, "to start again with a larger plugin.limits.record and plugin.limits.memory")]
            }
            HeldReason::Undecodable { .. } => {
                &[(Release::Stop, "to start again with a dead-letter topic, or with the format that the topic has")]
            }
            HeldReason::Rejected { .. } => &[(Release::Stop, "to start again with a dead-letter topic")],
            HeldReason::NotWritten { .. } => &[
                (Release::Retry, "once the brokers take what has to be written"),
                (
                    Release::Skip,
                    "where a sink is what cannot be written: to write all records of the batch to the dead-letter topic instead, those \
                     too that the plugin was done with",
                ),
                (Release::Stop, "to start again"),
            ],
            HeldReason::Offset { .. } => &[
                (Release::Retry, "once the log can be read at the committed offset"),
                (Release::Stop, "to move the group's offset, or to start again with another configuration"),
            ],
        }
    }
}

impl Status {
    /// Something is held.
    pub(super) fn hold(&mut self, now: Moment, reason: &HeldReason, topics: &impl TopicNames) {
        let places = match reason {
            HeldReason::Fatal { batch, .. }
            | HeldReason::Exhausted { batch, .. }
            | HeldReason::NotWritten { batch, .. } => {
                let in_hand = self.take_batch(*batch);
                let handed_over = self.whereabouts.places_of(*batch).map(<[Place]>::to_vec);
                handed_over.or_else(|| in_hand.map(|it| it.places)).unwrap_or_default()
            }
            HeldReason::RecordTooLarge { facts }
            | HeldReason::Undecodable { facts }
            | HeldReason::Rejected { facts, .. } => {
                vec![Place { partition: facts.partition, first: facts.offset, last: facts.offset }]
            }
            HeldReason::Offset { .. } => Vec::new(),
        };
        let positions = words_of(&places, topics);
        let detail = match reason {
            HeldReason::Undecodable { facts } => self.undecodable.reason(facts).map(str::to_owned),
            HeldReason::Fatal { .. }
            | HeldReason::Exhausted { .. }
            | HeldReason::RecordTooLarge { .. }
            | HeldReason::Rejected { .. }
            | HeldReason::NotWritten { .. }
            | HeldReason::Offset { .. } => None,
        };
        let partition = match reason {
            HeldReason::Offset { partition, .. } => Some(*partition),
            HeldReason::Fatal { .. }
            | HeldReason::Exhausted { .. }
            | HeldReason::NotWritten { .. }
            | HeldReason::RecordTooLarge { .. }
            | HeldReason::Undecodable { .. }
            | HeldReason::Rejected { .. } => self.lanes.at(&places),
        };
        let held = Held { since: now, reason: reason.clone(), partition, places, positions, detail };
        let key = HeldKey { partition, position: matches!(reason, HeldReason::Offset { .. }) };
        self.held_words.insert(key, held.words(topics));
        self.held.insert(key, held);
    }

    /// What is held for this reason is held no more.
    pub(super) fn release(&mut self, reason: &HeldReason) {
        self.held.retain(|_, held| held.reason != *reason);
        let held = &self.held;
        self.held_words.retain(|key, _| held.contains_key(key));
    }

    /// A partition that is gone cannot be held for its position.
    pub(super) fn release_position(&mut self, partition: Partition) {
        let key = HeldKey { partition: Some(partition), position: true };
        self.held.remove(&key);
        self.held_words.remove(&key);
    }

    /// True when nothing of the partition is handed over until an operator decides.
    pub(super) fn is_held(&self, partition: Partition) -> bool {
        self.held.keys().any(|key| key.partition.is_none_or(|held| held == partition))
    }
}
