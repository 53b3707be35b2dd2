//! The configuration: parsed once, into a type that can only hold legal combinations.
//!
//! The way of a file: text → tree with places (`text`) → variables replaced (`expand`) → environment and flags laid over
//! it (`overlay`) → serde model (`file`, through `reader`) → [`Config`] (`parse`). Nothing here reaches a broker or loads
//! a plugin.

mod contradictions;
mod expand;
mod file;
mod later;
mod origin;
mod overlay;
mod parse;
mod problem;
mod property;
mod quantity;
mod reader;
mod scalar;
mod schema;
mod secret;
mod shape;
mod text;
mod tree;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gristmill_core::policy::Policy;
use serde::Deserialize;

use self::file::ConfigFile;
pub use self::origin::OriginLine;
use self::overlay::Overlay;
use self::problem::Source;
pub use self::problem::{ConfigError, Place, Problem, Spot};
pub use self::quantity::{Size, Span};
use self::reader::Reader;
pub use self::schema::json_schema;
pub use self::secret::Secret;
use self::text::Notation;

/// Everything the operator decided, in legal combinations only.
#[derive(Clone, Debug)]
pub struct Config {
    /// Name of the pipeline.
    pub pipeline: String,
    /// What the pure core decides by.
    pub policy: Policy,
    /// Where records come from.
    pub kafka: KafkaConfig,
    /// Who gets the batches.
    pub plugin: PluginConfig,
    /// What happens while brokers or topics are not there at start.
    pub start: StartConfig,
    /// Things that work but were perhaps not meant, for people.
    pub warnings: Vec<String>,
}

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
    pub reset: Reset,
    /// What to do when a committed offset is not in the log.
    pub on_out_of_range: OutOfRange,
    /// How long a rebalance may wait for a running batch (B1).
    pub drain: Duration,
    /// Properties of librdkafka; none that the host owns or refuses.
    pub properties: BTreeMap<String, Secret>,
}

/// Where to start when the group has committed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// At the first record that is there.
    Earliest,
    /// Behind the last record that is there.
    Latest,
    /// Nowhere: the partition is held.
    Error,
}

/// What to do when a committed offset is not in the log (O1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfRange {
    /// Hold the partition.
    Hold,
    /// Go on at the first record that is there.
    Earliest,
    /// Go on behind the last record that is there.
    Latest,
}

/// Who gets the batches, and within which limits.
#[derive(Clone, Debug)]
pub struct PluginConfig {
    /// The component file.
    pub path: PathBuf,
    /// SHA-256 that the file must have, when it is pinned.
    pub digest: Option<[u8; 32]>,
    /// True: one instance for many batches. False: a fresh one for each.
    pub reuse: bool,
    /// What the plugin finds as its environment and through wasi:config.
    pub settings: BTreeMap<String, Secret>,
    /// What it may use up.
    pub limits: LimitsConfig,
}

/// What a plugin may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitsConfig {
    /// Bytes, summed over all memories and tables of an instance.
    pub memory_bytes: u64,
    /// Wall clock for each batch.
    pub time: Duration,
    /// Processor time for each batch.
    pub cpu: Duration,
    /// The largest batch that is handed over, as rule A5 counts; sizes what host calls may copy.
    pub batch_bytes: u64,
}

/// What happens while brokers or topics are not there at start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartConfig {
    /// How long to try to reach a broker.
    pub wait: Duration,
    /// True: a topic that does not exist ends the process after `wait`. False: it is waited for (O2).
    pub missing_topics_end: bool,
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

/// Reads a configuration.
///
/// # Errors
/// Every problem that could be found, each with its place and the way out.
pub fn load(request: Request) -> Result<Loaded, ConfigError> {
    let path = request.path;
    let plain = |message: String| ConfigError::from(Problem { message, place: None });
    let notation = Notation::of(&path).ok_or_else(|| {
        plain(format!("{} is no configuration file; it ends in .toml, .json, .yaml or .yml", path.display()))
    })?;
    let text = std::fs::read_to_string(&path)
        .map_err(|error| plain(format!("cannot read the configuration {}: {error}", path.display())))?;
    let mut source = Source::new(&path, text);
    let mut root = text::read(source.text(), notation).map_err(|error| {
        let message = format!("this is not {}: {}", notation.name(), error.message);
        source.problem(&tree::Origin::File(error.span), message)
    })?;
    source.blot(&root);
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let environment = request.environment;
    expand::expand(&mut root, &source, &folder, &|name| environment.get(name).cloned())
        .map_err(|problems| ConfigError { problems })?;
    let variables = environment.iter().filter_map(|(name, value)| overlay::from_environment(name, value));
    variables.chain(request.flags).for_each(|overlay| overlay.lay(&mut root));
    let problems = later::refuse(&root, &source);
    if !problems.is_empty() {
        return Err(ConfigError { problems });
    }
    let file = ConfigFile::deserialize(Reader::new(&root)).map_err(|error| {
        let message = error.message(&schema::keys());
        match error.origin() {
            Some(origin) => source.problem(origin, message),
            None => Problem { message, place: None },
        }
    })?;
    let origins = origin::list(&file, &root, &source);
    let config = parse::parse(file, &folder, &root, &source)?;
    Ok(Loaded { config, origins })
}
