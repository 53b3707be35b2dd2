//! One hand-over: batch in, answer out, or the report of what broke. Nothing here retries.

use std::sync::Arc;

use gristmill_core::outcome::Fault;

use crate::bindings::{HandlerIndices, types};
use crate::clock::CallClock;
use crate::deterministic::Fixed;
use crate::emitted::Allowance;
use crate::fault::{Broken, Cause, Evidence, Phase};
use crate::guest::Guest;
use crate::lower::{BatchSource, HeaderRows, positions_of};
use crate::packed::PackedBatch;
use crate::reply::Reply;
use crate::said::Said;
use crate::worker::Job;

/// What an answer may take in the host for each record of the batch: the rejection of each, with a reason of some hundred bytes.
const REJECTION_BYTES: u64 = 512;

/// A job and its time.
pub(crate) struct Handover<'a> {
    pub(crate) job: &'a Job,
    pub(crate) clock: &'a Arc<CallClock>,
}

impl Handover<'_> {
    /// Hands the batch to `kept` or to a fresh guest, and gives the guest back with its answer.
    pub(crate) async fn run(self, kept: Option<Guest>) -> Result<(Said, Guest), Broken> {
        match self.job.plugin.handler() {
            HandlerIndices::Records(_) => self.hand_over_records(kept).await,
            HandlerIndices::Packed(_) => self.hand_over_packed(kept).await,
        }
    }

    async fn hand_over_records(self, kept: Option<Guest>) -> Result<(Said, Guest), Broken> {
        let batch = &*self.job.batch;
        let rows = HeaderRows::new(batch);
        let batch_bytes = rows.batch_bytes(batch);
        if batch_bytes > self.job.plugin.limits().memory_bytes {
            return Err(Broken::new(Phase::Call, Cause::BatchTooLarge));
        }
        let (mut guest, digest) = (self.guest(kept).await?, self.job.plugin.digest().to_string());
        let headers = rows.lower();
        let records = rows.records(batch, &headers);
        let answer_bytes = self.answer_bytes(batch_bytes);
        let outcome = guest.process_records(self.clock, self.info(&digest), &records, answer_bytes).await?;
        Ok((self.read(Ok(outcome.into()))?, guest))
    }

    async fn hand_over_packed(self, kept: Option<Guest>) -> Result<(Said, Guest), Broken> {
        let packed = PackedBatch::of(&*self.job.batch, self.job.plugin.limits().memory_bytes);
        let packed = packed.ok_or_else(|| Broken::new(Phase::Call, Cause::BatchTooLarge))?;
        let (mut guest, digest) = (self.guest(kept).await?, self.job.plugin.digest().to_string());
        let answer_bytes = self.answer_bytes(packed.bytes());
        let outcome = guest.process_packed(self.clock, self.info(&digest), &packed, answer_bytes).await?;
        Ok((self.read(Reply::unpacked(outcome, answer_bytes))?, guest))
    }

    async fn guest(&self, kept: Option<Guest>) -> Result<Guest, Broken> {
        match kept {
            Some(guest) => Ok(guest),
            None => Guest::start(&self.job.plugin, self.clock, self.fixed()).await,
        }
    }

    fn info<'b>(&'b self, digest: &'b str) -> types::BatchInfo<'b> {
        types::BatchInfo {
            pipeline: &self.job.pipeline,
            attempt: self.job.attempt,
            time_limit_ms: u32::try_from(self.job.plugin.limits().time.as_millis()).unwrap_or(u32::MAX),
            part: self.job.part,
            plugin_digest: digest,
        }
    }

    fn allowance(&self) -> Allowance<'_> {
        Allowance::new(self.job.plugin.limits(), &self.job.sinks)
    }

    /// Bytes that the answer to this batch may take in the host. That is the bound of what a guest makes the host hold beside the
    /// guest's own memory, however often its answer names the same bytes: wasmtime counts each list in the host's widths before it
    /// reads it, and ends the call at the first byte too many. Keys, values and headers are moved on from there, not copied; reasons
    /// are written anew, cut and made safe to show, and their originals dropped one by one. An allocator may take twice as much where
    /// all of it is very small pieces, and so does an answer in packed bytes until it is unpacked.
    fn answer_bytes(&self, batch_bytes: u64) -> u64 {
        let of_any = self.job.plugin.limits().copy_bytes.max(batch_bytes.saturating_mul(2));
        let of_rejections = (self.job.batch.len() as u64).saturating_mul(REJECTION_BYTES);
        of_any.saturating_add(of_rejections).saturating_add(self.allowance().answer_bytes())
    }

    fn read(&self, reply: Result<Reply, String>) -> Result<Said, Broken> {
        reply
            .and_then(|reply| Said::read(reply, self.job.batch.len(), &self.allowance()))
            .map_err(|trouble| Broken::new(Phase::Call, Cause::Answer(trouble)))
    }

    /// The time and chance of the batch's instance, where they do not come from the machine.
    fn fixed(&self) -> Option<Fixed> {
        let Job { plugin, pipeline, batch, .. } = self.job;
        plugin.engine().is_deterministic().then(|| Fixed::of_batch(plugin.digest(), pipeline, &**batch))
    }
}

/// Bytes that a batch occupies in a guest at the least.
pub(crate) fn batch_bytes(batch: &dyn BatchSource) -> u64 {
    HeaderRows::new(batch).batch_bytes(batch)
}

/// Writes down what broke, for people, and says it in the core's words.
pub(crate) fn report(job: &Job, broken: Broken) -> Fault {
    let evidence = Evidence::of(job);
    let (cause, stderr, frames) = (broken.cause(&evidence), broken.stderr.clone(), broken.frames().join(" < "));
    let fault = broken.into_fault(&evidence);
    tracing::warn!(
        pipeline = %job.pipeline,
        plugin = %job.plugin.short_digest(),
        digest = %job.plugin.digest(),
        class = fault.class.as_str(),
        attempt = job.attempt,
        records = job.batch.len(),
        positions = %positions_of(&*job.batch),
        %cause,
        %stderr,
        %frames,
        "guest broke"
    );
    fault
}
