//! Records reach the host as the brokers keep them: all of them, once, in order, byte for byte.

use std::time::Duration;

use gristmill_kafka::{MockRecord, RECORD_OVERHEAD_BYTES, Timestamp};

use crate::member::{Member, cluster, fill, set, settings, value_of};

#[test]
fn records_arrive_commit_works_close_works() {
    let cluster = cluster("orders", 1);
    fill(&cluster, "orders", 1, 0, 10);
    let mut member = Member::start(settings(&cluster, "first", &["orders"]));
    member.until("all records came", |member| member.seen.len() == 10);
    member.assert_saw_exactly(1, 10);
    let partition = member.partition("orders", 0);
    assert_eq!(member.commit(partition, 10), Ok(()));
    assert_eq!(cluster.committed("first", "orders", 0).expect("an answer").map(|found| found.offset), Some(10));
    member.leave(Duration::from_secs(10));
    assert!(member.left, "{}", member.summary());
}
