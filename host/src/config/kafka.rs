//! Where records come from, as the Kafka edge wants to hear it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use gristmill_kafka::{ConsumerSettings, RangePolicy, ResetPolicy};

use super::secret::Secret;

/// Where records come from.
#[derive(Clone, Debug)]
pub struct KafkaConfig {
    /// Brokers to ask first.
    pub bootstrap_servers: String,
    /// The consumer group.
    pub group_id: String,
    /// Topics to read; a leading ^ makes one a pattern. At least one.
    pub topics: Vec<String>,
    /// Where to start when nothing is committed.
    pub reset: ResetPolicy,
    /// What to do when a committed offset is not in the log (O1).
    pub on_out_of_range: RangePolicy,
    /// How long a rebalance may wait for a running batch (B1).
    pub drain: Duration,
    /// Bytes of fetched records that may be held, wherever they are in the process.
    pub buffer_bytes_max: u64,
    /// Properties of librdkafka; none that the host owns or refuses.
    pub properties: BTreeMap<String, Secret>,
}

impl KafkaConfig {
    /// The same in the Kafka edge's words; `base` is the instant that the core calls moment zero. Holds the properties in the
    /// open: neither print nor keep it.
    #[must_use]
    pub fn consumer_settings(&self, base: Instant) -> ConsumerSettings {
        let properties = self.properties.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned()));
        let mut settings = ConsumerSettings::new(&self.bootstrap_servers, &self.group_id, &[], self.reset);
        settings.topics.clone_from(&self.topics);
        settings.on_out_of_range = self.on_out_of_range;
        settings.properties = properties.collect();
        settings.buffer_bytes_max = self.buffer_bytes_max;
        settings.drain_max = self.drain;
        settings.base = base;
        settings
    }
}
