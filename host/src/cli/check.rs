//! `gristmill check`: reads a configuration and says everything that is wrong with it.
//!
//! Reaches files only: schemas, and the plugin's, which it loads and starts for trial. Brokers and
//! the schema registry are asked with `--online` alone; no group is joined.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use clap::Args;
use gristmill_decode::{ReachError, Registry};
use gristmill_guest::Plugin;
use gristmill_kafka::ClientErrorKind;
use serde::Serialize;

use crate::compiling;
use crate::config::{Config, Loaded, OriginLine, Problem, Span};
use crate::confine;
use crate::counted::counted;
use crate::decoding::Formats;
use crate::exit::{self, Exit};
use crate::loading;

use super::config_args::{ConfigArgs, NotLoaded};
use super::console::{Console, escape};
use super::{Output, OutputArgs};

/// Which configuration, and what to say about it.
#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Print every value and where it comes from: file with line, environment, flag or default; loads no plugin
    #[arg(long)]
    origin: bool,
    /// Ask the brokers too: are they there, do they know the topics; and the schema registry, where one is needed
    #[arg(long, conflicts_with = "origin")]
    online: bool,
    /// How long to wait for the brokers. Default: start.wait
    #[arg(long, value_name = "TIME", requires = "online")]
    wait: Option<Span>,
    #[command(flatten)]
    output: OutputArgs,
}

/// What `check` found, for machines.
#[derive(Default, Serialize)]
struct Report<'r> {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pipeline: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    topics: Vec<Topic>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema_registry: Option<&'r str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'r [String],
    #[serde(skip_serializing_if = "<[OriginLine]>::is_empty")]
    origins: &'r [OriginLine],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<ProblemLine>,
    exit: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'r str>,
}

/// What is wrong with a configuration, and where.
#[derive(Serialize)]
struct ProblemLine {
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
    message: String,
}

impl From<Problem> for ProblemLine {
    fn from(Problem { place, message }: Problem) -> Self {
        Self { place: place.map(|place| place.to_string()), message }
    }
}

/// A topic that the brokers know.
#[derive(Serialize)]
struct Topic {
    topic: String,
    partitions: usize,
}

/// What was looked at.
struct Found {
    loaded: Loaded,
    plugin: Option<Plugin>,
    topics: Vec<Topic>,
    /// True: the schema registry was asked, and answers.
    registry: bool,
}

pub(super) fn run(args: CheckArgs, console: &mut Console) -> Exit {
    let output = args.output.output;
    match look(args, console) {
        Ok(found) => {
            report(found, output, console);
            Exit::clean()
        }
        Err(NotLoaded { exit, problems }) => {
            if output == Output::Json {
                let problems = problems.into_iter().map(ProblemLine::from).collect();
                console.say_json(&Report { exit: exit.code(), why: exit.why(), problems, ..Report::default() });
            }
            exit
        }
    }
}

fn look(args: CheckArgs, console: &mut Console) -> Result<Found, NotLoaded> {
    let loaded = args.config.load(console)?;
    if args.origin {
        // Origins are asked for when something is wrong: they need no plugin.
        return Ok(Found { loaded, plugin: None, topics: Vec::new(), registry: false });
    }
    let alone = |exit| NotLoaded { exit, problems: Vec::new() };
    let Config { decoding, policy, plugin, start, .. } = &loaded.config;
    let cache = compiling::open(&plugin.cache);
    confine::before_a_plugin(start.confine, cache.as_ref());
    let formats = Formats::load(decoding, policy.batch.record_bytes_max).map_err(Exit::from);
    let (formats, plugin) = both(formats, loading::plugin(&loaded.config, cache)).map_err(alone)?;
    let wait = args.wait.map_or(loaded.config.start.wait, |wait| wait.0);
    let topics = if args.online { reach(&loaded.config, wait).map_err(alone)? } else { Vec::new() };
    let registry = formats.as_ref().and_then(Formats::registry).filter(|_| args.online);
    registry.map_or(Ok(()), |registry| reach_registry(registry)).map_err(alone)?;
    let registry = registry.is_some();
    Ok(Found { loaded, plugin: Some(plugin), topics, registry })
}

/// Both, or everything that is wrong with either.
fn both<A, B>(one: Result<A, Exit>, other: Result<B, Exit>) -> Result<(A, B), Exit> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok((one, other)),
        (Err(exit), Ok(_)) | (Ok(_), Err(exit)) => Err(exit),
        (Err(one), Err(other)) => {
            let why = [&one, &other].map(|exit| exit.why().unwrap_or_default()).join("; ");
            Err(Exit::because(one.code(), why))
        }
    }
}

/// Asks the brokers for every topic that is named and no pattern, and for every one that is written to.
fn reach(config: &Config, wait: Duration) -> Result<Vec<Topic>, Exit> {
    let mut settings = config.consumer_settings(Instant::now());
    let written: BTreeMap<&str, String> = config.writing.topics().map(|(key, topic)| (topic, key)).collect();
    settings.topics.extend(written.keys().map(|topic| (*topic).to_owned()));
    let reach = gristmill_kafka::reach(&settings, wait).map_err(|error| Exit::from(&error))?;
    let (mut topics, mut denied, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    for (topic, found) in reach.topics {
        match found {
            Ok(partitions) => topics.push(Topic { topic, partitions }),
            Err(ClientErrorKind::Authorization | ClientErrorKind::Authentication) => denied.push(topic),
            Err(
                ClientErrorKind::UnknownTopic
                | ClientErrorKind::Unreachable
                | ClientErrorKind::Protocol
                | ClientErrorKind::Other,
            ) => missing.push(topic),
        }
    }
    let why_denied = (!denied.is_empty()).then(|| {
        let topics = denied.join(", ");
        format!("the brokers do not let this user read the topic {topics}; give it the right to, and to use the group")
    });
    let why_missing = (!missing.is_empty()).then(|| {
        let topics = missing.join(", ");
        let keys = missing.iter().map(|topic| written.get(topic.as_str()).map_or("kafka.topics", String::as_str));
        let key = keys.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" and ");
        format!("the brokers know no topic {topics}; create it, or correct {key}")
    });
    let code = if why_denied.is_some() { exit::NOT_AUTHORISED } else { exit::MISFIT };
    let why: Vec<String> = why_denied.into_iter().chain(why_missing).collect();
    if why.is_empty() { Ok(topics) } else { Err(Exit::because(code, why.join("; "))) }
}

/// Asks the schema registry whether it is there.
fn reach_registry(registry: &Registry) -> Result<(), Exit> {
    registry.reach().map_err(|error| match error {
        ReachError::Refused(reason) => Exit::because(exit::NOT_AUTHORISED, format!("schema_registry: {reason}")),
        ReachError::Unavailable(reason) => {
            let advice = "correct schema_registry, or wait until it answers: records would wait for it as well";
            Exit::because(exit::UNREACHABLE, format!("schema_registry: {reason}; {advice}"))
        }
    })
}

/// Says what was found. Without a plugin: where every value comes from.
fn report(found: Found, output: Output, console: &mut Console) {
    let Found { loaded: Loaded { config, origins }, plugin, topics, registry } = found;
    let digest = plugin.as_ref().map(|plugin| plugin.digest().to_string());
    let origins = if plugin.is_none() { origins.as_slice() } else { &[] };
    if output == Output::Json {
        let pipeline = Some(config.pipeline.as_str());
        let warnings = config.warnings.as_slice();
        let schema_registry = registry.then_some("answers");
        let report = Report {
            ok: true,
            pipeline,
            plugin: digest,
            topics,
            schema_registry,
            warnings,
            origins,
            ..Report::default()
        };
        console.say_json(&report);
        return;
    }
    let width = origins.iter().map(|line| line.path.len()).max().unwrap_or_default();
    for line in origins {
        console.say(escape(&format!("{:width$} = {}  # {}", line.path, line.value, line.origin)));
    }
    if let Some(digest) = digest {
        console.say(format_args!("{}: configuration and plugin fit ({digest})", escape(&config.pipeline)));
    }
    for Topic { topic, partitions } in topics {
        console.say(format_args!("topic {topic}: {}", counted(partitions as u64, "partition")));
    }
    if registry {
        console.say("the schema registry answers");
    }
}
