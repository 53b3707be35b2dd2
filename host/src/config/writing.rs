//! What the host writes to Kafka, and how: dead letters, and the producer behind them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gristmill_kafka::dead_letter::{DeadLetterTopic, HeaderStyle};
use gristmill_kafka::{ProducerSettings, SettingsError, check_topic, is_pattern};

use super::file::{self, ConfigFile};
use super::findings::Findings;
use super::kafka::KafkaConfig;
use super::quantity::Span;
use super::secret::Secret;
use super::topic_match::TopicMatch;

/// What is written, and how.
#[derive(Clone, Debug)]
pub struct WritingConfig {
    /// Where records go that cannot be handled.
    pub dead_letter: Option<DeadLetterConfig>,
    /// Where the plugin may emit records to, by the names that it knows.
    pub sinks: BTreeMap<String, SinkConfig>,
    /// How long a record may take to be acknowledged.
    pub timeout: Duration,
    /// Properties of librdkafka for the producer alone.
    pub properties: BTreeMap<String, Secret>,
}

/// Where records go that cannot be handled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetterConfig {
    /// The topic.
    pub topic: String,
    /// True: headers are called as Kafka Connect calls them.
    pub connect_headers: bool,
}

/// Where the plugin may emit records to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinkConfig {
    /// The topic.
    pub topic: String,
    /// True: each record tells where it came from.
    pub provenance: bool,
}

impl WritingConfig {
    /// Every topic that is written to, with the key that names it.
    pub fn topics(&self) -> impl Iterator<Item = (String, &str)> {
        let letters = self.dead_letter.iter().map(|letters| ("dead_letter.topic".to_owned(), letters.topic.as_str()));
        let sinks = self.sinks.iter().map(|(name, sink)| (format!("sinks.{name}.topic"), sink.topic.as_str()));
        letters.chain(sinks)
    }

    /// What the producer needs to know. Holds secrets in the open: neither print nor keep it.
    #[must_use]
    pub fn producer_settings(&self, kafka: &KafkaConfig) -> ProducerSettings {
        let consumer = kafka.consumer_settings(Instant::now());
        let mut settings = ProducerSettings::beside(&consumer);
        settings.message_timeout = self.timeout;
        let own = self.properties.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned()));
        settings.properties = own.collect();
        settings
    }

    /// Where dead letters go and in which form; `bytes_max` is the largest record that may be sent.
    pub(crate) fn dead_letter_topic(&self, pipeline: &Arc<str>, bytes_max: u64) -> Option<DeadLetterTopic> {
        let config = self.dead_letter.as_ref()?;
        Some(DeadLetterTopic {
            topic: Arc::from(config.topic.as_str()),
            style: if config.connect_headers { HeaderStyle::KafkaConnect } else { HeaderStyle::Native },
            pipeline: Arc::clone(pipeline),
            bytes_max,
            partitions: None,
        })
    }
}

/// Parses, and refuses what would feed the host with its own dead letters (D5) or could never be written.
pub(crate) fn parse(file: &ConfigFile, kafka: &KafkaConfig, findings: &mut Findings) -> WritingConfig {
    if let Some(section) = &file.dead_letter {
        dead_letter(section, &kafka.topics, findings);
    }
    for (name, sink) in &file.sinks {
        if name.trim().is_empty() {
            findings.refuse(&[&["sinks", name]], "sinks: a sink has no name, so no plugin can emit to it".to_owned());
        }
        if file.dead_letter.as_ref().is_some_and(|letters| letters.topic == sink.topic) {
            let message = format!(
                "sinks.{name}.topic and dead_letter.topic are both {:?}: what is emitted would lie among the dead letters",
                sink.topic
            );
            findings.warn(&[&["sinks", name, "topic"], &["dead_letter", "topic"]], message);
        }
        written(&["sinks", name, "topic"], &sink.topic, "emitted record", &kafka.topics, findings);
    }
    needs_topic(file, findings);
    let properties = &file.producer.properties;
    let config = WritingConfig {
        dead_letter: file.dead_letter.as_ref().map(|section| DeadLetterConfig {
            topic: section.topic.clone(),
            connect_headers: section.headers == file::HeaderNames::KafkaConnect,
        }),
        sinks: file
            .sinks
            .iter()
            .map(|(name, sink)| (name.clone(), SinkConfig { topic: sink.topic.clone(), provenance: sink.provenance }))
            .collect(),
        timeout: file.producer.timeout.0,
        properties: properties.iter().map(|(name, value)| (name.clone(), Secret::new(value.0.clone()))).collect(),
    };
    if file.producer.timeout < Span::millis(1_000) {
        let message = format!(
            "producer.timeout ({}) is over before a busy broker answers; write at least \"1s\"",
            file.producer.timeout
        );
        findings.refuse(&[&["producer", "timeout"]], message);
    }
    for error in config.producer_settings(kafka).refusals() {
        if let SettingsError::Producer { name, .. } | SettingsError::ProducerValue { name, .. } = &error {
            findings.refuse(&[&["producer", "properties", name]], error.to_string());
        }
    }
    let written = |name: &str| properties.get(name).and_then(|value| value.0.trim().parse::<u64>().ok());
    if let Some(linger) =
        written("linger.ms").filter(|linger| u128::from(*linger) >= file.producer.timeout.0.as_millis())
    {
        let message = format!(
            "producer.properties.linger.ms ({linger}) is no less than producer.timeout ({}): records would time out while they wait for \
             others",
            file.producer.timeout
        );
        findings.refuse(&[&["producer", "properties", "linger.ms"], &["producer", "timeout"]], message);
    }
    config
}

fn dead_letter(section: &file::DeadLetterSection, subscribed: &[String], findings: &mut Findings) {
    written(&["dead_letter", "topic"], &section.topic, "dead letter", subscribed, findings);
    if !(0.0..=1.0).contains(&section.stop_when.ratio) {
        let ratio = section.stop_when.ratio;
        let message = format!("dead_letter.stop_when.ratio ({ratio}) is a share and lies between 0.0 and 1.0");
        findings.refuse(&[&["dead_letter", "stop_when", "ratio"]], message);
    }
}

/// One topic by its name, which this pipeline does not read: else each of `what` would come back to it.
fn written(path: &[&str], topic: &str, what: &str, subscribed: &[String], findings: &mut Findings) {
    let key = path.join(".");
    if is_pattern(topic) {
        findings.refuse(&[path], format!("{key}: {topic:?} is a pattern; name one topic"));
    } else if let Err(fault) = check_topic(topic) {
        findings.refuse(&[path], format!("{key}: {topic:?}: {fault}"));
    } else if let Some(reads) = subscribed.iter().find(|subscribed| reads(subscribed, topic)) {
        let message = format!(
            "{key}: {topic:?} is read by this pipeline itself (kafka.topics has {reads:?}), so each {what} would come back; name \
             another topic, or narrow the pattern"
        );
        findings.refuse(&[path, &["kafka", "topics"]], message);
    }
}

/// True when a subscription reads a topic. Where the brokers' client reads another one, the first assignment of the topic ends the host.
fn reads(subscribed: &str, topic: &str) -> bool {
    TopicMatch::of(subscribed).is_some_and(|subscribed| subscribed.is(topic))
}

/// Nothing can be put aside where there is no place for it.
fn needs_topic(file: &ConfigFile, findings: &mut Findings) {
    if file.dead_letter.is_some() {
        return;
    }
    for (key, then) in [("fault", file.fault.then), ("retry", file.retry.then)] {
        if then == Some(file::Exhausted::DeadLetter) {
            let message = format!("{key}.then = \"dead_letter\" needs a topic; write [dead_letter] with topic = \"…\"");
            findings.refuse(&[&[key, "then"], &["dead_letter"]], message);
        }
    }
}
