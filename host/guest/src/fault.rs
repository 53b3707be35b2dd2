//! What broke instead of an answer: the cause, the evidence, and the class that follows from both.
//!
//! A trap's own text rarely names the cause: a guest without memory runs into unreachable code like one that panics. So the
//! evidence decides, in this order: the time ran out, the guest called exit, memory was refused, code trapped, and otherwise
//! the answer could not be read.

use std::fmt;

use gristmill_core::outcome::{Fault, FaultClass};
use wasmtime::{Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

use crate::clock::Ended;
use crate::frames::own_frames;
use crate::limits::{Limits, Overgrowth};
use crate::stdio::escape;
use crate::words::{shortened, tell_a_panic};

/// How much of an error's own text is told. A plugin's `init` may refuse at any length.
const ERROR_CHARS_MAX: usize = 300;

/// How wasmtime says that a call copied more than it may.
const TOO_MUCH_COPIED: &str = "fuel allocated for hostcalls has been exhausted";

/// How far a guest got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Instantiation.
    Start,
    /// Comparing its functions' types with the contract's.
    Bind,
    /// `needs` of the manifest.
    Manifest,
    /// `init`.
    Init,
    /// `process-batch`.
    Call,
}

/// Why it broke.
#[derive(Debug)]
pub(crate) enum Cause {
    /// The host ended it while it waited.
    Ended(Ended),
    /// wasmtime ended it.
    Failed(wasmtime::Error),
    /// Its `init` said no, in these words.
    InitRefused(String),
    /// The batch cannot lie in its memory.
    BatchTooLarge,
    /// Its answer asks for what is not allowed, or contradicts itself.
    Answer(String),
    /// This host is broken.
    HostPanicked,
}

/// A guest that broke. Its store is gone, or must go.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) phase: Phase,
    pub(crate) error: Cause,
    pub(crate) overgrowth: Option<Overgrowth>,
    /// What the guest said last, cut and safe to show.
    pub(crate) stderr: String,
}

/// What is known about the hand-over beside the guest's own end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    memory_bytes: u64,
    batch: Option<(usize, u64)>,
}

impl Evidence {
    /// A start without a batch.
    pub(crate) fn of_start(limits: &Limits) -> Self {
        Self { memory_bytes: limits.memory_bytes, batch: None }
    }

    /// A hand-over of so many records of so many bytes.
    pub(crate) fn of_batch(limits: &Limits, records: usize, bytes: u64) -> Self {
        Self { memory_bytes: limits.memory_bytes, batch: Some((records, bytes)) }
    }
}

impl Broken {
    pub(crate) fn new(phase: Phase, error: Cause) -> Self {
        Self { phase, error, overgrowth: None, stderr: String::new() }
    }

    /// True when it broke because somebody cancelled the hand-over.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.ended() == Some(Ended::Cancelled)
    }

    /// The guest's own functions on its stack, innermost first.
    pub(crate) fn frames(&self) -> Vec<String> {
        let Cause::Failed(error) = &self.error else { return Vec::new() };
        error.downcast_ref::<WasmBacktrace>().map(own_frames).unwrap_or_default()
    }

    /// The same, in numbers where the answer was larger than it may be. wasmtime's own words name no bound, and its error has no
    /// type to know it by; an error on the guest's stack is one of a host call.
    pub(crate) fn of_answer_within(mut self, answer_bytes: u64) -> Self {
        if let Cause::Failed(error) = &self.error
            && error.downcast_ref::<WasmBacktrace>().is_none()
            && error.root_cause().to_string().contains(TOO_MUCH_COPIED)
        {
            self.error = Cause::Answer(format!(
                "its answer takes more than the {answer_bytes} bytes that it may take in the host"
            ));
        }
        self
    }

    /// What the core is told.
    pub(crate) fn into_fault(self, evidence: &Evidence) -> Fault {
        Fault { class: self.class(), detail: self.detail(evidence) }
    }

    fn class(&self) -> FaultClass {
        match self.phase {
            Phase::Start | Phase::Bind | Phase::Manifest | Phase::Init => FaultClass::Start,
            Phase::Call => self.class_of_call(),
        }
    }

    fn class_of_call(&self) -> FaultClass {
        match &self.error {
            _ if self.ended().is_some() => FaultClass::Timeout,
            Cause::Failed(error) if error.is::<I32Exit>() => FaultClass::Exit,
            Cause::BatchTooLarge => FaultClass::Memory,
            Cause::Failed(_) if self.overgrowth.is_some() => FaultClass::Memory,
            Cause::Failed(error) if error.downcast_ref::<WasmBacktrace>().is_some() => FaultClass::Trap,
            Cause::Failed(_) | Cause::Answer(_) => FaultClass::Contract,
            Cause::Ended(_) | Cause::InitRefused(_) | Cause::HostPanicked => FaultClass::Trap,
        }
    }

    fn ended(&self) -> Option<Ended> {
        match &self.error {
            Cause::Ended(ended) => Some(*ended),
            Cause::Failed(error) => error.downcast_ref::<Ended>().copied(),
            Cause::InitRefused(_) | Cause::BatchTooLarge | Cause::Answer(_) | Cause::HostPanicked => None,
        }
    }

    /// What happened, without the guest's own words and frames.
    pub(crate) fn cause(&self, evidence: &Evidence) -> String {
        let mut cause = self.where_it_was().to_owned();
        cause += &shortened(&escape(self.error.to_string().as_bytes()), ERROR_CHARS_MAX);
        let memory_bytes = evidence.memory_bytes;
        if let Some(overgrowth) = self.overgrowth {
            cause += &format!("; memory limit {memory_bytes} bytes, asked {} bytes", overgrowth.asked_bytes);
        }
        if let (FaultClass::Memory, Some((records, bytes))) = (self.class(), evidence.batch) {
            cause += &format!("; batch of {records} records and {bytes} bytes, plugin memory {memory_bytes} bytes");
        }
        cause
    }

    /// What happened, for one line: the event of the fault has the rest.
    fn detail(&self, evidence: &Evidence) -> String {
        // That code of a guest that panicked runs into `unreachable` says nothing more.
        if self.is_unreachable() && self.overgrowth.is_none() && tell_a_panic(&self.stderr) {
            return format!("{}{}", self.where_it_was(), self.stderr);
        }
        let mut detail = self.cause(evidence);
        if !self.stderr.is_empty() {
            detail += &format!("; the guest said: {}", self.stderr);
        }
        if let Some(innermost) = self.frames().first() {
            detail += &format!("; in {innermost}");
        }
        detail
    }

    fn where_it_was(&self) -> &'static str {
        match self.phase {
            Phase::Start => "while it was instantiated: ",
            Phase::Manifest => "in needs: ",
            Phase::Init => "in init: ",
            Phase::Bind | Phase::Call => "",
        }
    }

    fn is_unreachable(&self) -> bool {
        let Cause::Failed(error) = &self.error else { return false };
        error.downcast_ref::<Trap>() == Some(&Trap::UnreachableCodeReached)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(ended) => write!(f, "{ended}"),
            Self::Failed(error) => describe(error, f),
            Self::InitRefused(reason) => write!(f, "it refused to start: {reason}"),
            Self::BatchTooLarge => f.write_str("the batch is larger than the memory the plugin may have"),
            Self::Answer(trouble) => f.write_str(trouble),
            Self::HostPanicked => {
                f.write_str("the host itself panicked while the guest ran, which is a bug of gristmill")
            }
        }
    }
}

/// The words for an error of wasmtime, without the stack that it prints as well.
fn describe(error: &wasmtime::Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let Some(ended) = error.downcast_ref::<Ended>() {
        write!(f, "{ended}")
    } else if let Some(I32Exit(code)) = error.downcast_ref::<I32Exit>() {
        // WASI passes on no more of a code than whether it was 0.
        let with = if *code == 0 { "success" } else { "failure" };
        write!(f, "the guest called exit, with {with}, instead of answering")
    } else if let Some(trap) = error.downcast_ref::<Trap>() {
        write!(f, "{trap}")
    } else if error.downcast_ref::<WasmBacktrace>().is_some() {
        write!(f, "a host call refused the guest: {}", error.root_cause())
    } else {
        write!(f, "{error:#}")
    }
}
