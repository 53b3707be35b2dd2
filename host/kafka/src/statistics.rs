//! The few figures that we take from librdkafka's statistics.

use std::collections::HashMap;

use gristmill_core::record::Partition;
use serde::Deserialize;

use crate::topics::Topics;

/// What the client says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The assigned partitions.
    pub partitions: Vec<PartitionStatistics>,
    /// The brokers it knows.
    pub brokers: Vec<BrokerStatistics>,
    /// Rebalances since the start.
    pub rebalances: u64,
    /// The state of the membership, in librdkafka's words, such as `steady`.
    pub join_state: String,
}

/// One assigned partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionStatistics {
    /// Which one.
    pub partition: Partition,
    /// First offset in the log, where known.
    pub low: Option<i64>,
    /// End of the log that a consumer at this isolation level can reach, where known. Lag is this minus the committed
    /// offset, which the core knows better than the client.
    pub end: Option<i64>,
}

/// One broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerStatistics {
    /// Its address and number.
    pub name: String,
    /// The state of the connection, in librdkafka's words, such as `UP`.
    pub state: String,
}

#[derive(Deserialize)]
struct Raw {
    #[serde(default)]
    brokers: HashMap<String, RawBroker>,
    #[serde(default)]
    topics: HashMap<String, RawTopic>,
    #[serde(default)]
    cgrp: RawGroup,
}

#[derive(Deserialize)]
struct RawBroker {
    name: String,
    #[serde(default)]
    nodeid: i64,
    state: String,
}

#[derive(Deserialize)]
struct RawTopic {
    #[serde(default)]
    partitions: HashMap<String, RawPartition>,
}

#[derive(Deserialize)]
struct RawPartition {
    partition: i32,
    #[serde(default)]
    desired: bool,
    #[serde(default)]
    lo_offset: i64,
    #[serde(default)]
    hi_offset: i64,
    #[serde(default)]
    ls_offset: i64,
}

#[derive(Deserialize, Default)]
struct RawGroup {
    #[serde(default)]
    join_state: String,
    #[serde(default)]
    rebalance_cnt: u64,
}

/// Reads the client's JSON.
pub(crate) fn parse(json: &str, topics: &Topics) -> Result<Statistics, serde_json::Error> {
    let raw: Raw = serde_json::from_str(json)?;
    let known = |offset: i64| (offset >= 0).then_some(offset);
    let mut partitions = Vec::new();
    for (name, topic) in raw.topics {
        let Ok(name) = std::ffi::CString::new(name) else { continue };
        let assigned = topic.partitions.into_values().filter(|partition| partition.desired && partition.partition >= 0);
        partitions.extend(assigned.map(|found| PartitionStatistics {
            partition: topics.partition(&name, found.partition),
            low: known(found.lo_offset),
            end: known(found.ls_offset).or(known(found.hi_offset)),
        }));
    }
    partitions.sort_by_key(|found| found.partition);
    let real = raw.brokers.into_values().filter(|broker| broker.nodeid >= 0);
    let mut brokers: Vec<BrokerStatistics> =
        real.map(|broker| BrokerStatistics { name: broker.name, state: broker.state }).collect();
    brokers.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Statistics { partitions, brokers, rebalances: raw.cgrp.rebalance_cnt, join_state: raw.cgrp.join_state })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_assigned_partitions_are_read_and_unknown_ones_left_out() {
        let topics = Topics::default();
        let json = r#"{"brokers":{"b":{"name":"b:9092/1","nodeid":1,"state":"UP"},"boot":{"name":"boot","nodeid":-1,"state":"INIT"}},
            "topics":{"orders":{"partitions":{
                "0":{"partition":0,"desired":true,"lo_offset":5,"hi_offset":20,"ls_offset":18},
                "2":{"partition":2,"desired":true,"lo_offset":5,"hi_offset":20,"ls_offset":18},
                "1":{"partition":1,"desired":true,"lo_offset":-1001,"hi_offset":-1001,"ls_offset":-1001},
                "-1":{"partition":-1,"desired":false}}}},
            "cgrp":{"join_state":"steady","rebalance_cnt":3}}"#;
        let statistics = parse(json, &topics).expect("is JSON");
        let partition = |number| topics.partition(c"orders", number);
        assert_eq!(
            statistics.partitions,
            [
                PartitionStatistics { partition: partition(0), low: Some(5), end: Some(18) },
                PartitionStatistics { partition: partition(1), low: None, end: None },
                PartitionStatistics { partition: partition(2), low: Some(5), end: Some(18) },
            ]
        );
        assert_eq!(statistics.brokers, [BrokerStatistics { name: "b:9092/1".into(), state: "UP".into() }]);
        assert_eq!((statistics.rebalances, statistics.join_state.as_str()), (3, "steady"));
    }
}
