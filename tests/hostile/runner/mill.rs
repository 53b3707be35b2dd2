//! A worker that runs guests of the corpus one after the other, and how each of them ended.
//!
//! Must not know how it had to end.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use gristmill_core::io::DeliveryId;
use gristmill_core::outcome::{Answer, Outcome};
use gristmill_guest::{
    Answered, BatchSource, Engine, EngineSettings, Grants, Job, Limits, LoadError, Plugin, PluginSettings, Worker,
    WorkerSettings,
};

use crate::corpus::{Row, Until};
use crate::given::Given;
use crate::guests;

/// Longer than any limit here, so that only a host that hangs reaches it.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(60);

/// How a guest ended.
#[derive(Clone, Debug)]
pub(crate) struct End {
    /// The class of the fault, the answer, or what it failed at before it had a batch: `load`, `start`.
    pub(crate) class: String,
    /// What was said of it, or what it said.
    pub(crate) says: String,
    /// How long it took as whoever waits for it sees it.
    pub(crate) took: Duration,
    /// The same from the moment when the worker's thread took it up.
    pub(crate) ran: Duration,
}

/// An engine as the host has it.
///
/// # Panics
///
/// When this machine cannot run it.
pub(crate) fn engine() -> Engine {
    Engine::new(&EngineSettings::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// What a row's guest may use up: the strict limits, but those of time where it is there to run into one.
pub(crate) fn limits(until: Option<Until>) -> Limits {
    let (time, cpu) = match until {
        None => (Limits::STRICT.time, Limits::STRICT.cpu),
        Some(Until::Wall) => (Duration::from_millis(500), Duration::from_secs(20)),
        Some(Until::Cpu) => (Duration::from_secs(20), Duration::from_millis(400)),
    };
    Limits { time, cpu, ..Limits::STRICT }
}

/// How the guest of a row is run.
pub(crate) fn settings(row: &Row, given: &Given, limits: Limits) -> PluginSettings {
    let grants = Grants { settings: row.settings.clone(), ..given.grants(&row.grants) };
    PluginSettings { limits, grants, ..PluginSettings::default() }
}

/// One worker.
pub(crate) struct Mill {
    pub(crate) worker: Worker,
    answers: mpsc::Receiver<Answered>,
    deliveries: u64,
}

impl Mill {
    /// Starts a worker.
    ///
    /// # Panics
    ///
    /// When there is no thread for it.
    pub(crate) fn start() -> Self {
        let (sink, answers) = mpsc::channel();
        let settings = WorkerSettings { name: "guest-hostile".to_owned() };
        let worker = Worker::spawn(settings, move |answered| drop(sink.send(answered)));
        Self { worker: worker.unwrap_or_else(|error| panic!("{error}")), answers, deliveries: 0 }
    }

    /// Hands a batch over without waiting for its answer.
    ///
    /// # Panics
    ///
    /// When the worker does not take it.
    pub(crate) fn deliver(
        &mut self,
        plugin: &Plugin,
        batch: &(impl BatchSource + Clone + 'static),
        sink: bool,
    ) -> DeliveryId {
        self.deliveries += 1;
        let delivery = DeliveryId(self.deliveries);
        let job = Job {
            delivery,
            attempt: 1,
            part: false,
            pipeline: "hostile".into(),
            plugin: plugin.clone(),
            sinks: if sink { Arc::from([Arc::from("out")]) } else { Arc::default() },
            batch: Box::new(batch.clone()),
        };
        self.worker.deliver(job).unwrap_or_else(|error| panic!("{error}"));
        delivery
    }

    /// Waits for the next answer.
    ///
    /// # Panics
    ///
    /// When none comes: then the host hangs.
    pub(crate) fn next_answer(&self) -> Answered {
        self.answers.recv_timeout(ANSWER_WAIT_MAX).unwrap_or_else(|_| panic!("the worker must answer every delivery"))
    }

    /// Hands a batch over and waits for its end.
    pub(crate) fn run(&mut self, plugin: &Plugin, batch: &(impl BatchSource + Clone + 'static), sink: bool) -> End {
        let began = Instant::now();
        self.deliver(plugin, batch, sink);
        let answered = self.next_answer();
        End { took: began.elapsed(), ran: answered.facts.duration, ..end_of(answered.answer) }
    }

    /// True when an ordinary batch works.
    pub(crate) fn still_works(&mut self, ordinary: &Plugin) -> bool {
        self.run(ordinary, &guests::told("ok"), false).class == "ok"
    }
}

/// The end that an answer is.
pub(crate) fn end_of(answer: Answer) -> End {
    let (class, says) = match answer {
        Answer::Outcome(Outcome::Ok(_)) => ("ok", String::new()),
        Answer::Outcome(Outcome::Retryable { reason, .. }) => ("retryable", reason),
        Answer::Outcome(Outcome::Fatal { reason }) => ("fatal", reason),
        Answer::Fault(fault) => (fault.class.as_str(), fault.detail),
        Answer::Cancelled => ("cancelled", String::new()),
    };
    End { class: class.to_owned(), says, took: Duration::ZERO, ran: Duration::ZERO }
}

/// The end of a guest that was not loaded.
pub(crate) fn end_of_loading(error: &LoadError) -> End {
    let class = match error {
        LoadError::Refused { .. }
        | LoadError::Compile { .. }
        | LoadError::Contract { .. }
        | LoadError::Reach { .. }
        | LoadError::Needs { .. } => "load",
        LoadError::Start { .. } => "start",
        LoadError::Thread { .. } => "thread",
    };
    End { class: class.to_owned(), says: error.to_string(), took: Duration::ZERO, ran: Duration::ZERO }
}

/// Loads what does nothing and answers ok: whatever came before it, it has to work.
///
/// # Panics
///
/// When it does not load.
pub(crate) fn ordinary(engine: &Engine) -> Plugin {
    let bytes = guests::of_file("ordinary");
    let loaded = Plugin::load(engine, "ordinary", &bytes, &PluginSettings::default());
    loaded.unwrap_or_else(|error| panic!("{error}"))
}
