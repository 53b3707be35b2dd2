//! Builds the pieces of a pipeline from its configuration, and runs them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gristmill_core::Machine;
use gristmill_core::io::PluginId;
use gristmill_guest::{Answered, Engine, EngineSettings, Plugin, Worker, WorkerSettings};
use gristmill_kafka::Consumer;
use tokio::sync::{mpsc, watch};
use tracing::info;

use crate::act::Edges;
use crate::clock::Clock;
use crate::config::Config;
use crate::exit::{self, Exit};
use crate::live::Live;
use crate::narrate::Narrator;
use crate::observe::{Observer, StopWaits};
use crate::plugin_file::{self, NamedBy};
use crate::run::{Feeds, Runner};
use crate::signals::{self, Asked};
use crate::start_watch::StartWatch;
use crate::status::Counts;
use crate::stderr;
use crate::watchdog::Watchdog;

/// A turn of the run loop takes microseconds. One that takes this long will not end.
const TURN_MAX: Duration = Duration::from_secs(30);

/// How long leaving the group may take before the process ends without it (S3).
const CLOSE_WAIT_MAX: Duration = Duration::from_secs(5);

/// What a run is given beside its configuration.
pub(crate) struct Company {
    /// The live line, where there is a terminal for it.
    pub(crate) live: Option<Live>,
    /// Somebody in this process who waits for figures.
    pub(crate) progress: Option<watch::Sender<Counts>>,
    /// Where wishes come from besides signals. The receiver is the run's.
    pub(crate) asks: (mpsc::UnboundedSender<Asked>, mpsc::UnboundedReceiver<Asked>),
}

impl Company {
    /// Nobody but an operator with signals.
    pub(crate) fn alone(live: Option<Live>) -> Self {
        Self { live, progress: None, asks: mpsc::unbounded_channel() }
    }
}

/// Runs a pipeline until it ends; says how.
pub(crate) fn run(config: &Config, company: Company) -> Exit {
    if let Err(error) = stderr::detach() {
        return Exit::because(exit::UNEXPECTED, format!("cannot start the thread that writes to stderr: {error}"));
    }
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Exit::because(exit::UNEXPECTED, format!("cannot start the run loop: {error}")),
    };
    runtime.block_on(async {
        match build(config, company) {
            Ok(runner) => runner.run().await,
            Err(exit) => exit,
        }
    })
}

/// Builds everything; on the way out what was built is closed by being dropped.
fn build(config: &Config, company: Company) -> Result<Runner, Exit> {
    let unexpected = |error: &dyn std::fmt::Display| Exit::because(exit::UNEXPECTED, error.to_string());
    let Company { live, progress, asks: (asks_in, asks) } = company;
    signals::forward(&asks_in).map_err(|error| unexpected(&error))?;
    let engine = Engine::new(&EngineSettings::default()).map_err(|error| unexpected(&error))?;
    let section = &config.plugin;
    let (named_by, pinned) = (NamedBy::Configuration, section.digest.as_deref());
    let plugin = plugin_file::load(&section.path, named_by, pinned, &engine, &section.guest_settings())
        .map_err(|error| Exit::from(&error))?;
    announce(config, &plugin);

    let clock = Clock::start();
    let (answers, guest) = mpsc::unbounded_channel::<Answered>();
    let worker = Worker::spawn(WorkerSettings { name: "guest-1".to_owned() }, move |answered| {
        // A host that no longer listens is on its way out.
        let _ = answers.send(answered);
    })
    .map_err(|error| unexpected(&error))?;
    let (events, kafka) = mpsc::unbounded_channel();
    let settings = config.consumer_settings(clock.base());
    let instance_id = settings.instance_id().map(str::to_owned);
    let consumer = Consumer::start(settings, events).map_err(|error| Exit::because(exit::MISFIT, error.to_string()))?;

    let first = PluginId(1);
    let waits = StopWaits { grace: config.policy.shutdown_grace, leave: CLOSE_WAIT_MAX };
    let start = StartWatch::new(&config.kafka.bootstrap_servers, config.start, clock.now());
    let watchdog = Watchdog::watch(TURN_MAX, || panic!("the run loop did not turn for {} s", TURN_MAX.as_secs()))
        .map_err(|error| unexpected(&error))?;
    Ok(Runner {
        machine: Machine::new(config.policy.clone(), first),
        edges: Edges {
            consumer,
            worker,
            plugins: BTreeMap::from([(first, plugin)]),
            pipeline: Arc::from(config.pipeline.as_str()),
            close_wait_max: CLOSE_WAIT_MAX,
            narrator: Narrator::new(),
        },
        feeds: Feeds { kafka, guest, asks },
        observer: Observer::new(start, live, progress, waits).known_as(instance_id),
        watchdog,
        clock,
        ending: false,
        leave_by: None,
    })
}

fn announce(config: &Config, plugin: &Plugin) {
    info!(
        pipeline = %config.pipeline,
        plugin = %plugin.digest().short(),
        digest = %plugin.digest(),
        file = %config.plugin.path.display(),
        group = %config.kafka.group_id,
        topics = ?config.kafka.topics,
        "starting"
    );
}
