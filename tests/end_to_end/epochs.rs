//! Leader epochs: what tells two histories of one log apart.

use std::collections::BTreeMap;

use gristmill_tests::{Host, Seen, cut_off};
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

/// What a member does while its partition's log loses its end and is written anew.
enum Meanwhile {
    Sleeps,
    IsAway,
}

/// A log that was read to its end at 100 loses all from 50 on, as by an unclean election, and grows again to 120. Gives the
/// host that meets it.
fn meets_another_history(broker: &Broker, pipeline: &Pipeline<'_>, meanwhile: Meanwhile) -> Host {
    let mut loaded = pipeline.load(1, 50);
    let mut kept = loaded.clone();
    pipeline.load_more(&mut loaded, 50);
    let host = pipeline.run();
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let sleeper = match meanwhile {
        Meanwhile::Sleeps => Some(host).inspect(|host| host.signal("STOP")),
        Meanwhile::IsAway => {
            stop(host);
            None
        }
    };
    // Killed, so that the log is looked through when the broker comes back.
    broker.kill().unwrap();
    cut_off(&broker.log_file(&pipeline.topic, 0), 50);
    broker.restart().unwrap();
    pipeline.load_more(&mut kept, 70);
    sleeper.inspect(|host| host.signal("CONT")).unwrap_or_else(|| pipeline.run())
}

/// O1: an offset that the log has, but not with the records before it, is no place to go on.
#[test]
fn a_log_that_was_written_anew_under_a_member_holds_its_partition() {
    let broker = Broker::start(&Options::default()).unwrap();
    let pipeline = Pipeline::new(&broker, "rewritten").set("batch", "max_wait", "\"100ms\"");
    let pipeline = pipeline.property("session.timeout.ms", "30000");
    let host = meets_another_history(&broker, &pipeline, Meanwhile::Sleeps);
    let line = host.wait_for_line("held: the partition cannot be read", SOON);
    assert!(line.contains("offset 100") && line.contains("written anew"), "{line}");
    let lines = stop(host);
    assert_eq!(Seen::from_lines(&lines).next_offsets(), BTreeMap::from([(0, 100)]));
    assert_eq!(pipeline.committed(), BTreeMap::from([(0, 100)]));
}

/// O1: the same for who comes back later; and a policy goes on where it says, once.
#[test]
fn a_log_that_was_written_anew_is_noticed_by_who_comes_back() {
    let broker = Broker::start(&Options::default()).unwrap();
    let pipeline = Pipeline::new(&broker, "returned").set("batch", "max_wait", "\"100ms\"");
    let host = meets_another_history(&broker, &pipeline, Meanwhile::IsAway);
    let line = host.wait_for_line("held: the partition cannot be read", SOON);
    assert!(line.contains("offset 100") && line.contains("written anew"), "{line}");
    assert_eq!(Seen::from_lines(&stop(host)).handed_over(), 0);
    assert_eq!(pipeline.committed(), BTreeMap::from([(0, 100)]));

    let pipeline = pipeline.set("kafka", "on_out_of_range", "\"earliest\"");
    let host = pipeline.run();
    pipeline.wait_until_committed(&BTreeMap::from([(0, 120)]), SOON);
    assert_eq!(Seen::from_lines(&stop(host)).handed_over(), 120);
}
