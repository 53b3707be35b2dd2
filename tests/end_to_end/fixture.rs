//! The fixture itself: the tests' broker does what the tests rely on.

use std::collections::BTreeMap;

use gristmill_tests::{create_topic, load, shared_broker, unique};
use xtask::kafka::{Broker, Options};

#[test]
fn loaded_records_are_where_kafka_says_they_are() {
    let broker = shared_broker();
    let topic = unique("loaded");
    create_topic(&broker.bootstrap(), &topic, 3);
    let loaded = load(&broker.bootstrap(), &topic, 3, 100);
    assert_eq!(loaded.records(), 300);
    assert_eq!(broker.end_offsets(&topic).unwrap(), loaded.end_offsets());
    broker.delete_records(&topic, &[(1, 40)]).unwrap();
    assert_eq!(broker.first_offsets(&topic).unwrap(), BTreeMap::from([(0, 0), (1, 40), (2, 0)]));
}

#[test]
fn a_group_has_the_offsets_that_it_was_given() {
    let broker = shared_broker();
    let (topic, group) = (unique("committed"), unique("group"));
    create_topic(&broker.bootstrap(), &topic, 2);
    let _ = load(&broker.bootstrap(), &topic, 2, 10);
    assert_eq!(broker.group_offsets(&group).unwrap(), []);
    broker.set_committed(&group, &topic, 1, 7).unwrap();
    assert_eq!(broker.committed_offsets(&group, &topic).unwrap(), BTreeMap::from([(1, 7)]));
}

#[test]
fn a_killed_broker_keeps_its_records_and_its_port() {
    let broker = Broker::start(&Options::default()).unwrap();
    let bootstrap = broker.bootstrap();
    create_topic(&bootstrap, "kept", 1);
    let loaded = load(&bootstrap, "kept", 1, 50);
    broker.kill().unwrap();
    broker.restart().unwrap();
    assert_eq!(broker.bootstrap(), bootstrap);
    assert_eq!(broker.end_offsets("kept").unwrap(), loaded.end_offsets());
    broker.terminate().unwrap();
    broker.restart().unwrap();
    assert_eq!(broker.end_offsets("kept").unwrap(), loaded.end_offsets());
}
