//! Where reading starts: at the committed offset, at an explicit reset, or nowhere until someone decides.

use std::time::Duration;

use gristmill_core::io::{Input, OffsetTrouble, StartPosition};
use gristmill_core::record::{NextOffset, Partition};
use gristmill_kafka::{
    ClientErrorKind, ConsumerSettings, Event, MockCluster, RangePolicy, ReachError, RequestKind, ResetPolicy, reach,
};

use crate::member::{Member, PATIENCE, cluster, fill, set, settings};

const OFFSET_OUT_OF_RANGE: i32 = 1;
const INVALID_MSG: i32 = 2;
const COORDINATOR_LOAD_IN_PROGRESS: i32 = 14;
const UNKNOWN_SERVER_ERROR: i32 = -1;

/// Starts a member that resets by `policy`.
fn start(cluster: &MockCluster, group: &str, policy: ResetPolicy, tweak: impl FnOnce(&mut ConsumerSettings)) -> Member {
    let mut settings = settings(cluster, group, &["orders"]);
    settings.auto_offset_reset = policy;
    tweak(&mut settings);
    Member::start(settings)
}

fn start_of(member: &Member, partition: Partition) -> StartPosition {
    let assignment = member.assigned.iter().rev().find(|assignment| assignment.partition == partition);
    assignment.expect("was assigned").start
}

#[test]
fn a_group_with_nothing_committed_starts_at_an_explicit_offset() {
    let cluster = cluster("orders", 1);
    fill(&cluster, "orders", 1, 0, 10);
    for (group, policy, wanted) in [
        ("new-earliest", ResetPolicy::Earliest, StartPosition::Reset(NextOffset(0))),
        ("new-latest", ResetPolicy::Latest, StartPosition::Reset(NextOffset(10))),
        ("new-error", ResetPolicy::Error, StartPosition::Unusable(OffsetTrouble::NothingCommitted)),
    ] {
        let mut member = start(&cluster, group, policy, |_| ());
        member.until("the partition came", |member| member.owned.len() == 1);
        assert_eq!(member.assigned[0].start, wanted, "{group}");
    }
}

#[test]
fn a_group_goes_on_where_it_committed() {
    let cluster = cluster("orders", 1);
    fill(&cluster, "orders", 1, 0, 10);
    cluster.commit("old", "orders", 0, 6).expect("committed");
    let mut member = start(&cluster, "old", ResetPolicy::Latest, |_| ());
    member.until("the rest came", |member| member.seen.len() == 4);
    assert_eq!(member.assigned[0].start, StartPosition::Committed(NextOffset(6)));
    assert_eq!(member.offsets(0), [6, 7, 8, 9]);
}

/// An unusable partition delivers nothing, and a seek brings it back (what an operator's retry does).
#[test]
fn a_held_partition_is_silent_until_it_is_sought() {
    let cluster = cluster("orders", 2);
    fill(&cluster, "orders", 2, 0, 10);
    cluster.commit("half", "orders", 1, 4).expect("committed");
    let mut member = start(&cluster, "half", ResetPolicy::Error, |_| ());
    member.until("the good partition was read", |member| member.offsets(1).len() == 6);
    member.for_a_while(Duration::from_millis(300));
    assert_eq!(member.offsets(0), [0_i64; 0]);
    let held = member.partition("orders", 0);
    assert_eq!(start_of(&member, held), StartPosition::Unusable(OffsetTrouble::NothingCommitted));
    assert!(member.seek(&[(held, 7)])[0].1.is_ok());
    member.until("the held partition was read", |member| member.offsets(0).len() == 3);
    assert_eq!(member.offsets(0), [7, 8, 9]);
}

#[test]
fn a_committed_offset_outside_the_log_is_held_or_moved_as_configured() {
    let cluster = cluster("orders", 1);
    fill(&cluster, "orders", 1, 0, 10);
    let held =
        OffsetTrouble::OutOfRange { wanted: NextOffset(50), low: Some(NextOffset(0)), high: Some(NextOffset(10)) };
    for (group, policy, wanted, moved) in [
        ("hold", RangePolicy::Hold, StartPosition::Unusable(held), None),
        ("low", RangePolicy::Earliest, StartPosition::Reset(NextOffset(0)), Some(0)),
        ("high", RangePolicy::Latest, StartPosition::Reset(NextOffset(10)), Some(10)),
    ] {
        cluster.commit(group, "orders", 0, 50).expect("committed");
        let mut member = start(&cluster, group, ResetPolicy::Error, |settings| {
            settings.on_out_of_range = policy;
            // Only a reader of everything knows the true end of a log.
            set(settings, "isolation.level", "read_uncommitted");
        });
        member.until("the partition came", |member| member.owned.len() == 1);
        assert_eq!(member.assigned[0].start, wanted, "{group}");
        let jumps: Vec<(i64, i64)> = member
            .news
            .iter()
            .filter_map(|event| match event {
                Event::PositionMoved { wanted, now, .. } => Some((wanted.0, now.0)),
                _ => None,
            })
            .collect();
        assert_eq!(jumps, moved.map(|now| (50, now)).into_iter().collect::<Vec<_>>(), "{group}");
    }
}

/// Under `read_committed`, the default, the end that the brokers tell is not the end of the log: only a fetch can say that
/// an offset is behind it. The assignment after that fetch goes where the policy says, and stays there.
#[test]
fn a_committed_offset_behind_the_end_is_held_or_moved_where_only_a_fetch_can_tell() {
    let cluster = cluster("orders", 1);
    fill(&cluster, "orders", 1, 0, 10);
    for (group, policy, now) in [("low", RangePolicy::Earliest, 0), ("high", RangePolicy::Latest, 10)] {
        cluster.commit(group, "orders", 0, 50).expect("committed");
        let mut member = start(&cluster, group, ResetPolicy::Error, |settings| settings.on_out_of_range = policy);
        member.until("it was assigned again", |member| member.assigned.len() == 2);
        assert_eq!(member.assigned[0].start, StartPosition::Committed(NextOffset(50)), "{group}");
        assert_eq!(member.assigned[1].start, StartPosition::Reset(NextOffset(now)), "{group}");
    }
    cluster.commit("hold", "orders", 0, 50).expect("committed");
    let mut member = start(&cluster, "hold", ResetPolicy::Error, |_| ());
    member.until("there was trouble", |member| trouble_of(member).is_some());
    let held =
        OffsetTrouble::OutOfRange { wanted: NextOffset(50), low: Some(NextOffset(0)), high: Some(NextOffset(10)) };
    assert_eq!(trouble_of(&member), Some(held));
}

/// A log whose beginning is gone: the mock drops the oldest records above five mebibytes.
#[test]
fn a_committed_offset_before_the_log_is_held_with_both_ends() {
    let cluster = cluster("orders", 1);
    let value = vec![1_u8; 100_000];
    for _ in 0..80 {
        let record = gristmill_kafka::MockRecord { value: Some(&value), ..Default::default() };
        cluster.produce("orders", record).expect("accepted");
        cluster.flush().expect("acknowledged");
    }
    cluster.commit("expired", "orders", 0, 1).expect("committed");
    let mut member = start(&cluster, "expired", ResetPolicy::Latest, |_| ());
    member.until("the partition came", |member| member.owned.len() == 1);
    let StartPosition::Unusable(OffsetTrouble::OutOfRange { wanted, low: Some(low), high: Some(high) }) =
        member.assigned[0].start
    else {
        panic!("{:?}", member.assigned);
    };
    assert_eq!((wanted, high), (NextOffset(1), NextOffset(80)));
    assert!(low.0 > 1 && low.0 < 80, "{low:?}");
    member.for_a_while(Duration::from_millis(300));
    assert!(member.seen.is_empty());
}

#[test]
fn b02_a_look_up_that_fails_is_tried_again_and_never_replaced_by_the_reset_policy() {
    let cluster = cluster("orders", 1);
    fill(&cluster, "orders", 1, 0, 60);
    cluster.commit("b02", "orders", 0, 50).expect("committed");
    cluster.fail_next(RequestKind::OffsetFetch, &[COORDINATOR_LOAD_IN_PROGRESS; 3]);
    let mut member = start(&cluster, "b02", ResetPolicy::Latest, |_| ());
    member.until("the rest came", |member| member.seen.len() == 10);
    assert_eq!(member.offsets(0), (50..60).collect::<Vec<_>>());
}

/// B7: an error inside the assignment callback is told by an event, not swallowed.
#[test]
fn b02_a_look_up_that_fails_for_longer_than_an_assignment_waits_begins_later() {
    let cluster = cluster("orders", 1);
    fill(&cluster, "orders", 1, 0, 60);
    cluster.commit("longer", "orders", 0, 50).expect("committed");
    cluster.fail_next(RequestKind::OffsetFetch, &[UNKNOWN_SERVER_ERROR; 1000]);
    let mut member = start(&cluster, "longer", ResetPolicy::Latest, |settings| {
        settings.assign_wait_max = Duration::from_millis(300);
    });
    let told = |event: &Event| matches!(event, Event::StartUnknown { partitions, .. } if partitions.len() == 1);
    member.until("it was told", |member| member.news.iter().any(told));
    member.for_a_while(Duration::from_millis(700));
    assert!(member.assigned.is_empty() && member.seen.is_empty(), "{}", member.summary());
    cluster.stop_failing(RequestKind::OffsetFetch);
    member.until("the rest came", |member| member.seen.len() == 10);
    assert_eq!(member.assigned[0].start, StartPosition::Committed(NextOffset(50)));
    assert_eq!(member.offsets(0), (50..60).collect::<Vec<_>>());
}

#[test]
fn a_partition_without_a_leader_does_not_keep_the_others_from_starting() {
    let cluster = cluster("orders", 3);
    fill(&cluster, "orders", 3, 0, 10);
    cluster.set_leader("orders", 1, None).expect("there is a partition");
    let mut member = start(&cluster, "leaderless", ResetPolicy::Earliest, |settings| {
        settings.assign_wait_max = Duration::from_secs(1);
        set(settings, "topic.metadata.refresh.interval.ms", "500");
    });
    member.until("the others were read", |member| member.offsets(0).len() == 10 && member.offsets(2).len() == 10);
    assert_eq!(member.owned.len(), 2);
    cluster.set_leader("orders", 1, Some(1)).expect("there is a partition");
    member.until("it was read as well", |member| member.offsets(1).len() == 10);
    member.assert_saw_exactly(3, 10);
}

/// A broker that is slower than one question of an assignment waits is heard by the thread that has more patience.
#[test]
fn a_slow_broker_makes_the_start_late_but_not_unknown_for_ever() {
    let cluster = cluster("orders", 1);
    fill(&cluster, "orders", 1, 0, 10);
    let mut member = start(&cluster, "slow", ResetPolicy::Earliest, |settings| {
        settings.assign_wait_max = Duration::from_millis(200);
        set(settings, "session.timeout.ms", "10000");
    });
    cluster.set_round_trip(1, Duration::from_millis(400)).expect("there is a broker");
    member.until("all records came", |member| member.seen.len() == 10);
    member.assert_saw_exactly(1, 10);
}

#[test]
fn a_pending_partition_that_is_taken_away_is_never_announced() {
    let cluster = cluster("orders", 1);
    cluster.fail_next(RequestKind::OffsetFetch, &[UNKNOWN_SERVER_ERROR; 1000]);
    let mut member = start(&cluster, "pending", ResetPolicy::Earliest, |settings| {
        settings.assign_wait_max = Duration::from_millis(200);
    });
    let told = |event: &Event| matches!(event, Event::StartUnknown { .. });
    member.until("it was told", |member| member.news.iter().any(told));
    member.leave(Duration::from_secs(5));
    assert!(member.left && member.assigned.is_empty() && member.removed.is_empty(), "{}", member.summary());
}

#[test]
fn b89_a_missing_topic_is_named_and_read_when_it_appears() {
    let cluster = cluster("orders", 1);
    fill(&cluster, "orders", 1, 0, 10);
    let mut both = settings(&cluster, "missing", &["orders", "later"]);
    set(&mut both, "topic.metadata.refresh.interval.ms", "300");
    let mut member = Member::start(both);
    let named = |event: &Event| matches!(event, Event::TopicMissing { name } if &**name == "later");
    member.until("the other topic was read", |member| member.seen.len() == 10);
    member.until("the missing one was named", |member| member.news.iter().any(named));
    cluster.create_topic("later", 1).expect("the topic is new");
    fill(&cluster, "later", 1, 0, 5);
    member
        .until("it was read", |member| member.seen.iter().filter(|seen| &**seen.body.topic() == "later").count() == 5);
}

fn trouble_of(member: &Member) -> Option<OffsetTrouble> {
    member.news.iter().find_map(|event| match event {
        Event::Input(Input::PositionTrouble { trouble, .. }) => Some(*trouble),
        _ => None,
    })
}

/// Lets the broker say that the position is not in the log. More than once, since the mock spends an error on a fetch
/// that it then lets wait, and answers that without the error.
fn leave_the_log(cluster: &MockCluster) {
    cluster.fail_next(RequestKind::Fetch, &[OFFSET_OUT_OF_RANGE; 4]);
}

/// B12, B56: the position leaves the log while it is being read. The partition is held, not moved, and a later seek
/// succeeds although librdkafka gave the partition up.
#[test]
fn a_position_that_leaves_the_log_is_held_and_comes_back_by_a_seek() {
    let cluster = cluster("orders", 1);
    fill(&cluster, "orders", 1, 0, 10);
    let mut member = start(&cluster, "truncated", ResetPolicy::Latest, |_| ());
    member.until("the partition came", |member| member.owned.len() == 1);
    let partition = member.partition("orders", 0);
    assert_eq!(member.commit(partition, 10), Ok(()));
    leave_the_log(&cluster);
    member.until("there was trouble", |member| trouble_of(member).is_some());
    cluster.stop_failing(RequestKind::Fetch);
    let ends = (Some(NextOffset(0)), Some(NextOffset(10)));
    let named = OffsetTrouble::OutOfRange { wanted: NextOffset(10), low: ends.0, high: ends.1 };
    assert_eq!(trouble_of(&member), Some(named), "both ends are said");
    fill(&cluster, "orders", 1, 10, 5);
    member.for_a_while(Duration::from_millis(300));
    assert!(member.seen.is_empty());
    // The operator wants it tried again. The first seek cannot work; the edge rejoins, and the partition comes anew.
    let _ = member.seek(&[(partition, 10)]);
    member.until("it was assigned again", |member| member.assigned.len() == 2);
    member.until("it was read again", |member| member.seen.len() == 5);
    assert_eq!(member.offsets(0), [10, 11, 12, 13, 14]);
}

#[test]
fn a_position_that_leaves_the_log_moves_by_itself_where_the_policy_says_so() {
    let cluster = cluster("orders", 1);
    fill(&cluster, "orders", 1, 0, 10);
    let mut member = start(&cluster, "moved", ResetPolicy::Earliest, |settings| {
        settings.on_out_of_range = RangePolicy::Earliest;
    });
    member.until("all records came", |member| member.seen.len() == 10);
    leave_the_log(&cluster);
    member.until("it was assigned again", |member| member.assigned.len() >= 2);
    cluster.stop_failing(RequestKind::Fetch);
    fill(&cluster, "orders", 1, 10, 5);
    member.until("it was read on", |member| member.offsets(0).contains(&14));
    assert!(trouble_of(&member).is_none());
}

/// B128: bytes that cannot be read. The record is neither skipped nor waited for without a word.
#[test]
fn a_position_that_cannot_be_read_is_named_after_a_while_and_never_skipped() {
    let cluster = cluster("orders", 1);
    let mut member = start(&cluster, "corrupt", ResetPolicy::Earliest, |settings| {
        settings.unreadable_after = Duration::from_millis(1500);
        set(settings, "fetch.error.backoff.ms", "50");
    });
    member.until("the partition came", |member| member.owned.len() == 1);
    cluster.fail_next(RequestKind::Fetch, &[INVALID_MSG; 2]);
    fill(&cluster, "orders", 1, 0, 5);
    member.until("a passing error did no harm", |member| member.seen.len() == 5);
    assert!(trouble_of(&member).is_none());
    cluster.fail_next(RequestKind::Fetch, &[INVALID_MSG; 10_000]);
    fill(&cluster, "orders", 1, 5, 5);
    member.until("there was trouble", |member| trouble_of(member).is_some());
    assert_eq!(trouble_of(&member), Some(OffsetTrouble::Unreadable { at: NextOffset(5) }));
    cluster.stop_failing(RequestKind::Fetch);
    member.for_a_while(Duration::from_millis(300));
    assert_eq!(member.seen.len(), 5, "nothing comes before the position was decided on");
    let partition = member.partition("orders", 0);
    assert!(member.seek(&[(partition, 5)])[0].1.is_ok());
    member.until("it was read again", |member| member.seen.len() == 10);
    member.assert_saw_exactly(1, 10);
}

/// The position is given up while nothing is passed on, so no record and no error says so. A seek alone would be tried in
/// vain for ever.
#[test]
fn a_position_that_leaves_the_log_while_it_cannot_be_read_comes_back_by_a_new_assignment() {
    let cluster = cluster("orders", 1);
    let mut member = start(&cluster, "both", ResetPolicy::Earliest, |settings| {
        settings.unreadable_after = Duration::from_millis(100);
        settings.seek_wait_max = Duration::from_millis(300);
        set(settings, "fetch.error.backoff.ms", "50");
    });
    member.until("the partition came", |member| member.owned.len() == 1);
    let partition = member.partition("orders", 0);
    cluster.fail_next(RequestKind::Fetch, &[INVALID_MSG; 10_000]);
    fill(&cluster, "orders", 1, 0, 5);
    member.until("there was trouble", |member| trouble_of(member).is_some());
    cluster.stop_failing(RequestKind::Fetch);
    cluster.fail_next(RequestKind::Fetch, &[OFFSET_OUT_OF_RANGE; 1000]);
    member.for_a_while(Duration::from_millis(500));
    let deadline = std::time::Instant::now() + PATIENCE;
    while !member.offsets(0).contains(&4) {
        assert!(std::time::Instant::now() < deadline, "it was never read again: {}", member.summary());
        if member.assigned.len() >= 2 {
            cluster.stop_failing(RequestKind::Fetch);
        }
        if member.owned.contains_key(&partition) {
            let _ = member.seek(&[(partition, 0)]);
        }
        member.for_a_while(Duration::from_millis(100));
    }
}

#[test]
fn reaching_names_partitions_and_missing_topics() {
    let cluster = cluster("orders", 4);
    let wanted = settings(&cluster, "reach", &["orders", "missing", "^pattern.*"]);
    let found = reach(&wanted, Duration::from_secs(10)).expect("the broker answers");
    assert_eq!(
        found.topics,
        [("orders".to_owned(), Ok(4)), ("missing".to_owned(), Err(ClientErrorKind::UnknownTopic))]
    );
}

#[test]
fn unreachable_brokers_are_named_within_the_bound() {
    let nowhere = ConsumerSettings::new("127.0.0.1:1", "reach", &["orders"], ResetPolicy::Earliest);
    let start = std::time::Instant::now();
    let error = reach(&nowhere, Duration::from_secs(2)).expect_err("nobody listens there");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert!(matches!(error, ReachError::Unreachable { .. }), "{error:?}");
    assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
}
