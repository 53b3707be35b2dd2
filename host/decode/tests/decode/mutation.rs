//! Bytes that were good and were changed: whatever they are now, the decoder gives an answer, within its bounds.

use std::time::Instant;

use gristmill_decode::{Decoder, Failure, Format, REASON_BYTES_MAX, Source};
use prost::Message as _;

use crate::fake_registry::{self, FakeRegistry, Reply};
use crate::{Folder, avro, file, framed, protobuf};

/// How many changed inputs each decoder gets.
const ROUNDS: u64 = 5_000;

/// What a reason says when a parser had to be kept from ending the thread. None of these inputs should do that.
const PANICKED: &str = "it breaks the ";

/// Numbers that look like chance and are the same in every run.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap()
    }

    fn byte(&mut self) -> u8 {
        // What is at a limit of something is more likely to matter.
        const EDGES: [u8; 10] = [0, 1, 2, 0x7f, 0x80, 0xff, b'"', b'{', b'[', b'\\'];
        let any = self.next().to_le_bytes()[0];
        if any.is_multiple_of(2) { EDGES[self.below(EDGES.len())] } else { any }
    }

    /// The same bytes with a few changes.
    fn changed(&mut self, good: &[u8]) -> Vec<u8> {
        let mut bytes = good.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len() + 1);
            match self.below(5) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, self.byte()),
                2 if at < bytes.len() => bytes[at] = self.byte(),
                3 if at < bytes.len() => drop(bytes.remove(at)),
                _ => {
                    let end = (at + self.below(20)).min(bytes.len());
                    bytes.extend_from_within(at.min(end)..end);
                }
            }
        }
        bytes
    }
}

/// Gives the decoder changed inputs, and returns how many of them decoded.
fn survives(decoder: &Decoder, good: &[u8], is_json: bool, seed: u64) -> u64 {
    let mut chance = Chance(seed);
    let mut decoded_count = 0;
    for _ in 0..ROUNDS {
        let bytes = chance.changed(good);
        match decoder.decode(&bytes, Instant::now()) {
            Ok(decoded) => {
                decoded_count += 1;
                assert!(decoded.len() <= 16 << 20);
                let parsed = serde_json::from_slice::<serde_json::Value>(&decoded);
                assert!(!is_json || parsed.is_ok(), "{bytes:?} became no JSON: {}", decoded.escape_ascii());
            }
            Err(failure) => {
                let reason = failure.to_string();
                assert!(reason.len() <= REASON_BYTES_MAX && !reason.contains(PANICKED), "{bytes:?}: {reason}");
            }
        }
    }
    decoded_count
}

#[test]
fn changed_avro_gets_an_answer() {
    let good = avro::encoded(avro::ORDER, avro::order());
    let decoded = survives(&avro::by_file("mutated-avro", avro::ORDER), &good, true, 1);
    assert!((1..ROUNDS).contains(&decoded), "some still decode and some do not: {decoded}");
}

#[test]
fn changed_protobuf_gets_an_answer() {
    let good = protobuf::order().encode_to_vec();
    let decoded = survives(&protobuf::by_file("mutated-protobuf"), &good, true, 2);
    assert!((1..ROUNDS).contains(&decoded), "some still decode and some do not: {decoded}");
}

#[test]
fn changed_json_gets_an_answer() {
    let decoded = survives(&crate::decoder(&Format::Json), avro::ORDER_JSON.as_bytes(), false, 3);
    assert!((1..ROUNDS).contains(&decoded), "some still decode and some do not: {decoded}");
    let folder = Folder::new("mutated-schema");
    let schema = r#"{"required":["id"],"properties":{"id":{"type":"integer"},"lines":{"items":{"required":["sku"]}}}}"#;
    let path = file(&folder, "order.json", schema.as_bytes());
    let decoder = crate::decoder(&Format::JsonSchema(Source::File(path)));
    let decoded = survives(&decoder, avro::ORDER_JSON.as_bytes(), true, 4);
    assert!((1..ROUNDS).contains(&decoded), "some still decode and some do not: {decoded}");
}

#[test]
fn changed_schemas_get_an_answer() {
    let registry = FakeRegistry::new();
    let mut chance = Chance(5);
    let languages = [
        ("AVRO", avro::ORDER, Format::Avro(Source::Registry)),
        (
            "JSON",
            r##"{"$defs":{"a":{"$ref":"#"}},"properties":{"x":{"$ref":"#/$defs/a"}},"required":["x"]}"##,
            Format::JsonSchema(Source::Registry),
        ),
        ("PROTOBUF", protobuf::SHOP, Format::Protobuf(gristmill_decode::MessageSource::Registry)),
    ];
    let mut id = 0;
    for (language, good, format) in languages {
        // A client of its own for every few: what does not serve is kept in mind, and room for that is bounded.
        let mut decoder = fake_registry::decoder(&format, &registry.client());
        for round in 0..300 {
            if round % 100 == 99 {
                decoder = fake_registry::decoder(&format, &registry.client());
            }
            let changed = String::from_utf8_lossy(&chance.changed(good.as_bytes())).into_owned();
            registry.answer_id(id, Reply::schema(language, &changed));
            match decoder.decode(&framed(id, &[0]), Instant::now()) {
                Ok(_) => {}
                Err(Failure::Undecodable(reason)) => {
                    assert!(!reason.as_str().contains(PANICKED), "{language} {changed}: {reason}");
                }
                Err(failure) => panic!("{language} {changed}: {failure}"),
            }
            id += 1;
        }
    }
}
