//! What is known of a running host, told to somebody who asks from outside.
//!
//! Copies; changes and decides nothing.

use std::time::Duration;

use gristmill_core::record::Partition;
use gristmill_core::time::Moment;

use super::held::HeldKey;
use super::in_hand::{InHand, Stands};
use super::{Held, Progress, Status};
use crate::control::{Address, BatchStatus, HeldStatus, HostStatus, Identity, PartitionStatus, ReleaseStatus};
use crate::narrate::TopicNames;

/// What of a host can be released by a retry, to be compared before and after.
#[derive(Debug)]
pub(crate) struct Blocked {
    held: Vec<(HeldKey, String)>,
    /// The batches that wait for their next attempt.
    waits: Vec<String>,
    /// Why schemas cannot be had.
    schemas: Option<String>,
}

impl Status {
    /// Everything, for somebody who asked at `address`.
    pub(crate) fn tell(
        &self,
        now: Moment,
        detail: Option<String>,
        identity: &Identity,
        address: &Address,
        topics: &impl TopicNames,
    ) -> HostStatus {
        let state = self.state();
        // What is on its way out is held no longer, and nothing would release it.
        let held = self.held.values().filter(|_| !self.is_ending());
        HostStatus {
            state_for_ms: millis(now.since(self.word.1)),
            detail,
            paused: self.paused,
            held: held.map(|held| held_status(now, held, identity, address, topics)).collect(),
            batches: self.in_hand.values().filter_map(|in_hand| self.batch_status(now, in_hand, topics)).collect(),
            filling: self.filling,
            lag: self.lag(),
            partitions: self.assigned.iter().map(|it| partition_status(now, it, topics)).collect(),
            counts: self.counts,
            ..identity.tell(now, state.word(), address)
        }
    }

    /// What is held whose positions are told like this.
    pub(crate) fn held_at(&self, positions: &str) -> Option<&Held> {
        self.held.values().find(|held| held.positions.as_deref() == Some(positions))
    }

    /// How many batches and records are held.
    pub(crate) fn lanes_held(&self) -> usize {
        self.held.values().filter(|held| held.positions.is_some()).count()
    }

    /// What a retry may release.
    pub(crate) fn blocked(&self, topics: &impl TopicNames) -> Blocked {
        let words = |held: &Held| match &held.positions {
            Some(positions) => format!("{} ({positions})", held.words(topics)),
            None => held.words(topics),
        };
        let waits = self.in_hand.values().filter(|it| matches!(it.stands, Stands::Waits { .. }));
        let waits = waits.map(|it| {
            let reason = it.failing.as_ref().map(|failing| failing.reason.clone()).unwrap_or_default();
            format!(
                "the wait after attempt {} of batch {} ({}): {reason}",
                it.attempt,
                it.batch.0,
                it.positions(topics)
            )
        });
        let held = self.held.iter().map(|(key, held)| (*key, words(held))).collect();
        let schemas = self.schemas.as_ref().map(|wait| format!("the wait for the schema registry: {}", wait.reason()));
        Blocked { held, waits: waits.collect(), schemas }
    }

    /// What a retry has released of that, in words.
    pub(crate) fn released(&self, before: Blocked) -> Vec<String> {
        // Waits end with every retry, also where a pause keeps the batch here.
        let (waits, schemas) = (before.waits.clone(), before.schemas.clone());
        self.skipped(before).into_iter().chain(waits).chain(schemas).collect()
    }

    /// What a skip has released of that, in words: nothing that only waits.
    pub(crate) fn skipped(&self, before: Blocked) -> Vec<String> {
        before.held.into_iter().filter(|(key, _)| !self.held.contains_key(key)).map(|(_, words)| words).collect()
    }

    fn batch_status(&self, now: Moment, in_hand: &InHand, topics: &impl TopicNames) -> Option<BatchStatus> {
        let (stands, since, until) = match in_hand.stands {
            Stands::Out { since } => ("out", since, None),
            Stands::Waits { since, until } => ("waits", since, Some(until)),
            Stands::Writes { since } => ("writes", since, None),
            Stands::Answered => return None,
        };
        let failing = in_hand.failing.as_ref();
        Some(BatchStatus {
            batch: in_hand.batch.0,
            stands: stands.to_owned(),
            for_ms: millis(now.since(since)),
            attempt: in_hand.attempt,
            records: in_hand.records,
            positions: in_hand.positions(topics),
            next_attempt_in_ms: until.filter(|_| !self.paused).map(|until| millis(until.since(now))),
            failing_for_ms: failing.map(|failing| millis(now.since(failing.since))),
            reason: failing.map(|failing| failing.reason.clone()),
        })
    }
}

fn held_status(
    now: Moment,
    held: &Held,
    identity: &Identity,
    address: &Address,
    topics: &impl TopicNames,
) -> HeldStatus {
    let partition = held.partition;
    let release = held.releases(identity.dead_letter_topic().is_some()).map(|(release, when)| ReleaseStatus {
        command: address.command(&held.command(release)),
        when: when.to_owned(),
    });
    HeldStatus {
        kind: held.kind().to_owned(),
        topic: partition.map(|partition| topics.name(partition.topic).to_string()),
        partition: partition.map(|partition| partition.number),
        positions: held.positions.clone(),
        reason: held.why(),
        for_ms: millis(now.since(held.since)),
        release: release.collect(),
    }
}

fn partition_status(
    now: Moment,
    (partition, progress): (&Partition, &Progress),
    topics: &impl TopicNames,
) -> PartitionStatus {
    PartitionStatus {
        topic: topics.name(partition.topic).to_string(),
        partition: partition.number,
        committed: progress.committed.map(|next| next.0),
        end: progress.end.map(|next| next.0),
        lag: progress.lag(),
        progress_age_ms: millis(progress.age(now)),
    }
}

/// A duration as outsiders read it.
fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
