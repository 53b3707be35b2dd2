//! What may stand in a subscription: names that a topic can have, and patterns that librdkafka can read.
//!
//! Names are judged by Kafka's own rule. Patterns are librdkafka's to judge: it hands them to the system's regular expressions,
//! so it is asked itself. Reaches no broker.

use std::ffi::CString;

use crate::log::unheard;
use crate::sys::{Client, ClientKind, Code, List};

/// The most characters that a topic's name has, by Kafka's own rule.
pub const TOPIC_CHARS_MAX: usize = 249;

/// Why nothing can ever be read under a name or pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TopicFault {
    /// Nothing is written.
    #[error("a topic's name must not be empty")]
    Empty,
    /// Longer than any topic's name.
    #[error("it has {chars} characters, and a topic's name has at most {TOPIC_CHARS_MAX}")]
    TooLong {
        /// How many it has.
        chars: usize,
    },
    /// "." and "..".
    #[error("no topic can be called that")]
    Dots,
    /// A character that no topic's name has.
    #[error("a topic's name has no {0:?}, only letters, digits, \".\", \"_\" and \"-\"")]
    Character(char),
    /// A pattern that cannot be read.
    #[error("librdkafka cannot read this pattern; write a POSIX extended regular expression, such as \"^orders-.*\"")]
    Pattern,
}

/// Finds out whether a topic can be called like this.
///
/// # Errors
///
/// Why not. A pattern is never refused here; see [`check_pattern`].
pub fn check_topic(name: &str) -> Result<(), TopicFault> {
    let chars = name.chars().count();
    let foreign = |c: &char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
    match name {
        "" => Err(TopicFault::Empty),
        "." | ".." => Err(TopicFault::Dots),
        _ if name.contains('\0') => Err(TopicFault::Character('\0')),
        _ if is_pattern(name) => Ok(()),
        _ => match name.chars().find(foreign) {
            Some(foreign) => Err(TopicFault::Character(foreign)),
            None if chars > TOPIC_CHARS_MAX => Err(TopicFault::TooLong { chars }),
            None => Ok(()),
        },
    }
}

/// Asks librdkafka whether it can read a pattern, on a client that has no brokers and is thrown away. What is no pattern is let
/// through, and so is everything on a machine that has no room for one more client: a run finds out.
///
/// # Errors
///
/// It cannot.
pub fn check_pattern(pattern: &str) -> Result<(), TopicFault> {
    if !is_pattern(pattern) {
        return Ok(());
    }
    let Ok(raw) = CString::new(pattern) else { return Err(TopicFault::Character('\0')) };
    let Ok(client) = Client::new(ClientKind::Consumer, &[(c"group.id", c"nobody")], unheard()) else { return Ok(()) };
    client.abandon();
    match client.subscribe(&List::of([(raw.as_c_str(), -1, 0)])) {
        Err(Code::InvalidArgument) => Err(TopicFault::Pattern),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// True when it stands for all topics that it matches.
#[must_use]
pub fn is_pattern(topic: &str) -> bool {
    topic.starts_with('^')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_topic_can_have_is_refused() {
        let longest = "x".repeat(TOPIC_CHARS_MAX);
        for name in ["orders", "Orders_2.eu-west", "...", "-", &longest, "^anything ?"] {
            assert_eq!(check_topic(name), Ok(()), "{name}");
        }
        let longer = format!("{longest}x");
        let cases = [
            ("", TopicFault::Empty),
            (".", TopicFault::Dots),
            ("..", TopicFault::Dots),
            ("a/b", TopicFault::Character('/')),
            ("a b", TopicFault::Character(' ')),
            ("orders.*", TopicFault::Character('*')),
            ("bücher", TopicFault::Character('ü')),
            ("a\0", TopicFault::Character('\0')),
            ("^a\0", TopicFault::Character('\0')),
            (&longer, TopicFault::TooLong { chars: TOPIC_CHARS_MAX + 1 }),
        ];
        for (name, fault) in cases {
            assert_eq!(check_topic(name), Err(fault), "{name:?}");
        }
    }

    #[test]
    fn a_pattern_is_what_librdkafka_can_read() {
        for pattern in ["^", "^a{1,2}$", "^[[:alpha:],]+", "^(a|b)\\.c", "^ü", "no pattern ("] {
            assert_eq!(check_pattern(pattern), Ok(()), "{pattern}");
        }
        for pattern in ["^(", "^[", "^a{", "^[[:nothing:]]", "^(?:a)"] {
            assert_eq!(check_pattern(pattern), Err(TopicFault::Pattern), "{pattern}");
        }
    }
}
