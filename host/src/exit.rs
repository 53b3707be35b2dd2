//! Exit codes, and the one place where reasons become codes. Scripts and supervisors rely on these numbers.
//!
//! It does not end the process: `main` does.

use std::fmt;

use gristmill_core::io::{StopReason, Unfinished};
use gristmill_kafka::{ReachError, ReadError};

use crate::config::ConfigError;
use crate::excerpt::{both_ends, short_reason};
use crate::plugin_file::PluginFileError;

/// Everything was done.
pub const CLEAN: u8 = 0;
/// Something unexpected that no other code describes.
pub const UNEXPECTED: u8 = 1;
/// The command line was wrong.
pub const USAGE: u8 = 2;
/// The plugin said fatal.
pub const FATAL: u8 = 65;
/// No broker could be reached at start.
pub const UNREACHABLE: u8 = 69;
/// The host itself has a bug.
pub const HOST_BUG: u8 = 70;
/// Another process took over this static member id.
pub const FENCED: u8 = 71;
/// The budget of retries or faults is spent; for `call`: the plugin said retryable.
pub const EXHAUSTED: u8 = 75;
/// For `call`: the plugin broke instead of answering.
pub const FAULT: u8 = 76;
/// A broker does not allow what is needed.
pub const NOT_AUTHORISED: u8 = 77;
/// The configuration, the plugin, or an input file does not fit.
pub const MISFIT: u8 = 78;
/// The host panicked.
pub const PANIC: u8 = 101;
/// The process was ended before what was running had ended.
pub const DEADLINE: u8 = 124;

/// How the process ends: a code, and a line that says why and what to do. Only commands that printed what they were asked for
/// end without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    code: u8,
    why: Option<String>,
}

impl Exit {
    /// Everything was done, and what was printed says so.
    #[must_use]
    pub fn clean() -> Self {
        Self { code: CLEAN, why: None }
    }

    /// Ends with `code`, because of `why`: lowercase, no full stop, with the way out. The middle of a long one is cut.
    #[must_use]
    pub fn because(code: u8, why: impl AsRef<str>) -> Self {
        Self { code, why: Some(both_ends(why.as_ref())) }
    }

    /// The code.
    #[must_use]
    pub fn code(&self) -> u8 {
        self.code
    }

    /// Why, and what to do.
    #[must_use]
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }

    /// The machine's reason as code and words. `place` is where the batch lies that was handed over last: the one that failed,
    /// where one did; of too many dead letters the partition that has them.
    pub(crate) fn stopped(reason: &StopReason, place: Option<&str>) -> Self {
        let batch = place.map(|place| format!("batch ({place})"));
        let batch = batch.as_deref().unwrap_or("batch");
        match reason {
            StopReason::Asked => {
                Self::because(CLEAN, "stopped as it was asked to; whatever is not committed comes again")
            }
            StopReason::Abandoned { insisted, unfinished } => {
                Self::because(DEADLINE, abandoned(*insisted, *unfinished))
            }
            StopReason::Fatal { reason } => Self::because(
                FATAL,
                format!(
                    "the plugin said fatal: {}; its {batch} was not committed; fix the cause, then start again",
                    short_reason(reason)
                ),
            ),
            StopReason::Exhausted { reason } => Self::because(
                EXHAUSTED,
                format!(
                    "no attempt is left: {}; its {batch} was not committed; fix the cause, then start again",
                    short_reason(reason)
                ),
            ),
            StopReason::TooManyDeadLetters { reason, .. } => {
                let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
                Self::because(
                    EXHAUSTED,
                    format!(
                        "{place}{reason}; the last batch was neither written nor committed; the dead letters before it are on their \
                         topic (gristmill dead-letters list), and of what did not decode or broke the plugin the warn lines above say \
                         why; what fails that often is most often not the records; fix the cause, or raise dead_letter.stop_when, then \
                         start again"
                    ),
                )
            }
            StopReason::Fenced => Self::because(
                FENCED,
                "another process joined with this group.instance.id; give every process an id of its own",
            ),
            StopReason::CommitRefused => Self::because(
                NOT_AUTHORISED,
                "the broker refuses this group's commits for good, for the reason in the line above; give the user the right to read \
                 the group and its topics, or correct the broker's limits",
            ),
        }
    }
}

/// What a stop did not wait for any longer, and what becomes of it.
fn abandoned(insisted: bool, unfinished: Unfinished) -> &'static str {
    match (insisted, unfinished) {
        (true, Unfinished::Batch) => {
            "stopped at once because it was asked twice; the running batch was not committed and comes again"
        }
        (false, Unfinished::Batch) => {
            "the running batch did not end within shutdown.grace; it was not committed and comes again; raise \
             shutdown.grace if it needs longer"
        }
        (true, Unfinished::Writing) => {
            "stopped at once because it was asked twice; the plugin said ok to the last batch, but what has to be \
             written before its commit was not acknowledged: the batch was not committed and comes again"
        }
        (false, Unfinished::Writing) => {
            "the brokers did not acknowledge what the last batch wants written within shutdown.grace; the batch was not \
             committed and comes again; look at the brokers"
        }
        (true, Unfinished::Commit) => {
            "stopped at once because it was asked twice; the plugin said ok to the last batch, but whether its \
             commit was done is unknown: it may come again"
        }
        (false, Unfinished::Commit) => {
            "the brokers did not confirm the commit of the last batch within shutdown.grace; whether it was done \
             is unknown: the batch may come again; look at the brokers"
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.why.as_deref().unwrap_or("done"))
    }
}

impl From<&ConfigError> for Exit {
    fn from(error: &ConfigError) -> Self {
        let first = error.problems.first().map(ToString::to_string).unwrap_or_default();
        let more = match error.problems.len() {
            0 | 1 => String::new(),
            count => format!(" (and {} more, above)", count - 1),
        };
        Self::because(MISFIT, format!("{first}{more}"))
    }
}

impl From<&PluginFileError> for Exit {
    fn from(error: &PluginFileError) -> Self {
        Self::because(MISFIT, error.to_string())
    }
}

impl From<&ReachError> for Exit {
    fn from(error: &ReachError) -> Self {
        let code = match error {
            ReachError::Start(_) => MISFIT,
            ReachError::Unreachable { .. } => UNREACHABLE,
            ReachError::NotAuthenticated { .. } | ReachError::Insecure { .. } => NOT_AUTHORISED,
        };
        Self::because(code, error.to_string())
    }
}

impl From<&ReadError> for Exit {
    fn from(error: &ReadError) -> Self {
        let code = match error {
            ReadError::Reach(reach) => return Self::from(reach),
            ReadError::NoTopic { .. } => MISFIT,
            ReadError::Denied { .. } => NOT_AUTHORISED,
            ReadError::Silent { .. } => UNREACHABLE,
            ReadError::Unreadable { .. } => UNEXPECTED,
        };
        Self::because(code, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use gristmill_core::record::{Partition, Topic};

    use super::*;

    #[test]
    fn the_last_line_names_the_cause_in_short_and_ends_with_the_way_out() {
        let reason = format!("no table orders {}", "x".repeat(4_000));
        for stop in [StopReason::Fatal { reason: reason.clone() }, StopReason::Exhausted { reason }] {
            let exit = Exit::stopped(&stop, Some("orders/0 5..9, orders/1 7"));
            let why = exit.why().unwrap();
            assert!(why.contains("; its batch (orders/0 5..9, orders/1 7) was not committed; "), "{why}");
            assert!(why.contains("no table orders xxx"), "{why}");
            assert!(why.ends_with("fix the cause, then start again"));
            assert!(why.chars().count() < 350, "{why}");
        }
    }

    #[test]
    fn too_many_dead_letters_are_told_with_their_partition_and_where_to_look() {
        let partition = Partition { topic: Topic(0), number: 3 };
        let reason = "20 records in a row became dead letters, 20 are too many".to_owned();
        let exit = Exit::stopped(&StopReason::TooManyDeadLetters { partition, reason }, Some("orders/3"));
        let why = exit.why().unwrap();
        assert!(
            why.starts_with("orders/3: 20 records in a row became dead letters, 20 are too many; the last batch"),
            "{why}"
        );
        assert!(why.contains("(gristmill dead-letters list)") && why.contains("the warn lines above say why"), "{why}");
        assert!(why.ends_with("raise dead_letter.stop_when, then start again") && !why.contains('…'), "{why}");
    }
}
