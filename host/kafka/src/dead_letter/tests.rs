//! Dead letters: what they keep, what they tell, what is cut of them, and what is read of them again.

mod forged;

use gristmill_core::outcome::FaultClass;

use super::*;
use crate::arena::Sample;
use crate::arena::Timestamp;

type Header = (Vec<u8>, Option<Vec<u8>>);

const STYLES: [HeaderStyle; 2] = [HeaderStyle::Native, HeaderStyle::KafkaConnect];

fn sample() -> Sample<'static> {
    Sample {
        topic: c"orders",
        partition: 0,
        offset: 0,
        timestamp: Timestamp::CreateTime(0),
        key: Some(b"\xffkey"),
        value: Some(b"\0value"),
        headers: vec![(b"foo", Some(b"1")), (b"\xff\xfe", None), (b"foo", Some(b"")), (b"foo", Some(b"\xfe"))],
    }
}

fn trap() -> Failure {
    Failure {
        class: LetterClass::Fault(FaultClass::Trap),
        reason: "the guest trapped".to_owned(),
        attempts: 4,
        plugin_digest: "sha256:abc".to_owned(),
        detail: Some("panicked at 'no'\n  at handle".to_owned()),
        halving: Some("8 → left 4 → right 2 → left 1".to_owned()),
        at_ms: 1_700_000_000_000,
    }
}

fn rejected(reason: &str) -> Failure {
    let class = LetterClass::Rejected;
    Failure { class, reason: reason.to_owned(), attempts: 0, detail: None, halving: None, at_ms: 0, ..trap() }
}

fn topic(style: HeaderStyle, bytes_max: u64) -> DeadLetterTopic {
    DeadLetterTopic { topic: "dead".into(), style, pipeline: "billing".into(), bytes_max, partitions: None }
}

fn headers(outgoing: &Outgoing) -> Vec<Header> {
    outgoing.headers().map(|(name, value)| (name.to_vec(), value.map(<[u8]>::to_vec))).collect()
}

fn text(outgoing: &Outgoing, wanted: &str) -> Option<String> {
    let mut found = outgoing.headers().filter(|(name, _)| *name == wanted.as_bytes());
    let value = found.next()?.1.map(|value| String::from_utf8_lossy(value).into_owned());
    assert!(found.next().is_none(), "{wanted} stands there twice");
    value
}

/// What comes out of the dead-letter topic when this went in.
fn read_back(outgoing: &Outgoing) -> RecordBody {
    let topic = std::ffi::CString::new(&*outgoing.topic).expect("no zero inside");
    let timestamp = outgoing.timestamp_ms.map_or(Timestamp::CreateTime(77), Timestamp::CreateTime);
    let headers = outgoing.headers().collect();
    let (key, value) = (outgoing.key(), outgoing.value());
    Sample { topic: &topic, partition: 3, offset: 9, timestamp, key, value, headers }.body()
}

fn made(record: &RecordBody, failure: &Failure, style: HeaderStyle) -> DeadLetter {
    dead_letter(record, failure, &topic(style, 1_000_000), Cut::Nothing).expect("it fits")
}

fn told(failure: &Failure) -> ToldFailure {
    ToldFailure {
        class: failure.class.as_str().to_owned(),
        reason: failure.reason.clone(),
        attempts: Some(failure.attempts),
        plugin_digest: Some(failure.plugin_digest.clone()),
        fault: match failure.class {
            LetterClass::Fault(fault) => Some(fault.as_str().to_owned()),
            _ => None,
        },
        detail: failure.detail.clone(),
        halving: failure.halving.clone(),
        at_ms: Some(failure.at_ms),
    }
}

#[test]
fn d3_key_value_and_headers_are_the_original_ones_and_zero_is_written_as_zero() {
    for style in STYLES {
        let sample = sample();
        let letter = made(&sample.body(), &rejected("no"), style);
        assert_eq!((letter.outgoing.key(), letter.outgoing.value()), (sample.key, sample.value));
        assert_eq!(letter.outgoing.timestamp_ms, None, "retention counts from the failure");
        let all = headers(&letter.outgoing);
        let original: Vec<Header> =
            sample.headers.iter().map(|(name, value)| (name.to_vec(), value.map(<[u8]>::to_vec))).collect();
        assert_eq!(all[..4], original);
        let origin = if style == HeaderStyle::Native { names::ORIGIN } else { names::CONNECT_ORIGIN };
        let zeros = [origin.partition, origin.offset, names::ORIGIN_TIMESTAMP, names::FIRST.attempts, names::FIRST.at];
        for name in zeros {
            assert_eq!(text(&letter.outgoing, name).as_deref(), Some("0"), "{name}");
        }
    }
}

#[test]
fn d3_null_and_empty_stay_apart() {
    for bytes in [None, Some(b"".as_slice())] {
        let body = Sample { key: bytes, value: bytes, ..sample() }.body();
        let letter = made(&body, &trap(), HeaderStyle::Native);
        assert_eq!((letter.outgoing.key(), letter.outgoing.value()), (bytes, bytes));
    }
}

#[test]
fn d3_the_native_names_are_those_of_the_table() {
    let letter = made(&sample().body(), &trap(), HeaderStyle::Native);
    let expected = [
        ("gristmill.origin.topic", "orders"),
        ("gristmill.origin.partition", "0"),
        ("gristmill.origin.offset", "0"),
        ("gristmill.origin.timestamp", "0"),
        ("gristmill.origin.timestamp.type", "create"),
        ("gristmill.failure.class", "fault"),
        ("gristmill.failure.reason", "the guest trapped"),
        ("gristmill.failure.fault", "trap"),
        ("gristmill.failure.detail", "panicked at 'no'\n  at handle"),
        ("gristmill.failure.attempts", "4"),
        ("gristmill.failure.plugin", "sha256:abc"),
        ("gristmill.failure.halving", "8 → left 4 → right 2 → left 1"),
        ("gristmill.failure.at", "1700000000000"),
        ("gristmill.failures", "1"),
    ];
    let owned = |(name, value): &(&str, &str)| (name.as_bytes().to_vec(), Some(value.as_bytes().to_vec()));
    assert_eq!(headers(&letter.outgoing)[4..], expected.iter().map(owned).collect::<Vec<_>>());
}

#[test]
fn d3_the_names_of_kafka_connect_come_in_its_order_and_the_rest_behind_them() {
    let letter = made(&sample().body(), &trap(), HeaderStyle::KafkaConnect);
    let expected = [
        ("__connect.errors.topic", "orders"),
        ("__connect.errors.partition", "0"),
        ("__connect.errors.offset", "0"),
        ("__connect.errors.connector.name", "billing"),
        ("__connect.errors.task.id", "0"),
        ("__connect.errors.stage", "TASK_PUT"),
        ("__connect.errors.class.name", "gristmill"),
        ("__connect.errors.exception.class.name", "gristmill.fault.trap"),
        ("__connect.errors.exception.message", "the guest trapped"),
        ("__connect.errors.exception.stacktrace", "panicked at 'no'\n  at handle"),
    ];
    let owned = |(name, value): &(&str, &str)| (name.as_bytes().to_vec(), Some(value.as_bytes().to_vec()));
    let all = headers(&letter.outgoing);
    assert_eq!(all[4..14], expected.iter().map(owned).collect::<Vec<_>>());
    assert!(all[14..].iter().all(|(name, _)| name.starts_with(b"gristmill.")), "{all:?}");
    let undecodable = Failure { class: LetterClass::Undecodable, ..rejected("no JSON") };
    let letter = made(&sample().body(), &undecodable, HeaderStyle::KafkaConnect);
    assert_eq!(text(&letter.outgoing, names::CONNECT_STAGE).as_deref(), Some("VALUE_CONVERTER"));
    assert_eq!(text(&letter.outgoing, names::CONNECT_DETAIL), None);
}

#[test]
fn what_is_told_is_read_again_in_both_styles() {
    let undecodable = Failure { class: LetterClass::Undecodable, ..rejected("no JSON: zeile 1 ü") };
    for style in STYLES {
        for failure in [trap(), rejected(""), undecodable.clone()] {
            for timestamp in [Timestamp::None, Timestamp::CreateTime(-5), Timestamp::LogAppendTime(7)] {
                let record = Sample { timestamp, partition: 11, offset: i64::MAX, ..sample() }.body();
                let letter = made(&record, &failure, style);
                let found = read(&read_back(&letter.outgoing)).expect("it is a dead letter");
                let place = Place { topic: "orders".to_owned(), partition: 11, offset: i64::MAX };
                assert_eq!(found.origin, Some(Origin { place, timestamp }));
                assert_eq!(found.first, told(&failure));
                assert_eq!((found.last, found.failures, found.replays, found.pointer), (None, 1, 0, None));
            }
        }
    }
}

#[test]
fn a_record_that_is_no_dead_letter_tells_nothing() {
    assert_eq!(read(&sample().body()), None);
    let odd = Sample { headers: vec![(b"gristmill.failures", Some(b"9"))], ..sample() }.body();
    assert_eq!(read(&odd), None);
    let letter = made(&odd, &trap(), HeaderStyle::Native);
    assert_eq!(headers(&letter.outgoing)[0], (b"gristmill.failures".to_vec(), Some(b"9".to_vec())), "it is its own");
    assert_eq!(read(&read_back(&letter.outgoing)).map(|told| told.failures), Some(1));
}

#[test]
fn headers_that_say_nonsense_are_read_for_what_they_are() {
    let nonsense: [(&[u8], Option<&[u8]>); 6] = [
        (b"gristmill.failure.class", Some(b"\xff")),
        (b"gristmill.failure.attempts", Some(b"many")),
        (b"gristmill.failure.at", None),
        (b"gristmill.origin.topic", Some(b"orders")),
        (b"gristmill.origin.partition", Some(b"-")),
        (b"gristmill.failures", Some(b"99999999999999")),
    ];
    let found = read(&Sample { headers: nonsense.to_vec(), ..sample() }.body()).expect("it is one");
    assert_eq!(found.origin, None);
    let class = "\u{fffd}".to_owned();
    assert_eq!(found.first, ToldFailure { class, ..ToldFailure::default() });
    assert_eq!((found.failures, found.replays), (1, 0));
}

#[test]
fn a_dead_letter_of_kafka_connect_itself_is_read() {
    let foreign: [(&[u8], Option<&[u8]>); 5] = [
        (b"__connect.errors.topic", Some(b"in")),
        (b"__connect.errors.partition", Some(b"0")),
        (b"__connect.errors.offset", Some(b"0")),
        (b"__connect.errors.exception.class.name", Some(b"org.apache.kafka.connect.errors.DataException")),
        (b"__connect.errors.exception.message", Some(b"Unknown magic byte!")),
    ];
    let record = Sample { headers: foreign.to_vec(), timestamp: Timestamp::CreateTime(5), ..sample() }.body();
    let found = read(&record).expect("it is one");
    let place = Place { topic: "in".to_owned(), partition: 0, offset: 0 };
    assert_eq!(found.origin, Some(Origin { place, timestamp: Timestamp::CreateTime(5) }));
    assert_eq!(found.first.class, "org.apache.kafka.connect.errors.DataException");
    // Kept when it fails here, in whichever style.
    for style in STYLES {
        let letter = made(&record, &trap(), style);
        let kept = foreign.map(|(name, value)| (name.to_vec(), value.map(<[u8]>::to_vec)));
        assert_eq!(headers(&letter.outgoing)[..5], kept);
        let again = read(&read_back(&letter.outgoing)).expect("it is one");
        assert_eq!((again.first, again.failures), (found.first.clone(), 2));
        assert_eq!(again.last.map(|(_, failure)| failure), Some(told(&trap())));
    }
}

#[test]
fn d4_the_first_failure_is_kept_however_often_it_fails_and_the_letter_does_not_grow() {
    for style in STYLES {
        let mut record = sample().body();
        let mut sizes = Vec::new();
        for round in 1..=50 {
            let failure = if round == 1 { trap() } else { rejected(&format!("round {}", round % 10)) };
            let letter = made(&record, &failure, style);
            sizes.push(letter.outgoing.wire_bytes());
            record = read_back(&letter.outgoing);
            let found = read(&record).expect("it is a dead letter");
            assert_eq!(found.first, told(&trap()));
            assert_eq!(found.origin.map(|origin| origin.place.topic).as_deref(), Some("orders"));
            assert_eq!(found.failures, round);
            let last = Place { topic: "dead".to_owned(), partition: 3, offset: 9 };
            assert_eq!(found.last, (round > 1).then(|| (Some(last), told(&failure))));
        }
        // Two more digits, nothing else.
        assert!(sizes[49] <= sizes[1] + 2, "{style:?}: {sizes:?}");
        let back = record.headers().take(4).map(|(name, value)| (name.to_vec(), value.map(<[u8]>::to_vec)));
        assert_eq!(back.collect::<Vec<_>>(), headers(&made(&sample().body(), &trap(), style).outgoing)[..4]);
    }
}

#[test]
fn d6_the_partition_number_is_kept_only_where_it_is_asked_for_and_there() {
    let record = |partition| Sample { partition, ..sample() }.body();
    for (partitions, partition, kept) in
        [(None, 2, None), (Some(3), 2, Some(2)), (Some(3), 3, None), (Some(0), 0, None), (Some(1), 0, Some(0))]
    {
        let to = DeadLetterTopic { partitions, ..topic(HeaderStyle::Native, 1_000_000) };
        let letter = dead_letter(&record(partition), &trap(), &to, Cut::Nothing).expect("it fits");
        assert_eq!(letter.outgoing.partition, kept, "{partition} of {partitions:?}");
    }
}

#[test]
fn d7_what_is_too_large_is_cut_in_order_and_never_grows() {
    let long = Failure {
        reason: "ü".repeat(20_000),
        class: LetterClass::Fault(FaultClass::Memory),
        detail: Some("x".repeat(100_000)),
        halving: Some("y".repeat(100_000)),
        plugin_digest: "z".repeat(100_000),
        ..trap()
    };
    let value = vec![7; 50_000];
    for style in STYLES {
        let record = Sample { value: Some(&value), ..sample() }.body();
        let mut cuts = Vec::new();
        let mut bytes_max = u64::MAX;
        let smallest = loop {
            match dead_letter(&record, &long, &topic(style, bytes_max), Cut::Nothing) {
                Ok(letter) => {
                    let bytes = letter.outgoing.wire_bytes();
                    assert!(bytes <= bytes_max);
                    bytes_max = bytes - 1;
                    cuts.push(letter.cut);
                }
                Err(error) => break error,
            }
        };
        assert_eq!(cuts, [Cut::Nothing, Cut::Reason, Cut::Detail, Cut::Value, Cut::Key], "{style:?}");
        assert!(smallest.bytes < 3_000, "{style:?}: {smallest}");
    }
}

#[test]
fn d7_a_cut_reason_is_still_text_and_the_bytes_of_the_record_are_whole() {
    let long = Failure { reason: "ü".repeat(20_000), ..trap() };
    let whole = made(&sample().body(), &long, HeaderStyle::Native).outgoing;
    let reason = text(&whole, names::FIRST.reason).expect("it is there");
    assert!(reason.ends_with("ü…") && reason.len() <= 8 << 10 && reason.len() > 8_000, "{} bytes", reason.len());
    let to = topic(HeaderStyle::Native, whole.wire_bytes() - 1);
    let letter = dead_letter(&sample().body(), &long, &to, Cut::Nothing).expect("it fits");
    assert_eq!(letter.cut, Cut::Reason);
    let reason = text(&letter.outgoing, names::FIRST.reason).expect("it is there");
    assert!(reason.ends_with("ü…") && reason.len() <= 256, "{} bytes", reason.len());
    assert_eq!((letter.outgoing.key(), letter.outgoing.value()), (sample().key, sample().value));
    assert!(text(&letter.outgoing, names::FIRST.detail).is_some());
}

#[test]
fn d7_a_pointer_says_where_the_original_lies_and_how_large_it_is() {
    let value = vec![7; 5_000];
    for style in STYLES {
        let record = Sample { value: Some(&value), partition: 4, offset: 12, ..sample() }.body();
        let letter = dead_letter(&record, &trap(), &topic(style, 3_000), Cut::Nothing).expect("it fits");
        assert_eq!(letter.cut, Cut::Value);
        assert_eq!((letter.outgoing.key(), letter.outgoing.value()), (sample().key, None));
        let back = read_back(&letter.outgoing);
        let found = read(&back).expect("it is a dead letter");
        let place = Place { topic: "orders".to_owned(), partition: 4, offset: 12 };
        // Key, value, and the four headers.
        let bytes = 4 + 5_000 + (3 + 1) + 2 + 3 + (3 + 1);
        assert_eq!(found.pointer, Some((place.clone(), Some(bytes))));
        assert_eq!(found.first.class, "fault");
        assert_eq!(replay(&back, None).expect_err("it has no value"), ReplayError::Pointer(place.clone()));
        // It fails again, as a record of its own: the original still lies where it lay.
        let again = dead_letter(&back, &rejected("again"), &topic(style, 3_000), Cut::Value).expect("it fits");
        let found = read(&read_back(&again.outgoing)).expect("it is a dead letter");
        assert_eq!(found.pointer, Some((place, Some(bytes))));
        assert_eq!((found.first.class.as_str(), found.failures), ("fault", 2));
    }
}

#[test]
fn d7_where_the_key_is_what_is_too_large_the_pointer_goes_without_it() {
    let key = vec![7; 5_000];
    let record = Sample { key: Some(&key), ..sample() }.body();
    let letter = dead_letter(&record, &trap(), &topic(HeaderStyle::Native, 3_000), Cut::Nothing).expect("it fits");
    assert_eq!((letter.cut, letter.outgoing.key(), letter.outgoing.value()), (Cut::Key, None, None));
    assert!(read(&read_back(&letter.outgoing)).is_some_and(|told| told.pointer.is_some()));
}

#[test]
fn d7_a_broker_that_finds_every_form_too_large_ends_in_holding() {
    let to = topic(HeaderStyle::Native, 1_000_000);
    let mut next = Some(Cut::Nothing);
    let mut tried = 0;
    while let Some(cut) = next {
        next = dead_letter(&sample().body(), &trap(), &to, cut).expect("the client would take it").cut.further();
        tried += 1;
    }
    assert_eq!(tried, 5);
}

#[test]
fn d7_no_room_at_all_is_an_error_that_names_the_numbers() {
    let error = dead_letter(&sample().body(), &trap(), &topic(HeaderStyle::Native, 100), Cut::Nothing);
    let error = error.expect_err("nothing fits into that");
    assert!(error.bytes > 100 && error.to_string().contains("100 bytes that dead may take"), "{error}");
}

#[test]
fn a_replay_goes_back_as_it_was_and_is_counted() {
    for style in STYLES {
        let record = Sample { partition: 2, timestamp: Timestamp::CreateTime(1234), ..sample() }.body();
        let mut back = read_back(&made(&record, &trap(), style).outgoing);
        for replays in 1..=3 {
            let again = replay(&back, Some(3)).expect("it has an origin");
            assert_eq!((&*again.topic, again.partition, again.timestamp_ms), ("orders", Some(2), Some(1234)));
            assert_eq!((again.key(), again.value()), (sample().key, sample().value));
            assert_eq!(text(&again, names::REPLAYS), Some(replays.to_string()));
            assert_eq!(replay(&back, Some(2)).expect("it has an origin").partition, None);
            // It fails again.
            let letter = made(&read_back(&again), &rejected("still"), style);
            back = read_back(&letter.outgoing);
            let found = read(&back).expect("it is a dead letter");
            assert_eq!((found.replays, found.failures), (replays, replays + 1));
            assert_eq!(found.last.and_then(|(place, _)| place).map(|place| place.topic).as_deref(), Some("orders"));
            assert_eq!(found.first, told(&trap()));
        }
    }
    assert_eq!(replay(&sample().body(), None).expect_err("it is no dead letter"), ReplayError::NoOrigin);
}
