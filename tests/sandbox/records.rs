//! Records reach the guest as they are: null, empty and absent apart, headers in order, times and offsets at their extremes.

use gristmill_guest::Timestamp;

use crate::mill::{Batch, Header, Mill, Record, reason};

/// Lets mischief write down what it was given, and returns the lines but for the first record, which is mischief's order.
fn dumped(records: Vec<Record>) -> Vec<String> {
    let answer = Mill::strict().run(Batch::told_with("dump", records)).answer;
    reason(answer).split(r"\n").skip(2).map(str::to_owned).collect()
}

fn header(name: &[u8], value: Option<&[u8]>) -> Header {
    (name.to_vec(), value.map(<[u8]>::to_vec))
}

/// B83, A7.
#[test]
fn null_empty_and_absent_stay_apart_for_keys_values_and_header_values() {
    let bytes = |bytes: &str| Some(bytes.as_bytes().to_vec());
    let records = vec![
        Record { key: None, value: None, ..Record::at(1) },
        Record { key: bytes(""), value: bytes(""), headers: vec![header(b"h", Some(b""))], ..Record::at(2) },
        Record { key: bytes("k"), value: None, headers: vec![header(b"h", None)], ..Record::at(3) },
        Record { key: None, value: bytes("v"), headers: vec![header(b"", Some(b"x"))], ..Record::at(4) },
    ];
    assert_eq!(
        dumped(records),
        [
            "orders/0/1 none null null []",
            "orders/0/2 none '' '' [h='']",
            "orders/0/3 none 'k' null [h=null]",
            "orders/0/4 none null 'v' [='x']",
        ]
    );
}

/// B82, A12. The headers of neighbours must not mix either, since all of a batch are lowered in one row.
#[test]
fn repeated_headers_stay_an_ordered_list() {
    let first = vec![header(b"a", Some(b"1")), header(b"b", Some(b"2")), header(b"a", Some(b"3")), header(b"a", None)];
    let records = vec![
        Record { headers: first, ..Record::at(1) },
        Record::at(2),
        Record { headers: vec![header(b"c", Some(b"4"))], ..Record::at(3) },
    ];
    assert_eq!(
        dumped(records),
        [
            "orders/0/1 none null null [a='1',b='2',a='3',a=null]",
            "orders/0/2 none null null []",
            "orders/0/3 none null null [c='4']",
        ]
    );
}

#[test]
fn header_names_that_are_not_utf8_show_as_replacement_characters() {
    let headers = vec![header(b"na\xefve", Some(b"1")), header(b"\xff\xfe", Some(b"2"))];
    assert_eq!(
        dumped(vec![Record { headers, ..Record::at(1) }]),
        ["orders/0/1 none null null [na\u{fffd}ve='1',\u{fffd}\u{fffd}='2']"]
    );
}

#[test]
fn times_and_offsets_arrive_at_their_extremes() {
    let records = vec![
        Record { timestamp: Timestamp::CreateTime(-1), ..Record::at(i64::MAX) },
        Record { timestamp: Timestamp::CreateTime(i64::MIN), ..Record::at(0) },
        Record { timestamp: Timestamp::LogAppendTime(i64::MAX), partition: i32::MAX, ..Record::at(1) },
        Record { topic: "größe.日本".to_owned(), ..Record::at(2) },
    ];
    assert_eq!(
        dumped(records),
        [
            "orders/0/9223372036854775807 create(-1) null null []",
            "orders/0/0 create(-9223372036854775808) null null []",
            "orders/2147483647/1 append(9223372036854775807) null null []",
            "größe.日本/0/2 none null null []",
        ]
    );
}

#[test]
fn records_of_a_megabyte_arrive_whole() {
    let value: Vec<u8> = (0..1_u32 << 20).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let sum = value.iter().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    let records = (1..9).map(|offset| Record { value: Some(value.clone()), ..Record::at(offset) }).collect();
    for line in dumped(records) {
        assert!(line.ends_with(&format!("<1048576 bytes, sum {sum}> []")), "{line}");
    }
}

#[test]
fn the_batch_says_pipeline_attempt_limit_and_digest() {
    let mut mill = Mill::strict();
    let told = mill.ask("dump");
    let digest = mill.plugin.digest().to_string();
    assert!(told.starts_with(&format!("orders attempt=1 limit=5000 part=false {digest}")), "{told}");
    assert!(digest.starts_with("sha256:") && digest.len() == 71, "{digest}");
}
