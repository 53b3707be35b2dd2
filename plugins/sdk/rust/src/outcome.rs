//! What a plugin's function may answer, and how its errors turn into answers.
//!
//! An error is retryable unless the plugin says otherwise: a host that tries again loses nothing, one that goes on does.

use std::error::Error;
use std::fmt::Display;
use std::time::Duration;

/// An answer in full, as the host will read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every record is done.
    Ok,
    /// Nothing is done; try again.
    Retryable {
        /// Why, for people.
        reason: String,
        /// A wish for the wait.
        after: Option<Duration>,
        /// The index of the record that the plugin blames.
        suspect: Option<usize>,
    },
    /// Nothing is done, and trying again will not help.
    Fatal {
        /// Why, for people.
        reason: String,
    },
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
        Outcome::Ok
    }
}

impl IntoOutcome for Result<(), Failure> {
    fn into_outcome(self) -> Outcome {
        match self {
            Ok(()) => Outcome::Ok,
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

/// A failure worth trying again, with a wish for the wait: `Err(Retry::after(wait).because("the database is down"))`.
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

    /// Blames the record at `index` of the batch.
    pub fn suspect(self, index: usize) -> Self {
        Self { suspect: Some(index), ..self }
    }

    /// Completes the failure with a reason for people.
    #[must_use]
    pub fn because(self, reason: impl Into<String>) -> Failure {
        Failure(Outcome::Retryable { reason: reason.into(), after: self.after, suspect: self.suspect })
    }
}

#[cfg(test)]
mod tests {
    use std::num::ParseIntError;

    use super::*;

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
        assert_eq!(process().into_outcome(), Outcome::Retryable { reason, after: None, suspect: None });
    }

    #[test]
    fn a_wish_for_the_wait_and_a_suspect_go_along() {
        let wait = Duration::from_secs(3);
        let failure: Result<(), Failure> = Err(Retry::after(wait).suspect(4).because("down"));
        let outcome = Outcome::Retryable { reason: "down".into(), after: Some(wait), suspect: Some(4) };
        assert_eq!(failure.into_outcome(), outcome);
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
