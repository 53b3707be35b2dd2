//! A worker: one OS thread that takes jobs, runs guests, and answers each job exactly once.
//!
//! The thread has a current-thread runtime of its own, so that a guest that computes holds up nobody else. A panic of the host
//! while a guest runs becomes a fault; any other panic ends the thread without an answer, and the process has to end with it:
//! see [`catches_panics`](crate::catches_panics). Nothing here decides what an answer means.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use gristmill_core::io::DeliveryId;
use gristmill_core::outcome::Answer;
use tokio::runtime::Runtime;

use crate::cancel::Cancel;
use crate::clock::CallClock;
use crate::emitted::EmittedRecord;
use crate::error::{DeliverError, SpawnError};
use crate::fault::{Broken, Cause, Evidence, Phase};
use crate::guest::Guest;
use crate::handover::{self, Handover};
use crate::lower::BatchSource;
use crate::panics;
use crate::plugin::Plugin;
use crate::said::Said;

/// How many jobs may wait for the one that runs. A further one is refused as busy.
const JOBS_WAITING_MAX: usize = 64;

/// Turns of the runtime after which everything has ended that a guest can have under way: 1,024 resources, and 61 of them end in a turn.
const CLEARING_TURNS: usize = 20;

/// How long the end of a worker waits for its thread. A guest that is ended by force is gone within some ticks.
const END_WAIT_MAX: Duration = Duration::from_secs(2);

/// How a worker is set up.
#[derive(Clone, Debug)]
pub struct WorkerSettings {
    /// The name of its thread.
    pub name: String,
}

/// One batch to hand over.
pub struct Job {
    /// Comes back with the answer.
    pub delivery: DeliveryId,
    /// 1: the first hand-over of these records.
    pub attempt: u32,
    /// True: a part of a batch, cut to find the record that breaks the plugin. It gets an instance of its own, so that what
    /// other records left behind in one is not taken for its fault.
    pub part: bool,
    /// The pipeline's name.
    pub pipeline: Arc<str>,
    /// Which plugin handles it.
    pub plugin: Plugin,
    /// The names of the sinks that it may emit to.
    pub sinks: Arc<[Arc<str>]>,
    /// The records.
    pub batch: Box<dyn BatchSource>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let records = self.batch.len();
        f.debug_struct("Job").field("delivery", &self.delivery).field("records", &records).finish_non_exhaustive()
    }
}

/// The one answer to one job.
#[derive(Clone, Debug)]
pub struct Answered {
    /// Which hand-over this answers.
    pub delivery: DeliveryId,
    /// How it ended.
    pub answer: Answer,
    /// The records to be written before what is done is committed, in the guest's order: of ok, or of the completed part. Their
    /// number stands in the answer's effects.
    pub emitted: Vec<EmittedRecord>,
    /// What was measured on the way.
    pub facts: CallFacts,
}

/// What was measured during one hand-over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallFacts {
    /// From taking the job to the answer.
    pub duration: Duration,
    /// How much of that was spent computing.
    pub busy: Duration,
    /// True when an instance was started for it.
    pub instance_fresh: bool,
    /// Bytes in the guest's memories and tables afterwards. 0: it did not live to tell.
    pub guest_memory_bytes: u64,
    /// Bytes of the instance's output that were dropped so far.
    pub output_dropped_bytes: u64,
}

/// A thread that runs guests. Dropping it cancels what runs and waits, and ends the thread within a bound.
pub struct Worker {
    name: String,
    jobs: Option<mpsc::SyncSender<Job>>,
    cancels: Arc<Cancels>,
    ended: mpsc::Receiver<()>,
}

impl Worker {
    /// Starts a worker. `sink` is called on its thread, once per job; it must not block for long.
    ///
    /// # Errors
    ///
    /// The system gives no thread or no timer.
    pub fn spawn(settings: WorkerSettings, sink: impl FnMut(Answered) + Send + 'static) -> Result<Self, SpawnError> {
        let WorkerSettings { name } = settings;
        let spawn_error = |source| SpawnError { name: name.clone(), source };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(spawn_error)?;
        let (jobs, waiting) = mpsc::sync_channel(JOBS_WAITING_MAX);
        let (end, ended) = mpsc::channel();
        let cancels = Arc::new(Cancels::default());
        let desk = Desk { runtime, cancels: Arc::clone(&cancels), guest: None, sink };
        std::thread::Builder::new()
            .name(name.clone())
            .spawn(move || {
                desk.work(&waiting);
                // Dropping the sender is the word that the thread has ended; nobody may be left to hear it.
                drop(end);
            })
            .map_err(spawn_error)?;
        Ok(Self { name, jobs: Some(jobs), cancels, ended })
    }

    /// Hands a job over. Its answer comes through the sink, and exactly one.
    ///
    /// # Errors
    ///
    /// The worker takes no more jobs just now, or never again. The job comes back.
    pub fn deliver(&self, job: Job) -> Result<(), DeliverError> {
        let delivery = job.delivery;
        let Some(jobs) = &self.jobs else { return Err(DeliverError::Gone(Box::new(job))) };
        self.cancels.open(delivery);
        jobs.try_send(job).map_err(|refused| {
            self.cancels.close(delivery);
            match refused {
                mpsc::TrySendError::Full(job) => DeliverError::Busy(Box::new(job)),
                mpsc::TrySendError::Disconnected(job) => DeliverError::Gone(Box::new(job)),
            }
        })
    }

    /// Asks a hand-over to end. The guest hears of it through `control.cancelled` and has the plugin's grace to return; the
    /// answer is [`Answer::Cancelled`] in either case. A hand-over that has its answer already is left alone.
    pub fn cancel(&self, delivery: DeliveryId) {
        self.cancels.cancel(delivery);
    }
}

impl Worker {
    /// Takes no more jobs and cancels what runs and waits. The thread ends by itself; whoever drops the worker waits for it.
    pub(crate) fn begin_to_end(&mut self) {
        self.jobs = None;
        self.cancels.end_all();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.begin_to_end();
        if self.ended.recv_timeout(END_WAIT_MAX) == Err(mpsc::RecvTimeoutError::Timeout) {
            tracing::warn!(worker = %self.name, "guest worker did not end in time and was left behind");
        }
    }
}

/// The cancel words of all hand-overs that have no answer yet.
#[derive(Default)]
struct Cancels {
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    by_delivery: HashMap<DeliveryId, (Arc<Cancel>, Duration)>,
    ending: bool,
}

impl Cancels {
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, delivery: DeliveryId) {
        self.lock().by_delivery.insert(delivery, (Arc::default(), Duration::ZERO));
    }

    /// Says that a hand-over begins, and what grace it has from now on.
    fn begin(&self, delivery: DeliveryId, grace: Duration) -> Arc<Cancel> {
        let mut open = self.lock();
        let ending = open.ending;
        let (cancel, known_grace) = open.by_delivery.entry(delivery).or_default();
        *known_grace = grace;
        if ending {
            cancel.cancel(Instant::now());
        }
        Arc::clone(cancel)
    }

    fn close(&self, delivery: DeliveryId) {
        self.lock().by_delivery.remove(&delivery);
    }

    fn cancel(&self, delivery: DeliveryId) {
        if let Some((cancel, grace)) = self.lock().by_delivery.get(&delivery) {
            cancel.cancel(Instant::now() + *grace);
        }
    }

    fn end_all(&self) {
        let mut open = self.lock();
        open.ending = true;
        for (cancel, _) in open.by_delivery.values() {
            cancel.cancel(Instant::now());
        }
    }
}

/// The worker's side of things, on its thread.
struct Desk<S> {
    runtime: Runtime,
    cancels: Arc<Cancels>,
    guest: Option<Guest>,
    sink: S,
}

impl<S: FnMut(Answered)> Desk<S> {
    fn work(mut self, waiting: &mpsc::Receiver<Job>) {
        while let Ok(job) = waiting.recv() {
            let delivery = job.delivery;
            let cancel = self.cancels.begin(delivery, job.plugin.limits().cancel_grace);
            let (answer, emitted, facts) = self.answer(&job, cancel);
            self.cancels.close(delivery);
            // The records go before the answer, so that whoever hears it finds their memory free.
            drop(job);
            (self.sink)(Answered { delivery, answer, emitted, facts });
        }
    }

    fn answer(&mut self, job: &Job, cancel: Arc<Cancel>) -> (Answer, Vec<EmittedRecord>, CallFacts) {
        let engine = job.plugin.engine();
        let _ticking = engine.ticking();
        let clock = CallClock::start(job.plugin.limits(), cancel, engine);
        let mut facts = CallFacts::default();
        let ran = if clock.is_cancelled() { None } else { Some(self.run(job, &clock, &mut facts)) };
        facts.duration = clock.elapsed();
        facts.busy = clock.busy();
        self.clear_away();
        let mut emitted = Vec::new();
        let answer = match ran {
            None => Answer::Cancelled,
            Some(Err(broken)) if broken.is_cancelled() => Answer::Cancelled,
            Some(Err(broken)) => Answer::Fault(handover::report(job, broken)),
            Some(Ok(_)) if clock.is_cancelled() => Answer::Cancelled,
            Some(Ok(said)) => {
                emitted = said.emitted;
                Answer::Outcome(said.outcome)
            }
        };
        (answer, emitted, facts)
    }

    /// What a guest that is gone had under way, requests and writes for example, was told to end; it does so when the runtime turns. Without
    /// that it would go on until the next batch.
    fn clear_away(&self) {
        if self.guest.is_none() {
            self.runtime.block_on(async {
                for _ in 0..CLEARING_TURNS {
                    tokio::task::yield_now().await;
                }
            });
        }
    }

    /// Runs one hand-over. A guest that broke is gone afterwards, and so is one that serves a single batch.
    fn run(&mut self, job: &Job, clock: &Arc<CallClock>, facts: &mut CallFacts) -> Result<Said, Broken> {
        let kept = self.guest.take().filter(|guest| guest.serves(&job.plugin) && !job.part);
        facts.instance_fresh = kept.is_none();
        let ran = panics::catch(|| self.runtime.block_on(Handover { job, clock }.run(kept)));
        let (said, guest) = ran.unwrap_or_else(|_| Err(Broken::new(Phase::Call, Cause::HostPanicked)))?;
        facts.guest_memory_bytes = guest.memory_bytes();
        facts.output_dropped_bytes = guest.output_dropped_bytes();
        self.guest = Some(guest).filter(|guest| guest.serves(&job.plugin) && !clock.is_cancelled());
        Ok(said)
    }
}

impl Evidence {
    /// What is known about a job.
    pub(crate) fn of(job: &Job) -> Self {
        Self::of_batch(job.plugin.limits(), job.batch.len(), handover::batch_bytes(&*job.batch))
    }
}
