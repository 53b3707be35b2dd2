//! One hand-over: batch in, answer out, or the report of what broke. Nothing here retries.

use std::sync::Arc;

use gristmill_core::outcome::Fault;

use crate::bindings::types;
use crate::clock::CallClock;
use crate::deterministic::Fixed;
use crate::emitted::Allowance;
use crate::fault::{Broken, Cause, Evidence, Phase};
use crate::guest::Guest;
use crate::lower::{BatchSource, HeaderRows, positions_of};
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
        let Self { job, clock } = &self;
        let limits = job.plugin.limits();
        let rows = HeaderRows::new(&*job.batch);
        let batch_bytes = rows.batch_bytes(&*job.batch);
        if batch_bytes > limits.memory_bytes {
            return Err(Broken::new(Phase::Call, Cause::BatchTooLarge));
        }
        let mut guest = match kept {
            Some(guest) => guest,
            None => Guest::start(&job.plugin, clock, self.fixed()).await?,
        };
        let digest = job.plugin.digest().to_string();
        let info = types::BatchInfo {
            pipeline: &job.pipeline,
            attempt: job.attempt,
            time_limit_ms: u32::try_from(limits.time.as_millis()).unwrap_or(u32::MAX),
            part: job.part,
            plugin_digest: &digest,
        };
        let headers = rows.lower();
        let records = rows.records(&*job.batch, &headers);
        let allowance = Allowance::new(limits, &job.sinks);
        let answer_bytes = answer_bytes(job, batch_bytes, &allowance);
        let answer = guest.process_batch(clock, info, &records, answer_bytes).await?;
        let said = Said::read(answer, records.len(), &allowance)
            .map_err(|trouble| Broken::new(Phase::Call, Cause::Answer(trouble)))?;
        Ok((said, guest))
    }

    /// The time and chance of the batch's instance, where they do not come from the machine.
    fn fixed(&self) -> Option<Fixed> {
        let Job { plugin, pipeline, batch, .. } = self.job;
        plugin.engine().is_deterministic().then(|| Fixed::of_batch(plugin.digest(), pipeline, &**batch))
    }
}

/// Bytes that the answer to this batch may take in the host. That is the bound of what a guest makes the host hold beside the
/// guest's own memory, however often its answer names the same bytes: wasmtime counts each list in the host's widths before it
/// reads it, and ends the call at the first byte too many. Keys, values and headers are moved on from there, not copied; reasons
/// are written anew, cut and made safe to show, and their originals dropped one by one. An allocator may take twice as much where
/// all of it is very small pieces.
fn answer_bytes(job: &Job, batch_bytes: u64, allowance: &Allowance<'_>) -> u64 {
    let of_any = job.plugin.limits().copy_bytes.max(batch_bytes.saturating_mul(2));
    let of_rejections = (job.batch.len() as u64).saturating_mul(REJECTION_BYTES);
    of_any.saturating_add(of_rejections).saturating_add(allowance.answer_bytes())
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
