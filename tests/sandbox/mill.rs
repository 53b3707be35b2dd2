//! A worker with one plugin, driven by hand.
//!
//! Waits by condition with a deadline; a guest that does not end fails the test, it does not hang it.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use gristmill_core::io::DeliveryId;
use gristmill_core::outcome::{Answer, Fault, FaultClass, Outcome};
use gristmill_guest::{
    Answered, BatchSource, DeliverError, Engine, EngineSettings, Grants, Instances, Job, Limits, LoadError, Plugin,
    PluginSettings, Worker, WorkerSettings,
};

pub(crate) use crate::batch::{Batch, Header, Record};

/// Longer than any limit that a test sets, so that only a host that hangs reaches it.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(30);

/// One engine for all tests, as in the host.
pub(crate) fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| Engine::new(&EngineSettings::default()).unwrap())
}

/// The bytes of a built guest, such as `gristmill_mischief`.
pub(crate) fn guest_bytes(name: &str) -> Vec<u8> {
    let built = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/plugins/wasm32-wasip2/plugin");
    let folder = std::env::var_os("GRISTMILL_GUESTS").map_or(built, PathBuf::from);
    let path = folder.join(name).with_extension("wasm");
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask plugins` first", path.display()))
}

/// Loads the guest that misbehaves as told. It is compiled once for all tests.
pub(crate) fn mischief(settings: &PluginSettings) -> Result<Plugin, LoadError> {
    static COMPILED: OnceLock<Plugin> = OnceLock::new();
    let load =
        || Plugin::load(engine(), "mischief", &guest_bytes("gristmill_mischief"), &PluginSettings::default()).unwrap();
    COMPILED.get_or_init(load).with_settings(settings)
}

/// Settings that hand `settings` to the plugin.
pub(crate) fn with_settings(settings: &[(&str, &str)]) -> PluginSettings {
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    PluginSettings { grants: Grants { settings, ..Grants::default() }, ..PluginSettings::default() }
}

/// The strict limits, but for what `change` changes.
pub(crate) fn with_limits(change: impl FnOnce(&mut Limits)) -> PluginSettings {
    let mut settings = PluginSettings::default();
    change(&mut settings.limits);
    settings
}

/// One instance for as long as it behaves.
pub(crate) fn reuse(batches_max: u32) -> PluginSettings {
    PluginSettings {
        instances: Instances::Reuse { batches_max, memory_bytes_max: Limits::STRICT.memory_bytes },
        ..PluginSettings::default()
    }
}

/// A worker and the plugin it runs.
pub(crate) struct Mill {
    pub(crate) plugin: Plugin,
    pub(crate) worker: Worker,
    /// Which attempt the next batches are.
    pub(crate) attempt: u32,
    /// True: they are parts of a batch.
    pub(crate) part: bool,
    /// The sinks that they may emit to.
    pub(crate) sinks: Arc<[Arc<str>]>,
    answers: mpsc::Receiver<Answered>,
    deliveries: u64,
}

impl Mill {
    /// Runs mischief within the strict profile.
    pub(crate) fn strict() -> Self {
        Self::with(&PluginSettings::default())
    }

    /// Runs mischief as `settings` say.
    pub(crate) fn with(settings: &PluginSettings) -> Self {
        Self::of(mischief(settings).unwrap())
    }

    /// Runs a plugin.
    pub(crate) fn of(plugin: Plugin) -> Self {
        let (sink, answers) = mpsc::channel();
        let settings = WorkerSettings { name: "guest-under-test".to_owned() };
        let worker = Worker::spawn(settings, move |answered| drop(sink.send(answered))).unwrap();
        Self { plugin, worker, attempt: 1, part: false, sinks: Arc::default(), answers, deliveries: 0 }
    }

    /// The same, with sinks to emit to.
    pub(crate) fn with_sinks(mut self, sinks: &[&str]) -> Self {
        self.sinks = sinks.iter().map(|sink| Arc::from(*sink)).collect();
        self
    }

    /// Hands a batch over without waiting for the answer.
    pub(crate) fn deliver(&mut self, batch: impl BatchSource + 'static) -> DeliveryId {
        self.try_deliver(batch).unwrap()
    }

    /// Hands a batch over, if the worker takes it.
    pub(crate) fn try_deliver(&mut self, batch: impl BatchSource + 'static) -> Result<DeliveryId, DeliverError> {
        self.deliveries += 1;
        let delivery = DeliveryId(self.deliveries);
        let job = Job {
            delivery,
            attempt: self.attempt,
            part: self.part,
            pipeline: "orders".into(),
            plugin: self.plugin.clone(),
            sinks: Arc::clone(&self.sinks),
            batch: Box::new(batch),
        };
        self.worker.deliver(job).map(|()| delivery)
    }

    /// Waits for the next answer.
    pub(crate) fn next_answer(&self) -> Answered {
        self.answers.recv_timeout(ANSWER_WAIT_MAX).expect("the worker must answer every delivery")
    }

    /// Hands a batch over and waits for its answer.
    pub(crate) fn run(&mut self, batch: impl BatchSource + 'static) -> Answered {
        let delivery = self.deliver(batch);
        let answered = self.next_answer();
        assert_eq!(answered.delivery, delivery, "an answer to another delivery");
        answered
    }

    /// Tells mischief what to do, by a batch of one record.
    pub(crate) fn tell(&mut self, key: &str) -> Answered {
        self.run(Batch::told(key))
    }

    /// Tells mischief what to do, and wants the words of its retryable answer back.
    pub(crate) fn ask(&mut self, key: &str) -> String {
        reason(self.tell(key).answer)
    }

    /// Tells mischief what to do, and wants it to break in this way.
    pub(crate) fn breaks(&mut self, key: &str, class: FaultClass) -> Fault {
        match self.tell(key).answer {
            Answer::Fault(fault) if fault.class == class => fault,
            other => panic!("{key} must end as {class:?} and ended as {other:?}"),
        }
    }

    /// Wants an ordinary batch to work.
    pub(crate) fn still_works(&mut self) {
        assert_eq!(self.tell("ok").answer, Answer::Outcome(Outcome::OK), "the next batch must work");
    }
}

/// The words of a retryable answer.
pub(crate) fn reason(answer: Answer) -> String {
    match answer {
        Answer::Outcome(Outcome::Retryable { reason, .. }) => reason,
        other => panic!("wanted a retryable answer, got {other:?}"),
    }
}
