//! Seeks: each partition's own result, the right first record, nothing in between.

use std::time::{Duration, Instant};

use gristmill_core::io::RequestError;
use gristmill_core::record::{Epoch, Partition};

use crate::member::{Member, Tweak, cluster, consumer_protocol, fill, settings};

/// B43: a partition that was assigned milliseconds ago is sought. Explicit offsets make that work (rule 1); where the
/// client is not ready the fetch thread tries again (rule 4).
fn seek_right_after_assignment(group: &str, times: usize, tweak: Tweak) {
    let cluster = cluster("orders", 2);
    fill(&cluster, "orders", 2, 0, 20);
    for round in 0..times {
        let mut settings = settings(&cluster, &format!("{group}-{round}"), &["orders"]);
        tweak(&mut settings);
        let mut member = Member::start(settings);
        member.until("the partitions came", |member| member.owned.len() == 2);
        let targets = [(member.partition("orders", 0), 3), (member.partition("orders", 1), 11)];
        member.seen.clear();
        let results = member.seek(&targets);
        assert!(results.iter().all(|(_, result)| result.is_ok()), "round {round}: {results:?}");
        member.seen.clear();
        member.until("the last records came", |member| member.offsets(0).len() == 17 && member.offsets(1).len() == 9);
        assert_eq!(member.offsets(0), (3..20).collect::<Vec<_>>(), "round {round}");
        assert_eq!(member.offsets(1), (11..20).collect::<Vec<_>>(), "round {round}");
        member.leave(Duration::from_secs(10));
    }
}

#[test]
fn rule_01_a_seek_right_after_assignment_works_100_times() {
    seek_right_after_assignment("fresh", 100, |_| ());
}

#[test]
fn rule_01_a_seek_right_after_assignment_works_100_times_with_the_new_protocol() {
    seek_right_after_assignment("fresh-848", 100, consumer_protocol);
}

#[test]
fn rule_04_300_seeks_under_load_each_begin_where_they_were_told() {
    let cluster = cluster("orders", 3);
    fill(&cluster, "orders", 3, 0, 400);
    let mut member = Member::start(settings(&cluster, "rewinds", &["orders"]));
    member.until("records of all partitions came", |member| (0..3).all(|number| !member.offsets(number).is_empty()));
    for round in 0..300_i64 {
        let target = (round * 37) % 390;
        let targets: Vec<(Partition, i64)> =
            (0..3).map(|number| (member.partition("orders", number), target + i64::from(number))).collect();
        let results = member.seek(&targets);
        assert!(results.iter().all(|(_, result)| result.is_ok()), "round {round}: {results:?}");
        member.seen.clear();
        let all_began = |member: &Member| (0..3).all(|number| !member.offsets(number).is_empty());
        member.until("every partition began again", all_began);
        for number in 0..3 {
            let offsets = member.offsets(number);
            let first = target + i64::from(number);
            let wanted: Vec<i64> = (first..).take(offsets.len()).collect();
            assert_eq!(offsets, wanted, "round {round}, partition {number}");
        }
    }
}

#[test]
fn one_partition_that_fails_does_not_spoil_the_seek_of_the_others() {
    let cluster = cluster("orders", 3);
    fill(&cluster, "orders", 3, 0, 50);
    let mut member = Member::start(settings(&cluster, "spoilt", &["orders"]));
    member.until("all records came", |member| member.seen.len() == 150);
    let partition = |number| member.partition("orders", number);
    let (first, second, third) = (partition(0), partition(1), partition(2));
    // An epoch from before the assignment: what a core would name that missed a rebalance.
    member.owned.insert(second, Epoch(0));
    let mut results = member.seek(&[(first, 10), (second, 10), (third, 30)]);
    results.sort_by_key(|(partition, _)| *partition);
    assert!(results[0].1.is_ok() && results[2].1.is_ok(), "{results:?}");
    assert_eq!(results[1].1, Err(RequestError::NotOurs));
    member.seen.clear();
    member.until("the others began again", |member| member.offsets(0).len() == 40 && member.offsets(2).len() == 20);
    assert_eq!(member.offsets(0)[0], 10);
    assert_eq!(member.offsets(2)[0], 30);
}

#[test]
fn a_partition_that_is_gone_is_answered_at_once() {
    let cluster = cluster("orders", 1);
    let mut member = Member::start(settings(&cluster, "gone", &["orders"]));
    member.until("the partition came", |member| member.owned.len() == 1);
    let stranger = Partition { number: 9, ..member.partition("orders", 0) };
    let start = Instant::now();
    assert_eq!(member.seek(&[(stranger, 0)]), [(stranger, Err(RequestError::NotOurs))]);
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[test]
fn b45_a_seek_needs_no_broker_and_ends_in_time() {
    let cluster = cluster("orders", 50);
    let mut settings = settings(&cluster, "down", &["orders"]);
    settings.seek_wait_max = Duration::from_secs(2);
    let mut member = Member::start(settings);
    member.until("all partitions came", |member| member.owned.len() == 50);
    cluster.set_broker_up(1, false).expect("there is a broker");
    let targets: Vec<(Partition, i64)> = (0..50).map(|number| (member.partition("orders", number), 0)).collect();
    let start = Instant::now();
    assert_eq!(member.seek(&targets).len(), 50);
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
}
