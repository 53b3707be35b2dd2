//! Avro that a real encoder wrote, and Avro that nobody should have written.

use std::collections::HashMap;

use apache_avro::types::Value;
use apache_avro::writer::datum::GenericDatumWriter;
use apache_avro::{BigDecimal, Days, Decimal, Duration, Millis, Months, Schema, Uuid};
use gristmill_decode::{Decoder, Format, Limits, Source};
use serde_json::json;

use crate::fake_registry::{self, FakeRegistry, Reply};
use crate::{Folder, file, framed, text, undecodable};

/// A decoder for that schema, by way of a file.
pub(crate) fn by_file(test: &str, schema: &str) -> Decoder {
    decoder_within(test, schema, Limits::default())
}

fn decoder_within(test: &str, schema: &str, limits: Limits) -> Decoder {
    let folder = Folder::new(test);
    let path = file(&folder, "schema.avsc", schema.as_bytes());
    Decoder::new(&Format::Avro(Source::File(path)), None, limits).expect("the schema can be used")
}

/// What the encoder makes of a value.
pub(crate) fn encoded(schema: &str, value: Value) -> Vec<u8> {
    let schema = Schema::parse_str(schema).unwrap();
    GenericDatumWriter::builder(&schema).build().unwrap().write_value_to_vec(value).unwrap()
}

/// A value through the encoder and back.
fn through(test: &str, schema: &str, value: Value) -> String {
    text(&by_file(test, schema), &encoded(schema, value))
}

fn record(fields: &[(&str, Value)]) -> Value {
    Value::Record(fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
}

pub(crate) const ORDER: &str = r#"{"type":"record","name":"Order","namespace":"shop","fields":[
    {"name":"id","type":"long"},
    {"name":"note","type":["null","string"]},
    {"name":"paid","type":"boolean"},
    {"name":"state","type":{"type":"enum","name":"State","symbols":["NEW","SENT"]}},
    {"name":"lines","type":{"type":"array","items":{"type":"record","name":"Line","fields":[
        {"name":"sku","type":"string"},{"name":"count","type":"int"},{"name":"state","type":"State"}]}}},
    {"name":"tags","type":{"type":"map","values":"double"}}]}"#;

pub(crate) fn order() -> Value {
    let line = |sku: &str, count| {
        let state = Value::Enum(1, "SENT".to_owned());
        record(&[("sku", Value::String(sku.to_owned())), ("count", Value::Int(count)), ("state", state)])
    };
    record(&[
        ("id", Value::Long(9_007_199_254_740_993)),
        ("note", Value::Union(1, Box::new(Value::String("a \"quoted\" é\n".to_owned())))),
        ("paid", Value::Boolean(true)),
        ("state", Value::Enum(0, "NEW".to_owned())),
        ("lines", Value::Array(vec![line("a", 1), line("b", -2)])),
        ("tags", Value::Map(HashMap::from([("w".to_owned(), Value::Double(1.5))]))),
    ])
}

pub(crate) const ORDER_JSON: &str = r#"{"id":9007199254740993,"note":"a \"quoted\" é\n","paid":true,"state":"NEW","lines":[{"sku":"a","count":1,"state":"SENT"},{"sku":"b","count":-2,"state":"SENT"}],"tags":{"w":1.5}}"#;

#[test]
fn a_record_becomes_an_object_with_plain_unions_in_the_order_of_the_schema() {
    assert_eq!(through("order", ORDER, order()), ORDER_JSON);
    let empty = record(&[
        ("id", Value::Long(i64::MIN)),
        ("note", Value::Union(0, Box::new(Value::Null))),
        ("paid", Value::Boolean(false)),
        ("state", Value::Enum(1, "SENT".to_owned())),
        ("lines", Value::Array(vec![])),
        ("tags", Value::Map(HashMap::new())),
    ]);
    let expected = r#"{"id":-9223372036854775808,"note":null,"paid":false,"state":"SENT","lines":[],"tags":{}}"#;
    assert_eq!(through("order-empty", ORDER, empty), expected);
}

#[test]
fn bytes_and_fixed_become_a_character_for_each_byte() {
    let bytes = vec![0, b'a', b'"', 0x7f, 0x80, 0xff];
    let expected = "\"\\u0000a\\\"\u{7f}\u{80}\u{ff}\"";
    assert_eq!(through("bytes", "\"bytes\"", Value::Bytes(bytes.clone())), expected);
    let fixed = r#"{"type":"fixed","name":"F","size":6}"#;
    assert_eq!(through("fixed", fixed, Value::Fixed(6, bytes)), expected);
}

#[test]
fn floats_are_the_shortest_that_read_back_and_what_is_no_number_is_a_string() {
    assert_eq!(through("float", "\"float\"", Value::Float(0.1)), "0.1");
    assert_eq!(through("double", "\"double\"", Value::Double(0.1)), "0.1");
    for (value, expected) in
        [(f64::NAN, "\"NaN\""), (f64::INFINITY, "\"Infinity\""), (f64::NEG_INFINITY, "\"-Infinity\"")]
    {
        assert_eq!(through("not-finite", "\"double\"", Value::Double(value)), expected);
        #[expect(clippy::cast_possible_truncation, reason = "none of them has digits to lose")]
        let float = value as f32;
        assert_eq!(through("not-finite-32", "\"float\"", Value::Float(float)), expected);
    }
}

#[test]
fn logical_types_become_what_their_table_says() {
    let decimal = r#"{"type":"bytes","logicalType":"decimal","precision":9,"scale":3}"#;
    assert_eq!(through("decimal", decimal, Value::Decimal(Decimal::from([0xcf, 0xc7]))), "\"-12.345\"");
    let fixed = r#"{"type":{"type":"fixed","name":"D","size":4},"logicalType":"decimal","precision":9,"scale":2}"#;
    assert_eq!(through("decimal-fixed", fixed, Value::Decimal(Decimal::from([0, 0, 0x04, 0xd2]))), "\"12.34\"");
    let big: BigDecimal = "-1234567890123456789012345678.90".parse().unwrap();
    let big_schema = r#"{"type":"bytes","logicalType":"big-decimal"}"#;
    assert_eq!(through("big", big_schema, Value::BigDecimal(big)), "\"-1234567890123456789012345678.90\"");

    let uuid = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
    let of = |text: &str| Value::Uuid(Uuid::parse_str(text).unwrap());
    let stored =
        [r#"{"type":"string","logicalType":"uuid"}"#, r#"{"type":"fixed","name":"U","size":16,"logicalType":"uuid"}"#];
    for schema in stored {
        assert_eq!(through("uuid", schema, of(uuid)), format!("\"{uuid}\""));
    }

    let duration = r#"{"type":{"type":"fixed","name":"P","size":12},"logicalType":"duration"}"#;
    let value = Duration::new(Months::new(1), Days::new(2), Millis::new(u32::MAX));
    assert_eq!(through("duration", duration, Value::Duration(value)), r#"{"months":1,"days":2,"millis":4294967295}"#);

    let of = |stored: &str, logical: &str| format!(r#"{{"type":"{stored}","logicalType":"{logical}"}}"#);
    assert_eq!(through("date", &of("int", "date"), Value::Date(-1)), "-1");
    assert_eq!(through("time", &of("int", "time-millis"), Value::TimeMillis(7)), "7");
    assert_eq!(through("micros", &of("long", "timestamp-micros"), Value::TimestampMicros(1 << 53)), "9007199254740992");
    assert_eq!(through("local", &of("long", "local-timestamp-nanos"), Value::LocalTimestampNanos(5)), "5");
    assert_eq!(through("other", &of("string", "iban"), Value::String("x".to_owned())), "\"x\"");
}

#[test]
fn blocks_of_any_size_and_with_their_length_in_front_are_read() {
    let decoder = by_file("blocks", r#"{"type":"array","items":"int"}"#);
    // Two of one, then three in a block of four bytes, then the end.
    assert_eq!(text(&decoder, &[4, 2, 4, 5, 8, 6, 8, 10, 0]), "[1,2,3,4,5]");
}

#[test]
fn what_is_not_of_the_schema_is_told_with_the_path_to_it() {
    let decoder = by_file("paths", ORDER);
    let mut good = encoded(ORDER, order());
    let at = good.iter().rposition(|byte| *byte == b'b').unwrap();
    // The state of the second line: a symbol that is not there.
    good[at + 2] = 14;
    let reason = undecodable(&decoder, &good);
    assert!(reason.contains("at .lines[1].state: symbol 7; there are 2"), "{reason}");
    for (bytes, part) in [
        (b"".as_slice(), "at .id: the bytes end within a number"),
        (&[2, 4], "at .note: variant 2; there are 2"),
        (&[2, 2, 200, 1, b'x'], "at .note: 100 bytes should follow, and 1 do"),
        (&[2, 2, 2, 0xff], "at .note: it is not UTF-8"),
        (&[2, 2, 1], "at .note: a length of -1 bytes"),
        (&[2, 0, 2], "at .paid: a byte other than 0 and 1 is no boolean"),
        (&[0xff; 11], "at .id: a number of more than 64 bits"),
    ] {
        let reason = undecodable(&decoder, bytes);
        assert!(reason.contains(part), "{reason}");
    }
    let reason = undecodable(&by_file("int", "\"int\""), &[0x80, 0x80, 0x80, 0x80, 0x10]);
    assert!(reason.contains("more than 32 bits is no int"), "{reason}");
    let reason = undecodable(&by_file("left", "\"int\""), &[2, 2]);
    assert!(reason.contains("1 of 2 bytes are left over"), "{reason}");
    let reason = undecodable(&by_file("map", r#"{"type":"map","values":"int"}"#), b"\x02\x0csecret");
    assert!(reason.contains("at [*]: the bytes end"), "{reason}");
}

#[test]
fn what_was_written_with_a_registry_gets_a_hint_under_a_schema_file() {
    let decoder = by_file("hint", ORDER);
    let reason = undecodable(&decoder, &framed(7, &encoded(ORDER, order())));
    assert!(
        reason.ends_with("; it begins as what a serializer with a schema registry writes: leave the schema file out?")
    );
    assert!(!undecodable(&decoder, &[0, 0]).contains("registry"));
    assert!(!undecodable(&decoder, &[1; 9]).contains("registry"));
}

#[test]
fn a_list_that_holds_itself_is_read_to_the_depth_that_is_allowed() {
    let schema = r#"{"type":"record","name":"L","fields":[{"name":"n","type":["null","L"]}]}"#;
    let decoder = by_file("list", schema);
    let nested = |depth: usize| [vec![2; depth - 1], vec![0]].concat();
    assert_eq!(text(&decoder, &nested(2)), r#"{"n":{"n":null}}"#);
    assert!(text(&decoder, &nested(100)).starts_with("{\"n\":{"));
    assert!(undecodable(&decoder, &nested(101)).contains("deeper than 100 levels"));
    assert!(undecodable(&decoder, &nested(5_000_000)).contains("deeper than 100 levels"));
    let shallow = decoder_within("list-10", schema, Limits { depth_max: 10, ..Limits::default() });
    assert!(undecodable(&shallow, &nested(11)).contains("deeper than 10 levels"));
    // One that holds itself and nothing else needs no bytes to go on for ever.
    let endless = r#"{"type":"record","name":"L","fields":[{"name":"n","type":"L"}]}"#;
    assert!(undecodable(&by_file("endless", endless), b"").contains("deeper"));
}

#[test]
fn a_few_bytes_that_stand_for_very_many_values_are_given_up() {
    // Two to the 61st nulls: nine bytes that name them, none for the values themselves.
    let nulls = by_file("nulls", r#"{"type":"array","items":"null"}"#);
    let bomb = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 0];
    assert!(undecodable(&nulls, &bomb).contains("more than 16777216 bytes of JSON"));
    // A doubling at each of forty levels, from no bytes at all.
    let doubling = (1..40).fold(r#"{"type":"record","name":"R0","fields":[]}"#.to_owned(), |inner, level| {
        let again = format!("R{}", level - 1);
        format!(r#"{{"type":"record","name":"R{level}","fields":[{{"name":"a","type":{inner}}},{{"name":"b","type":"{again}"}}]}}"#)
    });
    assert!(undecodable(&by_file("doubling", &doubling), b"").contains("bytes of JSON"));
    let strings = by_file("strings", "\"bytes\"");
    let mut bytes = encoded("\"long\"", Value::Long(4 << 20));
    bytes.resize(bytes.len() + (4 << 20), 0);
    assert!(undecodable(&strings, &bytes).contains("bytes of JSON"), "each byte becomes six");
}

#[test]
fn a_schema_from_a_registry_is_fetched_once_and_its_references_with_it() {
    let registry = FakeRegistry::new();
    let order = r#"{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"a","type":"shop.Amount"},{"name":"b","type":["null","shop.Amount"]}]}"#;
    let amount = r#"{"type":"record","name":"Amount","namespace":"shop","fields":[{"name":"v","type":"long"},{"name":"c","type":"shop.Currency"}]}"#;
    let currency = r#"{"type":"enum","name":"Currency","namespace":"shop","symbols":["EUR","CHF"]}"#;
    registry.answer_id(7, Reply::referring("AVRO", order, &[("shop.Amount", "amount/value", 3)]));
    let path = "/subjects/amount%2Fvalue/versions/3";
    registry.answer(path, Reply::referring("AVRO", amount, &[("shop.Currency", "currency", 1)]));
    registry.answer("/subjects/currency/versions/1", Reply::schema("AVRO", currency));
    let decoder = fake_registry::decoder(&Format::Avro(Source::Registry), &registry.client());
    let datum = [10, 2, 2, 12, 0];
    let expected = json!({"a": {"v": 5, "c": "CHF"}, "b": {"v": 6, "c": "EUR"}}).to_string();
    for _ in 0..100 {
        assert_eq!(text(&decoder, &framed(7, &datum)), expected);
    }
    assert_eq!(registry.asked().len(), 3);
}

#[test]
fn what_comes_without_a_zero_and_an_id_does_not_decode_and_asks_nobody() {
    let registry = FakeRegistry::new();
    let decoder = fake_registry::decoder(&Format::Avro(Source::Registry), &registry.client());
    assert!(undecodable(&decoder, b"").contains("0 bytes"));
    assert!(undecodable(&decoder, &[0, 0, 0, 7]).contains("4 bytes"));
    assert!(undecodable(&decoder, &[1, 0, 0, 0, 7, 2]).contains("does not begin with a zero"));
    assert_eq!(registry.asked().len(), 0);
}
