//! Leader epochs: what tells two histories of one log apart.

use xtask::kafka::{Broker, Options};

use crate::pipeline::{Pipeline, SOON, stop};

/// C7: a commit names the epoch under which its last record was written, as Kafka's own tool reads it in the files.
#[test]
fn a_commit_carries_the_leader_epoch_of_its_last_record() {
    let broker = Broker::start(&Options::default()).unwrap();
    let pipeline = Pipeline::new(&broker, "epochs").set("batch", "max_wait", "\"100ms\"");
    let mut loaded = pipeline.load(1, 50);
    let mut epochs = Vec::new();
    for round in 0..2 {
        if round == 1 {
            // A leader that comes back has a new epoch.
            broker.terminate().unwrap();
            broker.restart().unwrap();
            pipeline.load_more(&mut loaded, 50);
        }
        let host = pipeline.run();
        pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
        stop(host);
        let end = loaded.partitions[&0].end;
        let batches = broker.stored_batches(&pipeline.topic, 0).unwrap();
        let last = batches.iter().find(|batch| batch.last + 1 == end).unwrap();
        let commit = broker.written_commit(&pipeline.group, &pipeline.topic, 0).unwrap();
        assert_eq!(commit, Some((end, last.leader_epoch)), "{batches:?}");
        epochs.push(last.leader_epoch);
    }
    assert!(epochs[0] < epochs[1], "the epoch did not change, so nothing was shown: {epochs:?}");
}
