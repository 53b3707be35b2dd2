//! Numbers for topic names: the core speaks of topics by number, librdkafka by name.
//!
//! A name once numbered keeps its number for the life of the process. Names are bytes; text is for people.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::{Arc, PoisonError, RwLock};

use gristmill_core::record::{Partition, Topic};

use crate::topic_ids::TopicIds;

/// A topic's name in both forms.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TopicName {
    /// The bytes, as librdkafka wants them.
    pub(crate) raw: CString,
    /// The text, bytes that are no UTF-8 replaced.
    pub(crate) text: Arc<str>,
}

/// All topics seen so far.
#[derive(Debug, Default)]
pub(crate) struct Topics {
    known: RwLock<Known>,
    /// Which topic a name stands for now.
    pub(crate) ids: TopicIds,
}

#[derive(Debug, Default)]
struct Known {
    names: Vec<Arc<TopicName>>,
    numbers: HashMap<CString, Topic>,
}

impl Topics {
    /// The number of a name; a new one for a new name.
    pub(crate) fn number(&self, name: &CStr) -> Topic {
        if let Some(topic) = self.known.read().unwrap_or_else(PoisonError::into_inner).numbers.get(name) {
            return *topic;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(topic) = known.numbers.get(name) {
            return *topic;
        }
        let topic = Topic(u32::try_from(known.names.len()).unwrap_or(u32::MAX));
        let text = Arc::from(name.to_string_lossy());
        known.names.push(Arc::new(TopicName { raw: name.to_owned(), text }));
        known.numbers.insert(name.to_owned(), topic);
        topic
    }

    /// The name of a number, if it was given out.
    pub(crate) fn name(&self, topic: Topic) -> Option<Arc<TopicName>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        usize::try_from(topic.0).ok().and_then(|index| known.names.get(index).cloned())
    }

    /// True when the number was given out for this name.
    pub(crate) fn is_named(&self, topic: Topic, name: &CStr) -> bool {
        self.known.read().unwrap_or_else(PoisonError::into_inner).numbers.get(name) == Some(&topic)
    }

    /// All topics in the order in which they were first seen.
    pub(crate) fn all(&self) -> Vec<(Topic, Arc<str>)> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        (0..).map(Topic).zip(known.names.iter().map(|name| Arc::clone(&name.text))).collect()
    }

    /// A partition by its topic's name, if the topic has a number.
    pub(crate) fn known_partition(&self, name: &CStr, number: i32) -> Option<Partition> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.numbers.get(name).map(|topic| Partition { topic: *topic, number })
    }

    /// A partition by its topic's name; a new name gets a number.
    pub(crate) fn partition(&self, name: &CStr, number: i32) -> Partition {
        Partition { topic: self.number(name), number }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_number() {
        let topics = Topics::default();
        let orders = topics.number(c"orders");
        assert_ne!(topics.number(c"payments"), orders);
        assert_eq!(topics.number(c"orders"), orders);
        assert_eq!(topics.known_partition(c"orders", 2), Some(Partition { topic: orders, number: 2 }));
    }

    #[test]
    fn asking_for_a_name_that_has_no_number_gives_it_none() {
        let topics = Topics::default();
        assert_eq!(topics.known_partition(c"", 0), None);
        assert!(topics.all().is_empty());
    }

    #[test]
    fn a_name_that_is_no_text_is_kept_as_bytes() {
        let topics = Topics::default();
        let odd = topics.number(c"\xff\xfe");
        let name = topics.name(odd).expect("was numbered");
        assert_eq!(name.raw.as_bytes(), b"\xff\xfe");
        assert_eq!(&*name.text, "\u{fffd}\u{fffd}");
    }
}
