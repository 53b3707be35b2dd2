//! A look at a group's committed offsets from outside, without joining it.
//!
//! It must not know who commits.

use std::collections::BTreeMap;
use std::time::Duration;

use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{Offset, TopicPartitionList};

use crate::course::Course;

const WITHIN: Duration = Duration::from_secs(60);

/// A group that reads one topic.
pub(crate) struct Group {
    consumer: BaseConsumer,
    asked: TopicPartitionList,
}

impl Group {
    /// The group of this name.
    pub(crate) fn new(course: &Course, name: &str) -> Self {
        let made = ClientConfig::new().set("bootstrap.servers", &course.bootstrap).set("group.id", name).create();
        let consumer = made.unwrap_or_else(|error| panic!("cannot make a consumer: {error}"));
        let mut asked = TopicPartitionList::new();
        for partition in course.loaded.partitions.keys() {
            asked.add_partition(&course.topic, *partition);
        }
        Self { consumer, asked }
    }

    /// What is committed of each partition; nothing where that cannot be learnt just now.
    pub(crate) fn committed(&self) -> BTreeMap<i32, i64> {
        let Ok(answer) = self.consumer.committed_offsets(self.asked.clone(), WITHIN) else { return BTreeMap::new() };
        let offset = |offset| if let Offset::Offset(next) = offset { Some(next) } else { None };
        answer.elements().iter().filter_map(|it| Some((it.partition(), offset(it.offset())?))).collect()
    }
}
