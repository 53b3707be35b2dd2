//! What a topic holds, read by a client of its own.

use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{Headers, Message};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

/// No topic takes longer to be read.
const WITHIN: Duration = Duration::from_secs(60);

/// A record that was found in a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The partition.
    pub partition: i32,
    /// The offset.
    pub offset: i64,
    /// The key; `None` is null.
    pub key: Option<Vec<u8>>,
    /// The value; `None` is null.
    pub value: Option<Vec<u8>>,
    /// The headers, in order.
    pub headers: Vec<(String, Option<Vec<u8>>)>,
}

impl Found {
    /// The last header of a name, as text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<String> {
        let value = self.headers.iter().rfind(|(found, _)| found == name)?.1.as_ref()?;
        Some(String::from_utf8_lossy(value).into_owned())
    }
}

/// Reads all that a topic holds now, partition by partition.
///
/// # Panics
///
/// When the broker does not give it within a minute.
#[must_use]
pub fn read_topic(bootstrap: &str, topic: &str) -> Vec<Found> {
    let mut settings = ClientConfig::new();
    settings.set("bootstrap.servers", bootstrap).set("group.id", "reader").set("enable.auto.commit", "false");
    let consumer: BaseConsumer = settings.create().unwrap_or_else(|error| panic!("cannot make a consumer: {error}"));
    let metadata = consumer.fetch_metadata(Some(topic), WITHIN).unwrap_or_else(|error| panic!("{topic}: {error}"));
    let partitions: Vec<i32> = metadata.topics()[0].partitions().iter().map(|partition| partition.id()).collect();
    let mut list = TopicPartitionList::new();
    let mut left = Vec::new();
    for partition in partitions {
        let (low, high) = consumer.fetch_watermarks(topic, partition, WITHIN).unwrap_or_else(|error| panic!("{error}"));
        if low < high {
            let added = list.add_partition_offset(topic, partition, Offset::Offset(low));
            added.unwrap_or_else(|error| panic!("{topic}: {error}"));
            left.push((partition, high));
        }
    }
    consumer.assign(&list).unwrap_or_else(|error| panic!("cannot read {topic}: {error}"));
    let deadline = Instant::now() + WITHIN;
    let mut found = Vec::new();
    while !left.is_empty() {
        assert!(Instant::now() < deadline, "{topic} is not read to its end: {left:?}");
        let Some(Ok(message)) = consumer.poll(Duration::from_millis(100)) else { continue };
        let headers = message.headers().map(|headers| {
            headers.iter().map(|header| (header.key.to_owned(), header.value.map(<[u8]>::to_vec))).collect()
        });
        found.push(Found {
            partition: message.partition(),
            offset: message.offset(),
            key: message.key().map(<[u8]>::to_vec),
            value: message.payload().map(<[u8]>::to_vec),
            headers: headers.unwrap_or_default(),
        });
        left.retain(|(partition, high)| *partition != message.partition() || message.offset() + 1 < *high);
    }
    found
}
