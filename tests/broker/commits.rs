//! Commits and look-ups: what is sent, what comes back, and how each error is told apart.

use std::time::{Duration, Instant};

use gristmill_core::io::{CommitOffset, RequestError};
use gristmill_core::record::{Epoch, LeaderEpoch, NextOffset};
use gristmill_kafka::{MockCluster, RequestKind};

use crate::member::{Member, behind, cluster, consumer_protocol, fill, settings};

/// Kafka's numbers of errors.
mod code {
    pub(super) const REQUEST_TIMED_OUT: i32 = 7;
    pub(super) const OFFSET_METADATA_TOO_LARGE: i32 = 12;
    pub(super) const COORDINATOR_LOAD_IN_PROGRESS: i32 = 14;
    pub(super) const NOT_COORDINATOR: i32 = 16;
    pub(super) const ILLEGAL_GENERATION: i32 = 22;
    pub(super) const UNKNOWN_MEMBER_ID: i32 = 25;
    pub(super) const REBALANCE_IN_PROGRESS: i32 = 27;
    pub(super) const GROUP_AUTHORIZATION_FAILED: i32 = 30;
    pub(super) const UNKNOWN_SERVER_ERROR: i32 = -1;
}

/// A member of a group of its own that has read ten records of the only partition.
fn reader(group: &str) -> (MockCluster, Member) {
    let cluster = cluster("orders", 1);
    fill(&cluster, "orders", 1, 0, 10);
    let mut member = Member::start(settings(&cluster, group, &["orders"]));
    member.until("all records came", |member| member.seen.len() == 10);
    (cluster, member)
}

fn committed(cluster: &MockCluster, group: &str) -> Option<i64> {
    cluster.committed(group, "orders", 0).expect("an answer").map(|found| found.offset)
}

#[test]
fn c7_metadata_and_leader_epoch_go_with_a_commit() {
    let (cluster, mut member) = reader("digest");
    let last = member.seen.last().expect("ten came").facts;
    assert!(last.leader_epoch.is_some(), "the mock stamps records with a leader epoch");
    let digest = "sha256:0f3a";
    let offset = CommitOffset {
        partition: last.partition,
        epoch: last.epoch,
        next: behind(last.offset.0),
        leader_epoch: last.leader_epoch,
    };
    let id = member.commit_offsets(vec![offset], digest);
    member.until("the commit ended", |member| member.commit_ends.contains_key(&id));
    assert_eq!(member.commit_ends[&id], Ok(()));
    let found = cluster.committed("digest", "orders", 0).expect("an answer").expect("was committed");
    assert_eq!(found.offset, 10);
    let metadata = String::from_utf8(found.metadata).expect("is text");
    let topic_id = metadata.strip_prefix("sha256:0f3a topic-id=").expect("the digest, then the topic's id");
    assert_eq!(topic_id.len(), 22, "sixteen bytes in base64: {topic_id}");
    // The mock keeps no leader epoch, but refuses one that is not the log's: which shows that it was sent.
    let wrong = CommitOffset { leader_epoch: Some(LeaderEpoch(99)), next: behind(2), ..offset };
    let id = member.commit_offsets(vec![wrong], digest);
    member.until("the commit ended", |member| member.commit_ends.contains_key(&id));
    assert_eq!(member.commit_ends[&id], Err(RequestError::Unknown));
    assert_eq!(committed(&cluster, "digest"), Some(10));
}

#[test]
fn rule_06_commits_in_a_row_each_get_their_own_end() {
    let (cluster, mut member) = reader("row");
    let (partition, epoch) = (member.partition("orders", 0), member.seen[0].facts.epoch);
    let ids: Vec<_> = (1..=10)
        .map(|next| {
            let offset = CommitOffset { partition, epoch, next: NextOffset(next), leader_epoch: None };
            member.commit_offsets(vec![offset], "")
        })
        .collect();
    member.until("all commits ended", |member| ids.iter().all(|id| member.commit_ends.contains_key(id)));
    assert!(member.commit_ends.values().all(Result::is_ok));
    assert_eq!(committed(&cluster, "row"), Some(10));
}

#[test]
fn rule_06_a_slow_commit_ends_as_unknown_within_its_bound() {
    let cluster = cluster("orders", 1);
    fill(&cluster, "orders", 1, 0, 10);
    let mut settings = settings(&cluster, "slow", &["orders"]);
    settings.commit_wait_max = Duration::from_millis(300);
    let mut member = Member::start(settings);
    member.until("all records came", |member| member.seen.len() == 10);
    let partition = member.partition("orders", 0);
    cluster.set_round_trip(1, Duration::from_secs(2)).expect("there is a broker");
    let start = Instant::now();
    assert_eq!(member.commit(partition, 5), Err(RequestError::Unknown));
    assert!(start.elapsed() < Duration::from_millis(1500), "{:?}", start.elapsed());
    cluster.set_round_trip(1, Duration::ZERO).expect("there is a broker");
    // It may have been done, and here it was: unknown does not mean undone.
    let deadline = Instant::now() + Duration::from_secs(20);
    while committed(&cluster, "slow") != Some(5) {
        assert!(Instant::now() < deadline, "the commit never reached the broker");
    }
}

#[test]
fn nothing_is_sent_for_a_partition_or_an_assignment_that_is_not_ours() {
    let (cluster, mut member) = reader("strangers");
    let ours = member.partition("orders", 0);
    let stranger = gristmill_core::record::Partition { number: 5, ..ours };
    assert_eq!(member.commit(stranger, 3), Err(RequestError::NotOurs));
    let older = CommitOffset { partition: ours, epoch: Epoch(0), next: NextOffset(3), leader_epoch: None };
    let id = member.commit_offsets(vec![older], "");
    member.until("the commit ended", |member| member.commit_ends.contains_key(&id));
    assert_eq!(member.commit_ends[&id], Err(RequestError::NotOurs));
    assert_eq!(committed(&cluster, "strangers"), None);
}

#[test]
fn a_commit_over_ours_and_not_ours_commits_ours_and_is_not_told_as_a_success_of_both() {
    let (cluster, mut member) = reader("mixed");
    let (ours, epoch) = (member.partition("orders", 0), member.seen[0].facts.epoch);
    let stranger = gristmill_core::record::Partition { number: 5, ..ours };
    let offset = |partition| CommitOffset { partition, epoch, next: NextOffset(4), leader_epoch: None };
    let id = member.commit_offsets(vec![offset(stranger), offset(ours)], "");
    member.until("the commit ended", |member| member.commit_ends.contains_key(&id));
    assert_eq!(member.commit_ends[&id], Err(RequestError::Unknown));
    assert_eq!(committed(&cluster, "mixed"), Some(4));
}

/// Commits once after `codes` were ordered; gives the end.
fn commit_after(group: &str, codes: &[i32]) -> (MockCluster, Member, Result<(), RequestError>) {
    let (cluster, mut member) = reader(group);
    let partition = member.partition("orders", 0);
    cluster.fail_next(RequestKind::OffsetCommit, codes);
    let end = member.commit(partition, 6);
    (cluster, member, end)
}

#[test]
fn commit_errors_are_told_apart() {
    for (group, error, wanted) in [
        ("e27", code::REBALANCE_IN_PROGRESS, RequestError::Temporary),
        ("e12", code::OFFSET_METADATA_TOO_LARGE, RequestError::Refused),
        ("e30", code::GROUP_AUTHORIZATION_FAILED, RequestError::Refused),
        ("e-1", code::UNKNOWN_SERVER_ERROR, RequestError::Unknown),
    ] {
        let (cluster, mut member, end) = commit_after(group, &[error]);
        assert_eq!(end, Err(wanted), "code {error}");
        let partition = member.partition("orders", 0);
        assert_eq!(member.commit(partition, 6), Ok(()), "after code {error}");
        assert_eq!(committed(&cluster, group), Some(6));
        assert!(member.removed.is_empty());
    }
}

#[test]
fn b49_a_moving_coordinator_costs_time_and_nothing_else() {
    for (group, codes) in
        [("loading", &[code::COORDINATOR_LOAD_IN_PROGRESS; 2][..]), ("moving", &[code::NOT_COORDINATOR; 2][..])]
    {
        let (cluster, mut member, mut end) = commit_after(group, codes);
        let partition = member.partition("orders", 0);
        let deadline = Instant::now() + Duration::from_secs(30);
        while end.is_err() && Instant::now() < deadline {
            assert!(matches!(end, Err(RequestError::Temporary | RequestError::Unknown)), "{group}: {end:?}");
            end = member.commit(partition, 6);
        }
        assert_eq!(end, Ok(()), "{group}");
        assert_eq!(committed(&cluster, group), Some(6));
        member.assert_saw_exactly(1, 10);
        assert!(member.removed.is_empty(), "{group}: {}", member.summary());
    }
}

#[test]
fn b48_thirty_failures_in_a_row_do_not_end_the_reading() {
    let (cluster, mut member) = reader("stubborn");
    let partition = member.partition("orders", 0);
    let mut codes = vec![code::REBALANCE_IN_PROGRESS; 30];
    codes.extend([code::REQUEST_TIMED_OUT; 5]);
    cluster.fail_next(RequestKind::OffsetCommit, &codes);
    let mut failed = 0;
    while let Err(error) = member.commit(partition, 10) {
        assert!(matches!(error, RequestError::Temporary | RequestError::Unknown), "{error:?}");
        failed += 1;
        assert!(failed <= 40, "the commit never succeeded");
    }
    assert!(failed >= 30, "only {failed} failures came through");
    fill(&cluster, "orders", 1, 10, 5);
    member.until("later records came", |member| member.seen.len() == 15);
    member.assert_saw_exactly(1, 15);
}

/// Rule 7: outside a rebalance these two mean that the assignment is gone. The client rejoins by itself, and what was
/// not committed comes again from the committed offset.
#[test]
fn rule_07_an_illegal_generation_outside_a_rebalance_loses_the_assignment() {
    for (group, error) in [("generation", code::ILLEGAL_GENERATION), ("unknown", code::UNKNOWN_MEMBER_ID)] {
        let (cluster, mut member) = reader(group);
        let partition = member.partition("orders", 0);
        assert_eq!(member.commit(partition, 2), Ok(()));
        cluster.fail_next(RequestKind::OffsetCommit, &[error]);
        let end = member.commit(partition, 10);
        assert!(matches!(end, Err(RequestError::NotOurs | RequestError::Temporary)), "{end:?}");
        member.until("the partition was lost", |member| member.removed.contains(&(partition, true)));
        member.until("the partition came back", |member| member.assigned.len() == 2);
        member.until("its records came again", |member| member.seen.len() >= 18);
        assert_eq!(member.offsets(0)[10..], [2, 3, 4, 5, 6, 7, 8, 9], "{group}");
        assert_eq!(member.commit(partition, 10), Ok(()));
        assert_eq!(committed(&cluster, group), Some(10));
        assert_eq!(member.assigned.len(), 2, "one extra rebalance, not more");
    }
}

#[test]
fn rule_07_with_the_new_protocol_an_error_is_only_worth_another_try() {
    let cluster = cluster("orders", 1);
    fill(&cluster, "orders", 1, 0, 10);
    let mut settings = settings(&cluster, "kip", &["orders"]);
    consumer_protocol(&mut settings);
    let mut member = Member::start(settings);
    member.until("all records came", |member| member.seen.len() == 10);
    let partition = member.partition("orders", 0);
    cluster.fail_next(RequestKind::OffsetCommit, &[code::UNKNOWN_MEMBER_ID]);
    assert_eq!(member.commit(partition, 10), Err(RequestError::Temporary));
    assert_eq!(member.commit(partition, 10), Ok(()));
    assert!(member.removed.is_empty());
}

#[test]
fn a_look_up_tells_none_from_some_and_errors_from_both() {
    let cluster = cluster("orders", 2);
    let mut member = Member::start(settings(&cluster, "look", &["orders"]));
    member.until("both partitions came", |member| member.owned.len() == 2);
    let (first, second) = (member.partition("orders", 0), member.partition("orders", 1));
    assert_eq!(member.commit(second, 7), Ok(()));
    let mut found = member.ask_committed(&[first, second]).expect("an answer");
    found.sort();
    assert_eq!(found, [(first, None), (second, Some(NextOffset(7)))]);
    cluster.fail_next(RequestKind::OffsetFetch, &[code::UNKNOWN_SERVER_ERROR]);
    assert_eq!(member.ask_committed(&[first, second]), Err(RequestError::Temporary));
    cluster.fail_next(RequestKind::OffsetFetch, &[code::GROUP_AUTHORIZATION_FAILED]);
    assert_eq!(member.ask_committed(&[first, second]), Err(RequestError::Refused));
}
