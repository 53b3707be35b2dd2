//! What a guest said, in the core's words: the only place where the contract's answer becomes the core's outcome.
//!
//! An answer that contradicts itself, or asks for what is not allowed, is refused whole: to do a part of it would be a guess.
//! Nothing here knows what an answer makes the host do.

use std::time::Duration;

use gristmill_core::outcome::{Effects, Outcome, Progress, Rejection};

use crate::bindings::types;
use crate::emitted::{Allowance, EmittedRecord};
use crate::reply::{Reply, Wanted, WantedRecord};
use crate::stdio::escape;

/// How much of a plugin's reason is kept. What is longer is cut, with a mark.
const REASON_BYTES_MAX: usize = 4 << 10;

/// An answer that holds together.
#[derive(Debug)]
pub(crate) struct Said {
    /// The answer in the core's words, which only counts what is emitted.
    pub(crate) outcome: Outcome,
    /// What is emitted by what is done.
    pub(crate) emitted: Vec<EmittedRecord>,
}

impl Said {
    /// Reads the answer to a batch of so many records.
    ///
    /// # Errors
    ///
    /// What contradicts itself or is not allowed, with the numbers and names.
    pub(crate) fn read(reply: Reply, records: usize, allowance: &Allowance<'_>) -> Result<Self, String> {
        // A batch has far fewer; an index is 32 bits wide.
        let records = u32::try_from(records).unwrap_or(u32::MAX);
        let (outcome, emitting) = match reply {
            Reply::Ok(wanted) => {
                let (effects, emitted) = divided(wanted);
                (Outcome::Ok(effects), Some(Emitting { emitted, records, finished: "the batch holds" }))
            }
            Reply::Retryable { reason: words, after_ms, completed, suspect } => {
                let (completed, emitting) = completed
                    .map(|(records, wanted)| {
                        let (effects, emitted) = divided(wanted);
                        (Progress { records, effects }, Emitting { emitted, records, finished: "completed are" })
                    })
                    .unzip();
                let after = after_ms.map(Duration::from_millis);
                (Outcome::Retryable { reason: reason(&words), after, completed, suspect }, emitting)
            }
            Reply::Fatal { reason: words } => (Outcome::Fatal { reason: reason(&words) }, None),
        };
        if let Some(contradiction) = outcome.contradiction(records) {
            return Err(contradiction);
        }
        let taken = emitting.map(|Emitting { emitted, records, finished }| allowance.take(emitted, records, finished));
        Ok(Self { outcome, emitted: taken.transpose()?.unwrap_or_default() })
    }
}

/// Records that an answer wants written, and how many records of the batch it finishes.
struct Emitting {
    emitted: Vec<WantedRecord>,
    records: u32,
    /// What the number is, in words.
    finished: &'static str,
}

/// Effects as the core counts them, and the records that it does not want to see.
fn divided(Wanted { rejected, emitted }: Wanted) -> (Effects, Vec<WantedRecord>) {
    let rejected = rejected
        .into_iter()
        .map(|types::Rejection { index, reason: words }| Rejection { index, reason: reason(&words) });
    let effects = Effects { rejected: rejected.collect(), emitted: u32::try_from(emitted.len()).unwrap_or(u32::MAX) };
    (effects, emitted)
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
