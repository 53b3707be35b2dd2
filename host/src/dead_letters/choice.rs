//! Which dead letters somebody means.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::str::FromStr;

use gristmill_core::io::LetterClass;
use gristmill_core::outcome::FaultClass;
use gristmill_kafka::dead_letter::ToldFailure;

use super::{Letter, Position};

/// What a dead letter has to fulfil, all of it. An empty list asks for nothing. What is told of a failure is asked of the latest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choice {
    /// One of these classes.
    pub(crate) classes: Vec<Class>,
    /// One of these beginnings of a plugin's digest, with or without `sha256:`.
    pub(crate) plugins: Vec<String>,
    /// This text within its reason.
    pub(crate) reason: Option<String>,
    /// One of these origins.
    pub(crate) origins: Vec<OriginChoice>,
    /// Failed then or later, in milliseconds since 1970.
    pub(crate) since_ms: Option<i64>,
    /// Failed before.
    pub(crate) until_ms: Option<i64>,
    /// One of these positions.
    pub(crate) at: BTreeSet<Position>,
    /// Not before this offset, for each partition by its number.
    pub(crate) from: BTreeMap<i32, i64>,
}

impl Choice {
    /// True where all dead letters are meant. Where to begin is no choice among them.
    pub(crate) fn is_all(&self) -> bool {
        let Self { classes, plugins, reason, origins, since_ms, until_ms, at, from: _ } = self;
        let none_of_lists = classes.is_empty() && plugins.is_empty() && origins.is_empty() && at.is_empty();
        none_of_lists && reason.is_none() && since_ms.is_none() && until_ms.is_none()
    }

    /// Which offsets of a partition may hold one that is meant.
    pub(crate) fn window(&self, partition: i32) -> Range<i64> {
        let from = self.from.get(&partition).copied().unwrap_or(0);
        if self.at.is_empty() {
            return from..i64::MAX;
        }
        let offsets = || self.at.iter().filter(|at| at.partition == partition).map(|at| at.offset);
        match (offsets().min(), offsets().max()) {
            (Some(first), Some(last)) => first.max(from)..last.saturating_add(1),
            _ => 0..0,
        }
    }

    /// True where this one is meant.
    pub(crate) fn takes(&self, letter: &Letter) -> bool {
        let failure = letter.latest();
        let any = |list_is_empty: bool, found: bool| list_is_empty || found;
        let failed_ms = letter.failed_ms();
        self.window(letter.at.partition).contains(&letter.at.offset)
            && any(self.at.is_empty(), self.at.contains(&letter.at))
            && any(self.classes.is_empty(), self.classes.iter().any(|class| class.takes(failure)))
            && any(self.plugins.is_empty(), self.plugins.iter().any(|plugin| is_digest_of(plugin, failure)))
            && any(self.origins.is_empty(), self.origins.iter().any(|origin| origin.takes(letter)))
            && self.reason.as_ref().is_none_or(|reason| failure.reason.contains(reason))
            && self.since_ms.is_none_or(|since| failed_ms.is_some_and(|ms| ms >= since))
            && self.until_ms.is_none_or(|until| failed_ms.is_some_and(|ms| ms < until))
    }
}

fn is_digest_of(beginning: &str, failure: &ToldFailure) -> bool {
    let digits = |text: &str| text.strip_prefix("sha256:").unwrap_or(text).to_ascii_lowercase();
    failure.plugin_digest.as_ref().is_some_and(|digest| digits(digest).starts_with(&digits(beginning)))
}

/// A class of failures: `fault` stands for all faults, `fault/trap` for one kind of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Class(String);

impl Class {
    /// The class that a failure tells, as it is listed.
    pub(crate) fn listed(failure: &ToldFailure) -> String {
        match &failure.fault {
            Some(fault) => format!("{}/{fault}", failure.class),
            None => failure.class.clone(),
        }
    }

    /// True for one that gristmill writes.
    pub(crate) fn is_known(class: &str) -> bool {
        Self::known().any(|known| known == class)
    }

    fn takes(&self, failure: &ToldFailure) -> bool {
        self.0 == failure.class || self.0 == Self::listed(failure)
    }

    /// Every class that gristmill writes, the kinds of faults behind them.
    fn known() -> impl Iterator<Item = String> {
        use FaultClass::{Contract, Exit, Memory, Start, Timeout, Trap};
        use LetterClass::{Fault, Rejected, Retries, Skipped, TooLarge, Undecodable};
        let classes =
            [Rejected, Undecodable, TooLarge, Fault(Trap), Retries, Skipped].map(|class| class.as_str().to_owned());
        let faults = [Trap, Timeout, Memory, Exit, Contract, Start].map(|fault| format!("fault/{}", fault.as_str()));
        classes.into_iter().chain(faults)
    }
}

impl FromStr for Class {
    type Err = String;

    /// What has a dot in it is a Java class of Kafka Connect's and may be any.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains('.') || Self::known().any(|known| known == text) {
            return Ok(Self(text.to_owned()));
        }
        let known: Vec<String> = Self::known().collect();
        Err(format!("there is no such class; known are {}, and names of Java classes", known.join(", ")))
    }
}

/// Where a record came from: a topic, or one partition of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OriginChoice {
    topic: String,
    partition: Option<i32>,
}

impl OriginChoice {
    /// The topic.
    pub(crate) fn topic(&self) -> &str {
        &self.topic
    }

    fn takes(&self, letter: &Letter) -> bool {
        letter.told.origin.as_ref().is_some_and(|origin| {
            let same = self.partition.is_none_or(|partition| partition == origin.place.partition);
            origin.place.topic == self.topic && same
        })
    }
}

impl FromStr for OriginChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = "this is no origin; write a topic, or TOPIC:PARTITION";
        let Some((topic, partition)) = text.split_once(':') else {
            return if text.is_empty() {
                Err(wrong.to_owned())
            } else {
                Ok(Self { topic: text.to_owned(), partition: None })
            };
        };
        match partition.parse() {
            Ok(partition) if partition >= 0 && !topic.is_empty() => {
                Ok(Self { topic: topic.to_owned(), partition: Some(partition) })
            }
            Ok(_) | Err(_) => Err(wrong.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    fn takes(change: impl FnOnce(&mut Choice)) -> bool {
        let mut choice = Choice::default();
        change(&mut choice);
        choice.takes(&sample())
    }

    fn class(text: &str) -> Class {
        text.parse().expect("a class")
    }

    #[test]
    fn without_a_wish_all_are_meant() {
        assert!(takes(|_| ()) && Choice::default().is_all());
        let from = Choice { from: BTreeMap::from([(0, 5)]), ..Choice::default() };
        assert!(from.is_all(), "where to begin is no choice");
        assert!(!Choice { until_ms: Some(5), ..Choice::default() }.is_all());
    }

    #[test]
    fn each_wish_takes_and_leaves_by_itself() {
        assert!(takes(|choice| choice.classes = vec![class("fault"), class("rejected")]));
        assert!(!takes(|choice| choice.classes = vec![class("fault")]));
        for (digest, wanted) in [("852e", true), ("sha256:852EDB", true), ("52e", false)] {
            assert_eq!(takes(|choice| choice.plugins = vec![digest.to_owned()]), wanted, "{digest}");
        }
        assert!(takes(|choice| choice.reason = Some("currency: G".to_owned())));
        assert!(!takes(|choice| choice.reason = Some("currency: E".to_owned())));
        for (origin, wanted) in [("orders", true), ("orders:3", true), ("orders:2", false), ("order", false)] {
            assert_eq!(takes(|choice| choice.origins = vec![origin.parse().expect("an origin")]), wanted, "{origin}");
        }
    }

    #[test]
    fn times_are_of_the_failure_and_the_end_is_not_within() {
        for (since, until, wanted) in [(0, 0, true), (0, 1, true), (1, 2, false), (-1, 0, false)] {
            let at = |shift: i64| Some(1_700_000_000_000 + shift);
            let found = takes(|choice| {
                (choice.since_ms, choice.until_ms) = (at(since), at(until).filter(|_| until > 0 || since < 0))
            });
            assert_eq!(found, wanted, "{since} {until}");
        }
    }

    #[test]
    fn only_what_may_be_meant_is_read() {
        let position = |text: &str| text.parse::<Position>().expect("a position");
        let mut choice =
            Choice { at: [position("0:12"), position("0:20"), position("2:5")].into(), ..Choice::default() };
        assert_eq!((choice.window(0), choice.window(1).is_empty(), choice.window(2)), (12..21, true, 5..6));
        assert!(choice.takes(&sample()));
        choice.from = BTreeMap::from([(0, 13)]);
        assert_eq!(choice.window(0), 13..21);
        assert!(!choice.takes(&sample()));
        choice.at.clear();
        assert_eq!((choice.window(0), choice.window(1)), (13..i64::MAX, 0..i64::MAX));
    }

    #[test]
    fn a_kind_of_fault_is_a_class_of_its_own() {
        let fault = |fault: &str| ToldFailure {
            class: "fault".to_owned(),
            fault: Some(fault.to_owned()),
            ..ToldFailure::default()
        };
        assert!(class("fault").takes(&fault("trap")) && class("fault/trap").takes(&fault("trap")));
        assert!(!class("fault/trap").takes(&fault("exit")));
        assert_eq!(Class::listed(&fault("exit")), "fault/exit");
    }

    #[test]
    fn a_class_that_nobody_writes_is_refused_with_those_that_are_known() {
        let error = "faults".parse::<Class>().expect_err("refused");
        assert!(error.contains("rejected, undecodable, too-large, fault, retries, skipped, fault/trap"), "{error}");
        assert!("org.apache.kafka.connect.errors.DataException".parse::<Class>().is_ok());
        for text in ["", "a:", ":1", "a:-1", "a:b"] {
            assert!(text.parse::<OriginChoice>().is_err(), "{text}");
        }
    }
}
