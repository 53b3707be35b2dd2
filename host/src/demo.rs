//! The main job on an embedded default: a Kafka cluster inside this process, the example plugin, and a story to watch.
//!
//! The pipeline that runs is the real one. Only the cluster is librdkafka's mock, and the records are made up.

mod script;
mod table;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gristmill_kafka::{MockCluster, MockError, MockRecord};
use tokio::sync::{mpsc, watch};

use self::script::{ENCORE, PARTITIONS, SCENES, Scene};
use self::table::Totals;
use crate::config::{self, Config};
use crate::exit::{self, Exit};
use crate::pipeline::{self, Company};
use crate::signals::Asked;
use crate::status::Counts;

const TOPIC: &str = "grist";
const GROUP: &str = "gristmill-demo";

/// How long the host may take for all records after the last one was produced. The whole demo ends within 30 s.
const SETTLE_MAX: Duration = Duration::from_secs(20);

/// What the demo is to do, and where its story goes.
pub(crate) struct Demo<'d> {
    pub(crate) plugin: PathBuf,
    /// Go on until somebody stops it.
    pub(crate) keep: bool,
    /// Takes one line of the story.
    pub(crate) say: &'d mut dyn FnMut(&str),
}

impl Demo<'_> {
    /// Runs the demo; the exit is clean only when every figure adds up.
    pub(crate) fn run(self) -> Exit {
        let unexpected = |error: &dyn std::fmt::Display| Exit::because(exit::UNEXPECTED, error.to_string());
        let cluster = match MockCluster::start(1) {
            Ok(cluster) => Arc::new(cluster),
            Err(error) => return unexpected(&error),
        };
        if let Err(error) = cluster.create_topic(TOPIC, PARTITIONS) {
            return unexpected(&error);
        }
        let (config, text) = match demo_config(&self.plugin, &cluster.bootstrap_servers()) {
            Ok(config) => config,
            Err(exit) => return exit,
        };
        (self.say)(&format!(
            "an embedded Kafka cluster with one topic of {PARTITIONS} partitions, and this configuration:\n"
        ));
        text.lines().for_each(|line| (self.say)(&format!("  {line}")));
        let (asks, wishes) = mpsc::unbounded_channel();
        let (progress, figures) = watch::channel(Counts::default());
        let producer =
            Producer { cluster: Arc::clone(&cluster), figures: figures.clone(), asks: asks.clone(), keep: self.keep };
        let started = std::thread::Builder::new().name("demo".to_owned()).spawn(move || producer.play());
        let playing = match started {
            Ok(playing) => playing,
            Err(error) => return unexpected(&error),
        };
        let company = Company { live: None, progress: Some(progress), asks: (asks, wishes) };
        let exit = pipeline::run(move || Ok(config), company);
        let Played { produced, stopped } = match playing.join() {
            Ok(Ok(played)) => played,
            Ok(Err(error)) => return unexpected(&error),
            Err(_) => return Exit::because(exit::PANIC, "the demo's producer panicked; please report it"),
        };
        if exit.code() != exit::CLEAN {
            return exit;
        }
        let counts = *figures.borrow();
        // The figures stand below the log, on a terminal that shows both streams.
        crate::stderr::finish();
        let totals = Totals { produced, counts, lag: lag(&cluster, produced), stopped };
        (self.say)(&format!("\n{}\n", totals.render()));
        if !totals.add_up() {
            return Exit::because(exit::HOST_BUG, "the figures above do not add up; please report it");
        }
        (self.say)(if stopped {
            "everything adds up: each record was committed once, or is still in the log and comes again"
        } else {
            "everything adds up: each record was committed once, and every extra hand-over was a redelivery"
        });
        Exit::clean()
    }
}

/// The demo's configuration, and its text for people to read.
fn demo_config(plugin: &Path, servers: &str) -> Result<(Config, String), Exit> {
    let text = format!(
        r#"[kafka]
bootstrap_servers = "{servers}"
group_id = "{GROUP}"
topics = ["{TOPIC}"]
auto_offset_reset = "earliest"

[batch]
max_records = {records}
max_wait = "300ms"

[plugin]
path = {path:?}
[plugin.settings]
rehearse_retry = "{retry}"
rehearse_panic = "{panic}"
rehearse_attempts = "2"

[retry]
initial = "200ms"

[control]
enabled = false

# What the demo does beside it needs what a host would give up.
[start]
confine = false
"#,
        records = script::BATCH_RECORDS,
        path = plugin.display().to_string(),
        retry = script::RETRY_KEY,
        panic = script::PANIC_KEY,
    );
    let config = config::load_toml(&text, "demo.toml").map_err(|error| Exit::from(&error))?.config;
    Ok((config, text))
}

/// Plays the scenes, waits for the host to get through each, then asks it to stop.
struct Producer {
    cluster: Arc<MockCluster>,
    figures: watch::Receiver<Counts>,
    asks: mpsc::UnboundedSender<Asked>,
    keep: bool,
}

/// What became of the story.
struct Played {
    /// Records that the broker acknowledged.
    produced: u64,
    /// True when somebody else stopped the host first.
    stopped: bool,
}

impl Producer {
    /// Asks the host to stop also when something fails.
    fn play(self) -> Result<Played, MockError> {
        let produced = self.scenes();
        let stopped = self.host_has_ended();
        // A run that has ended already no longer listens.
        let _ = self.asks.send(Asked::Stop);
        Ok(Played { produced: produced?, stopped })
    }

    fn host_has_ended(&self) -> bool {
        self.figures.has_changed().is_err()
    }

    fn scenes(&self) -> Result<u64, MockError> {
        let mut produced = 0;
        for scene in SCENES {
            produced += self.play_scene(scene, produced)?;
            if !self.settle(produced) {
                return Ok(produced);
            }
        }
        if self.keep {
            tracing::info!("{}", ENCORE.title);
        }
        while self.keep && !self.host_has_ended() {
            produced += self.play_scene(&Scene { title: "", ..ENCORE }, produced)?;
        }
        Ok(produced)
    }

    fn play_scene(&self, scene: &Scene, from: u64) -> Result<u64, MockError> {
        if !scene.title.is_empty() {
            tracing::info!("▶ {}", scene.title);
        }
        for piece in scene.pieces(from) {
            let (key, value) = (piece.key.as_bytes(), piece.value.as_bytes());
            let record =
                MockRecord { partition: piece.partition, key: Some(key), value: Some(value), ..MockRecord::default() };
            self.cluster.produce(TOPIC, record)?;
            if !scene.pause.is_zero() {
                self.cluster.flush()?;
                std::thread::sleep(scene.pause);
            }
        }
        self.cluster.flush()?;
        Ok(scene.records)
    }

    /// Waits until so many records are committed; false when the host has ended or takes too long.
    fn settle(&self, produced: u64) -> bool {
        let deadline = Instant::now() + SETTLE_MAX;
        while self.figures.borrow().committed < produced {
            if Instant::now() > deadline || self.host_has_ended() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        true
    }
}

/// What the group has not committed of what was produced, asked of the cluster by a client that is no member.
fn lag(cluster: &MockCluster, produced: u64) -> Option<u64> {
    let committed: Option<i64> = (0..PARTITIONS)
        .map(|partition| Some(cluster.committed(GROUP, TOPIC, partition).ok()?.map_or(0, |committed| committed.offset)))
        .sum();
    Some(produced.saturating_sub(u64::try_from(committed?).ok()?))
}
