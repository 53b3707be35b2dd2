//! The ids of topics: a topic that is deleted and created again keeps its name and gets a new id.
//!
//! The client learns ids with its metadata, and from then on no fetch under the old id is answered, but it goes on
//! reading at the old position: what lies before that in the new log would be skipped in silence (O1). It tells of a
//! change by a debug line only, in the moment before it fetches under the new id. Hence every record of the new topic
//! comes after [`TopicIds::hear`], whichever thread looks.
//!
//! Brokers before 2.8 have no ids, which the client writes as one of zeros: there nothing is ever heard.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gristmill_core::record::Partition;

/// librdkafka's words for a new id: `Topic NAME changed id from OLD to NEW`.
const CHANGED: &[u8] = b" changed id from ";
/// What stands before the name.
const TOPIC: &[u8] = b"Topic ";
/// What stands between the ids.
const TO: &[u8] = b" to ";
/// What stands before the id in the metadata of a commit.
const MARK: &[u8] = b" topic-id=";
/// The id of a topic whose broker gives none: sixteen bytes of zero in base64.
const NO_ID: &str = "AAAAAAAAAAAAAAAAAAAAAA";

/// What is known of all topics. Its lock is never held while the client is called.
#[derive(Debug, Default)]
pub(crate) struct TopicIds {
    ids: Mutex<Ids>,
    /// How many recreations were heard of. Beside the lock, since the fetch thread looks at it for every batch.
    heard: AtomicU64,
    /// How many of them were dealt with.
    dealt_with: AtomicU64,
}

#[derive(Debug, Default)]
struct Ids {
    current: HashMap<CString, Arc<str>>,
    /// Which recreation was the last of a topic, counting all.
    recreated: HashMap<CString, u64>,
    /// For which id it was told that a partition begins anew.
    told: HashMap<Partition, Arc<str>>,
}

impl TopicIds {
    /// Hears a debug line of the client.
    pub(crate) fn hear(&self, line: &CStr) {
        let Some((name, id)) = new_id(line.to_bytes()) else { return };
        let mut ids = self.lock();
        let old = ids.current.insert(name.clone(), Arc::from(id));
        if old.is_some_and(|old| *old != *id) {
            // Under the lock: who finds the count unchanged has seen no id of later.
            let number = self.heard.fetch_add(1, Ordering::AcqRel) + 1;
            ids.recreated.insert(name, number);
        }
    }

    /// How many recreations were heard of until now.
    pub(crate) fn heard(&self) -> u64 {
        self.heard.load(Ordering::Acquire)
    }

    /// The topics that were recreated after the first `heard` recreations.
    pub(crate) fn recreated_since(&self, heard: u64) -> Vec<CString> {
        if self.heard() == heard {
            return Vec::new();
        }
        let ids = self.lock();
        ids.recreated.iter().filter(|(_, number)| **number > heard).map(|(name, _)| name.clone()).collect()
    }

    /// The topics that were recreated since the last call.
    pub(crate) fn take_recreated(&self) -> Vec<CString> {
        let heard = self.heard();
        let dealt_with = self.dealt_with.swap(heard, Ordering::AcqRel);
        if dealt_with < heard { self.recreated_since(dealt_with) } else { Vec::new() }
    }

    /// True once for each partition and each topic of that name.
    pub(crate) fn is_to_be_told(&self, partition: Partition, topic: &CStr) -> bool {
        let mut ids = self.lock();
        let Some(id) = ids.current.get(topic).cloned() else { return false };
        ids.told.insert(partition, Arc::clone(&id)).is_none_or(|told| told != id)
    }

    /// The metadata of a commit for this topic: what the host wants to have with it, and which topic it is about.
    pub(crate) fn marked(&self, topic: &CStr, metadata: &str) -> Vec<u8> {
        let mut marked = metadata.as_bytes().to_vec();
        if let Some(id) = self.lock().current.get(topic) {
            marked.extend_from_slice(MARK);
            marked.extend_from_slice(id.as_bytes());
        }
        marked
    }

    /// True when an offset was committed for another topic of this name. Offsets without a mark, such as those that
    /// Kafka's own tool commits, are taken to be meant for the topic that is there.
    pub(crate) fn is_of_another(&self, topic: &CStr, metadata: &[u8]) -> bool {
        let Some(at) = find_last(metadata, MARK) else { return false };
        let committed = &metadata[at + MARK.len()..];
        self.lock().current.get(topic).is_some_and(|id| id.as_bytes() != committed)
    }

    fn lock(&self) -> MutexGuard<'_, Ids> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Name and new id, if the line tells of one. Neither has a space in it.
fn new_id(line: &[u8]) -> Option<(CString, &str)> {
    let at = find_last(line, CHANGED)?;
    let name = &line[find_last(&line[..at], TOPIC)? + TOPIC.len()..at];
    let ids = &line[at + CHANGED.len()..];
    let id = &ids[find_last(ids, TO)? + TO.len()..];
    let id = std::str::from_utf8(id).ok().filter(|id| *id != NO_ID)?;
    Some((CString::new(name).ok()?, id))
}

fn find_last(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).rposition(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &CStr = c"[thrd:main]: Topic orders changed id from AAAAAAAAAAAAAAAAAAAAAA to k1Yg0Q+8QFyYc5sW/5sJbA";
    const SECOND: &CStr = c"[thrd:main]: Topic orders changed id from k1Yg0Q+8QFyYc5sW/5sJbA to Zb4uV0bHTKuM3Xl5m2Yy3w";

    #[test]
    fn a_first_id_is_no_recreation_and_a_second_one_is_told_once() {
        let ids = TopicIds::default();
        ids.hear(FIRST);
        assert!(ids.take_recreated().is_empty());
        ids.hear(SECOND);
        assert_eq!(ids.take_recreated(), [c"orders".to_owned()]);
        assert!(ids.take_recreated().is_empty());
    }

    /// librdkafka forgets a topic that nobody wants for a while, and learns its id again as if for the first time.
    #[test]
    fn what_the_client_forgot_meanwhile_is_still_known() {
        let ids = TopicIds::default();
        ids.hear(FIRST);
        ids.hear(FIRST);
        assert!(ids.take_recreated().is_empty());
        ids.hear(c"Topic orders changed id from AAAAAAAAAAAAAAAAAAAAAA to Zb4uV0bHTKuM3Xl5m2Yy3w");
        assert_eq!(ids.take_recreated(), [c"orders".to_owned()]);
    }

    /// A cluster whose brokers are being upgraded answers in turns with and without ids.
    #[test]
    fn a_broker_that_has_no_ids_recreates_no_topic() {
        let ids = TopicIds::default();
        ids.hear(FIRST);
        ids.hear(c"[thrd:main]: Topic orders changed id from k1Yg0Q+8QFyYc5sW/5sJbA to AAAAAAAAAAAAAAAAAAAAAA");
        ids.hear(FIRST);
        assert!(ids.take_recreated().is_empty());
    }

    #[test]
    fn a_recreation_that_somebody_dealt_with_is_still_one_since_before() {
        let ids = TopicIds::default();
        ids.hear(FIRST);
        let before = ids.heard();
        ids.hear(SECOND);
        assert_eq!(ids.take_recreated(), [c"orders".to_owned()]);
        assert_eq!(ids.recreated_since(before), [c"orders".to_owned()]);
        assert!(ids.recreated_since(ids.heard()).is_empty());
    }

    #[test]
    fn a_new_beginning_is_told_once_for_each_partition_and_topic() {
        let ids = TopicIds::default();
        let partition = |number| Partition { topic: gristmill_core::record::Topic(0), number };
        ids.hear(FIRST);
        ids.hear(SECOND);
        let told = [0, 1, 0].map(|number| ids.is_to_be_told(partition(number), c"orders"));
        assert_eq!(told, [true, true, false]);
        ids.hear(FIRST);
        assert!(ids.is_to_be_told(partition(0), c"orders"));
    }

    #[test]
    fn other_lines_are_nothing() {
        let ids = TopicIds::default();
        for line in [c"", c"Topic orders [3] Leader 1 Epoch 0", c" changed id from ", c"Topic x changed id from y"] {
            ids.hear(line);
        }
        assert!(ids.lock().current.is_empty());
    }

    #[test]
    fn a_commit_says_which_topic_it_is_about() {
        let ids = TopicIds::default();
        assert_eq!(ids.marked(c"orders", "sha256:0f"), b"sha256:0f", "no id is known");
        ids.hear(FIRST);
        let first = ids.marked(c"orders", "sha256:0f");
        assert_eq!(first, b"sha256:0f topic-id=k1Yg0Q+8QFyYc5sW/5sJbA");
        assert!(!ids.is_of_another(c"orders", &first));
        assert!(!ids.is_of_another(c"orders", b"") && !ids.is_of_another(c"orders", b"by hand"));
        ids.hear(SECOND);
        assert!(ids.is_of_another(c"orders", &first));
        assert!(!ids.is_of_another(c"payments", &first), "of that one no id is known");
    }
}
