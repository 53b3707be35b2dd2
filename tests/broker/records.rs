//! Records reach the host as the brokers keep them: all of them, once, in order, byte for byte, within a budget.

use std::time::Duration;

use gristmill_kafka::{HEADER_OVERHEAD_BYTES, MockRecord, RECORD_OVERHEAD_BYTES, RecordBody, Timestamp};

use crate::member::{Member, cluster, consumer_protocol, fill, settings, value_of};

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

#[test]
fn twenty_thousand_records_come_exactly_once_and_in_order() {
    let cluster = cluster("orders", 6);
    fill(&cluster, "orders", 6, 0, 3334);
    let mut member = Member::start(settings(&cluster, "many", &["orders"]));
    member.until("all records came", |member| member.seen.len() >= 6 * 3334);
    member.for_a_while(Duration::from_millis(300));
    member.assert_saw_exactly(6, 3334);
    for seen in &member.seen {
        let wanted = value_of(seen.facts.partition.number, seen.facts.offset.0);
        assert_eq!(seen.body.value(), Some(wanted.as_bytes()));
        assert_eq!(&**seen.body.topic(), "orders");
        assert_eq!(seen.body.offset(), seen.facts.offset.0);
        assert_eq!(seen.facts.bytes, wanted.len() as u64 + RECORD_OVERHEAD_BYTES);
    }
}

#[test]
fn null_empty_and_present_stay_apart_for_keys_and_values() {
    let cluster = cluster("orders", 1);
    let kinds: [Option<&[u8]>; 3] = [None, Some(b""), Some(b"x")];
    let mut sent = Vec::new();
    for key in kinds {
        for value in kinds {
            cluster.produce("orders", MockRecord { key, value, ..MockRecord::default() }).expect("accepted");
            sent.push((key, value));
        }
    }
    cluster.flush().expect("acknowledged");
    let mut member = Member::start(settings(&cluster, "nulls", &["orders"]));
    member.until("all records came", |member| member.seen.len() == 9);
    let came: Vec<_> = member.seen.iter().map(|seen| (seen.body.key(), seen.body.value())).collect();
    assert_eq!(came, sent);
}

type Headers<'a> = &'a [(&'a [u8], Option<&'a [u8]>)];

fn headers_of(body: &RecordBody) -> Vec<(&[u8], Option<&[u8]>)> {
    body.headers().collect()
}

#[test]
fn headers_keep_their_order_repetitions_nulls_and_odd_names() {
    let cluster = cluster("orders", 1);
    let repeated: Headers<'_> =
        &[(b"foo", Some(b"1")), (b"bar", Some(b"")), (b"foo", Some(b"2")), (b"foo", None), (b"", Some(b"unnamed"))];
    let odd: Headers<'_> = &[(b"\xff\xfe", Some(b"ok"))];
    let cut: Headers<'_> = &[(b"cut\0here", Some(b"ok"))];
    for headers in [&[], repeated, odd, cut, &[]] {
        let record = MockRecord { headers, value: Some(b"v"), ..MockRecord::default() };
        cluster.produce("orders", record).expect("accepted");
    }
    cluster.flush().expect("acknowledged");
    let mut member = Member::start(settings(&cluster, "headers", &["orders"]));
    member.until("all records came", |member| member.seen.len() == 5);
    assert_eq!(headers_of(&member.seen[0].body), []);
    assert_eq!(headers_of(&member.seen[1].body), repeated);
    assert_eq!(headers_of(&member.seen[2].body), odd);
    assert_eq!(headers_of(&member.seen[3].body), [(b"cut".as_slice(), Some(b"ok".as_slice()))]);
    assert_eq!(headers_of(&member.seen[4].body), []);
    let bytes: usize = repeated.iter().map(|(name, value)| name.len() + value.map_or(0, <[u8]>::len)).sum();
    let overhead = RECORD_OVERHEAD_BYTES + repeated.len() as u64 * HEADER_OVERHEAD_BYTES;
    assert_eq!(member.seen[1].facts.bytes, 1 + bytes as u64 + overhead);
}

/// Whether a record has headers is told by a byte behind its value, in most cases. Values of many sizes put that byte everywhere in a
/// page, and some end like what stands there.
#[test]
fn every_record_has_its_own_headers_and_no_others_wherever_its_value_ends() {
    const RECORDS: usize = 3_000;
    let cluster = cluster("orders", 1);
    let one: Headers<'_> = &[(b"name", Some(b"value"))];
    let empty: Headers<'_> = &[(b"", None)];
    let zeros = vec![0_u8; RECORDS];
    let expected = |number: usize| {
        let headers = [&[], one, &[], empty, &[], &[], one][number % 7];
        let value = match number % 11 {
            0 => None,
            1 => Some(&zeros[..0]),
            _ => Some(&zeros[..number % 301]),
        };
        (headers, value)
    };
    for number in 0..RECORDS {
        let (headers, value) = expected(number);
        let record = MockRecord { headers, value, ..MockRecord::default() };
        cluster.produce("orders", record).expect("accepted");
    }
    cluster.flush().expect("acknowledged");
    let mut member = Member::start(settings(&cluster, "ends", &["orders"]));
    member.until("all records came", |member| member.seen.len() == RECORDS);
    for (number, seen) in member.seen.iter().enumerate() {
        let (headers, value) = expected(number);
        assert_eq!((headers_of(&seen.body).as_slice(), seen.body.value()), (headers, value), "record {number}");
    }
}

#[test]
fn rule_11_headers_are_not_touched_when_nobody_wants_them() {
    let cluster = cluster("orders", 1);
    let headers: Headers<'_> = &[(b"name", Some(b"value"))];
    cluster.produce("orders", MockRecord { headers, ..MockRecord::default() }).expect("accepted");
    cluster.flush().expect("acknowledged");
    let mut settings = settings(&cluster, "no-headers", &["orders"]);
    settings.headers = false;
    let mut member = Member::start(settings);
    member.until("the record came", |member| member.seen.len() == 1);
    assert_eq!(headers_of(&member.seen[0].body), []);
    assert_eq!(member.seen[0].facts.bytes, RECORD_OVERHEAD_BYTES);
}

#[test]
fn timestamps_come_as_they_are_also_negative_ones() {
    let cluster = cluster("orders", 1);
    let times = [1, 1_700_000_000_123, -1, -5_000_000_000];
    for timestamp_ms in times {
        cluster.produce("orders", MockRecord { timestamp_ms, ..MockRecord::default() }).expect("accepted");
        // One batch each: within a batch times are stored as distances from the first.
        cluster.flush().expect("acknowledged");
    }
    let mut member = Member::start(settings(&cluster, "times", &["orders"]));
    member.until("all records came", |member| member.seen.len() == times.len());
    let came: Vec<Timestamp> = member.seen.iter().map(|seen| seen.body.timestamp()).collect();
    assert_eq!(came[..2], [Timestamp::CreateTime(1), Timestamp::CreateTime(1_700_000_000_123)]);
    // Minus one is Kafka's word for none.
    assert!(matches!(came[2], Timestamp::None | Timestamp::CreateTime(-1)), "{:?}", came[2]);
    assert_eq!(came[3], Timestamp::CreateTime(-5_000_000_000));
}

#[test]
fn large_records_between_small_ones_come_whole() {
    let cluster = cluster("orders", 1);
    let large = vec![0xA5_u8; 900_000];
    let values: [&[u8]; 5] = [b"a", &large, b"b", &large, b"c"];
    for value in values {
        cluster.produce("orders", MockRecord { value: Some(value), ..MockRecord::default() }).expect("accepted");
    }
    cluster.flush().expect("acknowledged");
    let mut member = Member::start(settings(&cluster, "large", &["orders"]));
    member.until("all records came", |member| member.seen.len() == 5);
    for (seen, value) in member.seen.iter().zip(values) {
        assert!(seen.body.value() == Some(value), "offset {}", seen.facts.offset.0);
    }
}

/// A chunk aims at one mebibyte; the vectors of its index come on top.
const ONE_CHUNK: u64 = 3 << 20;

#[test]
fn fetched_bytes_stay_within_the_budget_and_one_chunk() {
    let cluster = cluster("orders", 2);
    let value = vec![7_u8; 10_000];
    for number in 0..700 {
        let record = MockRecord { partition: number % 2, value: Some(&value), ..MockRecord::default() };
        cluster.produce("orders", record).expect("accepted");
    }
    cluster.flush().expect("acknowledged");
    let mut settings = settings(&cluster, "budget", &["orders"]);
    settings.buffer_bytes_max = 2 << 20;
    let budget = settings.buffer_bytes_max;
    let mut member = Member::start(settings);
    member.until("the budget was spent", |member| member.consumer.buffered_bytes() >= budget);
    member.for_a_while(Duration::from_millis(500));
    let used = member.consumer.buffered_bytes();
    assert!(used <= budget + ONE_CHUNK, "{used} bytes used");
    assert!(member.seen.len() < 700, "everything came in spite of the budget");
    let mut came = member.seen.len();
    while came < 700 {
        let used = member.consumer.buffered_bytes();
        assert!(used <= budget + ONE_CHUNK, "{used} bytes used");
        member.seen.clear();
        member.until("more records came", |member| !member.seen.is_empty());
        came += member.seen.len();
    }
    assert_eq!(came, 700);
    member.seen.clear();
    member.until("the budget was given back", |member| member.consumer.buffered_bytes() == 0);
}

#[test]
fn rule_05_a_member_without_credit_still_takes_part_in_rebalances() {
    let cluster = cluster("orders", 2);
    fill(&cluster, "orders", 2, 0, 500);
    let mut poor = settings(&cluster, "poor", &["orders"]);
    consumer_protocol(&mut poor);
    poor.buffer_bytes_max = 1;
    let mut second = settings(&cluster, "poor", &["orders"]);
    consumer_protocol(&mut second);
    let mut first = Member::start(poor);
    first.until("the budget was spent", |member| member.consumer.buffered_bytes() > 0);
    let mut second = Member::start(second);
    // The first keeps every record it has, so it never gets credit back, and is parked nevertheless.
    for _ in 0..600 {
        first.for_a_while(Duration::from_millis(10));
        second.for_a_while(Duration::from_millis(10));
        if first.owned.len() == 1 && second.owned.len() == 1 {
            return;
        }
    }
    panic!("the group did not settle: {} / {}", first.summary(), second.summary());
}
