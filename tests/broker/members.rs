//! Several members of one group: partitions move, and nothing is lost, silent or committed by the wrong one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use gristmill_core::io::{Input, RequestError, StartPosition};
use gristmill_core::record::{NextOffset, Partition};
use gristmill_kafka::{Event, MockCluster, RequestKind};

use crate::member::{Member, PATIENCE, Tweak, cluster, consumer_protocol, fill, protocols, set, settings};

const PARTITIONS: i32 = 6;

fn join(cluster: &MockCluster, group: &str, tweak: Tweak) -> Member {
    let mut settings = settings(cluster, group, &["orders"]);
    tweak(&mut settings);
    Member::start(settings)
}

/// Lets the members take turns until `done`.
fn until(members: &mut [&mut Member], what: &str, mut done: impl FnMut(&[&mut Member]) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done(members) {
        let all: Vec<String> = members.iter().map(|member| member.summary()).collect();
        assert!(Instant::now() < deadline, "waited in vain until {what}: {all:#?}");
        for member in members.iter_mut() {
            member.for_a_while(Duration::from_millis(5));
        }
    }
}

/// Offsets that any of the members saw, by partition.
fn seen_by(members: &[&Member]) -> BTreeMap<i32, BTreeSet<i64>> {
    let mut seen: BTreeMap<i32, BTreeSet<i64>> = BTreeMap::new();
    for record in members.iter().flat_map(|member| &member.seen) {
        seen.entry(record.facts.partition.number).or_default().insert(record.facts.offset.0);
    }
    seen
}

fn share(members: &[&mut Member]) -> usize {
    let owned: BTreeSet<Partition> = members.iter().flat_map(|member| member.owned.keys().copied()).collect();
    owned.len()
}

/// A member of the consumer protocol that gets no partition is told of no assignment, and statistics may be off.
#[test]
fn a_member_that_gets_no_partition_hears_that_the_brokers_are_reached() {
    for (name, tweak) in protocols() {
        let cluster = cluster("orders", 1);
        let mut first = join(&cluster, name, tweak);
        first.until("the first owned everything", |member| member.owned.len() == 1);
        let mut settings = settings(&cluster, name, &["orders"]);
        tweak(&mut settings);
        set(&mut settings, "statistics.interval.ms", "0");
        let mut second = Member::start(settings);
        let is_reached = |member: &Member| member.news.iter().any(|event| matches!(event, Event::Reached));
        until(&mut [&mut first, &mut second], "the second heard", |members| is_reached(&*members[1]));
    }
}

#[test]
fn nobody_is_reached_where_nobody_listens() {
    let cluster = cluster("orders", 1);
    let mut settings = settings(&cluster, "nowhere", &["orders"]);
    // No free port: a mock cluster of another test may take it.
    settings.bootstrap_servers = "127.0.0.1:1".to_owned();
    let mut member = Member::start(settings);
    let failed = |event: &Event| matches!(event, Event::ClientError { .. });
    member.until("it failed to reach anybody", |member| member.news.iter().any(failed));
    member.for_a_while(Duration::from_millis(700));
    assert!(!member.news.iter().any(|event| matches!(event, Event::Reached)));
}

/// A second member comes and goes twice while records flow. Covers rule 2 (a partition that is not forwarded in time is
/// silent: here each assigned partition has to deliver) and rule 3 (the client repeats records around its own pauses:
/// within an epoch none may come twice).
#[test]
fn rules_02_and_03_members_come_and_go_and_nothing_is_lost_or_silent() {
    for (name, tweak) in protocols() {
        let cluster = cluster("orders", PARTITIONS);
        let mut first = join(&cluster, name, tweak);
        first.until("the first owned everything", |member| member.owned.len() == PARTITIONS as usize);
        let mut produced = 0;
        let mut fill_more = || {
            fill(&cluster, "orders", PARTITIONS, produced, 300);
            produced += 300;
            produced
        };
        let mut guests = Vec::new();
        for _ in 0..2 {
            fill_more();
            let mut second = join(&cluster, name, tweak);
            let halved = |members: &[&mut Member]| {
                members[0].owned.len() == 3 && members[1].owned.len() == 3 && share(members) == 6
            };
            until(&mut [&mut first, &mut second], "the group was halved", halved);
            let end = fill_more();
            let every_partition_spoke = |members: &[&mut Member]| {
                members.iter().all(|member| member.next.iter().all(|(_, next)| next.0 == end))
                    && share(members) == PARTITIONS as usize
            };
            until(&mut [&mut first, &mut second], "every partition was read to its end", every_partition_spoke);
            let mut leaving = false;
            until(&mut [&mut first, &mut second], "the second left and the first has all", |members| {
                if !leaving {
                    members[1].consumer.leave(Duration::from_secs(10));
                    leaving = true;
                }
                members[1].left && members[0].owned.len() == PARTITIONS as usize
            });
            guests.push(second);
        }
        let end = fill_more();
        first.until("everything was read", |member| member.next.values().all(|next| next.0 == end));
        let members: Vec<&Member> = guests.iter().chain([&first]).collect();
        let seen = seen_by(&members);
        for number in 0..PARTITIONS {
            assert!(seen[&number].iter().copied().eq(0..end), "{name}: partition {number} has holes");
        }
        for member in members {
            assert!(member.disorder.is_empty(), "{name}: {:?}", member.disorder);
            let lost: Vec<_> = member.removed.iter().filter(|(_, lost)| *lost).collect();
            assert!(lost.is_empty(), "{name}: {lost:?}");
        }
    }
}

/// Rule 6: the broker does not check who owns a partition. After a revocation was answered, no commit of the old owner
/// may reach the broker.
#[test]
fn rule_06_a_late_commit_cannot_overwrite_the_new_owners() {
    let cluster = cluster("orders", 2);
    fill(&cluster, "orders", 2, 0, 100);
    let mut first = join(&cluster, "late", consumer_protocol);
    first.until("all records came", |member| member.seen.len() == 200);
    first.answers = false;
    let mut second = join(&cluster, "late", consumer_protocol);
    until(&mut [&mut first, &mut second], "one partition was to go", |members| !members[0].open_revocations.is_empty());
    let (id, partitions) = first.open_revocations.remove(0);
    let gone = partitions[0];
    // While the question is open the partition is still ours.
    assert_eq!(first.commit(gone, 40), Ok(()));
    first.consumer.answer_revoke(id);
    until(&mut [&mut first, &mut second], "the second got it", |members| members[1].owned.contains_key(&gone));
    let start = second.assigned.iter().find(|assignment| assignment.partition == gone).expect("just seen").start;
    assert_eq!(start, StartPosition::Committed(NextOffset(40)), "the second begins at what the first committed");
    assert_eq!(second.commit(gone, 90), Ok(()));
    assert_eq!(first.commit(gone, 50), Err(RequestError::NotOurs));
    let found = cluster.committed("late", "orders", gone.number).expect("an answer");
    assert_eq!(found.map(|found| found.offset), Some(90));
}

#[test]
fn b35_a_slow_commit_does_not_hold_a_revocation_up_for_ever() {
    let cluster = cluster("orders", 2);
    fill(&cluster, "orders", 2, 0, 10);
    let mut impatient = settings(&cluster, "slow", &["orders"]);
    impatient.commit_wait_max = Duration::from_millis(100);
    let mut first = Member::start(impatient);
    first.until("all records came", |member| member.seen.len() == 20);
    // From here on every answer takes longer than the wait for the end of a commit, also of those that the member sends
    // while its partitions are being revoked.
    cluster.set_round_trip(1, Duration::from_millis(400)).expect("there is a broker");
    let partition = first.partition("orders", 0);
    assert_eq!(first.commit(partition, 10), Err(RequestError::Unknown));
    let mut second = join(&cluster, "slow", |_| ());
    until(&mut [&mut first, &mut second], "the group was halved", |members| {
        members.iter().all(|member| member.owned.len() == 1)
    });
    let unknown = first.commit_ends.values().filter(|end| **end == Err(RequestError::Unknown)).count();
    assert!(unknown >= 2, "the revocation had no slow commit: {:?}", first.commit_ends);
}

#[test]
fn a_revocation_that_the_core_never_answers_goes_on_without_it() {
    let cluster = cluster("orders", 2);
    let mut stubborn = settings(&cluster, "stubborn", &["orders"]);
    consumer_protocol(&mut stubborn);
    stubborn.drain_max = Duration::from_millis(300);
    let mut first = Member::start(stubborn);
    first.until("the first owned everything", |member| member.owned.len() == 2);
    first.answers = false;
    let mut second = join(&cluster, "stubborn", consumer_protocol);
    until(&mut [&mut first, &mut second], "the second got its share", |members| members[1].owned.len() == 1);
    let unanswered = |event: &Event| matches!(event, Event::RevokeUnanswered { partitions } if partitions.len() == 1);
    first.until("it was told", |member| member.news.iter().any(unanswered));
}

#[test]
fn a_member_that_the_group_forgot_loses_its_partitions_and_rejoins_by_itself() {
    const UNKNOWN_MEMBER_ID: i32 = 25;
    let cluster = cluster("orders", 1);
    fill(&cluster, "orders", 1, 0, 10);
    let mut member = Member::start(settings(&cluster, "forgotten", &["orders"]));
    member.until("all records came", |member| member.seen.len() == 10);
    let partition = member.partition("orders", 0);
    cluster.fail_next(RequestKind::Heartbeat, &[UNKNOWN_MEMBER_ID]);
    member.until("the partition was lost", |member| member.removed == [(partition, true)]);
    let told = |event: &Event| matches!(event, Event::Evicted { .. });
    assert!(member.news.iter().any(told), "it does not say that the group went on without it: {}", member.summary());
    assert_eq!(member.commit(partition, 10), Err(RequestError::NotOurs));
    member.until("it came back and its records again", |member| member.seen.len() == 20);
    assert_eq!(member.commit(partition, 10), Ok(()));
}

/// Rule 8: any poll of any queue counts as life, so librdkafka's watchdog does not see a host that is stuck. The edge
/// keeps the membership, which is what back-offs need (R1, B37); the host needs a watchdog of its own.
#[test]
fn rule_08_a_host_that_does_nothing_keeps_its_membership() {
    let cluster = cluster("orders", 1);
    fill(&cluster, "orders", 1, 0, 10);
    let mut idle = settings(&cluster, "idle", &["orders"]);
    idle.drain_max = Duration::from_millis(500);
    idle.commit_wait_max = Duration::from_millis(500);
    idle.properties.clear();
    set(&mut idle, "session.timeout.ms", "1500");
    set(&mut idle, "heartbeat.interval.ms", "100");
    set(&mut idle, "max.poll.interval.ms", "1500");
    let mut member = Member::start(idle);
    member.until("all records came", |member| member.seen.len() == 10);
    // Nobody reads the channel for longer than twice the poll interval.
    std::thread::park_timeout(Duration::from_millis(3500));
    member.for_a_while(Duration::from_millis(200));
    assert!(member.removed.is_empty(), "{}", member.summary());
    assert!(!member.news.iter().any(|event| matches!(event, Event::Evicted { .. })));
    let partition = member.partition("orders", 0);
    assert_eq!(member.commit(partition, 10), Ok(()));
}

#[test]
fn a_fenced_static_member_says_so_and_cannot_commit() {
    const FENCED_INSTANCE_ID: i32 = 82;
    let cluster = cluster("orders", 1);
    fill(&cluster, "orders", 1, 0, 10);
    let mut fenced = settings(&cluster, "static", &["orders"]);
    set(&mut fenced, "group.instance.id", "host-1");
    let mut member = Member::start(fenced);
    member.until("all records came", |member| member.seen.len() == 10);
    cluster.fail_next(RequestKind::Heartbeat, &[FENCED_INSTANCE_ID]);
    member
        .until("it was fenced", |member| member.news.iter().any(|event| matches!(event, Event::Input(Input::Fenced))));
    let failed = |event: &Event| matches!(event, Event::ClientError { fatal: true, .. });
    assert!(!member.news.iter().any(failed), "being fenced is said once, as what it is: {}", member.summary());
    let partition = member.partition("orders", 0);
    let end = member.commit(partition, 10);
    assert!(matches!(end, Err(RequestError::Fenced | RequestError::NotOurs)), "{end:?}");
    let took = member.leave(Duration::from_secs(3));
    assert!(took < Duration::from_secs(5), "{took:?}");
}
