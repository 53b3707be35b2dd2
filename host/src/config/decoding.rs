//! What the bytes of keys and values are, as the decoder wants to hear it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gristmill_decode::{self as decode, Format, MessageSource, RegistryAuth, RegistrySettings, Source};
use gristmill_kafka::is_pattern;

use super::file::{ConfigFile, FormatName, RegistrySection, TopicSection};
use super::findings::Findings;
use super::paths;
use super::quantity::Span;
use super::secret::Secret;
use super::topic_match::TopicMatch;

/// What the bytes of keys and values are.
#[derive(Clone, Debug, Default)]
pub struct DecodingConfig {
    /// Topics whose records are decoded, as they stand in `kafka.topics`, patterns behind names. Empty: none.
    pub topics: Vec<TopicFormats>,
    /// Where schemas come from that no file is named for.
    pub registry: Option<RegistryConfig>,
    /// Where a pattern has formats: all that is subscribed. The brokers' client matches patterns as its system does, so it may read a
    /// topic that none of these is about; which formats that has nobody can tell.
    pub subscribed: Vec<TopicMatch>,
}

impl DecodingConfig {
    /// True for a topic that is read, and of which nobody can tell which formats it has.
    #[must_use]
    pub fn is_unclear(&self, topic: &str) -> bool {
        !self.subscribed.is_empty() && !self.subscribed.iter().any(|subscribed| subscribed.is(topic))
    }
}

/// What the records of some topics are.
#[derive(Clone, Debug)]
pub struct TopicFormats {
    /// Which topics.
    pub topics: TopicMatch,
    /// What keys are.
    pub key: Format,
    /// What values are.
    pub value: Format,
}

/// A schema registry.
#[derive(Clone, Debug)]
pub struct RegistryConfig {
    url: String,
    user: Option<(String, Secret)>,
    token: Option<Secret>,
    ca_file: Option<PathBuf>,
    request_time_max: Duration,
}

impl RegistryConfig {
    /// The same in the decoder's words.
    #[must_use]
    pub fn settings(&self) -> RegistrySettings {
        let secret = |secret: &Secret| decode::Secret::new(secret.reveal());
        let basic = |(user, password): &(String, Secret)| RegistryAuth::Basic {
            user: user.clone(),
            password: secret(password),
        };
        let token = self.token.as_ref().map(|token| RegistryAuth::Bearer(secret(token)));
        let usual = RegistrySettings::new(&self.url);
        RegistrySettings {
            answer_time_max: usual.answer_time_max.max(self.request_time_max),
            auth: self.user.as_ref().map(basic).or(token),
            ca_file: self.ca_file.clone(),
            request_time_max: self.request_time_max,
            ..usual
        }
    }
}

/// Parses, and refuses formats that nothing could be decoded with.
pub(crate) fn parse(file: &ConfigFile, folder: &Path, findings: &mut Findings) -> DecodingConfig {
    let registry = file.schema_registry.as_ref().map(|section| registry(section, folder, findings));
    let mut topics = Vec::new();
    for (topic, section) in &file.topics {
        if !file.kafka.topics.contains(topic) {
            let message = format!(
                "topics.{topic}: this pipeline does not read it by that name; write it as in kafka.topics ({}), or remove it",
                file.kafka.topics.join(", ")
            );
            findings.refuse(&[&["topics", topic], &["kafka", "topics"]], message);
        }
        for side in [Side::keys(section), Side::values(section)] {
            refuse_misfits(&side, topic, file.schema_registry.is_some(), findings);
        }
    }
    // Patterns stand behind names, and in the order of `kafka.topics`: the first that matches counts.
    let named = |pattern: bool| file.kafka.topics.iter().filter(move |topic| is_pattern(topic) == pattern);
    for topic in named(false).chain(named(true)) {
        let Some(section) = file.topics.get(topic) else { continue };
        let (key, value) = (Side::keys(section).format(folder), Side::values(section).format(folder));
        let Some(topics_meant) = topic_match(topic, findings) else { continue };
        if (&key, &value) != (&Format::Raw, &Format::Raw) {
            topics.push(TopicFormats { topics: topics_meant, key, value });
        }
    }
    if registry.is_some() && file.topics.values().all(|section| !asks_registry(section)) {
        let warning = "schema_registry is set up, and no topic needs it: none has a format without a schema file";
        findings.warnings.push(warning.to_owned());
    }
    let by_pattern = topics.iter().any(|formats| matches!(formats.topics, TopicMatch::Pattern(_)));
    let subscribed =
        file.kafka.topics.iter().filter(|_| by_pattern).filter_map(|topic| TopicMatch::of(topic)).collect();
    DecodingConfig { topics, registry, subscribed }
}

/// True where one of a topic's formats takes its schemas from the registry.
fn asks_registry(section: &TopicSection) -> bool {
    [Side::keys(section), Side::values(section)].iter().any(|side| side.has_schema() && side.schema.is_none())
}

fn topic_match(topic: &str, findings: &mut Findings) -> Option<TopicMatch> {
    let matched = TopicMatch::of(topic);
    if matched.is_none() {
        let message = format!(
            "topics.{topic}: this pattern means something to brokers' clients only; write a simpler one, or name the topics"
        );
        findings.refuse(&[&["topics", topic]], message);
    }
    matched
}

fn registry(section: &RegistrySection, folder: &Path, findings: &mut Findings) -> RegistryConfig {
    let path = |key: &'static str| ["schema_registry", key];
    match (&section.user, &section.password, &section.token) {
        (Some(_), Some(_), None) | (None, None, _) => {}
        (Some(_), None, None) => findings.refuse(
            &[&path("user")],
            "schema_registry.user needs a password; write schema_registry.password = \"${REGISTRY_PASSWORD}\"".to_owned(),
        ),
        (None, Some(_), None) => findings
            .refuse(&[&path("password")], "schema_registry.password needs schema_registry.user as well".to_owned()),
        (_, _, Some(_)) => findings.refuse(
            &[&path("token")],
            "schema_registry.token stands beside a user or password; the registry knows us by one of them: remove the other"
                .to_owned(),
        ),
    }
    if section.timeout < Span::millis(100) {
        let message = format!(
            "schema_registry.timeout ({}) is over before a registry can answer; write at least \"100ms\"",
            section.timeout
        );
        findings.refuse(&[&path("timeout")], message);
    }
    if let Err(error) = RegistrySettings::new(&section.url).check_url() {
        findings.refuse(&[&path("url")], format!("schema_registry.url: {error}"));
    }
    RegistryConfig {
        url: section.url.clone(),
        user: section.user.clone().zip(section.password.clone()),
        token: section.token.clone(),
        ca_file: section.ca_file.as_ref().map(|file| paths::parse(&path("ca_file"), file, folder, findings)),
        request_time_max: section.timeout.0,
    }
}

/// The keys about a topic's keys, or about its values.
struct Side<'s> {
    name: &'static str,
    format: FormatName,
    schema: Option<&'s str>,
    message: Option<&'s str>,
}

impl<'s> Side<'s> {
    fn keys(section: &'s TopicSection) -> Self {
        let (schema, message) = (section.key_schema.as_deref(), section.key_message.as_deref());
        Self { name: "key", format: section.key_format, schema, message }
    }

    fn values(section: &'s TopicSection) -> Self {
        let (schema, message) = (section.value_schema.as_deref(), section.value_message.as_deref());
        Self { name: "value", format: section.value_format, schema, message }
    }

    /// True for a format that is held against a schema.
    fn has_schema(&self) -> bool {
        match self.format {
            FormatName::Raw | FormatName::Utf8 | FormatName::Json => false,
            FormatName::JsonSchema | FormatName::Avro | FormatName::Protobuf => true,
        }
    }

    fn format(&self, folder: &Path) -> Format {
        let source = || self.schema.map_or(Source::Registry, |file| Source::File(folder.join(file)));
        match self.format {
            FormatName::Raw => Format::Raw,
            FormatName::Utf8 => Format::Utf8,
            FormatName::Json => Format::Json,
            FormatName::JsonSchema => Format::JsonSchema(source()),
            FormatName::Avro => Format::Avro(source()),
            FormatName::Protobuf => Format::Protobuf(self.schema.map_or(MessageSource::Registry, |file| {
                MessageSource::File { schema: folder.join(file), message: self.message.unwrap_or_default().to_owned() }
            })),
        }
    }
}

/// Refuses a format that lacks what it needs, and what it has no use for.
fn refuse_misfits(side: &Side<'_>, topic: &str, registry: bool, findings: &mut Findings) {
    let name = side.name;
    let keys = [format!("{name}_format"), format!("{name}_schema"), format!("{name}_message")];
    let [format_path, schema_path, message_path] = keys.each_ref().map(|key| ["topics", topic, key.as_str()]);
    let has_schema = side.has_schema();
    if let Some(fault) = side.schema.and_then(paths::fault) {
        findings.refuse(&[&schema_path], format!("topics.{topic}.{name}_schema {fault}"));
    }
    if !has_schema && side.schema.is_some() {
        let message = format!(
            "topics.{topic}.{name}_schema: nothing is held against a schema with this {name}_format; write \"json-schema\", \"avro\" or \
             \"protobuf\", or remove it"
        );
        findings.refuse(&[&schema_path, &format_path], message);
    }
    if has_schema && side.schema.is_none() && !registry {
        let message = format!(
            "topics.{topic}.{name}_format needs schemas; name a file in {name}_schema, or write [schema_registry] with url = \"…\""
        );
        findings.refuse(&[&format_path, &schema_path, &["schema_registry"]], message);
    }
    let wants_message = side.format == FormatName::Protobuf && side.schema.is_some();
    if wants_message && side.message.is_none_or(|message| message.trim().is_empty()) {
        let message =
            format!("topics.{topic}.{name}_schema holds many messages; write {name}_message = \"package.Message\"");
        findings.refuse(&[&schema_path], message);
    }
    if !wants_message && side.message.is_some() {
        let message = format!(
            "topics.{topic}.{name}_message goes with {name}_format = \"protobuf\" and a {name}_schema only; remove it"
        );
        findings.refuse(&[&message_path, &format_path], message);
    }
}
