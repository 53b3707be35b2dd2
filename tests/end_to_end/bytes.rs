//! Many records of every shape come out as they went in, byte for byte: as dead letters, and as what a plugin emits of them.

use std::collections::BTreeMap;
use std::time::Instant;

use gristmill_tests::{WireRecord, put_batch, read_partition, shared_broker};
use xtask::kafka::Broker;

use crate::chance::Chance;
use crate::pipeline::{Pipeline, SOON, last, stop};

const PARTITIONS: i32 = 3;
const RECORDS: u64 = 100_000;
/// So many records are put into a partition at once.
const AT_ONCE: usize = 500;

/// Names of headers: some come again in one record, one is empty, one is no UTF-8, one is what the host itself adds to what is emitted.
const NAMES: &[&[u8]] = &[b"a", b"b", b"", b"n\xFFn", b"gristmill.source.offset", b"trace-id", "größe".as_bytes()];

/// What the host adds to a record that was rejected.
const ADDED_TO_LETTERS: &[&str] = &[
    "gristmill.origin.topic",
    "gristmill.origin.partition",
    "gristmill.origin.offset",
    "gristmill.origin.timestamp",
    "gristmill.origin.timestamp.type",
    "gristmill.failure.class",
    "gristmill.failure.reason",
    "gristmill.failure.attempts",
    "gristmill.failure.plugin",
    "gristmill.failure.at",
    "gristmill.failures",
];
/// What it adds to a record that was emitted.
const ADDED_TO_COPIES: &[&str] =
    &["gristmill.source.topic", "gristmill.source.partition", "gristmill.source.offset", "gristmill.source.plugin"];

/// Where a record lies.
type Place = (i32, i64);

/// What a record may be like, and whether one is.
type Shape<'s> = (&'s str, &'s dyn Fn(&WireRecord) -> bool);

/// Null, empty, or up to so many bytes.
fn bytes(chance: &mut Chance, count_max: u64) -> Option<Vec<u8>> {
    match chance.below(10) {
        0 => None,
        1 => Some(Vec::new()),
        // Zeros alone look like the end of a text to who takes them for one.
        2 => Some(vec![0; usize::try_from(1 + chance.below(count_max)).unwrap()]),
        _ => {
            let count = 1 + chance.below(count_max);
            Some(chance.bytes(count))
        }
    }
}

fn record(chance: &mut Chance) -> WireRecord {
    let large = chance.below(500) == 0;
    let headers = chance.below(5);
    let mut header = || {
        let name = NAMES[usize::try_from(chance.below(NAMES.len() as u64)).unwrap()];
        (name.to_vec(), bytes(chance, 30))
    };
    let headers = (0..headers).map(|_| header()).collect();
    let (key, value) = (bytes(chance, 40), bytes(chance, if large { 60_000 } else { 120 }));
    WireRecord { timestamp_ms: chance.below(1_700_000_000_000).cast_signed(), key, value, headers }
}

/// Puts records of every shape into the partitions in turn.
fn fill(broker: &Broker, topic: &str) -> BTreeMap<Place, WireRecord> {
    let mut chance = Chance::new();
    let mut all = BTreeMap::new();
    let mut next = BTreeMap::new();
    let batches = RECORDS / AT_ONCE as u64;
    for partition in (0..PARTITIONS).cycle().take(usize::try_from(batches).unwrap()) {
        let batch: Vec<WireRecord> = (0..AT_ONCE).map(|_| record(&mut chance)).collect();
        put_batch(&broker.bootstrap(), topic, partition, &batch);
        let next = next.entry(partition).or_insert(0);
        for record in batch {
            all.insert((partition, *next), record);
            *next += 1;
        }
    }
    all
}

/// The records of a topic, each with the place that its last headers tell of.
fn by_origin(broker: &Broker, topic: &str, prefix: &str) -> Vec<(Place, WireRecord)> {
    let records = (0..PARTITIONS).flat_map(|partition| read_partition(&broker.bootstrap(), topic, partition));
    let with_place = records.map(|record| {
        let number = |name: &str| told(&record, &format!("{prefix}.{name}")).parse::<i64>().unwrap();
        let place = (i32::try_from(number("partition")).unwrap(), number("offset"));
        (place, record)
    });
    with_place.collect()
}

/// The last header of a name, as text.
fn told(record: &WireRecord, name: &str) -> String {
    let header = record.headers.iter().rfind(|(found, _)| found == name.as_bytes());
    let value = header.and_then(|(_, value)| value.as_ref());
    String::from_utf8(value.unwrap_or_else(|| panic!("no {name} in {record:?}")).clone()).unwrap()
}

/// Takes what the host added from the end of the headers.
fn without_added(record: &WireRecord, original: &WireRecord, wanted: &[&str]) -> WireRecord {
    let mut record = record.clone();
    let added = record.headers.split_off(original.headers.len().min(record.headers.len()));
    assert!(added.iter().map(|(name, _)| &name[..]).eq(wanted.iter().map(|name| name.as_bytes())), "{added:?}");
    // Both have the time at which they were written.
    record.timestamp_ms = original.timestamp_ms;
    record
}

/// D3, A7, A12: each of many records is rejected and emitted as well. Both copies have its key, value and headers in their
/// order, and tell where it came from; each is there once; the dead letter tells the record's time.
#[test]
fn what_is_put_aside_and_what_is_emitted_has_the_bytes_that_were_read() {
    let broker = shared_broker();
    let pipeline = Pipeline::new(broker, "bytes").without_setting("check_keys").set("batch", "max_records", "2000");
    let pipeline = pipeline.setting("reject_every", "1").setting("emit_every", "1").setting("sink", "copies");
    let topics = ["dead", "copies"].map(|name| format!("{}.{name}", pipeline.topic));
    for topic in topics.iter().chain([&pipeline.topic]) {
        // By their own times, the records are too old to be kept.
        broker.create_topic(topic, PARTITIONS.unsigned_abs(), &[("retention.ms", "-1")]).unwrap();
    }
    let [letters, copies] = topics;
    let pipeline = pipeline.set("dead_letter", "topic", format!("{letters:?}"));
    let pipeline = pipeline.set("sinks.copies", "topic", format!("{copies:?}"));
    // Everything is put aside here on purpose.
    let pipeline = pipeline.set("dead_letter.stop_when", "consecutive", "1000000000");
    let pipeline = pipeline.set("dead_letter.stop_when", "ratio", "1.0");
    let originals = fill(broker, &pipeline.topic);
    let ends = (0..PARTITIONS).map(|partition| {
        let of_it = originals.range((partition, 0)..(partition + 1, 0));
        (partition, of_it.last().unwrap().0.1 + 1)
    });
    let begun = Instant::now();
    let host = pipeline.run();
    pipeline.wait_until_committed(&ends.collect(), SOON * 3);
    let took = begun.elapsed();
    let lines = stop(host);

    let dead = by_origin(broker, &letters, "gristmill.origin");
    let places: Vec<Place> = originals.keys().copied().collect();
    assert_eq!(sorted(&dead), places, "{}", last(&lines));
    for (place, letter) in &dead {
        let original = &originals[place];
        assert_eq!(without_added(letter, original, ADDED_TO_LETTERS), *original, "{place:?}");
        assert_eq!(told(letter, "gristmill.origin.timestamp"), original.timestamp_ms.to_string(), "{place:?}");
        assert_eq!(told(letter, "gristmill.origin.timestamp.type"), "create", "{place:?}");
    }
    let emitted = by_origin(broker, &copies, "gristmill.source");
    assert_eq!(sorted(&emitted), places, "{}", last(&lines));
    for (place, copy) in &emitted {
        let original = &originals[place];
        assert_eq!(without_added(copy, original, ADDED_TO_COPIES), *original, "{place:?}");
    }
    tell(&originals);
    println!("{} dead letters and {} copies are equal; the host took {took:?}", dead.len(), emitted.len());
}

fn sorted(found: &[(Place, WireRecord)]) -> Vec<Place> {
    let mut places: Vec<Place> = found.iter().map(|(place, _)| *place).collect();
    places.sort_unstable();
    places
}

/// Says how many records of each shape there were: none of them may be missing.
fn tell(originals: &BTreeMap<Place, WireRecord>) {
    let names = |record: &WireRecord| record.headers.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let comes_again = |record: &WireRecord| {
        let mut names = names(record);
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        names.len() < all
    };
    let long_value = |record: &WireRecord| record.value.as_ref().is_some_and(|value| value.len() > 1024);
    let shapes: [Shape<'_>; 9] = [
        ("null keys", &|record| record.key.is_none()),
        ("empty keys", &|record| record.key.as_ref().is_some_and(Vec::is_empty)),
        ("null values", &|record| record.value.is_none()),
        ("empty values", &|record| record.value.as_ref().is_some_and(Vec::is_empty)),
        ("values above 1 KiB", &long_value),
        ("without headers", &|record| record.headers.is_empty()),
        ("with a name that comes again", &comes_again),
        ("with a null header", &|record| record.headers.iter().any(|(_, value)| value.is_none())),
        ("with a name that is no UTF-8", &|record| {
            names(record).iter().any(|name| String::from_utf8(name.clone()).is_err())
        }),
    ];
    for (what, is_one) in shapes {
        let count = originals.values().filter(|record| is_one(record)).count();
        assert!(count > 0, "there were none: {what}");
        println!("{count} {what}");
    }
    let size = |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or(0, Vec::len);
    let sizes = originals.values().map(|record| {
        size(&record.key)
            + size(&record.value)
            + record.headers.iter().map(|(name, value)| name.len() + size(value)).sum::<usize>()
    });
    println!("{} records, {} bytes of keys, values and headers", originals.len(), sizes.sum::<usize>());
}
