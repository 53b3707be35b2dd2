//! A batch in hand: one that is with the plugin, or that failed and waits for its next attempt.
//!
//! It keeps no records, and does not decide what follows.

use gristmill_core::io::{BatchId, Delivery, DeliveryId, Place, Production};
use gristmill_core::record::Partition;
use gristmill_core::time::Moment;

use crate::excerpt::short_reason;
use crate::narrate::TopicNames;
use crate::whereabouts::in_words;
use gristmill_guest::NAMED_MAX;

/// The batch of a lane that was handed over last, until it is done, held, given up, or all of its partitions are gone.
#[derive(Clone, Debug)]
pub(crate) struct InHand {
    pub(crate) batch: BatchId,
    /// Its last hand-over; none where nothing of it was handed over.
    pub(crate) delivery: Option<DeliveryId>,
    pub(crate) attempt: u32,
    pub(crate) records: u64,
    pub(crate) places: Vec<Place>,
    pub(crate) stands: Stands,
    /// What it failed of, when it did.
    pub(crate) failing: Option<Failing>,
}

/// Where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stands {
    /// With the plugin.
    Out { since: Moment },
    /// The plugin has answered, and what follows is not known yet. Lasts for a turn of the run loop at the most.
    Answered,
    /// The brokers are to acknowledge what it made.
    Writes { since: Moment },
    /// It failed.
    Waits { since: Moment, until: Moment },
}

/// A row of failures without progress.
#[derive(Clone, Debug)]
pub(crate) struct Failing {
    /// The first of them.
    pub(crate) since: Moment,
    /// What was said last, in short: a plugin may say a mebibyte.
    pub(crate) reason: String,
    /// True: the plugin was done, and the brokers did not take what it made.
    pub(crate) unwritten: bool,
}

impl InHand {
    /// A batch that is handed over now. `before` is what the lane had in hand until then: the failures of an earlier attempt are its own.
    pub(crate) fn new<R>(now: Moment, delivery: &Delivery<R>, before: Option<Self>) -> Self {
        let is_next_attempt = |before: &Self| delivery.attempt > 1 || before.batch == delivery.batch;
        Self {
            batch: delivery.batch,
            delivery: Some(delivery.id),
            attempt: delivery.attempt,
            records: delivery.records.len() as u64,
            places: delivery.places.clone(),
            stands: Stands::Out { since: now },
            failing: before.filter(is_next_attempt).and_then(|before| before.failing),
        }
    }

    /// A batch of which nothing was handed over: what is written for it are its records.
    pub(crate) fn never_handed_over<R>(production: &Production<R>) -> Self {
        let mut places: Vec<Place> = Vec::new();
        for facts in production.letters.iter().map(|letter| &letter.record.facts) {
            match places.iter_mut().find(|place| place.partition == facts.partition) {
                Some(place) => place.last = facts.offset,
                None => places.push(Place { partition: facts.partition, first: facts.offset, last: facts.offset }),
            }
        }
        Self {
            batch: production.batch,
            delivery: None,
            attempt: 0,
            records: production.letters.len() as u64,
            places,
            stands: Stands::Answered,
            failing: None,
        }
    }

    /// The plugin is done with it: what it failed at before is over, but for brokers that did not take what it made.
    pub(crate) fn well(self) -> Self {
        Self { failing: self.failing.filter(|failing| failing.unwritten), ..self }
    }

    /// It failed, and comes again at `until`. `unwritten` where the plugin was done with it.
    pub(crate) fn fail(&mut self, now: Moment, until: Moment, attempt: u32, unwritten: bool, reason: &str) {
        self.attempt = attempt;
        self.stands = Stands::Waits { since: now, until };
        let since = self.failing.as_ref().map_or(now, |failing| failing.since);
        self.failing = Some(Failing { since, reason: short_reason(reason), unwritten });
    }

    /// Without a partition that is gone. `None`: that was all of it.
    pub(crate) fn without(mut self, gone: Partition) -> Option<Self> {
        self.places.retain(|place| place.partition != gone);
        // The plugin works on what it was given, whoever owns the partition now.
        (!self.places.is_empty() || matches!(self.stands, Stands::Out { .. })).then_some(self)
    }

    /// Where its records lie, as log lines say it.
    pub(crate) fn positions(&self, topics: &impl TopicNames) -> String {
        in_words(&self.places, topics, NAMED_MAX)
    }
}
