//! An answer as a guest gave it, in one shape for both forms of the contract.
//!
//! Nothing here has been judged: it may contradict itself, and ask for what is not allowed.

use crate::bindings::{raw, types};
use crate::emitted::EmittedHeader;
use crate::packed;

/// What became of a batch.
#[derive(Debug)]
pub(crate) enum Reply {
    /// Every record is done.
    Ok(Wanted),
    /// Nothing is done, or only a beginning.
    Retryable {
        reason: String,
        after_ms: Option<u64>,
        /// How many records are finished, and what they want done.
        completed: Option<(u32, Wanted)>,
        suspect: Option<u32>,
    },
    /// Nothing is done.
    Fatal { reason: String },
}

/// What shall be done before the commit.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) rejected: Vec<types::Rejection>,
    pub(crate) emitted: Vec<WantedRecord>,
}

/// A record that shall be written.
#[derive(Clone, Debug)]
pub(crate) struct WantedRecord {
    /// The name of a sink, which there may not be.
    pub(crate) sink: String,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) headers: Vec<EmittedHeader>,
    pub(crate) partition: Option<i32>,
    pub(crate) source: Option<u32>,
}

impl Reply {
    /// An answer in packed bytes, whose parts may have `bytes_max` together.
    ///
    /// # Errors
    ///
    /// What cannot be read.
    pub(crate) fn unpacked(outcome: raw::RawOutcome, bytes_max: u64) -> Result<Self, String> {
        let wanted = |effects: raw::RawEffects| packed::wanted(&effects.index, &effects.data, bytes_max);
        Ok(match outcome {
            raw::RawOutcome::Ok(effects) => Self::Ok(wanted(effects)?),
            raw::RawOutcome::Retryable(raw::RawRetry { reason, after_ms, completed, suspect }) => {
                let completed = completed.map(|done| Ok::<_, String>((done.records, wanted(done.effects)?)));
                Self::Retryable { reason, after_ms, completed: completed.transpose()?, suspect }
            }
            raw::RawOutcome::Fatal(types::Stop { reason }) => Self::Fatal { reason },
        })
    }
}

impl From<types::Outcome> for Reply {
    fn from(outcome: types::Outcome) -> Self {
        match outcome {
            types::Outcome::Ok(effects) => Self::Ok(effects.into()),
            types::Outcome::Retryable(types::Retry { reason, after_ms, completed, suspect }) => {
                let completed = completed.map(|types::Progress { records, effects }| (records, effects.into()));
                Self::Retryable { reason, after_ms, completed, suspect }
            }
            types::Outcome::Fatal(types::Stop { reason }) => Self::Fatal { reason },
        }
    }
}

impl From<types::Effects> for Wanted {
    /// Moves the bytes, and copies none.
    fn from(types::Effects { rejected, emitted }: types::Effects) -> Self {
        let emitted = emitted.into_iter().map(|record| {
            let types::OutputRecord { sink, key, value, headers, partition, source } = record;
            let headers = headers.into_iter();
            let headers =
                headers.map(|types::HeaderResult { key, value }| EmittedHeader { name: key.into_bytes(), value });
            WantedRecord { sink, key, value, headers: headers.collect(), partition, source }
        });
        Self { rejected, emitted: emitted.collect() }
    }
}
