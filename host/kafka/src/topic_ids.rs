//! The ids of topics: a topic that is deleted and created again keeps its name and gets a new id.
//!
//! The client learns ids with its metadata, and from then on no fetch under the old id is answered, but it goes on
//! reading at the old position: what lies before that in the new log would be skipped in silence (O1). It tells of a
//! change by a debug line only, in the moment before it fetches under the new id. Hence every record of the new topic
//! comes after [`TopicIds::hear`], whichever thread looks.
//!
//! Where the old topic had seen more changes of leaders than the new one, the client takes the new leaders for old news and asks
//! for records in vain for ever; nothing but a new client cures that. It says so in a debug line as well.
//!
//! Brokers before 2.8 have no ids, which the client writes as one of zeros: there nothing is ever heard.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gristmill_core::record::Partition;

/// What stands before the id in the metadata of a commit.
const MARK: &[u8] = b" topic-id=";
/// The id of a topic whose broker gives none: sixteen bytes of zero in base64.
const NO_ID: &str = "AAAAAAAAAAAAAAAAAAAAAA";

/// A debug line of librdkafka that matters here.
#[derive(Debug, PartialEq, Eq)]
enum Line<'l> {
    /// `Topic NAME changed id from OLD to NEW`.
    Id { topic: &'l str, old: &'l str, new: &'l str },
    /// `NAME [NUMBER]: leader OLD epoch EPOCH -> leader NEW epoch EPOCH`.
    LeaderTaken { topic: &'l str, partition: i32 },
    /// `NAME [NUMBER]: ignoring outdated metadata update with leader epoch …`.
    LeaderIgnored { topic: &'l str, partition: i32 },
}

impl<'l> Line<'l> {
    /// No name has a space in it, whatever stands before it.
    fn read(line: &'l str) -> Option<Self> {
        if let Some((before, ids)) = line.split_once(" changed id from ") {
            let (old, new) = ids.split_once(" to ")?;
            return Some(Self::Id { topic: before.rsplit_once("Topic ")?.1, old, new });
        }
        let (before, ignored) = match line.split_once("]: ignoring outdated metadata update with leader epoch ") {
            Some((before, _)) => (before, true),
            None => (line.rsplit_once("]: leader ").filter(|(_, rest)| rest.contains(" -> leader "))?.0, false),
        };
        let (name, number) = before.rsplit_once(" [")?;
        let topic = name.rsplit_once(' ').map_or(name, |(_, name)| name);
        let partition = number.parse().ok()?;
        Some(if ignored { Self::LeaderIgnored { topic, partition } } else { Self::LeaderTaken { topic, partition } })
    }
}

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
    /// Partitions of recreated topics whose leader the client has taken since.
    taken: HashSet<(CString, i32)>,
    /// Those whose leader it has not taken.
    lost: HashSet<(CString, i32)>,
    /// For which id it was told that a partition begins anew.
    told: HashMap<Partition, Arc<str>>,
}

impl Ids {
    /// Forgets which leaders of the topic were taken: it is another one, or the client begins anew with it.
    fn forget_leaders(&mut self, topic: &CString) {
        self.taken.retain(|(name, _)| name != topic);
        self.lost.retain(|(name, _)| name != topic);
    }
}

impl TopicIds {
    /// Hears a debug line of the client.
    pub(crate) fn hear(&self, line: &CStr) {
        let Some(line) = line.to_str().ok().and_then(Line::read) else { return };
        let mut ids = self.lock();
        match line {
            Line::Id { topic, old, new } if new != NO_ID => {
                let Ok(topic) = CString::new(topic) else { return };
                if old == NO_ID {
                    ids.recreated.remove(&topic);
                }
                ids.forget_leaders(&topic);
                let known = ids.current.insert(topic.clone(), Arc::from(new));
                if known.is_some_and(|known| *known != *new) {
                    // Under the lock: who finds the count unchanged has seen no id of later.
                    let number = self.heard.fetch_add(1, Ordering::AcqRel) + 1;
                    ids.recreated.insert(topic, number);
                }
            }
            Line::Id { .. } => {}
            Line::LeaderTaken { topic, partition } => {
                let Ok(topic) = CString::new(topic) else { return };
                if ids.recreated.contains_key(&topic) {
                    let place = (topic, partition);
                    ids.lost.remove(&place);
                    ids.taken.insert(place);
                }
            }
            Line::LeaderIgnored { topic, partition } => {
                let Ok(topic) = CString::new(topic) else { return };
                let place = (topic, partition);
                // Later on it is what it says: a broker that has not heard of the newest leader yet.
                if ids.recreated.contains_key(&place.0) && !ids.taken.contains(&place) {
                    ids.lost.insert(place);
                }
            }
        }
    }

    /// True for a partition of a recreated topic of which this client will never read a record.
    pub(crate) fn is_lost(&self, topic: &CStr, partition: i32) -> bool {
        let ids = self.lock();
        ids.lost.iter().any(|(name, number)| name.as_c_str() == topic && *number == partition)
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

    const IGNORED: &CStr = c"[thrd:main]: orders [0]: ignoring outdated metadata update with leader epoch 0 which is older than our cached epoch 2";
    const TAKEN: &CStr = c"[thrd:main]: orders [0]: leader 1 epoch 2 -> leader 1 epoch 3";

    #[test]
    fn a_recreated_topic_whose_leader_is_taken_for_old_news_is_lost_to_this_client() {
        let ids = TopicIds::default();
        [FIRST, IGNORED].iter().for_each(|line| ids.hear(line));
        assert!(!ids.is_lost(c"orders", 0), "old news indeed");
        [SECOND, IGNORED].iter().for_each(|line| ids.hear(line));
        assert!(ids.is_lost(c"orders", 0) && !ids.is_lost(c"orders", 1) && !ids.is_lost(c"other", 0));
        ids.hear(TAKEN);
        assert!(!ids.is_lost(c"orders", 0), "enough leaders came and went");
        ids.hear(IGNORED);
        assert!(!ids.is_lost(c"orders", 0), "old news again");
    }

    #[test]
    fn a_client_that_begins_anew_with_a_topic_has_lost_nothing_of_it() {
        let ids = TopicIds::default();
        [FIRST, SECOND, IGNORED].iter().for_each(|line| ids.hear(line));
        ids.hear(c"[thrd:main]: Topic orders changed id from AAAAAAAAAAAAAAAAAAAAAA to Zb4uV0bHTKuM3Xl5m2Yy3w");
        assert!(!ids.is_lost(c"orders", 0));
        ids.hear(IGNORED);
        assert!(!ids.is_lost(c"orders", 0), "nothing was recreated since");
    }

    #[test]
    fn topics_are_read_from_lines_whatever_they_are_called() {
        for name in ["orders", "leader", "Topic", "a.b-c_d"] {
            let taken = format!("[thrd:main]: {name} [12]: leader 1 epoch 2 -> leader 3 epoch 4");
            assert_eq!(Line::read(&taken), Some(Line::LeaderTaken { topic: name, partition: 12 }));
            let changed = format!("[thrd:main]: Topic {name} changed id from x to y");
            assert_eq!(Line::read(&changed), Some(Line::Id { topic: name, old: "x", new: "y" }));
        }
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
