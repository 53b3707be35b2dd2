//! What a producer needs to know, and the client properties that follow from it.
//!
//! The brokers and how to talk to them are those of the consumer. What makes an acknowledgement mean something is ours.
//! Reaches no broker.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::properties::{self, Standing};
use crate::settings::{ClientProperties, ConsumerSettings, SettingsError, refused_value};

/// Properties of the consumer's that a producer does not have, or that mean something else to it.
const CONSUMER_ONLY: &[&str] = &[
    "check.crcs",
    "coordinator.query.interval.ms",
    "fetch.error.backoff.ms",
    "fetch.max.bytes",
    "fetch.min.bytes",
    "fetch.queue.backoff.ms",
    "fetch.wait.max.ms",
    "group.instance.id",
    "group.protocol",
    "group.protocol.type",
    "group.remote.assignor",
    "heartbeat.interval.ms",
    "isolation.level",
    // For a producer it decides about order.
    "max.in.flight",
    "max.partition.fetch.bytes",
    "max.poll.interval.ms",
    "partition.assignment.strategy",
    "queued.max.messages.kbytes",
    "queued.min.messages",
    "session.timeout.ms",
    // Nobody reads a producer's.
    "statistics.interval.ms",
    // It grew with what is read; what is produced is answered in a few bytes.
    "receive.message.max.bytes",
];

/// What an operator may set for producers beside what consumers have.
const ACCEPTED: &[&str] = &[
    "batch.num.messages",
    "batch.size",
    "compression.codec",
    "compression.level",
    "compression.type",
    "linger.ms",
    "queue.buffering.max.ms",
    "request.timeout.ms",
    "sticky.partitioning.linger.ms",
];

/// What we set and the operator cannot, each with the reason.
const OWNED: &[(&str, &str)] = &[
    ("acks", "an acknowledgement stands for all replicas that are in sync"),
    ("request.required.acks", "an acknowledgement stands for all replicas that are in sync"),
    ("enable.idempotence", "the client's own retries must neither repeat nor swap records"),
    ("max.in.flight", "the client's own retries must neither repeat nor swap records"),
    ("enable.gapless.guarantee", "a record that failed must not end the client"),
    ("message.send.max.retries", "the time limit ends retries"),
    ("retries", "the time limit ends retries"),
    ("message.timeout.ms", "it is the time limit of the settings"),
    ("delivery.timeout.ms", "it is the time limit of the settings"),
    ("queue.buffering.max.kbytes", "the host bounds the queue"),
    ("queue.buffering.max.messages", "the host bounds the queue"),
    ("delivery.report.only.error", "each record's end is told"),
    ("partitioner", "keys go where Java clients put them"),
    ("transactional.id", "there are no transactions"),
    ("transaction.timeout.ms", "there are no transactions"),
];

/// What we set, whatever the operator says.
const OWNED_VALUES: &[(&str, &str)] = &[
    ("enable.idempotence", "true"),
    ("acks", "all"),
    ("partitioner", "murmur2_random"),
    // The host counts bytes; records alone are no bound of memory.
    ("queue.buffering.max.messages", "0"),
    ("enable.metrics.push", "false"),
    // A dead letter must not create a topic whose name was mistyped.
    ("allow.auto.create.topics", "false"),
];

/// What we set unless the operator says otherwise.
const DEFAULTS: &[(&str, &str)] = &[
    ("client.id", "gristmill"),
    // A topic's limit is about a whole batch. One that is larger than the limit is refused although each of its records
    // would fit, so batches are small beside the limits that are in use; a record that is larger travels alone.
    ("batch.size", "131072"),
    // A request comes at once, so waiting for more fills no batch (measured on the mock: 64 µs instead of 2.3 ms with a wait of
    // 2 ms for a request of one record, and as many records per second in large ones).
    ("linger.ms", "0"),
];

/// The largest record that librdkafka takes where nothing is set; from its CONFIGURATION.md of 2.12.1.
const MESSAGE_MAX_BYTES: u64 = 1_000_000;
/// How long a topic that is not there may be a new one that is not known everywhere yet.
const NEW_TOPIC_WAIT: Duration = Duration::from_secs(5);

/// While librdkafka waits for its next attempt to connect it looks at no time limit, so that the end of a record is told late by
/// that wait (measured: 8.6 s for a limit of 2 s). Its own default goes up to ten seconds. Where the operator has chosen a
/// first wait, the longest has to be chosen as well.
const RECONNECT_WAIT_MAX_MS: &str = "1000";

/// Everything a producer needs to know. May hold secrets in the open; its `Debug` form does not show them.
#[derive(Clone)]
pub struct ProducerSettings {
    /// Brokers to begin with, `host:port` separated by commas.
    pub bootstrap_servers: String,
    /// The consumer's further client properties; those that only consumers have are passed over.
    pub shared_properties: Vec<(String, String)>,
    /// Client properties for producing, by librdkafka's names; a later one wins, also over the shared ones.
    pub properties: Vec<(String, String)>,
    /// How long the client tries to have a record acknowledged. The end of that is the final word: nothing is tried after. With
    /// no broker to be reached it may come later by the wait between attempts to connect, `reconnect.backoff.max.ms`.
    pub message_timeout: Duration,
    /// Budget for the records that the client has, as they are in a batch. Records beyond it wait in their request; one
    /// that is larger than the budget travels alone.
    pub queue_bytes_max: u64,
}

impl ProducerSettings {
    /// Settings for producing where a consumer reads.
    #[must_use]
    pub fn beside(consumer: &ConsumerSettings) -> Self {
        Self {
            bootstrap_servers: consumer.bootstrap_servers.clone(),
            shared_properties: consumer.properties.clone(),
            properties: Vec::new(),
            message_timeout: Duration::from_secs(30),
            queue_bytes_max: 32 << 20,
        }
    }

    /// The largest record that the client takes, as [`crate::Outgoing::wire_bytes`] counts. A topic may allow less.
    #[must_use]
    pub fn record_bytes_max(&self) -> u64 {
        let all = self.properties.iter().rev().chain(self.shared_properties.iter().rev());
        let set = all.filter(|(name, _)| name == "message.max.bytes").find_map(|(_, value)| value.trim().parse().ok());
        set.unwrap_or(MESSAGE_MAX_BYTES)
    }

    /// The client properties that follow.
    ///
    /// # Errors
    ///
    /// A property that is not the operator's to set, or that no producer has.
    pub fn client_properties(&self) -> Result<ClientProperties, SettingsError> {
        if self.bootstrap_servers.is_empty() {
            return Err(SettingsError::Empty { name: "kafka.bootstrap_servers" });
        }
        let mut all: BTreeMap<String, String> = DEFAULTS.iter().map(|(name, value)| own(name, value)).collect();
        let new_topic_wait = NEW_TOPIC_WAIT.min(self.message_timeout / 2);
        all.extend([own("topic.metadata.propagation.max.ms", &new_topic_wait.as_millis().to_string())]);
        for (name, value) in &self.shared_properties {
            let name = properties::canonical(name);
            if !CONSUMER_ONLY.contains(&name) {
                accept_shared(name)?;
                all.extend([own(name, value)]);
            }
        }
        if !all.contains_key("reconnect.backoff.ms") {
            all.entry("reconnect.backoff.max.ms".to_owned()).or_insert_with(|| RECONNECT_WAIT_MAX_MS.to_owned());
        }
        for (name, value) in &self.properties {
            accept(name)?;
            all.extend([own(properties::canonical(name), value)]);
        }
        all.extend(OWNED_VALUES.iter().map(|(name, value)| own(name, value)));
        // The client's own bound lies above ours, so that it is never what a record waits for.
        let queue_kbytes = (self.queue_bytes_max + self.record_bytes_max()).div_ceil(1024).clamp(1, MAX_INT);
        let timeout_ms = u64::try_from(self.message_timeout.as_millis()).unwrap_or(u64::MAX).clamp(1, MAX_INT);
        all.extend([
            own("bootstrap.servers", &self.bootstrap_servers),
            own("message.timeout.ms", &timeout_ms.to_string()),
            own("queue.buffering.max.kbytes", &queue_kbytes.to_string()),
        ]);
        match all.iter().find(|(name, value)| name.contains('\0') || value.contains('\0')) {
            Some((name, _)) => Err(SettingsError::ZeroByte { name: name.replace('\0', "\u{fffd}") }),
            None => Ok(ClientProperties::from_map(all)),
        }
    }
}

impl ProducerSettings {
    /// Every property for producing that is not accepted, and every one whose value librdkafka does not take: it is asked.
    #[must_use]
    pub fn refusals(&self) -> Vec<SettingsError> {
        let refusal = |(name, value): &(String, String)| accept(name).err().or_else(|| producer_value(name, value));
        self.properties.iter().filter_map(refusal).collect()
    }
}

/// What is wrong with the value of a property for producing.
fn producer_value(name: &str, value: &str) -> Option<SettingsError> {
    let words = refused_value(name, value)?;
    Some(SettingsError::ProducerValue { name: name.to_owned(), words })
}

/// The largest number that librdkafka's properties hold.
const MAX_INT: u64 = i32::MAX as u64;

fn own(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// A property that came with the consumer's: what is wrong with it is wrong there as well.
fn accept_shared(name: &str) -> Result<(), SettingsError> {
    match properties::standing(name) {
        Standing::Accepted => Ok(()),
        Standing::Owned(reason) => Err(SettingsError::Owned { name: name.to_owned(), reason }),
        Standing::Refused(reason) => Err(SettingsError::Refused { name: name.to_owned(), reason }),
        Standing::Unknown { for_producers } => Err(SettingsError::Unknown { name: name.to_owned(), for_producers }),
    }
}

/// How brokers are reached and who asks them is the same for reading and writing.
const SHARED: &[&str] = &["sasl.", "ssl.", "security.", "topic.blacklist", "oauthbearer."];

/// A property that was set for producing, by the name that the operator wrote.
fn accept(written: &str) -> Result<(), SettingsError> {
    let refused = |reason| Err(SettingsError::Producer { name: written.to_owned(), reason });
    let name = properties::canonical(written);
    if SHARED.iter().any(|shared| name.starts_with(shared)) {
        return refused("how brokers are reached is the same for reading and writing, set it in [kafka.properties]");
    }
    if let Some((_, reason)) = OWNED.iter().find(|(owned, _)| *owned == name) {
        return refused(reason);
    }
    if CONSUMER_ONLY.contains(&name) {
        return refused("only consumers have it");
    }
    match properties::standing(name) {
        Standing::Accepted => Ok(()),
        Standing::Unknown { for_producers: true } if ACCEPTED.contains(&name) => Ok(()),
        Standing::Owned(reason) | Standing::Refused(reason) => refused(reason),
        Standing::Unknown { .. } => refused("no client has it"),
    }
}

impl std::fmt::Debug for ProducerSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.shared_properties.iter().chain(&self.properties).map(|(name, _)| name);
        f.debug_struct("ProducerSettings")
            .field("bootstrap_servers", &self.bootstrap_servers)
            .field("properties", &names.collect::<Vec<_>>())
            .field("message_timeout", &self.message_timeout)
            .field("queue_bytes_max", &self.queue_bytes_max)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::ResetPolicy;

    fn settings(shared: &[(&str, &str)], own_ones: &[(&str, &str)]) -> ProducerSettings {
        let mut consumer = ConsumerSettings::new("localhost:9092", "g", &["t"], ResetPolicy::Error);
        consumer.properties = shared.iter().map(|(name, value)| own(name, value)).collect();
        let mut settings = ProducerSettings::beside(&consumer);
        settings.properties = own_ones.iter().map(|(name, value)| own(name, value)).collect();
        settings
    }

    #[test]
    fn how_to_reach_the_brokers_comes_from_the_consumer_and_what_only_it_has_does_not() {
        let shared = [("security.protocol", "ssl"), ("fetch.max.bytes", "5"), ("sasl.mechanisms", "PLAIN")];
        let all = settings(&shared, &[]).client_properties().expect("legal");
        assert_eq!(all.value("security.protocol"), Some("ssl"));
        assert_eq!(all.value("sasl.mechanism"), Some("PLAIN"));
        assert_eq!(all.value("fetch.max.bytes"), None);
        assert_eq!(all.value("bootstrap.servers"), Some("localhost:9092"));
        assert_eq!((all.value("acks"), all.value("enable.idempotence")), (Some("all"), Some("true")));
    }

    #[test]
    fn what_makes_an_acknowledgement_mean_something_cannot_be_set() {
        for (name, _) in OWNED {
            let refused = settings(&[], &[(name, "1")]).client_properties();
            assert!(matches!(refused, Err(SettingsError::Producer { .. })), "{name}: {refused:?}");
        }
        for name in ["sasl.password", "ssl.ca.location", "security.protocol", "topic.blacklist"] {
            let refused = settings(&[], &[(name, "1")]).client_properties();
            assert!(matches!(refused, Err(SettingsError::Producer { .. })), "{name}: {refused:?}");
        }
        for name in ["fetch.max.bytes", "max.in.flight.requests.per.connection", "plugin.library.paths", "linger"] {
            let refused = settings(&[], &[(name, "1")]).client_properties();
            assert!(matches!(refused, Err(SettingsError::Producer { .. })), "{name}: {refused:?}");
        }
        let slower = settings(&[], &[("linger.ms", "50"), ("compression.type", "zstd")]);
        assert_eq!(slower.client_properties().expect("legal").value("linger.ms"), Some("50"));
    }

    #[test]
    fn every_refusal_is_told_by_the_name_that_was_written() {
        let written = [("max.in.flight.requests.per.connection", "9"), ("compression.type", "lz5"), ("linger.ms", "5")];
        let told: Vec<_> = settings(&[], &written).refusals().iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].contains("max.in.flight.requests.per.connection"), "{told:?}");
        assert!(told[1].contains("compression.type") && told[1].contains("[producer.properties]"), "{told:?}");
    }

    #[test]
    fn the_largest_record_is_what_the_operator_says_or_the_default() {
        assert_eq!(settings(&[], &[]).record_bytes_max(), 1_000_000);
        assert_eq!(settings(&[("message.max.bytes", "2000")], &[]).record_bytes_max(), 2000);
        let both = settings(&[("message.max.bytes", "2000")], &[("message.max.bytes", "3000")]);
        assert_eq!(both.record_bytes_max(), 3000);
    }

    #[test]
    fn printing_settings_shows_no_secret() {
        let shown = format!("{:?}", settings(&[("sasl.password", "hunter2")], &[("linger.ms", "hunter2")]));
        assert!(shown.contains("sasl.password") && !shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn all_that_consumers_may_set_is_known_to_be_shared_or_not() {
        // A name that is on neither list would reach the producer by mistake.
        assert!(CONSUMER_ONLY.iter().all(|name| properties::standing(name) == Standing::Accepted));
        assert!(ACCEPTED.iter().all(|name| properties::standing(name) == Standing::Unknown { for_producers: true }));
    }
}
