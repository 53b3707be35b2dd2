//! Where dead letters are replayed to, and which of them cannot go there.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use gristmill_kafka::dead_letter::{self, ReplayError};
use gristmill_kafka::{Outgoing, RecordBody};

use crate::dead_letters::check_name;

/// Where to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Each to the topic it came from.
    Origin,
    /// All to one topic.
    Topic(Arc<str>),
    /// Nowhere: printed.
    Stdout,
    /// Nowhere: handed to the plugin.
    Plugin,
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "origin" => Ok(Self::Origin),
            "stdout" => Ok(Self::Stdout),
            "plugin" => Ok(Self::Plugin),
            topic => match check_name(topic) {
                Ok(()) => Ok(Self::Topic(Arc::from(topic))),
                Err(fault) => Err(format!("write origin, stdout, plugin or a topic: {fault}")),
            },
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Origin => "where they came from",
            Self::Topic(topic) => topic,
            Self::Stdout => "stdout",
            Self::Plugin => "the plugin",
        })
    }
}

/// Why a dead letter stays where it is.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unfit {
    /// It is not the record itself, or nobody knows where it came from.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// What it names is no topic.
    #[error("it says that it came from {0:?}, which is no topic: {1}")]
    NoTopic(Arc<str>, String),
    /// It would come back to where it lies.
    #[error("it came from {0}, which is where dead letters go")]
    Circle(Arc<str>),
}

impl Target {
    /// The record as it goes there; `letters` are the topics where dead letters go.
    ///
    /// # Errors
    ///
    /// It is a pointer, has no origin, or none that can be written to, or would come back to where it lies.
    pub(super) fn outgoing(&self, record: &RecordBody, letters: &BTreeSet<String>) -> Result<Outgoing, Unfit> {
        let mut outgoing = dead_letter::replay(record, None)?;
        match self {
            Self::Topic(topic) => outgoing.topic = Arc::clone(topic),
            Self::Origin => {
                if let Err(fault) = check_name(&outgoing.topic) {
                    return Err(Unfit::NoTopic(outgoing.topic, fault));
                }
                if letters.contains(&*outgoing.topic) {
                    return Err(Unfit::Circle(outgoing.topic));
                }
            }
            Self::Stdout | Self::Plugin => {}
        }
        Ok(outgoing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_one_of_three_words_or_a_topic() {
        assert_eq!("origin".parse(), Ok(Target::Origin));
        assert_eq!("stdout".parse(), Ok(Target::Stdout));
        assert_eq!("plugin".parse(), Ok(Target::Plugin));
        assert_eq!("orders.again".parse(), Ok(Target::Topic("orders.again".into())));
        for text in ["", "a/b", "^orders"] {
            let error = text.parse::<Target>().expect_err("refused");
            assert!(error.starts_with("write origin, stdout, plugin or a topic: "), "{error}");
        }
    }
}
