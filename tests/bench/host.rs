//! One run of the host over everything that is in the topic: from its first assignment to its last commit.

use std::collections::BTreeMap;
use std::time::Duration;

use gristmill_tests::{Host, Loaded, unique};
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{Offset, TopicPartitionList};

use crate::cost::{Cost, Meter};

const WITHIN: Duration = Duration::from_secs(300);

/// How long the host takes. A new group each time: it begins at the beginning. `plugin` is its section of the configuration, and whatever
/// comes behind it.
pub(crate) fn run_through(bootstrap: &str, topic: &str, loaded: &Loaded, plugin: &str) -> Cost {
    let group = unique("bench-group");
    let host = Host::run(&format!(
        "[kafka]\nbootstrap_servers = {bootstrap:?}\ngroup_id = {group:?}\ntopics = [{topic:?}]\n\
         auto_offset_reset = \"earliest\"\n[batch]\nmax_records = 10000\nmax_wait = \"200ms\"\n\
         [plugin]\n{plugin}"
    ));
    host.wait_for_line("assigned", WITHIN);
    let meter = Meter::of(host.process_id());
    let group = Group::new(bootstrap, topic, &group, loaded);
    while group.committed() != loaded.end_offsets() {
        assert!(meter.begun().elapsed() < WITHIN, "the host did not get through within {WITHIN:?}");
        // Often enough to measure a second, seldom enough to cost nothing.
        std::thread::sleep(Duration::from_millis(10));
    }
    let cost = meter.read();
    host.signal("TERM");
    let (code, lines) = host.wait_for_end(WITHIN);
    assert_eq!(code, 0, "{}", lines.join("\n"));
    cost
}

/// A look at a group's offsets from outside, without joining it.
struct Group {
    consumer: BaseConsumer,
    asked: TopicPartitionList,
}

impl Group {
    fn new(bootstrap: &str, topic: &str, group: &str, loaded: &Loaded) -> Self {
        let made = ClientConfig::new().set("bootstrap.servers", bootstrap).set("group.id", group).create();
        let consumer = made.unwrap_or_else(|error| panic!("cannot make a consumer: {error}"));
        let mut asked = TopicPartitionList::new();
        for partition in loaded.partitions.keys() {
            asked.add_partition(topic, *partition);
        }
        Self { consumer, asked }
    }

    fn committed(&self) -> BTreeMap<i32, i64> {
        let Ok(answer) = self.consumer.committed_offsets(self.asked.clone(), WITHIN) else { return BTreeMap::new() };
        let offset = |offset| if let Offset::Offset(next) = offset { Some(next) } else { None };
        answer.elements().iter().filter_map(|it| Some((it.partition(), offset(it.offset())?))).collect()
    }
}
