//! The producer: every request is answered once and truly, whatever the brokers do, and its bytes arrive as they were.

mod failures;
mod mill;
mod waits;

use gristmill_core::io::LetterClass;
use gristmill_kafka::dead_letter::{self, Cut, DeadLetterTopic, Failure, HeaderStyle, dead_letter};
use gristmill_kafka::{MockRecord, Outgoing, OutgoingBody, OutgoingHeader, Timestamp};

use crate::member::{Member, cluster, settings};
use mill::{Mill, header, read_all, record};

#[test]
fn each_request_is_acknowledged_once_and_its_records_keep_their_order() {
    let cluster = cluster("out", 1);
    let mut mill = Mill::start(&cluster, |_| ());
    let requests = 50;
    for number in 0..requests {
        mill.produce((0..20).map(|index| record("out", &format!("{number}:{index}"))).collect());
    }
    mill.until_answered(requests);
    assert!(mill.answers.iter().all(|(_, result)| result.is_ok()), "{:?}", mill.answers);
    let wanted: Vec<String> =
        (0..requests).flat_map(|number| (0..20).map(move |index| format!("{number}:{index}"))).collect();
    assert_eq!(read_all(&cluster, "out", wanted.len()), wanted);
    mill.hears_nothing_more();
    assert_eq!(mill.producer.queued_records(), 0);
}

#[test]
fn ten_thousand_records_in_one_request_are_acknowledged_together() {
    let cluster = cluster("out", 3);
    let mut mill = Mill::start(&cluster, |_| ());
    let records =
        (0..10_000).map(|number| Outgoing { partition: Some(number % 3), ..record("out", &number.to_string()) });
    mill.produce(records.collect());
    mill.until_answered(1);
    assert_eq!(mill.answers[0].1, Ok(()));
    let mut member = Member::start(settings(&cluster, "reader", &["out"]));
    member.until("all records came", |member| member.seen.len() >= 10_000);
    for partition in 0..3 {
        let came = member.seen.iter().filter(|seen| seen.facts.partition.number == partition);
        let numbers: Vec<i32> = came.map(|seen| text(seen.body.value()).parse().expect("a number")).collect();
        assert_eq!(numbers, (0..10_000).filter(|number| number % 3 == partition).collect::<Vec<_>>());
    }
}

#[test]
fn a_request_without_records_is_answered() {
    let cluster = cluster("out", 1);
    let mut mill = Mill::start(&cluster, |_| ());
    mill.produce(Vec::new());
    mill.until_answered(1);
    assert_eq!(mill.answers[0].1, Ok(()));
}

/// B82, B83, B15: what went in comes out, byte for byte; first as our own bytes, then as those of a record that was read.
#[test]
fn null_empty_repeated_and_odd_bytes_come_back_as_they_were_also_from_a_record_that_was_read() {
    let cluster = cluster("out", 1);
    cluster.create_topic("copy", 1).expect("the topic is new");
    let kinds: [Option<&[u8]>; 3] = [None, Some(b""), Some(b"\xff\0x")];
    let headers = [
        header(b"foo", Some(b"1")),
        header(b"bar", Some(b"")),
        header(b"foo", Some(b"\xff\xfe\0")),
        header(b"foo", None),
        header(b"\xff\xfe", Some(b"odd")),
        header(b"", Some(b"unnamed")),
    ];
    let owned = |key: Option<&[u8]>, value: Option<&[u8]>| Outgoing {
        timestamp_ms: Some(-5_000_000_000),
        body: OutgoingBody::Owned {
            key: key.map(<[u8]>::to_vec),
            value: value.map(<[u8]>::to_vec),
            headers: headers.to_vec(),
        },
        ..record("out", "")
    };
    let mut mill = Mill::start(&cluster, |_| ());
    mill.produce(kinds.iter().flat_map(|key| kinds.map(|value| owned(*key, value))).collect());
    mill.until_answered(1);
    assert_eq!(mill.answers[0].1, Ok(()));
    let mut member = Member::start(settings(&cluster, "reader", &["out"]));
    member.until("all records came", |member| member.seen.len() == 9);
    let copies = member.seen.iter().map(|seen| Outgoing {
        body: OutgoingBody::Original { record: seen.body.clone(), headers_left_out: vec![1, 4] },
        added: vec![OutgoingHeader::text("added", "0")],
        ..owned(None, None)
    });
    mill.produce(copies.map(|copy| Outgoing { topic: "copy".into(), ..copy }).collect());
    mill.until_answered(2);
    assert_eq!(mill.answers[1].1, Ok(()));
    let mut copied = Member::start(settings(&cluster, "copier", &["copy"]));
    copied.until("all copies came", |member| member.seen.len() == 9);
    let pairs: Vec<_> = kinds.iter().flat_map(|key| kinds.map(|value| (*key, value))).collect();
    let flat = |all: &[OutgoingHeader]| -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        all.iter().map(|header| (header.name.to_vec(), header.value.clone())).collect()
    };
    let [first, _, third, fourth, _, sixth] = headers.clone();
    let kept = [first, third, fourth, sixth, OutgoingHeader::text("added", "0")];
    for (came, headers) in [(&member, flat(&headers)), (&copied, flat(&kept))] {
        for (seen, (key, value)) in came.seen.iter().zip(&pairs) {
            assert_eq!((seen.body.key(), seen.body.value()), (*key, *value));
            let own = |bytes: &[u8]| bytes.to_vec();
            let came: Vec<_> = seen.body.headers().map(|(name, value)| (own(name), value.map(own))).collect();
            assert_eq!(came, headers);
            assert_eq!(seen.body.timestamp(), Timestamp::CreateTime(-5_000_000_000));
        }
    }
}

#[test]
fn keys_go_where_java_clients_put_them() {
    // What Kafka's own Utils.murmur2 says of these keys, from its test: positive, then modulo.
    let known = [("21", -973_932_308_i32), ("foobar", -790_332_482), ("a-little-bit-long-string", -985_981_536)];
    let cluster = cluster("out", 7);
    let mut mill = Mill::start(&cluster, |_| ());
    let keyed = |key: &str| Outgoing {
        body: OutgoingBody::Owned { key: Some(key.as_bytes().to_vec()), value: None, headers: Vec::new() },
        ..record("out", "")
    };
    mill.produce(known.iter().map(|(key, _)| keyed(key)).collect());
    mill.until_answered(1);
    let mut member = Member::start(settings(&cluster, "reader", &["out"]));
    member.until("all records came", |member| member.seen.len() == known.len());
    for (key, hash) in known {
        let seen = member.seen.iter().find(|seen| seen.body.key() == Some(key.as_bytes())).expect("it came");
        assert_eq!(seen.facts.partition.number, (hash & 0x7fff_ffff) % 7, "{key}");
    }
}

#[test]
fn partitions_of_a_topic_are_counted_and_a_missing_topic_is_not_made() {
    let cluster = cluster("out", 5);
    let mill = Mill::start(&cluster, |_| ());
    let wait = crate::member::PATIENCE;
    assert_eq!(mill.producer.partitions("out", wait), Ok(5));
    let missing = Err(gristmill_kafka::ClientErrorKind::UnknownTopic);
    assert_eq!(mill.producer.partitions("missing", wait), missing);
    assert_eq!(mill.producer.partitions("missing", wait), missing);
}

/// D3, D4: through the client and back, also a second time.
#[test]
fn a_dead_letter_comes_back_with_its_bytes_and_its_story() {
    let cluster = cluster("out", 1);
    cluster.create_topic("dead", 2).expect("the topic is new");
    let headers: [(&[u8], Option<&[u8]>); 3] = [(b"\xff", None), (b"a", Some(b"")), (b"a", Some(b"\xfe"))];
    let original = MockRecord { key: Some(b""), headers: &headers, timestamp_ms: 1_234, ..MockRecord::default() };
    cluster.produce("out", original).expect("accepted");
    cluster.flush().expect("acknowledged");
    let mut mill = Mill::start(&cluster, |_| ());
    let to = DeadLetterTopic {
        topic: "dead".into(),
        style: HeaderStyle::KafkaConnect,
        pipeline: "p".into(),
        bytes_max: mill.record_bytes_max,
        partitions: Some(2),
    };
    let mut reader = Member::start(settings(&cluster, "reader", &["out", "dead"]));
    reader.until("the record came", |member| member.seen.len() == 1);
    for failures in 1..=2_u32 {
        let failure = Failure {
            class: LetterClass::Rejected,
            reason: format!("no {failures}"),
            attempts: failures,
            plugin_digest: "digest".to_owned(),
            detail: None,
            halving: None,
            at_ms: 5,
        };
        let record = reader.seen.last().expect("one came").body.clone();
        let letter = dead_letter(&record, &failure, &to, Cut::Nothing).expect("it fits");
        assert_eq!(mill.settle(vec![letter.outgoing]), Ok(()));
        let wanted = failures as usize + 1;
        reader.until("the dead letter came", |member| member.seen.len() == wanted);
        let body = &reader.seen.last().expect("just seen").body;
        assert_eq!((body.key(), body.value()), (Some(b"".as_slice()), None));
        assert_eq!(body.partition(), 0);
        assert!(matches!(body.timestamp(), Timestamp::CreateTime(millis) if millis > 1_234), "that of writing");
        assert_eq!(body.headers().take(3).collect::<Vec<_>>(), headers);
        let told = dead_letter::read(body).expect("it is a dead letter");
        assert_eq!(told.origin.as_ref().map(|origin| origin.timestamp), Some(Timestamp::CreateTime(1_234)));
        assert_eq!((told.first.reason.as_str(), told.failures), ("no 1", failures));
        let last = told.last.map(|(place, failure)| (place.map(|place| place.topic), failure.reason));
        assert_eq!(last, (failures == 2).then(|| (Some("dead".to_owned()), "no 2".to_owned())));
    }
}

fn text(bytes: Option<&[u8]>) -> &str {
    std::str::from_utf8(bytes.unwrap_or_default()).expect("is text")
}
