//! `gristmill call`: hands records from a file to a plugin, without Kafka, inside the same limits.
//!
//! As in a pipeline, a batch that is not ok keeps everything behind it from being handed over. Nothing is committed.

use std::collections::BTreeMap;
use std::io::{self, BufReader, IsTerminal};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Instant;

use clap::Args;
use gristmill_core::io::DeliveryId;
use gristmill_core::outcome::{Answer, Outcome};
use gristmill_core::policy::{Attempts, Exhausted};
use gristmill_guest::{Answered, Cache, EngineSettings, Job, Plugin, PluginSettings, Worker, WorkerSettings};

use crate::compiling;
use crate::config::{CacheConfig, Place};
use crate::confine;
use crate::decoding::Formats;
use crate::excerpt::short_reason;
use crate::exit::{self, Exit};
use crate::plugin_file::{self, NamedBy};
use crate::records::{self, FileBatch, FileRecord, RecordsError};

use super::call_text;
use super::config_args::OverlayArgs;
use super::console::{Console, escape};
use super::decoding;
use super::{Output, OutputArgs};

/// What to hand to which plugin.
#[derive(Debug, Args)]
pub(super) struct CallArgs {
    /// The component file
    plugin: PathBuf,
    /// JSON Lines with topic, key, value, headers, partition, offset, timestamp; key_b64 and value_b64 for bytes that are
    /// no text. Left out or "-": standard input
    records: Option<PathBuf>,
    /// Take settings, limits, batch size and the digest to expect from this configuration, and not the plugin's path
    #[arg(short, long, value_name = "CONFIG")]
    config: Option<PathBuf>,
    /// Records in a batch. Default: batch.max_records of the configuration, or all
    #[arg(long, value_name = "COUNT")]
    batch: Option<NonZeroU32>,
    /// The attempt that the plugin is told it is
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    attempt: NonZeroU32,
    /// A sink that the plugin may emit to, beside those of the configuration; once for each. What it emits is shown, and written
    /// nowhere
    #[arg(long = "sink", value_name = "NAME")]
    sinks: Vec<String>,
    #[command(flatten)]
    overlays: OverlayArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: CallArgs, console: &mut Console) -> Exit {
    match call(args, console) {
        Ok(exit) | Err(exit) => exit,
    }
}

fn call(args: CallArgs, console: &mut Console) -> Result<Exit, Exit> {
    let setup = Setup::new(args.config, args.overlays, console)?;
    let misfit = |error: RecordsError| Exit::because(exit::MISFIT, error.to_string());
    let engine = compiling::engine(setup.engine.clone(), setup.cache.clone())?;
    let (named_by, pinned) = (NamedBy::CommandLine, setup.digest.as_deref());
    let plugin = plugin_file::load(&args.plugin, named_by, pinned, &engine, &setup.settings)
        .map_err(|error| Exit::from(&error.with_secrets(&setup.secrets)))?;
    let records = read(args.records, console).map_err(misfit)?;
    let total = records.len();
    let records = decode_all(&setup, records, console)?;
    if total == 0 {
        console.complain("warn", "there are no records, so nothing was handed over");
        return Ok(Exit::clean());
    }
    let size = args.batch.map(NonZeroU32::get).or(setup.records_max).map_or(total, |size| size as usize);
    let sinks = setup.sinks.iter().chain(&args.sinks).map(|sink| Arc::from(sink.as_str())).collect();
    let mut caller = Caller::new(plugin, setup.pipeline, args.attempt.get(), sinks)?;
    let count = records.chunks(size).count();
    for (number, batch) in (1..).zip(records.chunks(size)) {
        let answered = caller.hand_over(number, batch.to_vec())?;
        say(number, batch, &answered, args.output.output, console);
        if let Some(exit) = exit_of(&answered.answer, &format!("batch {number} of {count}"), setup.attempts) {
            return Ok(exit);
        }
    }
    match total - records.len() {
        0 => Ok(Exit::clean()),
        count => Err(Exit::because(
            exit::UNEXPECTED,
            format!(
                "{count} of {total} records do not decode and were not handed over, for the reasons in the lines above; correct them, \
                 or what the configuration says of their topics"
            ),
        )),
    }
}

/// The records as the plugin gets them. What a pipeline would not hand over is told, and is not handed over here.
fn decode_all(setup: &Setup, records: Vec<FileRecord>, console: &mut Console) -> Result<Vec<FileRecord>, Exit> {
    let mut decoded = Vec::with_capacity(records.len());
    let read_at = Instant::now();
    for mut record in records {
        let handed = decoding::decode_record(setup.formats.as_ref(), &mut record, read_at).map_err(|unavailable| {
            let why = format!("{}; look at the schema registry, and call again when it answers", unavailable.reason);
            Exit::because(exit::UNREACHABLE, why)
        })?;
        match handed {
            Ok(()) => decoded.push(record),
            Err(why) => {
                let (topic, partition, offset) = (escape(&record.topic), record.partition, record.offset);
                console.complain(
                    "warn",
                    format_args!("{topic}/{partition} {offset} is not handed over: {}", escape(&why)),
                );
            }
        }
    }
    Ok(decoded)
}

/// What comes from the configuration, or stands in for it.
struct Setup {
    pipeline: Arc<str>,
    /// What the records of each topic are.
    formats: Option<Formats>,
    /// The digest that the plugin's file must have, when it is pinned.
    digest: Option<String>,
    /// Where the secrets were written that the plugin is given.
    secrets: BTreeMap<String, Place>,
    settings: PluginSettings,
    engine: EngineSettings,
    /// Where compiled plugins are kept.
    cache: Option<Cache>,
    records_max: Option<u32>,
    /// The names of the sinks that the plugin may emit to.
    sinks: Vec<String>,
    /// How often a pipeline would try a retryable batch.
    attempts: Attempts,
}

impl Setup {
    /// Confines the process on the way, before anything reads the plugin or a schema.
    fn new(config: Option<PathBuf>, overlays: OverlayArgs, console: &mut Console) -> Result<Self, Exit> {
        let Some(path) = config else {
            overlays.refuse_without_config()?;
            let (pipeline, settings) = ("call".into(), PluginSettings::default());
            let cache = compiling::open(&CacheConfig::Auto);
            confine::before_a_plugin(true, cache.as_ref());
            return Ok(Self {
                pipeline,
                formats: None,
                digest: None,
                secrets: BTreeMap::new(),
                settings,
                engine: EngineSettings::default(),
                cache,
                records_max: None,
                sinks: Vec::new(),
                attempts: Attempts::Unlimited,
            });
        };
        let config = overlays.load(path, console)?.config;
        let cache = compiling::open(&config.plugin.cache);
        confine::before_a_plugin(config.start.confine, cache.as_ref());
        Ok(Self {
            pipeline: config.pipeline.as_str().into(),
            formats: Formats::load(&config.decoding, config.policy.batch.record_bytes_max)?,
            digest: config.plugin.digest.clone(),
            secrets: config.plugin.secrets.clone(),
            settings: config.plugin.guest_settings(),
            engine: config.plugin.engine_settings(),
            cache,
            records_max: Some(config.policy.batch.records_max.get()),
            sinks: config.writing.sinks.into_keys().collect(),
            attempts: config.policy.retry.attempts,
        })
    }
}

fn read(path: Option<PathBuf>, console: &mut Console) -> Result<Vec<FileRecord>, RecordsError> {
    let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
        if io::stdin().is_terminal() {
            console.complain("info", "reading records from the terminal, one JSON object a line, until end of file");
        }
        return records::read("stdin", io::stdin().lock());
    };
    let name = path.display().to_string();
    match std::fs::File::open(&path) {
        Ok(file) => records::read(&name, BufReader::new(file)),
        Err(source) => Err(RecordsError::Read { name, source }),
    }
}

/// A worker, and a seat to wait for its answers. Nothing that is answered is written or committed.
pub(super) struct Caller {
    worker: Worker,
    answers: mpsc::Receiver<Answered>,
    plugin: Plugin,
    pipeline: Arc<str>,
    attempt: u32,
    sinks: Arc<[Arc<str>]>,
}

impl Caller {
    pub(super) fn new(plugin: Plugin, pipeline: Arc<str>, attempt: u32, sinks: Arc<[Arc<str>]>) -> Result<Self, Exit> {
        // One answer at a time is on its way, since the next batch waits for it.
        let (sender, answers) = mpsc::sync_channel(1);
        let sink = move |answered| drop(sender.try_send(answered));
        let worker = Worker::spawn(WorkerSettings { name: "guest".to_owned() }, sink)
            .map_err(|error| Exit::because(exit::UNEXPECTED, error.to_string()))?;
        Ok(Self { worker, answers, plugin, pipeline, attempt, sinks })
    }

    pub(super) fn hand_over(&mut self, number: u64, records: Vec<FileRecord>) -> Result<Answered, Exit> {
        let job = Job {
            delivery: DeliveryId(number),
            attempt: self.attempt,
            part: false,
            pipeline: Arc::clone(&self.pipeline),
            plugin: self.plugin.clone(),
            sinks: Arc::clone(&self.sinks),
            batch: Box::new(FileBatch(records)),
        };
        let bug = |text: &str| Exit::because(exit::HOST_BUG, format!("{text}; please report it"));
        self.worker.deliver(job).map_err(|error| bug(&error.to_string()))?;
        // The worker answers every job once, within the plugin's limits.
        self.answers.recv().map_err(|_| bug("the guest worker ended without an answer"))
    }
}

pub(super) fn say(number: u64, records: &[FileRecord], answered: &Answered, output: Output, console: &mut Console) {
    match output {
        Output::Json => console.say_json(&call_text::line(number, records.len(), answered)),
        Output::Text => call_text::text(number, records, answered).into_iter().for_each(|line| console.say(line)),
    }
}

/// How a batch that is not ok ends the command.
pub(super) fn exit_of(answer: &Answer, batch: &str, attempts: Attempts) -> Option<Exit> {
    let behind = "nothing behind it was handed over";
    Some(match answer {
        Answer::Outcome(Outcome::Ok(_)) => return None,
        Answer::Outcome(Outcome::Retryable { reason, .. }) => {
            let (reason, advice) = (short_reason(reason), after_retryable(attempts));
            Exit::because(
                exit::EXHAUSTED,
                format!("the plugin said retryable to {batch}: {reason}; {behind}; {advice}"),
            )
        }
        Answer::Outcome(Outcome::Fatal { reason }) => {
            let reason = short_reason(reason);
            Exit::because(
                exit::FATAL,
                format!("the plugin said fatal to {batch}: {reason}; {behind}; correct the cause"),
            )
        }
        Answer::Fault(fault) => {
            let (class, detail) = (fault.class.as_str(), short_reason(&fault.detail));
            let run = "run tries a batch that breaks it fault.max_attempts times, then does what fault.then says";
            Exit::because(exit::FAULT, format!("the plugin broke on {batch} ({class}): {detail}; {behind}; {run}"))
        }
        Answer::Cancelled => {
            Exit::because(exit::HOST_BUG, format!("{batch} was cancelled by nobody; please report it"))
        }
    })
}

/// What a pipeline would do now, and how to tell a record that can never be done from an outage.
fn after_retryable(attempts: Attempts) -> String {
    let until = match attempts {
        Attempts::Unlimited => " until the answer changes".to_owned(),
        Attempts::Limited { max, then: Exhausted::Stop } => format!(", {max} times in all, and then stop"),
        Attempts::Limited { max, then: Exhausted::Hold } => format!(", {max} times in all, and then hold"),
        Attempts::Limited { max, then: Exhausted::DeadLetter } => {
            format!(", {max} times in all, and then write what fails to the dead-letter topic")
        }
    };
    format!(
        "run would wait and hand the same batch over again{until}; call it again: a record that fails while nothing is down \
         (--batch 1 finds it) fails for ever, and the plugin has to reject it, say fatal to it or pass over it"
    )
}
