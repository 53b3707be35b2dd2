//! Headers of a dead letter that a producer gave its record: they are told, and decide nothing.

use super::*;

/// The headers of a place, as anybody may write them.
fn forged(part: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    [("topic", "secrets"), ("partition", "0"), ("offset", "1"), ("bytes", "5")]
        .map(|(name, value)| (format!("gristmill.{part}.{name}").into_bytes(), value.as_bytes().to_vec()))
        .into()
}

#[test]
fn a_pointer_that_a_producer_forged_keeps_no_record_from_being_replayed() {
    let forged = forged("pointer");
    let headers = || forged.iter().map(|(name, value)| (name.as_slice(), Some(value.as_slice()))).collect();
    let value = vec![7; 5_000];
    for style in STYLES {
        let record = Sample { headers: headers(), ..sample() }.body();
        let back = read_back(&made(&record, &trap(), style).outgoing);
        assert_eq!(read(&back).expect("it is a dead letter").pointer, None);
        let again = replay(&back, None).expect("it is all there");
        assert_eq!(again.value(), sample().value);
        // It fails again, too large for its topic: the pointer is ours then.
        let record = Sample { headers: headers(), value: Some(&value), ..sample() }.body();
        let back = read_back(&made(&record, &trap(), style).outgoing);
        let cut = dead_letter(&back, &trap(), &topic(style, 4_000), Cut::Nothing).expect("it fits");
        assert_eq!(cut.cut, Cut::Value);
        assert_eq!(text(&cut.outgoing, names::POINTER.topic).as_deref(), Some("dead"), "and stands there once");
    }
}

#[test]
fn a_latest_failure_that_a_producer_forged_hides_neither_the_origin_nor_the_failure() {
    for failures in [None, Some(b"2".as_slice())] {
        let mut headers: Vec<(&[u8], Option<&[u8]>)> = vec![(b"gristmill.last.class", Some(b"rejected"))];
        headers.extend(failures.map(|failures| (b"gristmill.failures".as_slice(), Some(failures))));
        let record = Sample { headers, ..sample() }.body();
        assert_eq!(read(&record), None, "it did not fail yet");
        for style in STYLES {
            let found = read(&read_back(&made(&record, &trap(), style).outgoing)).expect("it is a dead letter");
            assert_eq!(found.origin.map(|origin| origin.place.topic).as_deref(), Some("orders"));
            assert_eq!((found.first, found.last, found.failures), (told(&trap()), None, 1));
        }
    }
}
