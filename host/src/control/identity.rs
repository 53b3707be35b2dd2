//! Who a host is: what of its status stays the same from start to end.

use gristmill_core::time::Moment;

use super::host_status::{HostStatus, PluginStatus};
use super::place::Address;
use crate::config::{Config, DecodingConfig};
use crate::profile;
use crate::status::{Counts, State};

/// What a host says of itself whatever it does.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pipeline: String,
    group: String,
    topics: Vec<String>,
    dead_letter_topic: Option<String>,
    /// Every topic that is written to, with the key that names it.
    written: Vec<(String, String)>,
    /// What is decoded.
    decoding: DecodingConfig,
    plugin: PluginStatus,
}

impl Identity {
    /// Of a host with this configuration, whose plugin is not loaded yet.
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            pipeline: config.pipeline.clone(),
            group: config.kafka.group_id.clone(),
            topics: config.kafka.topics.clone(),
            dead_letter_topic: config.writing.dead_letter.as_ref().map(|letters| letters.topic.clone()),
            written: config.writing.topics().map(|(key, topic)| (key, topic.to_owned())).collect(),
            decoding: config.decoding.clone(),
            plugin: PluginStatus {
                file: config.plugin.path.display().to_string(),
                digest: None,
                profile: profile::differences(&config.plugin),
            },
        }
    }

    /// With its plugin loaded.
    pub(crate) fn with_plugin(mut self, digest: String) -> Self {
        self.plugin.digest = Some(digest);
        self
    }

    /// Where records go that cannot be handled.
    pub(crate) fn dead_letter_topic(&self) -> Option<&str> {
        self.dead_letter_topic.as_deref()
    }

    /// The key that names a topic to be written to, if one does.
    pub(crate) fn writes(&self, topic: &str) -> Option<&str> {
        self.written.iter().find(|(_, written)| written == topic).map(|(key, _)| key.as_str())
    }

    /// True for a topic that is read, and of which nobody can tell which formats it has.
    pub(crate) fn is_unclear(&self, topic: &str) -> bool {
        self.decoding.is_unclear(topic)
    }

    /// A host that has done nothing yet.
    pub(crate) fn tell(&self, now: Moment, word: &str, address: &Address) -> HostStatus {
        let uptime_ms = now.0 / 1_000;
        HostStatus {
            pipeline: self.pipeline.clone(),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            socket: address.to_string(),
            uptime_ms,
            state: word.to_owned(),
            state_for_ms: uptime_ms,
            detail: None,
            paused: false,
            group: self.group.clone(),
            topics: self.topics.clone(),
            dead_letter_topic: self.dead_letter_topic.clone(),
            plugin: self.plugin.clone(),
            held: Vec::new(),
            batches: Vec::new(),
            filling: 0,
            lag: None,
            partitions: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// A host that still loads its plugin.
    pub(crate) fn tell_starting(&self, now: Moment, address: &Address) -> HostStatus {
        let detail = Some("loads its plugin".to_owned());
        HostStatus { detail, ..self.tell(now, State::Starting.word(), address) }
    }
}
