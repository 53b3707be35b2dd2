//! From an [`Action`] to the edge that carries it out: one match, no decisions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gristmill_core::io::{Action, Delivery, PluginId, StopReason};
use gristmill_core::record::Topic;
use gristmill_core::time::Moment;
use gristmill_guest::{Crew, Job, Plugin};
use gristmill_kafka::Consumer;
use tracing::debug;

use crate::body::Body;
use crate::emitting::Emitting;
use crate::kafka_batch::KafkaBatch;
use crate::narrate::{Narrator, TopicNames};
use crate::writer::Writer;

/// The edges, as the run loop uses them.
pub(crate) struct Edges {
    pub(crate) consumer: Consumer,
    pub(crate) crew: Crew,
    pub(crate) emitting: Emitting,
    pub(crate) writer: Writer,
    /// The loaded versions by the numbers that the core knows them by.
    pub(crate) plugins: BTreeMap<PluginId, Plugin>,
    pub(crate) pipeline: Arc<str>,
    /// How long leaving the group may take.
    pub(crate) close_wait_max: Duration,
    pub(crate) narrator: Narrator,
}

impl Edges {
    /// Carries one action out. Gives the reason when it was the last one.
    ///
    /// # Errors
    /// A hand-over that no guest can take: the host's own mistake, and no fault of the plugin's.
    pub(crate) fn apply(&mut self, now: Moment, action: Action<Body>) -> Result<Option<StopReason>, HandOverError> {
        match action {
            Action::Deliver(delivery) => self.deliver(delivery)?,
            Action::Produce(production) => {
                let digest = self.digest(production.plugin);
                let emitted = production.emitted_of.map(|delivery| self.emitting.take(delivery, &digest));
                self.writer.write(production, emitted.unwrap_or_default(), &digest);
            }
            Action::Cancel(delivery) => self.crew.cancel(delivery),
            Action::Commit { id, offsets, plugin } => {
                self.consumer.commit(id, offsets, self.digest(plugin));
            }
            Action::AskCommitted { id, partitions } => self.consumer.ask_committed(id, partitions),
            Action::Seek { id, targets } => self.consumer.seek(id, targets),
            Action::AnswerRevoke(id) => self.consumer.answer_revoke(id),
            Action::Leave => self.consumer.leave(self.close_wait_max),
            Action::Stopped(reason) => return Ok(Some(reason)),
            Action::Report(report) => self.narrator.tell(now, &report, &self.consumer),
        }
        Ok(None)
    }

    /// The digest of a loaded version, as commits and dead letters name it.
    fn digest(&self, plugin: PluginId) -> String {
        self.plugins.get(&plugin).map(|plugin| plugin.digest().to_string()).unwrap_or_default()
    }

    fn deliver(&mut self, delivery: Delivery<Body>) -> Result<(), HandOverError> {
        self.narrator.note_delivery(&delivery);
        let Delivery { id, batch, attempt, plugin, records, places: _, bytes, closed_by, part } = delivery;
        debug!(batch = batch.0, attempt, records = records.len(), bytes, ?closed_by, "handed a batch over");
        let plugin = self.plugins.get(&plugin).ok_or(HandOverError::NeverLoaded(plugin.0))?;
        let job = Job {
            delivery: id,
            attempt,
            part,
            pipeline: Arc::clone(&self.pipeline),
            plugin: plugin.clone(),
            sinks: self.emitting.handed_over(id, &records),
            batch: Box::new(KafkaBatch { records }),
        };
        self.crew.deliver(job).map_err(|error| HandOverError::Worker(error.to_string()))
    }
}

/// Why a batch could not be given to a guest at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HandOverError {
    /// The core named a version that nobody loaded.
    #[error("plugin version {0} was never loaded")]
    NeverLoaded(u64),
    /// The worker does not take jobs.
    #[error("{0}")]
    Worker(String),
}

impl TopicNames for Consumer {
    fn name(&self, topic: Topic) -> Arc<str> {
        self.topic_name(topic)
    }
}
