//! The configuration: parsed once, into a type that can only hold legal combinations.
//!
//! The way of a file: text → tree with places (`text`) → variables replaced (`expand`) → environment and flags laid over
//! it (`overlay`) → serde model (`file`, through `reader`) → [`Config`] (`parse`). What is wrong on the way is collected in
//! `findings`. Nothing here reaches a broker or loads a plugin.

mod bootstrap;
mod cache;
mod contradictions;
mod control;
mod decoding;
mod derived;
mod expand;
mod file;
mod findings;
mod grants;
mod kafka;
mod later;
mod origin;
mod overlay;
mod parse;
mod paths;
mod plugin;
mod problem;
mod property;
mod quantity;
mod reader;
mod scalar;
mod schema;
mod secret;
mod shape;
#[cfg(test)]
mod tests;
mod text;
mod topic_match;
mod tree;
mod writing;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gristmill_core::policy::{Policy, Scope};
use gristmill_kafka::ConsumerSettings;

pub use self::cache::CacheConfig;
pub use self::control::ControlConfig;
pub use self::decoding::{DecodingConfig, RegistryConfig, TopicFormats};
use self::findings::Findings;
pub use self::grants::GrantsConfig;
pub use self::kafka::KafkaConfig;
pub use self::origin::OriginLine;
use self::overlay::Overlay;
pub(crate) use self::overlay::PREFIX as VARIABLE_PREFIX;
pub use self::plugin::PluginConfig;
use self::problem::Source;
pub use self::problem::{ConfigError, Place, Problem, Spot};
pub use self::quantity::{Size, Span, SpanError};
pub use self::schema::json_schema;
pub use self::secret::Secret;
use self::text::Notation;
pub use self::topic_match::TopicMatch;
use self::tree::Value;
pub use self::writing::{DeadLetterConfig, SinkConfig, WritingConfig};
use crate::control::place;
use crate::regular_file;

/// Everything the operator decided, in legal combinations only.
#[derive(Clone, Debug)]
pub struct Config {
    /// Name of the pipeline.
    pub pipeline: String,
    /// What the pure core decides by.
    pub policy: Policy,
    /// Where records come from.
    pub kafka: KafkaConfig,
    /// What the bytes of keys and values are.
    pub decoding: DecodingConfig,
    /// Who gets the batches.
    pub plugin: PluginConfig,
    /// What is written, and where to.
    pub writing: WritingConfig,
    /// What happens while brokers or topics are not there at start.
    pub start: StartConfig,
    /// Where a running host can be talked to, if anywhere.
    pub control: Option<ControlConfig>,
    /// Things that work but were perhaps not meant, for people.
    pub warnings: Vec<String>,
}

impl Config {
    /// What the Kafka edge needs to know; `base` is the instant that the core calls moment zero. Holds secrets in the open:
    /// neither print nor keep it.
    #[must_use]
    pub fn consumer_settings(&self, base: Instant) -> ConsumerSettings {
        let mut settings = self.kafka.consumer_settings(base);
        settings.lanes_by_partition = matches!(self.policy.scope, Scope::Partition { .. });
        settings
    }
}

/// What happens while brokers or topics are not there at start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartConfig {
    /// How long to try to reach a broker.
    pub wait: Duration,
    /// True: a topic that does not exist ends the process after `wait`. False: it is waited for (O2).
    pub missing_topics_end: bool,
    /// True: the host gives up what it does not need of the system before it loads the plugin.
    pub confine: bool,
}

/// What to read: the file, and what is laid over it.
#[derive(Debug, Default)]
pub struct Request {
    path: PathBuf,
    environment: BTreeMap<String, String>,
    flags: Vec<Overlay>,
}

impl Request {
    /// The file at `path`, with these environment variables.
    #[must_use]
    pub fn new(path: &Path, environment: BTreeMap<String, String>) -> Self {
        Self { path: path.to_owned(), environment, flags: Vec::new() }
    }

    /// Lays `path=value` over file and environment.
    ///
    /// # Errors
    /// A text that says how it is written.
    pub fn set(&mut self, written: &str) -> Result<(), String> {
        self.flags.push(overlay::from_set(written)?);
        Ok(())
    }

    /// Lays a property of librdkafka over file and environment.
    ///
    /// # Errors
    /// A text that says how it is written.
    pub fn property(&mut self, written: &str) -> Result<(), String> {
        self.flags.push(overlay::from_property(written)?);
        Ok(())
    }
}

/// A configuration, and where each of its values comes from.
#[derive(Debug)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// Every value with its origin, in the order of the reference. Secrets are stars.
    pub origins: Vec<OriginLine>,
}

/// The longest text of a configuration.
const TEXT_BYTES_MAX: u64 = 16 << 20;

/// Reads a configuration.
///
/// # Errors
/// Every problem that could be found, each with its place and the way out.
pub fn load(request: Request) -> Result<Loaded, ConfigError> {
    let path = &request.path;
    let plain = |message: String| ConfigError::from(Problem { message, place: None });
    let notation = Notation::of(path).ok_or_else(|| {
        plain(format!("{} is no configuration file; it ends in .toml, .json, .yaml or .yml", path.display()))
    })?;
    let text = regular_file::open(path)
        .and_then(|file| regular_file::read_text(file, TEXT_BYTES_MAX))
        .map_err(|error| plain(format!("cannot read the configuration {}: {error}", path.display())))?;
    load_text(text, notation, request)
}

/// Reads a configuration that this program wrote itself; `name` stands for the file in problems.
pub(crate) fn load_toml(text: &str, name: &str) -> Result<Loaded, ConfigError> {
    load_text(text.to_owned(), Notation::Toml, Request::new(Path::new(name), BTreeMap::new()))
}

fn load_text(text: String, notation: Notation, request: Request) -> Result<Loaded, ConfigError> {
    let Request { path, environment, flags } = request;
    let mut source = Source::new(&path, text);
    let mut root = text::read(source.text(), notation).map_err(|error| {
        let message = format!("this is not {}: {}", notation.name(), error.message);
        source.problem(&tree::Origin::File(error.span), message)
    })?;
    if root.value == Value::Null {
        // What YAML reads where nothing is written.
        root.value = Value::Table(Vec::new());
    }
    if !matches!(root.value, Value::Table(_)) {
        let message = format!("this is {}; wanted the sections [kafka] and [plugin]", root.value.kind());
        return Err(source.problem(&root.origin, message).into());
    }
    source.blot(&root);
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let mut findings = Findings::new(root, source);
    expand::expand(&mut findings, &folder, &|name| environment.get(name).cloned());
    let variables = environment.iter().filter_map(|(name, value)| overlay::from_environment(name, value));
    variables.chain(flags).for_each(|overlay| overlay.lay(&mut findings.root));
    later::refuse(&mut findings);
    let runtime = place::usual_folder(|name| environment.get(name).cloned());
    let file = findings.read();
    let loaded = file.and_then(|file| {
        let origins = origin::list(&file, &runtime, &findings);
        let config = parse::parse(file, &folder, &runtime, &mut findings)?;
        Some(Loaded { config, origins })
    });
    loaded.ok_or_else(|| findings.into_error())
}
