//! The thread that decodes: everything about records passes it, in the order in which it came.
//!
//! A registry that does not answer keeps everything behind it waiting, as a batch that fails does: it is no record's fault. What
//! decoding makes is bounded as what is fetched is: by a budget of bytes, beyond which nothing more is decoded. Nobody waits for
//! either while records are kept back that could be handled meanwhile: what was decoded before goes on first.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Thread;
use std::time::{Duration, Instant};

use gristmill_core::io::Input;
use gristmill_core::record::{RecordFacts, Topic};
use gristmill_decode::{Registry, STACK_BYTES};
use gristmill_kafka::{Credit, Lease, RecordBody};
use tokio::sync::mpsc::UnboundedSender;

use super::formats::{Decoders, Formats};
use super::record::{self, Made, Unavailable};
use crate::body::{Body, Decoded};

/// How long a look at the budget takes at most until the next one.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Nothing interrupts a wait for credit: it comes back when records are done.
static NEVER: AtomicBool = AtomicBool::new(false);

/// What the stage says.
#[derive(Debug)]
pub(crate) enum News {
    /// For the machine.
    Input(Input<Body>),
    /// Schemas cannot be had; everything waits. Said after each try.
    Waits {
        /// Why.
        reason: String,
        /// When the next try is.
        again_in: Duration,
    },
    /// They can again.
    GoesOn {
        /// How long it waited.
        waited: Duration,
    },
}

/// The stage, as the run loop uses it. Dropping it ends the thread once it has nothing to do.
pub(crate) struct Stage {
    inputs: Sender<Given>,
    thread: Thread,
    registry: Option<Arc<Registry>>,
}

/// Something about records, and when it was given to the stage: at that time they had been read.
struct Given {
    input: Input<RecordBody>,
    at: Instant,
}

impl Stage {
    /// Starts the thread. `bytes_max` bounds what is decoded and still somewhere in the process; `tell` hears of everything that
    /// comes out.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(crate) fn spawn(formats: Formats, bytes_max: u64, tell: UnboundedSender<News>) -> std::io::Result<Self> {
        // What is in it is fetched, and bounded as such.
        let (inputs, given) = channel();
        let registry = formats.registry().cloned();
        let decoding = Decoding { formats, credit: Arc::new(Credit::new(bytes_max)), tell };
        // With the most that decoding takes, so that no record needs more; what is not used costs nothing.
        let builder = std::thread::Builder::new().name("decode".to_owned()).stack_size(STACK_BYTES + (1 << 20));
        let thread = builder.spawn(move || decoding.run(&given))?.thread().clone();
        Ok(Self { inputs, thread, registry })
    }

    /// Asks the registry at once, if the stage waits for it.
    pub(crate) fn ask_anew(&self) {
        if let Some(registry) = &self.registry {
            registry.ask_anew();
            self.thread.unpark();
        }
    }

    /// True for what has to keep its order with records. Everything else may overtake them: a record of an old reading is known by
    /// its epoch.
    pub(crate) fn takes(input: &Input<RecordBody>) -> bool {
        matches!(input, Input::Fetched(_) | Input::Passed(_) | Input::PositionTrouble { .. })
    }

    /// Passes something on.
    pub(crate) fn pass(&self, input: Input<RecordBody>) {
        // A thread that is gone is noticed where its news end.
        let _ = self.inputs.send(Given { input, at: Instant::now() });
    }
}

/// What the thread works with.
struct Decoding {
    formats: Formats,
    credit: Arc<Credit>,
    tell: UnboundedSender<News>,
}

/// The run loop listens no more: the process is on its way out.
struct Unheard;

impl Decoding {
    /// Runs until the stage is dropped, or nobody listens.
    fn run(&self, given: &Receiver<Given>) {
        for Given { input, at } in given {
            if self.pass(input, at).is_err() {
                return;
            }
        }
    }

    fn pass(&self, input: Input<RecordBody>, at: Instant) -> Result<(), Unheard> {
        match input {
            Input::Fetched(records) => self.decode_all(records, at),
            other => self.tell(News::Input(other.with_bodies(Body::raw))),
        }
    }

    fn decode_all(&self, records: Vec<(RecordFacts, RecordBody)>, at: Instant) -> Result<(), Unheard> {
        // Records of a topic follow each other: it is looked up once for all of them.
        let mut last: Option<(Topic, Option<&Decoders>)> = None;
        let mut done = Vec::with_capacity(records.len());
        for (facts, original) in records {
            let topic = facts.partition.topic;
            let decoders = match last {
                Some((of, decoders)) if of == topic => decoders,
                Some(_) | None => self.formats.of(original.topic()),
            };
            last = Some((topic, decoders));
            let made = match decoders {
                Some(decoders) => {
                    self.wait_for_credit(&mut done)?;
                    self.decode(decoders, &original, at, &mut done)?
                }
                None => Made::AS_IT_IS,
            };
            done.push(self.body(facts, original, made));
        }
        self.hand_on(&mut done)
    }

    /// Waits until something is left of the budget. It comes back with records that were handed on and are done.
    fn wait_for_credit(&self, done: &mut Vec<(RecordFacts, Body)>) -> Result<(), Unheard> {
        while !self.credit.wait(Duration::ZERO, &NEVER) {
            self.hand_on(done)?;
            self.credit.wait(LOOK_AGAIN, &NEVER);
        }
        Ok(())
    }

    /// Decodes a record, whatever time it takes until its schema can be had.
    fn decode(
        &self,
        decoders: &Decoders,
        record: &RecordBody,
        at: Instant,
        done: &mut Vec<(RecordFacts, Body)>,
    ) -> Result<Made, Unheard> {
        let mut since = None;
        loop {
            let Unavailable { reason, again_in } = match record::decode(decoders, record.key(), record.value(), at) {
                Ok(made) => {
                    if let Some(since) = since {
                        self.tell(News::GoesOn { waited: Instant::elapsed(&since) })?;
                    }
                    return Ok(made);
                }
                Err(unavailable) => unavailable,
            };
            since.get_or_insert_with(Instant::now);
            self.hand_on(done)?;
            self.tell(News::Waits { reason, again_in })?;
            // Ended early by whoever knows that the registry is back.
            std::thread::park_timeout(again_in);
        }
    }

    /// Hands on what was decoded so far.
    fn hand_on(&self, done: &mut Vec<(RecordFacts, Body)>) -> Result<(), Unheard> {
        if done.is_empty() {
            return Ok(());
        }
        self.tell(News::Input(Input::Fetched(std::mem::take(done))))
    }

    /// The record with what was made of it, and the facts that follow: its size is that of what the plugin gets.
    fn body(&self, mut facts: RecordFacts, original: RecordBody, made: Made) -> (RecordFacts, Body) {
        let mut lease = Lease::nothing(&self.credit);
        let decoded = match made {
            Made::Decoded { key: None, value: None } => return (facts, Body::raw(original)),
            Made::Decoded { key, value } => {
                for (decoded, instead_of) in [(&key, original.key()), (&value, original.value())] {
                    let Some(decoded) = decoded else { continue };
                    let before = instead_of.map_or(0, <[u8]>::len) as u64;
                    facts.bytes = facts.bytes.saturating_sub(before) + decoded.len() as u64;
                    lease.take(decoded.len() as u64);
                }
                Decoded { key, value, failure: None, _lease: lease }
            }
            Made::Undecodable(reason) => {
                facts.undecodable = true;
                lease.take(reason.len() as u64);
                Decoded { key: None, value: None, failure: Some(reason), _lease: lease }
            }
        };
        (facts, Body::decoded(original, decoded))
    }

    fn tell(&self, news: News) -> Result<(), Unheard> {
        self.tell.send(news).map_err(|_| Unheard)
    }
}
