//! Records that the broker keeps and nobody can read: their partition is held with a reason, and nothing behind them is
//! taken for what comes next.

use std::collections::BTreeMap;

use gristmill_tests::{Damage, Loaded, Seen, create_topic, damage};
use xtask::kafka::{Broker, Options};

use crate::pipeline::{Pipeline, SOON, stop};

/// O1: a checksum that is wrong, and bytes that cannot be decompressed, hold their partition; the others flow.
#[test]
fn records_that_cannot_be_read_hold_their_partition() {
    let broker = Broker::start(&Options::default()).unwrap();
    let pipeline = Pipeline::new(&broker, "corrupt").set("batch", "max_wait", "\"100ms\"");
    create_topic(&broker.bootstrap(), &pipeline.topic, 4);
    let mut loaded = Loaded { partitions: (0..4).map(|partition| (partition, 0..0)).collect() };
    // Each a batch of its own; the third is smaller than what stands before it in an answer, the second is not.
    for records in [100, 500, 1, 100] {
        pipeline.load_compressed(&mut loaded, records, "lz4");
    }
    broker.terminate().unwrap();
    let held_at = BTreeMap::from([(0, 100), (1, 100), (2, 600)]);
    for (partition, offset) in &held_at {
        let what = if *partition == 1 { Damage::Content } else { Damage::Checksum };
        damage(&broker.log_file(&pipeline.topic, *partition), *offset, what);
    }
    broker.restart().unwrap();

    let host = pipeline.run();
    for (partition, offset) in &held_at {
        let line = host.wait_until("held", SOON * 2, |lines| {
            let of = format!("\"partition\":{partition}");
            lines.iter().find(|line| line.contains("held: the partition") && line.contains(&of)).cloned()
        });
        assert!(line.contains(&format!("the stored records at offset {offset} cannot be read")), "{line}");
    }
    let mut committed = held_at;
    committed.insert(3, 701);
    pipeline.wait_until_committed(&committed, SOON);
    let lines = stop(host);
    assert_eq!(Seen::from_lines(&lines).next_offsets(), committed);
    assert_eq!(Seen::from_lines(&lines).repeats(), 0);
    assert_eq!(pipeline.committed(), committed);
}
