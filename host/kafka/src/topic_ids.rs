//! The ids of topics: a topic that is deleted and created again keeps its name and gets a new id.
//!
//! The client learns ids with its metadata, and from then on no fetch under the old id is answered, but it goes on
//! reading at the old position: what lies before that in the new log would be skipped in silence (O1). It tells of a
//! change by a debug line only, in the moment before it fetches under the new id. Hence every record of the new topic
//! comes after [`TopicIds::hear`], whichever thread looks.
//!
//! Brokers before 2.8 have no ids; there nothing is ever heard.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// librdkafka's words for a new id: `Topic NAME changed id from OLD to NEW`.
const CHANGED: &[u8] = b" changed id from ";
/// What stands before the name.
const TOPIC: &[u8] = b"Topic ";
/// What stands between the ids.
const TO: &[u8] = b" to ";
/// What stands before the id in the metadata of a commit.
const MARK: &[u8] = b" topic-id=";

/// What is known of all topics. Its lock is never held while the client is called.
#[derive(Debug, Default)]
pub(crate) struct TopicIds {
    known: Mutex<Known>,
    /// True while `recreated` has something: the fetch thread looks at it for every batch.
    news: AtomicBool,
}

#[derive(Debug, Default)]
struct Known {
    ids: HashMap<CString, Arc<str>>,
    recreated: Vec<CString>,
}

impl TopicIds {
    /// Hears a debug line of the client.
    pub(crate) fn hear(&self, line: &CStr) {
        let Some((name, id)) = new_id(line.to_bytes()) else { return };
        let mut known = self.lock();
        let old = known.ids.insert(name.clone(), Arc::from(id));
        if old.is_some_and(|old| *old != *id) && !known.recreated.contains(&name) {
            known.recreated.push(name);
            self.news.store(true, Ordering::Release);
        }
    }

    /// The topics that were recreated since the last call.
    pub(crate) fn take_recreated(&self) -> Vec<CString> {
        if !self.news.load(Ordering::Acquire) {
            return Vec::new();
        }
        let mut known = self.lock();
        self.news.store(false, Ordering::Release);
        std::mem::take(&mut known.recreated)
    }

    /// The metadata of a commit for this topic: what the host wants to have with it, and which topic it is about.
    pub(crate) fn marked(&self, topic: &CStr, metadata: &str) -> Vec<u8> {
        let mut marked = metadata.as_bytes().to_vec();
        if let Some(id) = self.lock().ids.get(topic) {
            marked.extend_from_slice(MARK);
            marked.extend_from_slice(id.as_bytes());
        }
        marked
    }

    /// True when an offset was committed for an older topic of this name. Offsets without a mark, such as those that
    /// Kafka's own tool commits, are taken to be meant for the topic that is there.
    pub(crate) fn is_of_older(&self, topic: &CStr, metadata: &[u8]) -> bool {
        let Some(at) = find_last(metadata, MARK) else { return false };
        let committed = &metadata[at + MARK.len()..];
        self.lock().ids.get(topic).is_some_and(|id| id.as_bytes() != committed)
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Name and new id, if the line tells of one. Neither has a space in it.
fn new_id(line: &[u8]) -> Option<(CString, &str)> {
    let at = find_last(line, CHANGED)?;
    let name = &line[find_last(&line[..at], TOPIC)? + TOPIC.len()..at];
    let ids = &line[at + CHANGED.len()..];
    let id = &ids[find_last(ids, TO)? + TO.len()..];
    Some((CString::new(name).ok()?, std::str::from_utf8(id).ok()?))
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

    #[test]
    fn other_lines_are_nothing() {
        let ids = TopicIds::default();
        for line in [c"", c"Topic orders [3] Leader 1 Epoch 0", c" changed id from ", c"Topic x changed id from y"] {
            ids.hear(line);
        }
        assert!(ids.lock().ids.is_empty());
    }

    #[test]
    fn a_commit_says_which_topic_it_is_about() {
        let ids = TopicIds::default();
        assert_eq!(ids.marked(c"orders", "sha256:0f"), b"sha256:0f", "no id is known");
        ids.hear(FIRST);
        let first = ids.marked(c"orders", "sha256:0f");
        assert_eq!(first, b"sha256:0f topic-id=k1Yg0Q+8QFyYc5sW/5sJbA");
        assert!(!ids.is_of_older(c"orders", &first));
        assert!(!ids.is_of_older(c"orders", b"") && !ids.is_of_older(c"orders", b"by hand"));
        ids.hear(SECOND);
        assert!(ids.is_of_older(c"orders", &first));
        assert!(!ids.is_of_older(c"payments", &first), "of that one no id is known");
    }
}
