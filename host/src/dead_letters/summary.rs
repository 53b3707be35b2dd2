//! How many dead letters there were, by class, and what else lay in their topic.

use std::collections::BTreeMap;

use gristmill_guest::{escape, shortened};

use super::{Choice, Class, Letter};
use crate::counted::counted;

/// How many classes are counted by themselves beside those that gristmill writes, and how much of their names is kept: a header may say
/// anything. The rest are counted together.
const FOREIGN_MAX: usize = 20;
const CLASS_CHARS_MAX: usize = 100;
const OTHER: &str = "other";

/// Counts what was read of a dead-letter topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Those that were meant, by class.
    pub(crate) classes: BTreeMap<String, u64>,
    /// Dead letters that were not.
    pub(crate) not_meant: u64,
    /// Records that are no dead letters.
    pub(crate) no_letters: u64,
}

impl Summary {
    /// Counts a record. Gives it back where it is a dead letter that is meant.
    pub(crate) fn count(&mut self, letter: Option<Letter>, choice: &Choice) -> Option<Letter> {
        match letter {
            Some(letter) if choice.takes(&letter) => {
                *self.classes.entry(self.counted_as(&letter)).or_default() += 1;
                return Some(letter);
            }
            Some(_) => self.not_meant += 1,
            None => self.no_letters += 1,
        }
        None
    }

    /// The class that a letter is counted under.
    fn counted_as(&self, letter: &Letter) -> String {
        let class = shortened(&Class::listed(letter.latest()), CLASS_CHARS_MAX);
        let foreign = || self.classes.keys().filter(|class| !Class::is_known(class)).count();
        if Class::is_known(&class) || self.classes.contains_key(&class) || foreign() < FOREIGN_MAX {
            class
        } else {
            OTHER.to_owned()
        }
    }

    /// How many were meant.
    pub(crate) fn meant(&self) -> u64 {
        self.classes.values().sum()
    }

    /// For people, in one line.
    pub(crate) fn words(&self) -> String {
        let classes: Vec<String> =
            self.classes.iter().map(|(class, count)| format!("{count} {}", escape(class.as_bytes()))).collect();
        let mut words = counted(self.meant(), "dead letter");
        if !classes.is_empty() {
            words += &format!(": {}", classes.join(", "));
        }
        if self.not_meant > 0 {
            words += &format!("; {} not matched", self.not_meant);
        }
        if self.no_letters > 0 {
            words += &format!("; {} without the story of a failure", counted(self.no_letters, "record"));
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn forged_classes_neither_move_a_terminal_nor_fill_the_memory() {
        let mut summary = Summary::default();
        for number in 0..1_000 {
            let mut letter = sample();
            letter.told.first.class = format!("{number}\u{1b}[2J\u{202e}{}", "x".repeat(10_000));
            assert!(summary.count(Some(letter), &Choice::default()).is_some());
        }
        assert!(summary.count(Some(sample()), &Choice::default()).is_some());
        assert_eq!((summary.meant(), summary.classes.len()), (1_001, FOREIGN_MAX + 2));
        let words = summary.words();
        assert!(words.contains("980 other") && words.contains("1 rejected") && words.contains("\\u{1b}[2J"), "{words}");
        assert!(!words.contains(['\u{1b}', '\u{202e}']) && words.chars().count() < 4_000, "{words}");
        let json = serde_json::to_string(&summary.classes).expect("JSON");
        assert_eq!(serde_json::from_str::<BTreeMap<String, u64>>(&json).expect("JSON"), summary.classes);
    }

    #[test]
    fn everything_that_was_read_is_counted_somewhere() {
        let mut summary = Summary::default();
        let choice = Choice { reason: Some("GBP".to_owned()), ..Choice::default() };
        assert_eq!(summary.words(), "0 dead letters");
        assert!(summary.count(Some(sample()), &choice).is_some());
        assert_eq!(summary.words(), "1 dead letter: 1 rejected");
        let mut other = sample();
        other.told.first.reason = "EUR".to_owned();
        assert!(summary.count(Some(other), &choice).is_none());
        assert!(summary.count(None, &choice).is_none());
        let mut fault = sample();
        fault.told.first.class = "fault".to_owned();
        fault.told.first.fault = Some("trap".to_owned());
        assert!(summary.count(Some(fault), &choice).is_some());
        assert_eq!(
            summary.words(),
            "2 dead letters: 1 fault/trap, 1 rejected; 1 not matched; 1 record without the story of a failure"
        );
    }
}
