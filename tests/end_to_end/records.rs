//! What a record carries reaches the plugin as the broker keeps it.

use std::collections::BTreeMap;

use gristmill_tests::{WireRecord, put_batch, shared_broker};

use crate::pipeline::{Pipeline, SOON, shown, stop, wait_until_handed_over};

fn valued(value: &[u8]) -> WireRecord {
    WireRecord { value: Some(value.to_vec()), ..WireRecord::default() }
}

/// A7, A12: null and empty keys and values, repeated and odd headers, times before 1970 and none at all, a large value.
#[test]
fn what_a_record_carries_reaches_the_plugin_as_it_is() {
    let broker = shared_broker();
    let pipeline = Pipeline::new(broker, "carried").setting("show", "yes").without_setting("check_keys");
    let pipeline = pipeline.set("batch", "max_wait", "\"100ms\"");
    // By their own times, these records are too old to be kept.
    broker.create_topic(&pipeline.topic, 1, &[("retention.ms", "-1")]).unwrap();
    let header = |name: &[u8], value: Option<&[u8]>| (name.to_vec(), value.map(<[u8]>::to_vec));
    let headers = vec![
        header(b"a", Some(b"1")),
        header(b"b", Some(b"")),
        header(b"a", None),
        header(b"", Some(b"unnamed")),
        header(b"n\xFFn", Some(b"\xFE\0")),
    ];
    let large: Vec<u8> = (0..1_000_000_u32).map(|number| (number % 251) as u8).collect();
    let records = [
        WireRecord { key: Some(Vec::new()), value: None, ..WireRecord::default() },
        WireRecord { key: None, value: Some(Vec::new()), timestamp_ms: -1, ..WireRecord::default() },
        WireRecord { timestamp_ms: -5_000_000_000, ..valued(b"before 1970") },
        WireRecord { timestamp_ms: 1_700_000_000_123, headers, ..valued(b"\0\xFF") },
        valued(&large),
    ];
    // The first three in batches of their own: a batch keeps times as distances from its first.
    for record in &records[..3] {
        put_batch(&broker.bootstrap(), &pipeline.topic, 0, std::slice::from_ref(record));
    }
    put_batch(&broker.bootstrap(), &pipeline.topic, 0, &records[3..]);
    let host = pipeline.run();
    let sum = large.iter().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    let wanted = [
        "record 0 0 create(0) '' null []".to_owned(),
        "record 0 1 create(-1) null '' []".to_owned(),
        "record 0 2 create(-5000000000) null 'before 1970' []".to_owned(),
        // A name is text in the contract: what is no UTF-8 in it is replaced, as the contract says.
        r"record 0 3 create(1700000000123) null '\x00\xff' [a='1',b='',a=null,='unnamed',n�n='\xfe\x00']".to_owned(),
        format!("record 0 4 create(0) null <1000000 bytes, sum {sum}> []"),
    ];
    wait_until_handed_over(&host, 5, SOON);
    pipeline.wait_until_committed(&BTreeMap::from([(0, 5)]), SOON);
    assert_eq!(shown(&stop(host)), wanted);
}
