//! Protobuf that a real encoder wrote, framed and bare.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use gristmill_decode::{Decoder, Format, Limits, MessageSource};
use prost::Message;
use prost_reflect::prost_types::{DescriptorProto, FileDescriptorProto};
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};
use serde_json::{Value, json};

use crate::fake_registry::{self, FakeRegistry, Reply};
use crate::{Folder, file, framed, json as decoded, text, undecodable};

pub(crate) const SHOP: &str = r#"
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/any.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/wrappers.proto";

enum State { NEW = 0; SENT = 1; }

message Order {
  int64 order_id = 1;
  string note = 2;
  State state = 3;
  repeated Line lines = 4;
  map<string, double> tags = 5;
  bytes blob = 6;
  google.protobuf.Timestamp at = 7;
  optional int32 count = 8;
  google.protobuf.Any extra = 9;
  Order inner = 10;
  google.protobuf.Struct free = 11;
  repeated bool flags = 12;
  google.protobuf.DoubleValue rate = 13;
  message Line {
    string sku = 1;
    message Part { uint32 number = 1; }
    Part part = 2;
  }
}
message Other { string name = 1; }
"#;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Order {
    #[prost(int64, tag = "1")]
    order_id: i64,
    #[prost(string, tag = "2")]
    note: String,
    #[prost(int32, tag = "3")]
    state: i32,
    #[prost(message, repeated, tag = "4")]
    lines: Vec<Line>,
    #[prost(map = "string, double", tag = "5")]
    tags: std::collections::HashMap<String, f64>,
    #[prost(bytes = "vec", tag = "6")]
    blob: Vec<u8>,
    #[prost(message, optional, tag = "7")]
    at: Option<Timestamp>,
    #[prost(int32, optional, tag = "8")]
    count: Option<i32>,
    #[prost(message, optional, tag = "9")]
    extra: Option<Any>,
    #[prost(message, optional, boxed, tag = "10")]
    inner: Option<Box<Order>>,
    #[prost(bool, repeated, tag = "12")]
    flags: Vec<bool>,
    #[prost(double, optional, tag = "99")]
    unknown: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
struct Line {
    #[prost(string, tag = "1")]
    sku: String,
    #[prost(message, optional, tag = "2")]
    part: Option<Part>,
}

#[derive(Clone, PartialEq, Message)]
struct Part {
    #[prost(uint32, tag = "1")]
    number: u32,
}

#[derive(Clone, PartialEq, Message)]
struct Timestamp {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

pub(crate) fn order() -> Order {
    Order {
        order_id: 9_007_199_254_740_993,
        note: "é\"".to_owned(),
        state: 1,
        lines: vec![Line { sku: "a".to_owned(), part: Some(Part { number: 4_294_967_295 }) }, Line::default()],
        tags: [("w".to_owned(), f64::INFINITY)].into(),
        blob: vec![0, 255],
        at: Some(Timestamp { seconds: 1_769_860_800, nanos: 500_000_000 }),
        count: Some(0),
        extra: Some(any("shop.Order.Line", Line { sku: "x".to_owned(), part: None }.encode_to_vec())),
        inner: Some(Box::default()),
        flags: vec![true, false],
        unknown: Some(1.0),
    }
}

fn any(name: &str, value: Vec<u8>) -> Any {
    Any { type_url: format!("type.googleapis.com/{name}"), value }
}

pub(crate) fn order_json() -> Value {
    json!({
        "orderId": "9007199254740993", "note": "é\"", "state": "SENT",
        "lines": [{"sku": "a", "part": {"number": 4_294_967_295_u32}}, {}],
        "tags": {"w": "Infinity"}, "blob": "AP8=", "at": "2026-01-31T12:00:00.500Z", "count": 0,
        "extra": {"@type": "type.googleapis.com/shop.Order.Line", "sku": "x"},
        "inner": {}, "flags": [true, false],
    })
}

/// Compiles a source as `protoc --include_imports --descriptor_set_out` does.
fn descriptor_set(source: &str) -> Vec<u8> {
    struct One(String);
    impl FileResolver for One {
        fn open_file(&self, name: &str) -> Result<File, protox::Error> {
            if name != "shop.proto" {
                return Err(protox::Error::file_not_found(name));
            }
            File::from_source(name, &self.0)
        }
    }
    let mut resolver = ChainFileResolver::new();
    resolver.add(One(source.to_owned()));
    resolver.add(GoogleFileResolver::new());
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    compiler.include_imports(true).open_file("shop.proto").unwrap().encode_file_descriptor_set()
}

fn format(folder: &Folder, message: &str) -> Format {
    let schema = file(folder, "shop.desc", &descriptor_set(SHOP));
    Format::Protobuf(MessageSource::File { schema, message: message.to_owned() })
}

/// A decoder for orders, by way of a file.
pub(crate) fn by_file(test: &str) -> Decoder {
    let folder = Folder::new(test);
    crate::decoder(&format(&folder, "shop.Order"))
}

#[test]
fn a_message_becomes_canonical_json() {
    let decoder = by_file("canonical");
    assert_eq!(decoded(&decoder, &order().encode_to_vec()), order_json());
    assert_eq!(text(&decoder, b""), "{}", "a message without fields has no bytes");
    let number = Order { state: 77, ..Order::default() };
    assert_eq!(text(&decoder, &number.encode_to_vec()), r#"{"state":77}"#);
    // Free JSON: {"a": [null, 1.5]}, and a wrapper, as an encoder writes them.
    let free = [
        0x5a, 26, 0x0a, 24, 0x0a, 1, b'a', 0x12, 19, 0x32, 17, 0x0a, 2, 0x08, 0, 0x0a, 9, 0x11, 0, 0, 0, 0, 0, 0, 0xf8,
        0x3f,
    ];
    assert_eq!(text(&decoder, &[free.as_slice(), &[0x32, 0]].concat()[..28]), r#"{"free":{"a":[null,1.5]}}"#);
}

#[test]
fn a_wrapper_that_holds_no_number_becomes_null() {
    let nan = [vec![0x6a, 9, 0x09], f64::NAN.to_le_bytes().to_vec()].concat();
    assert_eq!(text(&by_file("wrapper"), &nan), r#"{"rate":null}"#);
}

#[test]
fn a_message_that_is_not_in_the_set_is_refused_with_those_that_are() {
    let folder = Folder::new("no-message");
    let error = Decoder::new(&format(&folder, "shop.Ordr"), None, Limits::default()).unwrap_err().to_string();
    assert!(error.contains("no message shop.Ordr") && error.contains("shop.Order, "), "{error}");
    assert!(Decoder::new(&format(&folder, ".shop.Other"), None, Limits::default()).is_ok());
}

#[test]
fn what_is_no_message_does_not_decode() {
    let decoder = by_file("no-protobuf");
    for bytes in [b"\x0a".as_slice(), b"\x08", &[0xff; 20], b"\x12\x01\xff", b"\x0b", b"\x00\x00"] {
        assert!(undecodable(&decoder, bytes).contains("not a Protobuf message shop.Order"), "{bytes:?}");
    }
    let unknown = Order { extra: Some(any("shop.Nothing", vec![])), ..Order::default() };
    let reason = undecodable(&decoder, &unknown.encode_to_vec());
    assert!(
        reason.contains("an Any of a type that the schema does not have") && !reason.contains("Nothing"),
        "{reason}"
    );
    let reason = undecodable(&decoder, &framed(7, &[0, 0x0a, 1, b'n']));
    assert!(reason.ends_with("leave the schema file out?"), "{reason}");
    let late = Order { at: Some(Timestamp { seconds: i64::MAX, nanos: 0 }), ..Order::default() };
    assert!(undecodable(&decoder, &late.encode_to_vec()).contains("no JSON"));
}

#[test]
fn messages_that_hold_themselves_are_read_to_the_depth_that_is_allowed() {
    let decoder = by_file("nested");
    let nested = |depth: usize| {
        (0..depth).fold(Vec::new(), |inner: Vec<u8>, _| {
            let mut bytes = vec![0x52];
            prost::encoding::encode_varint(inner.len() as u64, &mut bytes);
            bytes.extend(inner);
            bytes
        })
    };
    assert!(text(&decoder, &nested(90)).contains("inner"));
    assert!(undecodable(&decoder, &nested(150)).contains("recursion limit"));
    assert!(undecodable(&decoder, &nested(20_000)).contains("recursion limit"));
    // Each Any is decoded for itself, so that the decoder's own limit begins anew in it.
    let anys = (0..5_000).fold(Order::default(), |inner, _| Order {
        extra: Some(any("shop.Order", inner.encode_to_vec())),
        ..Order::default()
    });
    assert!(undecodable(&decoder, &anys.encode_to_vec()).contains("deeper than 100 levels"));
    // Groups that nobody knows are followed as well.
    assert!(undecodable(&decoder, &[0xf3, 0x06].repeat(100_000)).contains("not a Protobuf message"));
}

#[test]
fn a_message_that_becomes_too_large_does_not_decode() {
    let folder = Folder::new("too-large");
    let limits = Limits { json_bytes_max: 1000, ..Limits::default() };
    let decoder = Decoder::new(&format(&folder, "shop.Order"), None, limits).unwrap();
    let large = Order { flags: vec![true; 300], ..Order::default() };
    assert!(undecodable(&decoder, &large.encode_to_vec()).contains("more than 1000 bytes of JSON"));
}

/// A registry with orders under 5, which import a source under another name, and their decoder.
fn registered() -> (FakeRegistry, Decoder) {
    let registry = FakeRegistry::new();
    let main = SHOP
        .replace("package shop;", "package shop;\nimport \"common/money.proto\";\nimport \"confluent/meta.proto\";")
        + "message Paid { common.Money sum = 1 [(confluent.field_meta).doc = \"x\"]; }";
    registry.answer_id(5, Reply::referring("PROTOBUF", &main, &[("common/money.proto", "money", 2)]));
    let money = "syntax = \"proto3\"; package common; message Money { int32 cents = 1; }";
    registry.answer("/subjects/money/versions/2", Reply::schema("PROTOBUF", money));
    let decoder = fake_registry::decoder(&Format::Protobuf(MessageSource::Registry), &registry.client());
    (registry, decoder)
}

#[test]
fn the_place_in_front_of_a_message_says_which_one_it_is() {
    let (registry, decoder) = registered();
    let bytes = order().encode_to_vec();
    for first in [[0].as_slice(), &[2, 0]] {
        assert_eq!(decoded(&decoder, &framed(5, &[first, &bytes].concat())), order_json());
    }
    assert_eq!(text(&decoder, &framed(5, &[2, 2, 0x0a, 1, b'n'])), r#"{"name":"n"}"#);
    assert_eq!(text(&decoder, &framed(5, &[2, 4, 0x0a, 2, 0x08, 7])), r#"{"sum":{"cents":7}}"#);
    // Order, then Line in it, then Part in that. Entries of maps have a place as well.
    let place = (0..2)
        .find(|line| decoder.decode(&framed(5, &[6, 0, line * 2, 0, 0x08, 9]), std::time::Instant::now()).is_ok());
    let line = place.expect("one of the two messages in an order is a line");
    assert_eq!(text(&decoder, &framed(5, &[6, 0, line * 2, 0, 0x08, 9])), r#"{"number":9}"#);
    assert_eq!(registry.asked().len(), 2);
}

#[test]
fn a_place_that_is_not_there_does_not_decode() {
    let (_registry, decoder) = registered();
    for place in [[2, 6].as_slice(), &[4, 0, 8], &[8, 0, 0, 0, 0]] {
        assert!(undecodable(&decoder, &framed(5, place)).contains("no message at the place"), "{place:?}");
    }
    assert!(undecodable(&decoder, &framed(5, &[])).contains("cut off"));
    assert!(undecodable(&decoder, &framed(5, &[1])).contains("index -1"));
}

/// A source as serializers of Python register it: as base64 of its descriptor.
fn as_descriptor(name: &str, source: &str) -> String {
    let file = File::from_source(name, source).unwrap();
    BASE64_STANDARD.encode(file.file_descriptor_proto().encode_to_vec())
}

#[test]
fn a_schema_that_was_registered_as_a_descriptor_is_read_and_so_are_those_that_it_imports() {
    let registry = FakeRegistry::new();
    let importing = SHOP
        .replace("package shop;", "package shop;\nimport \"common/money.proto\";\nimport \"common/unit.proto\";")
        + "message Paid { common.Money sum = 1; common.Unit one_unit = 2; }";
    let money = "syntax = \"proto3\"; package common; message Money { int32 cents = 1; }";
    let unit = "syntax = \"proto3\"; package common; message Unit { int32 parts = 1; }";
    let references = [("common/money.proto", "money", 2), ("common/unit.proto", "unit", 1)];
    // One of each kind; and the whole, imported by a source.
    registry.answer_id(5, Reply::referring("PROTOBUF", &as_descriptor("a/b.proto", &importing), &references));
    registry.answer("/subjects/money/versions/2", Reply::schema("PROTOBUF", &as_descriptor("x.proto", money)));
    registry.answer("/subjects/unit/versions/1", Reply::schema("PROTOBUF", unit));
    registry.answer_id(6, Reply::referring("PROTOBUF", &importing, &references));
    let decoder = fake_registry::decoder(&Format::Protobuf(MessageSource::Registry), &registry.client());
    for id in [5, 6] {
        assert_eq!(decoded(&decoder, &framed(id, &[[0].as_slice(), &order().encode_to_vec()].concat())), order_json());
        let paid = [2, 4, 0x0a, 2, 0x08, 7, 0x12, 2, 0x08, 8];
        assert_eq!(text(&decoder, &framed(id, &paid)), r#"{"sum":{"cents":7},"oneUnit":{"parts":8}}"#);
    }
}

#[test]
fn what_only_looks_like_a_descriptor_does_not_compile() {
    let registry = FakeRegistry::new();
    let nested = |depth: usize| {
        (0..depth).fold(DescriptorProto::default(), |inner, at| DescriptorProto {
            name: Some(format!("M{at}")),
            nested_type: vec![inner],
            ..DescriptorProto::default()
        })
    };
    let deep = |depth| FileDescriptorProto { message_type: vec![nested(depth)], ..FileDescriptorProto::default() };
    let importing = FileDescriptorProto { dependency: vec!["no.proto".to_owned()], ..FileDescriptorProto::default() };
    let texts = ["CgtvcmRlci5wcm90b", "AAAA", "message"].map(str::to_owned);
    let texts =
        texts.into_iter().chain([deep(1000), importing].map(|file| BASE64_STANDARD.encode(file.encode_to_vec())));
    let decoder = fake_registry::decoder(&Format::Protobuf(MessageSource::Registry), &registry.client());
    for (id, schema) in (1..).zip(texts) {
        registry.answer_id(id, Reply::schema("PROTOBUF", &schema));
        assert!(undecodable(&decoder, &framed(id, &[0])).contains("schema"), "{schema}");
    }
    // As deeply as descriptors are read.
    registry.answer_id(9, Reply::schema("PROTOBUF", &BASE64_STANDARD.encode(deep(90).encode_to_vec())));
    assert_eq!(text(&decoder, &framed(9, &[0])), "{}");
}

/// What `protoc` for Python put into its code, as serializers of Python register it: an order with an enum, a map, an optional field and
/// a one-of, and what it imports.
const PYTHON_ORDER: &str = "CgtvcmRlci5wcm90bxIEc2hvcBofZ29vZ2xlL3Byb3RvYnVmL3RpbWVzdGFtcC5wcm90bxoLbW9uZXkucHJvdG8irgIKBU9yZGVyEhAKCG9yZGVyX2lkGAEg\
    ASgDEhoKBXN0YXRlGAIgASgOMgsuc2hvcC5TdGF0ZRIoCgdieV9uYW1lGAMgAygLMhcuc2hvcC5PcmRlci5CeU5hbWVFbnRyeRIrCgJhdBgEIAEoCzIaLmdv\
    b2dsZS5wcm90b2J1Zi5UaW1lc3RhbXBIAYgBARIOCgRjYXJkGAUgASgJSAASDgoEY2FzaBgGIAEoCEgAEh8KBWxpbmVzGAcgAygLMhAuc2hvcC5PcmRlci5M\
    aW5lGjwKC0J5TmFtZUVudHJ5EgsKA2tleRgBIAEoCRIcCgV2YWx1ZRgCIAEoCzINLmNvbW1vbi5Nb25leToCOAEaEwoETGluZRILCgNza3UYASABKAlCBQoD\
    aG93QgUKA19hdCoaCgVTdGF0ZRIHCgNORVcQABIICgRTRU5UEAFiBnByb3RvMw==";
const PYTHON_MONEY: &str = "Cgttb25leS5wcm90bxIGY29tbW9uIhYKBU1vbmV5Eg0KBWNlbnRzGAEgASgFYgZwcm90bzM=";

#[test]
fn what_a_serializer_of_python_registers_and_writes_is_read() {
    let registry = FakeRegistry::new();
    registry.answer_id(5, Reply::referring("PROTOBUF", PYTHON_ORDER, &[("money.proto", "money", 1)]));
    registry.answer("/subjects/money/versions/1", Reply::schema("PROTOBUF", PYTHON_MONEY));
    let decoder = fake_registry::decoder(&Format::Protobuf(MessageSource::Registry), &registry.client());
    let order = b"\x08\x05\x10\x01\x1a\x07\x0a\x01a\x12\x02\x08\x07\x22\x02\x08\x01\x2a\x01x\x3a\x03\x0a\x01s";
    let expected = json!({
        "orderId": "5", "state": "SENT", "byName": {"a": {"cents": 7}}, "at": "1970-01-01T00:00:01Z", "card": "x",
        "lines": [{"sku": "s"}],
    });
    assert_eq!(decoded(&decoder, &framed(5, &[b"\0", order.as_slice()].concat())), expected);
}
