//! Errors that the client deals with itself reach the host with their kind, and figures come on request.

use std::time::Duration;

use gristmill_kafka::{ClientErrorKind, Event, RequestKind};

use crate::member::{Member, cluster, fill, set, settings};

const GROUP_AUTHORIZATION_FAILED: i32 = 30;
const TOPIC_AUTHORIZATION_FAILED: i32 = 29;

fn kinds(member: &Member) -> Vec<ClientErrorKind> {
    let errors = member.news.iter().filter_map(|event| match event {
        Event::ClientError { kind, .. } => Some(*kind),
        _ => None,
    });
    errors.collect()
}

/// B95: a denied group is named, and not asked for at full speed.
#[test]
fn a_denied_group_is_named_and_tried_again_slowly() {
    let cluster = cluster("orders", 1);
    fill(&cluster, "orders", 1, 0, 5);
    cluster.fail_next(RequestKind::JoinGroup, &[GROUP_AUTHORIZATION_FAILED; 3]);
    let mut member = Member::start(settings(&cluster, "denied", &["orders"]));
    member.until("it was named", |member| kinds(member).contains(&ClientErrorKind::Authorization));
    member.until("it was read after all", |member| member.seen.len() == 5);
    assert!(kinds(&member).len() <= 10, "{:?}", kinds(&member));
}

/// B94: a denied topic is named with its partition, and read once it is granted.
#[test]
fn a_denied_topic_is_named_and_read_once_it_is_granted() {
    let cluster = cluster("orders", 1);
    let mut settings = settings(&cluster, "topic", &["orders"]);
    set(&mut settings, "fetch.error.backoff.ms", "50");
    let mut member = Member::start(settings);
    member.until("the partition came", |member| member.owned.len() == 1);
    cluster.fail_next(RequestKind::Fetch, &[TOPIC_AUTHORIZATION_FAILED; 5]);
    fill(&cluster, "orders", 1, 0, 5);
    member.until("all records came", |member| member.seen.len() == 5);
    member.assert_saw_exactly(1, 5);
    let partition = member.partition("orders", 0);
    let about_it = |event: &Event| {
        matches!(event, Event::ClientError { kind: ClientErrorKind::Authorization, partition: Some(found), .. }
            if *found == partition)
    };
    let told = member.news.iter().filter(|event| about_it(event)).count();
    assert_eq!(told, 1, "one error that keeps coming is told once; {}", member.summary());
}

/// librdkafka counts an error in place of records as one of them, and the pause of the next rebalance makes its position that.
/// What is written there meanwhile would be skipped, or the position be taken for one outside the log.
#[test]
fn an_error_in_place_of_records_moves_no_position_over_the_next_rebalance() {
    let cluster = cluster("orders", 2);
    fill(&cluster, "orders", 2, 0, 5);
    let mut settings = settings(&cluster, "counted", &["orders"]);
    set(&mut settings, "fetch.error.backoff.ms", "50");
    let mut first = Member::start(settings.clone());
    first.until("all records came", |member| member.seen.len() == 10);
    // The client hides an error in the first fetch that finds the end of a partition.
    cluster.fail_next(RequestKind::Fetch, &[TOPIC_AUTHORIZATION_FAILED; 5]);
    first.until("it was named", |member| kinds(member).contains(&ClientErrorKind::Authorization));
    let mut second = Member::start(settings);
    first.until("one partition went to the second member", |member| member.owned.len() == 1);
    second.until("it came there", |member| member.owned.len() == 1);
    fill(&cluster, "orders", 2, 5, 5);
    let kept = first.owned.keys().next().expect("one is left").number;
    first.until("the later records of the kept one came", |member| member.offsets(kept).last() == Some(&9));
    assert_eq!(first.offsets(kept), (0..10).collect::<Vec<i64>>(), "{}", first.summary());
}

/// B53: the broker goes away and comes back; reading goes on by itself.
#[test]
fn a_broker_that_comes_back_is_read_again() {
    let cluster = cluster("orders", 1);
    fill(&cluster, "orders", 1, 0, 5);
    let mut settings = settings(&cluster, "outage", &["orders"]);
    set(&mut settings, "reconnect.backoff.max.ms", "200");
    let mut member = Member::start(settings);
    member.until("all records came", |member| member.seen.len() == 5);
    cluster.set_broker_up(1, false).expect("there is a broker");
    member.until("it was named", |member| kinds(member).contains(&ClientErrorKind::Unreachable));
    cluster.set_broker_up(1, true).expect("there is a broker");
    fill(&cluster, "orders", 1, 5, 5);
    member.until("later records came", |member| member.seen.len() >= 10 && member.offsets(0).contains(&9));
    assert!(member.disorder.is_empty(), "{:?}", member.disorder);
}

#[test]
fn statistics_name_the_ends_of_assigned_partitions() {
    let cluster = cluster("orders", 2);
    fill(&cluster, "orders", 2, 0, 8);
    let mut settings = settings(&cluster, "figures", &["orders"]);
    set(&mut settings, "statistics.interval.ms", "100");
    let mut member = Member::start(settings);
    let known = |event: &Event| match event {
        Event::Statistics(figures) => {
            figures.partitions.len() == 2 && figures.partitions.iter().all(|found| found.end == Some(8))
        }
        _ => false,
    };
    member.until("the ends were known", |member| member.news.iter().any(known));
    let Some(Event::Statistics(figures)) = member.news.iter().rev().find(|event| known(event)) else {
        panic!("just seen");
    };
    assert_eq!(figures.brokers.len(), 1);
    member.leave(Duration::from_secs(5));
}
