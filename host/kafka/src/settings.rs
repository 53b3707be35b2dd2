//! What the operator decides about Kafka, as types; and the client properties that follow from it.
//!
//! Owned properties cannot be set, refused ones are named with the reason, and combinations that cannot work are refused
//! with both numbers before a client exists. Reaches no broker.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::time::{Duration, Instant};

use crate::properties::{self, Standing};
use crate::subscription::{TopicFault, check_topic};
use crate::sys::check_value;

/// Where a group begins that has nothing committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetPolicy {
    /// At the first record.
    Earliest,
    /// Behind the last record.
    Latest,
    /// Nowhere: the partition is held until an operator decides.
    Error,
}

/// What happens when the committed offset is not in the log any more, or not yet (O1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RangePolicy {
    /// The partition is held until an operator decides.
    #[default]
    Hold,
    /// Reading goes on at the first record.
    Earliest,
    /// Reading goes on behind the last record.
    Latest,
}

/// Everything a consumer needs to know. May hold secrets in the open; its `Debug` form does not show them.
#[derive(Clone)]
pub struct ConsumerSettings {
    /// Brokers to begin with, `host:port` separated by commas.
    pub bootstrap_servers: String,
    /// The consumer group.
    pub group_id: String,
    /// Topics; a leading `^` makes a pattern.
    pub topics: Vec<String>,
    /// Where a group begins that has nothing committed.
    pub auto_offset_reset: ResetPolicy,
    /// What happens when the committed offset is not in the log.
    pub on_out_of_range: RangePolicy,
    /// Further client properties by librdkafka's names, in the order given; a later one wins.
    pub properties: Vec<(String, String)>,
    /// Copy headers. They cost time also where there are none, so ask only where plugin or dead letters need them.
    pub headers: bool,
    /// Budget for the bytes of fetched records, wherever they are in the process. Exceeded by at most one chunk; then no
    /// records are taken until some are gone. A chunk aims at a mebibyte by the sizes seen before it, so it is larger where
    /// large records follow small ones; what the client holds back for it, `queued.max.messages.kbytes` and one fetch, is its bound.
    pub buffer_bytes_max: u64,
    /// True where each partition has batches of its own: none then holds more of the buffer than its share, so that one that is slow or
    /// blocked stops no other.
    pub lanes_by_partition: bool,
    /// How long the core has to answer a revocation (B4).
    pub drain_max: Duration,
    /// How long the end of a commit is waited for before its outcome counts as unknown.
    pub commit_wait_max: Duration,
    /// How long the answer to a look-up of committed offsets is waited for.
    pub lookup_wait_max: Duration,
    /// How long a seek is tried before it counts as failed.
    pub seek_wait_max: Duration,
    /// How long an assignment waits for start positions before those partitions begin later.
    pub assign_wait_max: Duration,
    /// How long the same error at the same position lasts before the position counts as unreadable (O1).
    pub unreadable_after: Duration,
    /// The instant that the core calls moment zero.
    pub base: Instant,
}

impl ConsumerSettings {
    /// Settings with the defaults of everything that has one.
    #[must_use]
    pub fn new(bootstrap_servers: &str, group_id: &str, topics: &[&str], auto_offset_reset: ResetPolicy) -> Self {
        Self {
            bootstrap_servers: bootstrap_servers.to_owned(),
            group_id: group_id.to_owned(),
            topics: topics.iter().map(ToString::to_string).collect(),
            auto_offset_reset,
            on_out_of_range: RangePolicy::Hold,
            properties: Vec::new(),
            headers: true,
            buffer_bytes_max: 64 << 20,
            lanes_by_partition: false,
            drain_max: Duration::from_secs(20),
            commit_wait_max: Duration::from_secs(10),
            lookup_wait_max: Duration::from_secs(10),
            seek_wait_max: Duration::from_secs(5),
            assign_wait_max: Duration::from_secs(5),
            unreadable_after: Duration::from_secs(30),
            base: Instant::now(),
        }
    }

    /// The further properties, the values of secret ones as stars.
    fn shown_properties(&self) -> impl Iterator<Item = (&str, &str)> {
        self.properties
            .iter()
            .map(|(name, value)| (name.as_str(), if properties::is_secret(name) { "***" } else { value }))
    }

    /// The topics as librdkafka wants them.
    pub(crate) fn subscription(&self) -> Vec<CString> {
        self.topics.iter().filter_map(|name| CString::new(name.as_str()).ok()).collect()
    }

    /// True when records of open transactions are read as well, so that a position behind the end is certainly wrong.
    pub(crate) fn reads_uncommitted(&self) -> bool {
        self.user("isolation.level") == Some("read_uncommitted")
    }

    /// The static member id, if the operator gave one.
    #[must_use]
    pub fn instance_id(&self) -> Option<&str> {
        self.user("group.instance.id")
    }

    fn user(&self, name: &str) -> Option<&str> {
        let named = self.properties.iter().rev().find(|(key, _)| properties::same(key, name));
        named.map(|(_, value)| value.as_str())
    }
}

impl std::fmt::Debug for ConsumerSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConsumerSettings")
            .field("bootstrap_servers", &self.bootstrap_servers)
            .field("group_id", &self.group_id)
            .field("topics", &self.topics)
            .field("properties", &self.shown_properties().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// Why settings are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// A property that the host sets itself.
    #[error("property {name} is set by gristmill: {reason}; remove it from [kafka.properties]")]
    Owned {
        /// Which one.
        name: String,
        /// Why.
        reason: &'static str,
    },
    /// A property that is never accepted.
    #[error("property {name} is not accepted: {reason}; remove it from [kafka.properties]")]
    Refused {
        /// Which one.
        name: String,
        /// Why.
        reason: &'static str,
    },
    /// A property that no consumer has.
    #[error("property {name} is not known{}; correct or remove it in [kafka.properties]", other_role(.for_producers))]
    Unknown {
        /// Which one.
        name: String,
        /// True: producers have it.
        for_producers: bool,
    },
    /// A property of the producer that is not accepted.
    #[error("producer property {name} is not accepted: {reason}; remove it")]
    Producer {
        /// Which one.
        name: String,
        /// Why.
        reason: &'static str,
    },
    /// A property whose value is no number although it must be.
    #[error("property {name} must be a whole number, got {value:?}")]
    NotANumber {
        /// Which one.
        name: &'static str,
        /// What was given.
        value: String,
    },
    /// A property whose value librdkafka does not take.
    #[error("property {name}: {words}; correct or remove it in [kafka.properties]")]
    Value {
        /// Which one.
        name: String,
        /// librdkafka's words.
        words: String,
    },
    /// A property of the producer whose value librdkafka does not take.
    #[error("producer property {name}: {words}; correct or remove it in [producer.properties]")]
    ProducerValue {
        /// Which one.
        name: String,
        /// librdkafka's words.
        words: String,
    },
    /// Two settings that cannot go together.
    #[error("{first} contradicts {second}: {reason}")]
    Contradiction {
        /// Which settings it is about: properties, or keys of the configuration such as `kafka.drain`.
        names: &'static [&'static str],
        /// The one, with its value.
        first: String,
        /// The other, with its value.
        second: String,
        /// Why, and what to do.
        reason: &'static str,
    },
    /// A text that has a zero byte inside.
    #[error("{name} has a zero byte inside; remove it")]
    ZeroByte {
        /// Which one.
        name: String,
    },
    /// A topic that cannot exist.
    #[error("kafka.topics: {name:?}: {fault}")]
    Topic {
        /// What was given.
        name: String,
        /// Why not.
        fault: TopicFault,
    },
    /// Something that must not be empty is.
    #[error("{name} is empty; name at least one")]
    Empty {
        /// Which one.
        name: &'static str,
    },
}

fn other_role(for_producers: &bool) -> &'static str {
    if *for_producers { " to consumers (producers have it)" } else { "" }
}

/// The properties of the client, each name once.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientProperties(BTreeMap<String, String>);

impl std::fmt::Debug for ClientProperties {
    /// Names only: values may be secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl ClientProperties {
    /// The client properties that follow from the settings.
    ///
    /// # Errors
    ///
    /// The first of [`ClientProperties::refusals`].
    pub fn of(settings: &ConsumerSettings) -> Result<Self, SettingsError> {
        let (all, mut refusals) = collect(settings);
        if refusals.is_empty() { Ok(Self(all)) } else { Err(refusals.swap_remove(0)) }
    }

    /// Every property that is not accepted, and all settings that cannot go together.
    #[must_use]
    pub fn refusals(settings: &ConsumerSettings) -> Vec<SettingsError> {
        collect(settings).1
    }

    /// Every property whose value librdkafka does not take. It is asked itself; what several properties mean together shows
    /// only when there is a client.
    #[must_use]
    pub fn refused_values(settings: &ConsumerSettings) -> Vec<SettingsError> {
        let accepted = settings.properties.iter().filter(|(name, _)| properties::standing(name) == Standing::Accepted);
        let refused = accepted.filter_map(|(name, value)| {
            let words = refused_value(name, value)?;
            Some(SettingsError::Value { name: name.clone(), words })
        });
        refused.collect()
    }

    /// The properties of a client that is no consumer.
    pub(crate) fn from_map(all: BTreeMap<String, String>) -> Self {
        Self(all)
    }

    /// One property's value.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// True when the operator wants the client's debug lines.
    pub(crate) fn debug_asked(&self) -> bool {
        self.value("debug").is_some_and(|contexts| !contexts.is_empty())
    }

    /// The same for a client that also says what it learns of topics.
    pub(crate) fn telling_of_topics(&self) -> Self {
        let asked = self.value("debug").filter(|contexts| !contexts.is_empty());
        let contexts = asked.map_or_else(|| "topic".to_owned(), |asked| format!("{asked},topic"));
        let mut all = self.0.clone();
        all.insert("debug".to_owned(), contexts);
        Self(all)
    }

    /// The same for a client that reads a topic from one end to the other beside the group, whose member it never becomes.
    pub(crate) fn for_reading(&self) -> Self {
        let mut all = self.0.clone();
        // Nor does it read from a follower, which may lag behind the end that the leader told.
        ["group.instance.id", "group.protocol", "group.remote.assignor", "client.rack"]
            .iter()
            .for_each(|name| drop(all.remove(*name)));
        // What retention deletes meanwhile is gone, and the rest is read on.
        let own_values =
            [("enable.partition.eof", "true"), ("auto.offset.reset", "earliest"), ("statistics.interval.ms", "0")];
        all.extend(own_values.map(|(name, value)| own(name, value)));
        Self(all)
    }

    /// Name and value of each, for the client.
    pub(crate) fn raw(&self) -> Vec<(CString, CString)> {
        let pairs = self.0.iter();
        pairs.filter_map(|(k, v)| Some((CString::new(k.as_str()).ok()?, CString::new(v.as_str()).ok()?))).collect()
    }

    /// Removes secret values from a text that librdkafka wrote.
    pub(crate) fn without_secrets(&self, text: &str) -> String {
        let secrets = self.0.iter().filter(|(name, value)| properties::is_secret(name) && !value.is_empty());
        secrets.fold(text.to_owned(), |text, (_, value)| text.replace(value.as_str(), "***"))
    }
}

fn own(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// The properties that follow from the settings, and what is wrong with them.
fn collect(settings: &ConsumerSettings) -> (BTreeMap<String, String>, Vec<SettingsError>) {
    let mut refusals = required(settings);
    let lanes = properties::LANE_DEFAULTS.iter().filter(|_| settings.lanes_by_partition);
    let mut all: BTreeMap<String, String> = properties::DEFAULTS.iter().chain(lanes).map(|(k, v)| own(k, v)).collect();
    for (name, value) in &settings.properties {
        let name = properties::canonical(name);
        match properties::standing(name) {
            Standing::Accepted => drop(all.insert(name.to_owned(), value.clone())),
            Standing::Owned(reason) => refusals.push(SettingsError::Owned { name: name.to_owned(), reason }),
            Standing::Refused(reason) => refusals.push(SettingsError::Refused { name: name.to_owned(), reason }),
            Standing::Unknown { for_producers } => {
                refusals.push(SettingsError::Unknown { name: name.to_owned(), for_producers });
            }
        }
    }
    let is_consumer_protocol = all.get("group.protocol").is_some_and(|value| value == "consumer");
    if !is_consumer_protocol {
        all.entry("partition.assignment.strategy".to_owned()).or_insert_with(|| "cooperative-sticky".to_owned());
    }
    crate::contradiction::find(settings, &all, &mut refusals);
    all.extend(properties::OWNED_VALUES.iter().map(|(k, v)| own(k, v)));
    all.insert("bootstrap.servers".to_owned(), settings.bootstrap_servers.clone());
    all.insert("group.id".to_owned(), settings.group_id.clone());
    let broken = all.iter().filter(|(name, value)| name.contains('\0') || value.contains('\0'));
    refusals.extend(broken.map(|(name, _)| SettingsError::ZeroByte { name: name.replace('\0', "\u{fffd}") }));
    (all, refusals)
}

/// What must be there and is not, and topics that cannot exist.
fn required(settings: &ConsumerSettings) -> Vec<SettingsError> {
    let topics = settings.topics.iter().map(String::as_str).find(|name| name.is_empty());
    let empty = [
        ("kafka.bootstrap_servers", settings.bootstrap_servers.is_empty()),
        ("kafka.group_id", settings.group_id.is_empty()),
        ("kafka.topics", settings.topics.is_empty() || topics.is_some()),
    ];
    let empty = empty.into_iter().filter(|(_, is_empty)| *is_empty);
    let faults = settings.topics.iter().filter(|name| !name.is_empty()).filter_map(|name| {
        let fault = check_topic(name).err()?;
        Some(SettingsError::Topic { name: name.clone(), fault })
    });
    empty.map(|(name, _)| SettingsError::Empty { name }).chain(faults).collect()
}

/// What librdkafka says against the value of a property, if it does. Of a secret its words are not repeated.
pub(crate) fn refused_value(name: &str, value: &str) -> Option<String> {
    let (raw_name, raw_value) = (CString::new(name).ok()?, CString::new(value).ok()?);
    let words = check_value(&raw_name, &raw_value).err()?;
    Some(if properties::is_secret(name) { "its value is not accepted".to_owned() } else { words.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_settings_shows_no_secret() {
        let mut settings = ConsumerSettings::new("localhost:9092", "g", &["t"], ResetPolicy::Error);
        for (name, value) in [("sasl.username", "alice"), ("sasl.password", "hunter2"), ("ssl.key.password", "hunter2")]
        {
            settings.properties.push((name.to_owned(), value.to_owned()));
        }
        let shown = format!("{settings:?}");
        assert!(shown.contains("alice") && !shown.contains("hunter2"), "{shown}");
    }
}
