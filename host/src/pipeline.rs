//! Builds the pieces of a pipeline from its configuration, and runs them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gristmill_core::Machine;
use gristmill_core::io::PluginId;
use gristmill_core::policy::Scope;
use gristmill_guest::{Answered, Crew, Plugin, escape_path};
use gristmill_kafka::{Consumer, Event};
use tokio::sync::{mpsc, watch};
use tracing::info;

use crate::act::Edges;
use crate::cli::LiveLine;
use crate::clock::Clock;
use crate::compiling;
use crate::config::Config;
use crate::confine;
use crate::control::{Control, Identity};
use crate::decoding::{Formats, News, Stage};
use crate::emitting::Emitting;
use crate::exit::{self, Exit};
use crate::live::Live;
use crate::loading;
use crate::narrate::Narrator;
use crate::observe::{Observer, StopWaits};
use crate::profile;
use crate::run::{Feeds, Runner};
use crate::signals::{self, Asked};
use crate::start_watch::StartWatch;
use crate::status::Counts;
use crate::stderr;
use crate::watchdog::Watchdog;
use crate::whereabouts::Lanes;
use crate::wishes;
use crate::writer::{self, Writer};
use crate::written_topics;

/// A turn of the run loop takes microseconds. One that takes this long will not end.
const TURN_MAX: Duration = Duration::from_secs(30);

/// How long leaving the group may take before the process ends without it (S3).
const CLOSE_WAIT_MAX: Duration = Duration::from_secs(5);

/// What a run is given beside its configuration.
pub(crate) struct Company {
    /// The live line, where there is a terminal for it.
    pub(crate) live: Option<LiveLine>,
    /// Somebody in this process who waits for figures.
    pub(crate) progress: Option<watch::Sender<Counts>>,
    /// Where wishes come from besides signals. The receiver is the run's.
    pub(crate) asks: (mpsc::UnboundedSender<Asked>, mpsc::UnboundedReceiver<Asked>),
}

impl Company {
    /// Nobody but an operator with signals.
    pub(crate) fn alone(live: Option<LiveLine>) -> Self {
        Self { live, progress: None, asks: mpsc::unbounded_channel() }
    }
}

/// Runs the pipeline of a configuration until it ends; says how. Signals are heard before anything else is done.
pub(crate) fn run(config: impl FnOnce() -> Result<Config, Exit> + Send + 'static, mut company: Company) -> Exit {
    if let Err(error) = stderr::detach() {
        return Exit::because(exit::UNEXPECTED, format!("cannot start the thread that writes to stderr: {error}"));
    }
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Exit::because(exit::UNEXPECTED, format!("cannot start the run loop: {error}")),
    };
    let clock = Clock::start();
    runtime.block_on(async {
        if let Err(error) = signals::forward(&company.asks.0) {
            return Exit::because(exit::UNEXPECTED, format!("cannot take signals over: {error}"));
        }
        let (asks, asked) = &mut company.asks;
        // Nobody can wish anything yet: where the control socket lies stands in the configuration.
        let config = match loading::aside(config, asked, |_| true).await {
            Ok(config) => config,
            Err(exit) => return exit,
        };
        let identity = Identity::new(&config);
        // Closed when all the rest has ended: who asked for the stop hears of it.
        let _control = config.control.clone().map(|control| Control::open(control, asks.clone()));
        let hears = |asked| match asked {
            Asked::Stop | Asked::StopNow => true,
            Asked::Wish(wish) => wishes::hear_at_start(wish, |address| identity.tell_starting(clock.now(), address)),
        };
        let open = {
            let wanted = config.plugin.cache.clone();
            move || Ok(compiling::open(&wanted))
        };
        let cache = match loading::aside(open, asked, hears).await {
            Ok(cache) => cache,
            Err(exit) => return exit,
        };
        // The socket's own thread can still write files: it makes and removes its own, and no guest ever runs on it.
        confine::before_a_plugin(config.start.confine, cache.as_ref());
        let load = {
            let config = config.clone();
            // Schema files are read in no time, and a plugin is not.
            move || {
                Ok((
                    Formats::load(&config.decoding, config.policy.batch.record_bytes_max)?,
                    loading::plugin(&config, cache)?,
                ))
            }
        };
        let loaded = loading::aside(load, asked, hears).await;
        let built =
            loaded.and_then(|(formats, plugin)| build(Loaded { config, formats, plugin, identity, clock }, company));
        match built {
            Ok(runner) => runner.run().await,
            Err(exit) => exit,
        }
    })
}

/// What a run needs before it can begin.
struct Loaded {
    config: Config,
    formats: Option<Formats>,
    plugin: Plugin,
    identity: Identity,
    clock: Clock,
}

/// Builds everything; on the way out what was built is closed by being dropped.
fn build(loaded: Loaded, company: Company) -> Result<Runner, Exit> {
    let unexpected = |error: &dyn std::fmt::Display| Exit::because(exit::UNEXPECTED, error.to_string());
    let Loaded { config, formats, plugin, identity, clock } = loaded;
    let Company { live, progress, asks: (_, asks) } = company;
    announce(&config, &plugin);

    let (answers, guest) = mpsc::unbounded_channel::<Answered>();
    let crew = Crew::spawn(config.policy.scope.workers(), || {
        let answers = answers.clone();
        move |answered| {
            // A host that no longer listens is on its way out.
            let _ = answers.send(answered);
        }
    })
    .map_err(|error| unexpected(&error))?;
    let (events, kafka) = mpsc::unbounded_channel();
    let settings = config.consumer_settings(clock.base());
    let instance_id = settings.instance_id().map(str::to_owned);
    let pipeline: Arc<str> = Arc::from(config.pipeline.as_str());
    let writer = writer(&config, &pipeline, &events)?;
    let consumer = Consumer::start(settings, events).map_err(|error| Exit::because(exit::MISFIT, error.to_string()))?;
    written_topics::look(&config);

    let (decoding, decoded) = decoding(formats, &config).map_err(|error| unexpected(&error))?.unzip();
    let identity = identity.with_plugin(plugin.digest().to_string());
    let first = PluginId(1);
    let lanes = match config.policy.scope {
        Scope::Consumer => Lanes::One,
        Scope::Partition { .. } => Lanes::ByPartition,
    };
    let live = live.map(|line| Live::new(line, config.policy.batch.records_max.get()));
    let waits = StopWaits { grace: config.policy.shutdown_grace, leave: CLOSE_WAIT_MAX };
    let start = StartWatch::new(&config.kafka.bootstrap_servers, config.start, clock.now());
    let watchdog = Watchdog::watch(TURN_MAX, || panic!("the run loop did not turn for {} s", TURN_MAX.as_secs()))
        .map_err(|error| unexpected(&error))?;
    Ok(Runner {
        machine: Machine::new(config.policy.clone(), first),
        edges: Edges {
            consumer,
            crew,
            emitting: Emitting::new(&config.writing.sinks),
            writer,
            plugins: BTreeMap::from([(first, plugin)]),
            pipeline,
            close_wait_max: CLOSE_WAIT_MAX,
            narrator: Narrator::new(lanes),
        },
        decoding,
        feeds: Feeds { kafka, decoded, guest, asks },
        observer: Observer::new(lanes, start, live, progress, waits).known_as(instance_id, identity),
        watchdog,
        clock,
        ending: false,
        granted: Vec::new(),
        leave_by: None,
    })
}

/// The decoding stage and what comes out of it, where something is decoded.
fn decoding(
    formats: Option<Formats>,
    config: &Config,
) -> std::io::Result<Option<(Stage, mpsc::UnboundedReceiver<News>)>> {
    let Some(formats) = formats else { return Ok(None) };
    let (tell, decoded) = mpsc::unbounded_channel();
    Ok(Some((Stage::spawn(formats, config.kafka.buffer_bytes_max, tell)?, decoded)))
}

/// The producer's side, where there is something to write.
fn writer(config: &Config, pipeline: &Arc<str>, events: &mpsc::UnboundedSender<Event>) -> Result<Writer, Exit> {
    if config.writing.topics().next().is_none() {
        return Ok(Writer::new(None, None));
    }
    let settings = config.writing.producer_settings(&config.kafka);
    let letters = config.writing.dead_letter_topic(pipeline, settings.record_bytes_max());
    let producer = writer::producer(settings, events.clone())?;
    Ok(Writer::new(Some(producer), letters))
}

fn announce(config: &Config, plugin: &Plugin) {
    info!(
        pipeline = %config.pipeline,
        plugin = %plugin.digest().short(),
        digest = %plugin.digest(),
        file = %escape_path(&config.plugin.path),
        profile = %profile::differences(&config.plugin).join("; "),
        group = %config.kafka.group_id,
        topics = config.kafka.topics.join(", "),
        "starting"
    );
}
