//! Which topics an entry of a subscription is about.

use std::fmt;

use gristmill_kafka::is_pattern;
use regex::Regex;

/// Which topics something is about.
#[derive(Clone, Debug)]
pub enum TopicMatch {
    /// The one of this name.
    Name(String),
    /// Those that this pattern matches.
    Pattern(Regex),
}

impl fmt::Display for TopicMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Pattern(pattern) => f.write_str(pattern.as_str()),
        }
    }
}

impl TopicMatch {
    /// Those that an entry of `kafka.topics` reads. The brokers' client matches patterns by the system's regular expressions, and here
    /// they are our own: a pattern may match otherwise, and `None` is one that cannot be read.
    #[must_use]
    pub fn of(subscribed: &str) -> Option<Self> {
        if is_pattern(subscribed) {
            Regex::new(subscribed).ok().map(Self::Pattern)
        } else {
            Some(Self::Name(subscribed.to_owned()))
        }
    }

    /// True when it is about that topic.
    #[must_use]
    pub fn is(&self, topic: &str) -> bool {
        match self {
            Self::Name(name) => name == topic,
            Self::Pattern(pattern) => pattern.is_match(topic),
        }
    }
}
