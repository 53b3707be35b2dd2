//! Where dead letters are replayed to, and which of them cannot go there.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use gristmill_kafka::dead_letter::{self, ReplayError};
use gristmill_kafka::{Outgoing, RecordBody};

use crate::config::TopicMatch;
use crate::dead_letters::{OriginChoice, check_name};

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

/// Which topics a dead letter may name as its origin to be written there. Whoever writes to a topic that is read may give a record the
/// headers of a dead letter, so what they say is not enough.
#[derive(Debug)]
pub(super) struct Origins {
    /// What the pipeline reads or somebody named.
    topics: Vec<TopicMatch>,
    /// Where dead letters go: nothing is replayed to there.
    letters: BTreeSet<String>,
}

impl Origins {
    /// Those of a subscription, and those that were named beside it. A pattern that only the brokers' client can read allows nothing.
    pub(super) fn new(subscribed: &[String], named: &[OriginChoice], letters: BTreeSet<String>) -> Self {
        let read = subscribed.iter().filter_map(|topic| TopicMatch::of(topic));
        let named = named.iter().map(|origin| TopicMatch::Name(origin.topic().to_owned()));
        Self { topics: read.chain(named).collect(), letters }
    }

    /// True where dead letters go to this topic.
    pub(super) fn is_of_letters(&self, topic: &str) -> bool {
        self.letters.contains(topic)
    }

    fn take(&self, topic: &str) -> bool {
        self.topics.iter().any(|topics| topics.is(topic))
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
    /// Its headers alone say so.
    #[error(
        "it came from {0}, which this pipeline does not read; name it with --origin {0}, or another topic with --to"
    )]
    Stranger(Arc<str>),
}

impl Target {
    /// The record as it goes there.
    ///
    /// # Errors
    ///
    /// It is a pointer, has no origin, or none that may be written to, or would come back to where it lies.
    pub(super) fn outgoing(&self, record: &RecordBody, origins: &Origins) -> Result<Outgoing, Unfit> {
        let mut outgoing = dead_letter::replay(record, None)?;
        match self {
            Self::Topic(topic) => outgoing.topic = Arc::clone(topic),
            Self::Origin => {
                if let Err(fault) = check_name(&outgoing.topic) {
                    return Err(Unfit::NoTopic(outgoing.topic, fault));
                }
                if origins.is_of_letters(&outgoing.topic) {
                    return Err(Unfit::Circle(outgoing.topic));
                }
                if !origins.take(&outgoing.topic) {
                    return Err(Unfit::Stranger(outgoing.topic));
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

    #[test]
    fn an_origin_is_what_the_pipeline_reads_or_what_somebody_named() {
        let subscribed = ["orders", "^eu-.*", "^("].map(str::to_owned);
        let named = ["refunds:3".parse().expect("an origin")];
        let origins = Origins::new(&subscribed, &named, BTreeSet::from(["orders.dead".to_owned()]));
        for (topic, wanted) in [
            ("orders", true),
            ("orders2", false),
            ("eu-orders", true),
            ("not-eu-orders", false),
            ("refunds", true),
            ("secrets", false),
            ("orders.dead", false),
        ] {
            assert_eq!(origins.take(topic), wanted, "{topic}");
        }
        assert!(origins.is_of_letters("orders.dead"));
    }
}
