//! One hand-over: batch in, outcome out, or the report of what broke.
//!
//! The only place where the contract's answer becomes the core's outcome. Nothing here retries.

use std::sync::Arc;
use std::time::Duration;

use gristmill_core::outcome::{Fault, Outcome};

use crate::bindings::types;
use crate::clock::CallClock;
use crate::fault::{Broken, Cause, Evidence, Phase};
use crate::guest::Guest;
use crate::lower::{BatchSource, HeaderRows, positions_of};
use crate::stdio::escape;
use crate::worker::Job;

/// How much of a plugin's reason is kept. What is longer is cut, with a mark.
const REASON_BYTES_MAX: usize = 4 << 10;

/// A job and its time.
pub(crate) struct Handover<'a> {
    pub(crate) job: &'a Job,
    pub(crate) clock: &'a Arc<CallClock>,
}

impl Handover<'_> {
    /// Hands the batch to `kept` or to a fresh guest, and gives the guest back with the outcome.
    pub(crate) async fn run(self, kept: Option<Guest>) -> Result<(Outcome, Guest), Broken> {
        let Self { job, clock } = self;
        let limits = job.plugin.limits();
        let rows = HeaderRows::new(&*job.batch);
        let batch_bytes = rows.batch_bytes(&*job.batch);
        if batch_bytes > limits.memory_bytes {
            return Err(Broken::new(Phase::Call, Cause::BatchTooLarge));
        }
        let mut guest = match kept {
            Some(guest) => guest,
            None => Guest::start(&job.plugin, clock).await?,
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
        let answer = guest.process_batch(clock, info, &records, batch_bytes).await?;
        let outcome = outcome(answer).map_err(|trouble| Broken::new(Phase::Call, Cause::Answer(trouble)))?;
        Ok((outcome, guest))
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

/// Reads an answer. An answer that asks for what nobody configured is refused whole: to do a part of it would be a guess.
fn outcome(answer: types::Outcome) -> Result<Outcome, &'static str> {
    match answer {
        types::Outcome::Ok(effects) if effects.rejected.is_empty() && effects.emitted.is_empty() => Ok(Outcome::OK),
        types::Outcome::Ok(_) => Err("it answered ok with rejected or emitted records, which need configuration \
             (a dead-letter topic, sinks) that this version does not have yet"),
        types::Outcome::Retryable(types::Retry { completed: Some(_), .. }) => Err(
            "it answered retryable with a completed part, which needs configuration that this version does not have yet",
        ),
        types::Outcome::Retryable(retry) => {
            Ok(Outcome::retryable(reason(&retry.reason), retry.after_ms.map(Duration::from_millis)))
        }
        types::Outcome::Fatal(stop) => Ok(Outcome::Fatal { reason: reason(&stop.reason) }),
    }
}

/// A plugin's own words, safe to show and of bounded length.
fn reason(words: &str) -> String {
    let end = words.floor_char_boundary(REASON_BYTES_MAX);
    let mut reason = escape(&words.as_bytes()[..end]);
    if end < words.len() {
        reason += &format!(" … ({} bytes cut)", words.len() - end);
    }
    reason
}
