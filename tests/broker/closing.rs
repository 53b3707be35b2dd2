//! Rule 9: leaving the group ends within its deadline, whatever the brokers do.

use std::time::{Duration, Instant};

use gristmill_kafka::{Consumer, ConsumerSettings, Event, MockCluster, ResetPolicy};
use tokio::sync::mpsc::unbounded_channel;

use crate::member::{Member, Tweak, cluster, fill, protocols, settings};

/// A deadline, and what a busy machine may add to it.
const DEADLINE: Duration = Duration::from_secs(3);
const SLACK: Duration = Duration::from_millis(1500);

fn busy_member(name: &str, tweak: Tweak) -> (MockCluster, Member) {
    let cluster = cluster("orders", 3);
    fill(&cluster, "orders", 3, 0, 100);
    let mut settings = settings(&cluster, name, &["orders"]);
    tweak(&mut settings);
    let mut member = Member::start(settings);
    member.until("records came", |member| member.seen.len() == 300);
    (cluster, member)
}

#[test]
fn rule_09_a_steady_member_leaves_at_once() {
    for (name, tweak) in protocols() {
        let (_cluster, mut member) = busy_member(name, tweak);
        let took = member.leave(DEADLINE);
        assert!(member.left, "{name}: {}", member.summary());
        assert!(took < Duration::from_secs(1) + SLACK, "{name}: {took:?}");
    }
}

/// S3: closing has a deadline whatever the broker does.
#[test]
fn rule_09_a_member_whose_broker_is_down_ends_in_time() {
    for (name, tweak) in protocols() {
        let (cluster, mut member) = busy_member(name, tweak);
        cluster.set_broker_up(1, false).expect("there is a broker");
        let took = member.leave(DEADLINE);
        assert!(took < DEADLINE + SLACK, "{name}: {took:?}");
    }
}

/// S3: closing has a deadline whatever the broker does.
#[test]
fn rule_09_a_member_that_waits_for_a_commit_of_a_silent_broker_ends_in_time() {
    for (name, tweak) in protocols() {
        let (cluster, mut member) = busy_member(name, tweak);
        cluster.set_round_trip(1, Duration::from_secs(60)).expect("there is a broker");
        let seen = member.seen.last().expect("300 came").facts;
        let offset = gristmill_core::io::CommitOffset {
            partition: seen.partition,
            epoch: seen.epoch,
            next: seen.offset.next(),
            leader_epoch: None,
        };
        member.commit_offsets(vec![offset], "");
        let took = member.leave(DEADLINE);
        assert!(took < DEADLINE + SLACK, "{name}: {took:?}");
    }
}

#[test]
fn rule_09_a_member_that_never_connected_ends_in_time() {
    let settings = ConsumerSettings::new("127.0.0.1:1", "nobody", &["orders"], ResetPolicy::Earliest);
    let mut member = Member::start(settings);
    member.until("it noticed", |member| member.news.iter().any(|event| matches!(event, Event::ClientError { .. })));
    let took = member.leave(DEADLINE);
    assert!(took < DEADLINE + SLACK, "{took:?}");
}

/// S3: closing has a deadline whatever the broker does.
#[test]
fn rule_09_a_member_in_the_middle_of_joining_ends_in_time() {
    for (name, tweak) in protocols() {
        let cluster = cluster("orders", 3);
        for _ in 0..10 {
            let mut settings = settings(&cluster, name, &["orders"]);
            tweak(&mut settings);
            let mut member = Member::start(settings);
            // Anything between nothing done yet and an assignment that waits for its answer.
            member.for_a_while(Duration::from_millis(3));
            let took = member.leave(DEADLINE);
            assert!(took < DEADLINE + SLACK, "{name}: {took:?}");
        }
    }
}

#[test]
fn a_revocation_that_nobody_answers_does_not_keep_the_group_from_being_left() {
    let (_cluster, mut member) = busy_member("silent", |_| ());
    member.answers = false;
    let took = member.leave(DEADLINE);
    assert!(member.left, "{}", member.summary());
    assert!(member.open_revocations.is_empty(), "the core that said leave is not asked again");
    assert!(took < DEADLINE, "{took:?}");
}

#[test]
fn requests_after_leaving_are_answered() {
    let (_cluster, mut member) = busy_member("late", |_| ());
    let partition = member.partition("orders", 0);
    member.leave(DEADLINE);
    assert!(member.commit(partition, 1).is_err());
    assert!(member.ask_committed(&[partition]).is_err());
    assert!(member.seek(&[(partition, 0)]).iter().all(|(_, result)| result.is_err()));
}

#[test]
fn a_consumer_that_is_dropped_leaves_without_making_anybody_wait() {
    let cluster = cluster("orders", 1);
    let (outbox, mut inbox) = unbounded_channel();
    let consumer = Consumer::start(settings(&cluster, "dropped", &["orders"]), outbox).expect("legal settings");
    let start = Instant::now();
    drop(consumer);
    assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
    // The channel ends when the last thread of the consumer is gone.
    while inbox.blocking_recv().is_some() {}
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}
