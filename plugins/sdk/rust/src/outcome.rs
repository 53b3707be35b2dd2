//! What a plugin's function may answer, and how its errors turn into answers.
//!
//! An error is retryable unless the plugin says otherwise: a host that tries again loses nothing, one that goes on does.

use std::error::Error;
use std::fmt::Display;
use std::time::Duration;

use crate::batch::Record;
use crate::effects::{Effects, Progress};

/// An answer in full, as the host will read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every record is done, once these effects are.
    Ok(Effects),
    /// Nothing is done, or only a beginning; try the rest again.
    Retryable {
        /// Why, for people.
        reason: String,
        /// A wish for the wait.
        after: Option<Duration>,
        /// The beginning that is done.
        completed: Option<Progress>,
        /// The index of the record that the plugin blames.
        suspect: Option<usize>,
    },
    /// Nothing is done, and trying again will not help.
    Fatal {
        /// Why, for people.
        reason: String,
    },
}

impl Outcome {
    /// Every record is done, and there is nothing to do but to commit.
    pub const OK: Self = Self::Ok(Effects::NONE);
}

/// What a plugin's function may return.
pub trait IntoOutcome {
    /// Turns the returned value into an answer.
    fn into_outcome(self) -> Outcome;
}

impl IntoOutcome for Outcome {
    fn into_outcome(self) -> Outcome {
        self
    }
}

impl IntoOutcome for () {
    fn into_outcome(self) -> Outcome {
        Outcome::OK
    }
}

impl IntoOutcome for Result<(), Failure> {
    fn into_outcome(self) -> Outcome {
        match self {
            Ok(()) => Outcome::OK,
            Err(Failure(outcome)) => outcome,
        }
    }
}

/// Why a batch is not done. Comes out of `?` on any error as *retryable*; [`fatal()`] makes the other kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(Outcome);

impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut reason = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !reason.ends_with(&text) {
                reason = format!("{reason}: {text}");
            }
            cause = error.source();
        }
        Retry::now().because(reason)
    }
}

/// A failure that trying again will not help: nothing is committed, and the host stops. Takes words or an error, so that
/// `map_err(fatal)?` is to fatal what `?` is to retryable.
#[must_use]
pub fn fatal(reason: impl Display) -> Failure {
    Failure(Outcome::Fatal { reason: reason.to_string() })
}

/// A failure worth trying again, with a wish for the wait and a record to blame where there is one:
///
/// ```
/// use std::time::Duration;
/// use gristmill_plugin::{Batch, Failure, Retry};
///
/// fn process(batch: &Batch) -> Result<(), Failure> {
///     for record in batch {
///         if record.key().is_none() {
///             return Err(Retry::after(Duration::from_secs(30)).suspect(record).because("the lock for it is taken"));
///         }
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "say why with `because`, and return the failure"]
pub struct Retry {
    after: Option<Duration>,
    suspect: Option<usize>,
}

impl Retry {
    /// Tries again when the host finds it right.
    pub fn now() -> Self {
        Self { after: None, suspect: None }
    }

    /// Tries again after `wait`. The host keeps it within its own bounds.
    pub fn after(wait: Duration) -> Self {
        Self { after: Some(wait), suspect: None }
    }

    /// Blames a record of the batch. Changes nothing about what is done; where the host has to look for the record that the
    /// plugin fails at, it begins there.
    pub fn suspect(self, record: Record<'_>) -> Self {
        Self { suspect: Some(record.index()), ..self }
    }

    /// Completes the failure with a reason for people.
    #[must_use]
    pub fn because(self, reason: impl Into<String>) -> Failure {
        let Self { after, suspect } = self;
        Failure(Outcome::Retryable { reason: reason.into(), after, completed: None, suspect })
    }
}

#[cfg(test)]
mod tests {
    use std::num::ParseIntError;

    use super::*;
    use crate::{Batch, Fixture, FixtureRecord, run_batch};

    #[derive(Debug)]
    struct Outer(ParseIntError);

    impl Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("no such table")
        }
    }

    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn any_error_is_retryable_and_told_with_its_causes() {
        let process = || -> Result<(), Failure> { Err(Outer("x".parse::<u32>().unwrap_err()))? };
        let reason = "no such table: invalid digit found in string".to_owned();
        let outcome = Outcome::Retryable { reason, after: None, completed: None, suspect: None };
        assert_eq!(process().into_outcome(), outcome);
    }

    #[test]
    fn a_wish_for_the_wait_and_a_suspect_go_along() {
        let wait = Duration::from_secs(3);
        let process = |batch: &Batch| -> Result<(), Failure> {
            let blamed = batch.record(1).expect("there are two");
            Err(Retry::after(wait).suspect(blamed).because("down"))
        };
        let fixture = Fixture::new().record(FixtureRecord::new()).record(FixtureRecord::new());
        let (reason, after) = ("down".into(), Some(wait));
        assert_eq!(
            run_batch(process, fixture),
            Outcome::Retryable { reason, after, completed: None, suspect: Some(1) }
        );
    }

    #[test]
    fn fatal_is_said_on_purpose_only_in_words_or_by_an_error() {
        let process = || -> Result<(), Failure> { "x".parse::<u32>().map(drop).map_err(fatal) };
        let reason = "invalid digit found in string".into();
        assert_eq!(process().into_outcome(), Outcome::Fatal { reason });
        let failure: Result<(), Failure> = Err(fatal("no"));
        assert_eq!(failure.into_outcome(), Outcome::Fatal { reason: "no".into() });
    }
}
