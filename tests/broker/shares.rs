//! Shares of the buffer: a partition whose records are kept is withheld, the others flow, and it comes back once some are given up.

use std::time::Duration;

use gristmill_kafka::{ConsumerSettings, MockCluster};

use crate::member::{Member, cluster, fill, set, settings};

/// Records of each partition, many times what its share holds.
const RECORDS: i64 = 4_000;
/// The share of each of two partitions is a quarter of that.
const BUFFER_BYTES: u64 = 128 << 10;

/// Settings for lanes of their own, with little on its way.
fn shared(cluster: &MockCluster, group: &str) -> ConsumerSettings {
    let mut settings = settings(cluster, group, &["orders"]);
    settings.lanes_by_partition = true;
    settings.buffer_bytes_max = BUFFER_BYTES;
    set(&mut settings, "fetch.message.max.bytes", "4096");
    set(&mut settings, "queued.min.messages", "100");
    set(&mut settings, "fetch.queue.backoff.ms", "5");
    settings
}

/// Lets go of the records of a partition as they come, until its last one came. Gives their offsets.
fn drain(member: &mut Member, number: i32) -> Vec<i64> {
    let mut offsets = Vec::new();
    while offsets.last() != Some(&(RECORDS - 1)) {
        member.until("more records come", |member| !member.offsets(number).is_empty());
        offsets.extend(member.offsets(number));
        member.seen.retain(|seen| seen.facts.partition.number != number);
    }
    offsets
}

fn all() -> Vec<i64> {
    (0..RECORDS).collect()
}

/// In batches of a few records: what comes in one fetch is passed on, whatever it holds.
fn filled() -> MockCluster {
    let cluster = cluster("orders", 2);
    for from in (0..RECORDS).step_by(50) {
        fill(&cluster, "orders", 2, from, 50);
    }
    cluster
}

#[test]
fn a_partition_whose_records_are_kept_is_withheld_and_the_other_flows() {
    let cluster = filled();
    let mut member = Member::start(shared(&cluster, "shares"));
    assert_eq!(drain(&mut member, 1), all());
    let kept = member.offsets(0);
    let count = i64::try_from(kept.len()).expect("few");
    assert!((1..RECORDS).contains(&count), "{count} of a partition that is withheld");
    member.for_a_while(Duration::from_millis(300));
    assert_eq!(member.offsets(0), kept, "nothing more comes");
    assert!(member.consumer.buffered_bytes() < BUFFER_BYTES, "the other one has room");
    // Half of the share has to be given back.
    let mut offsets = member.offsets(0);
    member.seen.clear();
    offsets.extend(drain(&mut member, 0));
    assert_eq!((offsets, member.disorder.len()), (all(), 0));
}

/// Whoever is given a partition that was withheld somewhere, the same member included, reads it from its committed offset.
#[test]
fn a_partition_that_was_withheld_flows_after_a_rebalance() {
    let cluster = filled();
    let mut stays = Member::start(shared(&cluster, "shares-move"));
    drain(&mut stays, 1);
    let mut comes = Member::start(shared(&cluster, "shares-move"));
    comes.until("it takes part", |member| !member.owned.is_empty());
    comes.leave(Duration::from_secs(10));
    assert!(comes.left, "{}", comes.summary());
    stays.until("all is ours again", |member| member.owned.len() == 2);
    stays.seen.clear();
    assert_eq!(drain(&mut stays, 0).last(), Some(&(RECORDS - 1)));
}
