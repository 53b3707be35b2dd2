//! Dead letters handed to the plugin of the configuration, decoded and in batches as a pipeline would. Nothing is written or
//! committed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gristmill_core::policy::{Attempts, BatchLimits};

use crate::compiling;
use crate::config::Config;
use crate::confine;
use crate::dead_letters::Position;
use crate::decoding::{Formats, Unavailable};
use crate::exit::{self, Exit};
use crate::loading;
use crate::records::FileRecord;

use super::super::Output;
use super::super::call::{self, Caller};
use super::super::decoding;
use super::LOOK_WAIT;
use super::around::{Around, refuse, stopped};

/// A plugin, and the batch that fills.
pub(super) struct Calling {
    caller: Caller,
    formats: Option<Formats>,
    /// When it was begun: a schema that is unknown by then is not asked for again.
    begun: Instant,
    /// How long the schema registry is waited for.
    wait: Duration,
    limits: BatchLimits,
    attempts: Attempts,
    output: Output,
    /// Number of the next batch.
    number: u64,
    positions: Vec<Position>,
    batch: Vec<FileRecord>,
    bytes: u64,
}

impl Calling {
    /// Confines the process, then loads the schemas and the plugin.
    pub(super) fn new(config: &Config, wait: Duration, output: Output) -> Result<Self, Exit> {
        let cache = compiling::open(&config.plugin.cache);
        confine::before_a_plugin(config.start.confine, cache.as_ref());
        let formats = Formats::load(&config.decoding, config.policy.batch.record_bytes_max)?;
        let plugin = loading::plugin(config, cache)?;
        let sinks = config.writing.sinks.keys().map(|sink| Arc::from(sink.as_str())).collect();
        Ok(Self {
            caller: Caller::new(plugin, Arc::from(config.pipeline.as_str()), 1, sinks)?,
            formats,
            begun: Instant::now(),
            wait,
            limits: config.policy.batch,
            attempts: config.policy.retry.attempts,
            output,
            number: 1,
            positions: Vec::new(),
            batch: Vec::new(),
            bytes: 0,
        })
    }

    /// Takes one into the batch; hands it over where it is full.
    pub(super) fn take(&mut self, at: Position, mut record: FileRecord, around: &mut Around<'_>) -> Result<(), Exit> {
        if let Err(why) = self.decode(&mut record, around)? {
            refuse(at, &why, around.progress, around.console);
            return Ok(());
        }
        let bytes = record.batch_bytes();
        if bytes > self.limits.record_bytes_max.get() {
            let why = format!("it counts {bytes} bytes, more than the plugin can take; raise plugin.limits.record");
            refuse(at, &why, around.progress, around.console);
            return Ok(());
        }
        if !self.batch.is_empty() && self.bytes + bytes > self.limits.bytes_max.get() {
            self.hand_over(around)?;
        }
        self.positions.push(at);
        self.batch.push(record);
        self.bytes += bytes;
        if self.batch.len() >= self.limits.records_max.get() as usize {
            self.hand_over(around)?;
        }
        Ok(())
    }

    /// Makes of a record what the plugin gets, or says why it gets none. Waits for the schema registry.
    fn decode(&self, record: &mut FileRecord, around: &Around<'_>) -> Result<Result<(), String>, Exit> {
        let deadline = Instant::now() + self.wait;
        loop {
            let Unavailable { reason, again_in } =
                match decoding::decode_record(self.formats.as_ref(), record, self.begun) {
                    Ok(decoded) => return Ok(decoded),
                    Err(unavailable) => unavailable,
                };
            if around.stop.is_asked() {
                return Err(stopped());
            }
            if Instant::now() >= deadline {
                let why = format!("{reason}; look at the schema registry, or wait longer with --wait");
                return Err(Exit::because(exit::UNREACHABLE, why));
            }
            let again_at = (Instant::now() + again_in).min(deadline);
            while Instant::now() < again_at && !around.stop.is_asked() {
                std::thread::sleep(LOOK_WAIT.min(again_at.saturating_duration_since(Instant::now())));
            }
        }
    }

    /// Hands over what there is, and shows the answer.
    pub(super) fn hand_over(&mut self, around: &mut Around<'_>) -> Result<(), Exit> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let (number, batch) = (self.number, std::mem::take(&mut self.batch));
        let answered = self.caller.hand_over(number, batch.clone())?;
        call::say(number, &batch, &answered, self.output, around.console);
        if let Some(exit) = call::exit_of(&answered.answer, &format!("batch {number}"), self.attempts) {
            return Err(exit);
        }
        self.positions.drain(..).for_each(|at| around.progress.acknowledged(at));
        (self.number, self.bytes) = (number + 1, 0);
        Ok(())
    }
}
