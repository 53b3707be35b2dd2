//! Where the batches lie that the plugin was given last: which offsets of which partitions, for whoever has to find its records.
//!
//! It keeps no records, and does not know what became of the batches.

use std::collections::BTreeMap;

use gristmill_core::io::{BatchId, Delivery, Place};
use gristmill_core::record::Partition;
use gristmill_guest::{NAMED_MAX, positions};

use crate::narrate::TopicNames;

/// How many the last line names.
const NAMED_AT_END_MAX: usize = 3;

/// Which records share a lane, and the places of a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Lanes {
    /// Those of all partitions.
    #[default]
    One,
    /// Those of one partition.
    ByPartition,
}

impl Lanes {
    /// The lane of a batch that lies there: its partition, or nothing where there is but one lane.
    pub(crate) fn at(self, places: &[Place]) -> Option<Partition> {
        match self {
            Self::One => None,
            Self::ByPartition => places.first().map(|place| place.partition),
        }
    }
}

/// The place of the batch that each lane handed over last. A failure is told before its next hand-over.
#[derive(Debug, Default)]
pub(crate) struct Whereabouts {
    lanes: Lanes,
    of_lane: BTreeMap<Option<Partition>, (BatchId, Vec<Place>)>,
    /// The lane that handed over last.
    last: Option<Partition>,
}

impl Whereabouts {
    pub(crate) fn new(lanes: Lanes) -> Self {
        Self { lanes, ..Self::default() }
    }

    /// Notes where a batch lies that is handed over now.
    pub(crate) fn note<R>(&mut self, delivery: &Delivery<R>) {
        self.last = self.lanes.at(&delivery.places);
        self.of_lane.insert(self.last, (delivery.batch, delivery.places.clone()));
    }

    /// Where this batch lies, for a log line. `None` when its lane handed another one over since.
    pub(crate) fn of(&self, batch: BatchId, topics: &impl TopicNames) -> Option<String> {
        self.places_of(batch).map(|places| in_words(places, topics, NAMED_MAX))
    }

    /// The same, not in words.
    pub(crate) fn places_of(&self, batch: BatchId) -> Option<&[Place]> {
        let found = self.of_lane.values().find(|(last, _)| *last == batch);
        found.map(|(_, places)| places.as_slice())
    }

    /// Where the batch lies that was handed over last, in short.
    pub(crate) fn of_last(&self, topics: &impl TopicNames) -> Option<String> {
        self.of_lane.get(&self.last).map(|(_, places)| in_words(places, topics, NAMED_AT_END_MAX))
    }
}

/// Places in words: so many are named, the others counted.
pub(crate) fn in_words(places: &[Place], topics: &impl TopicNames, named_max: usize) -> String {
    let named: Vec<_> = places.iter().map(|place| (topics.name(place.partition.topic), place)).collect();
    let spans: BTreeMap<(&str, i32), (i64, i64)> =
        named.iter().map(|(topic, at)| ((&**topic, at.partition.number), (at.first.0, at.last.0))).collect();
    positions(&spans, named_max)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use gristmill_core::io::{ClosedBy, DeliveryId, PluginId};
    use gristmill_core::record::{Epoch, Offset, Record, RecordFacts, Topic};
    use gristmill_core::time::Moment;

    use super::*;

    struct Orders;

    impl TopicNames for Orders {
        fn name(&self, topic: Topic) -> Arc<str> {
            ["orders", "amounts"][topic.0 as usize].into()
        }
    }

    /// A hand-over of a first and a last record in each of these topics and partitions.
    pub(crate) fn delivery(batch: BatchId, places: &[(u32, i32, i64, i64)]) -> Delivery<()> {
        let place = |&(topic, number, first, last): &(u32, i32, i64, i64)| Place {
            partition: Partition { topic: Topic(topic), number },
            first: Offset(first),
            last: Offset(last),
        };
        let places: Vec<Place> = places.iter().map(place).collect();
        let record = |partition, offset| Record {
            facts: RecordFacts { partition, offset, epoch: Epoch(1), leader_epoch: None, bytes: 1, undecodable: false },
            arrived: Moment(0),
            body: (),
        };
        Delivery {
            id: DeliveryId(1),
            batch,
            attempt: 1,
            plugin: PluginId(1),
            records: places
                .iter()
                .flat_map(|at| (at.first.0..=at.last.0).map(|offset| record(at.partition, Offset(offset))))
                .collect(),
            places,
            bytes: 1,
            closed_by: ClosedBy::Records,
            part: false,
        }
    }

    #[test]
    fn a_batch_lies_where_its_partitions_begin_and_end() {
        let mut whereabouts = Whereabouts::default();
        whereabouts.note(&delivery(BatchId(4), &[(0, 1, 7, 12), (1, 0, 3, 3), (0, 0, 5, 5)]));
        let words = "amounts/0 3, orders/0 5, orders/1 7..12";
        assert_eq!(whereabouts.of(BatchId(4), &Orders).as_deref(), Some(words));
        assert_eq!(whereabouts.of_last(&Orders).as_deref(), Some(words));
    }

    #[test]
    fn lanes_of_their_own_have_places_of_their_own() {
        let mut whereabouts = Whereabouts::new(Lanes::ByPartition);
        whereabouts.note(&delivery(BatchId(4), &[(0, 1, 7, 7)]));
        whereabouts.note(&delivery(BatchId(5), &[(0, 2, 8, 8)]));
        assert_eq!(whereabouts.of(BatchId(4), &Orders).as_deref(), Some("orders/1 7"));
        assert_eq!(whereabouts.of_last(&Orders).as_deref(), Some("orders/2 8"));
        whereabouts.note(&delivery(BatchId(6), &[(0, 1, 9, 9)]));
        assert_eq!(whereabouts.of(BatchId(4), &Orders), None);
    }

    #[test]
    fn another_batch_is_not_said_to_lie_there() {
        let mut whereabouts = Whereabouts::default();
        assert_eq!((whereabouts.of(BatchId(4), &Orders), whereabouts.of_last(&Orders)), (None, None));
        whereabouts.note(&delivery(BatchId(4), &[(0, 1, 7, 7)]));
        whereabouts.note(&delivery(BatchId(5), &[(0, 1, 8, 8)]));
        assert_eq!(whereabouts.of(BatchId(4), &Orders), None);
        assert_eq!(whereabouts.of(BatchId(5), &Orders).as_deref(), Some("orders/1 8"));
    }

    #[test]
    fn of_many_partitions_the_first_are_named_and_fewer_at_the_end() {
        let mut whereabouts = Whereabouts::default();
        let places: Vec<_> = (0..100).map(|partition| (0, partition, 1, 1)).collect();
        whereabouts.note(&delivery(BatchId(4), &places));
        let line = whereabouts.of(BatchId(4), &Orders).unwrap();
        assert!(line.ends_with("orders/7 1, and 92 more partitions"), "{line}");
        let end = whereabouts.of_last(&Orders).unwrap();
        assert_eq!(end, "orders/0 1, orders/1 1, orders/2 1, and 97 more partitions");
    }
}
