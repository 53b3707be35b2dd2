//! Formats without a schema, and schema files that cannot be used.

use std::borrow::Cow;
use std::time::Instant;

use gristmill_decode::{Decoder, Format, FormatError, Limits, MessageSource, Source};

use crate::{Folder, decoder, file, undecodable};

#[test]
fn raw_utf8_and_json_hand_the_bytes_on_without_a_copy() {
    let bytes = br#" {"a": [1, "\u00e9"]} "#;
    for format in [Format::Raw, Format::Utf8, Format::Json] {
        let decoder = decoder(&format);
        let decoded = decoder.decode(bytes, Instant::now()).unwrap();
        assert!(matches!(decoded, Cow::Borrowed(same) if std::ptr::eq(same, bytes.as_slice())), "{format:?}");
        assert_eq!(decoder.is_raw(), format == Format::Raw);
        assert!(!decoder.asks_registry());
    }
}

#[test]
fn raw_takes_anything_and_the_others_what_they_say() {
    assert!(decoder(&Format::Raw).decode(b"\xff", Instant::now()).is_ok());
    assert!(decoder(&Format::Raw).decode(b"", Instant::now()).is_ok());
    assert!(decoder(&Format::Utf8).decode(b"", Instant::now()).is_ok());
    assert!(undecodable(&decoder(&Format::Utf8), b"ab\xff").contains("byte 2 of 3"));
    assert!(undecodable(&decoder(&Format::Json), b"").contains("not JSON"));
}

#[test]
fn reasons_are_bounded_and_show_nothing_of_the_record() {
    let reason = undecodable(&decoder(&Format::Json), &[b'x'; 1_000_000]);
    assert!(reason.len() < 200 && !reason.contains("xx"), "{reason}");
    assert!(!undecodable(&decoder(&Format::Utf8), b"secret\xff").contains("secret"));
    let folder = Folder::new("long-reason");
    let schema = r#"{"propertyNames":{"maxLength":1},"additionalProperties":false}"#;
    let path = file(&folder, "schema.json", schema.as_bytes());
    let names: Vec<String> =
        (0..100).map(|n| format!("\"{}{n}\u{1b}\":1", "secret".repeat(100)).replace('\u{1b}', "\\u001b")).collect();
    let reason =
        undecodable(&decoder(&Format::JsonSchema(Source::File(path))), format!("{{{}}}", names.join(",")).as_bytes());
    assert!(reason.len() <= gristmill_decode::REASON_BYTES_MAX && !reason.contains('\u{1b}'), "{reason}");
    assert!(!reason.contains("secret"), "{reason}");
}

fn error(format: &Format) -> FormatError {
    Decoder::new(format, None, Limits::default()).expect_err("the format cannot be used")
}

#[test]
fn a_schema_file_that_cannot_be_used_is_named_with_the_reason() {
    let folder = Folder::new("bad-files");
    let missing = folder.0.join("nowhere.avsc");
    assert!(matches!(error(&Format::Avro(Source::File(missing))), FormatError::Read { .. }));
    let is_folder = error(&Format::JsonSchema(Source::File(folder.0.clone())));
    assert!(is_folder.to_string().contains("not a regular file"), "{is_folder}");
    let text = file(&folder, "text", b"\xff");
    assert!(matches!(error(&Format::Avro(Source::File(text.clone()))), FormatError::Read { .. }));
    for bad in [
        "",
        "{",
        "7",
        "\"unknown\"",
        r#"{"type":"record","name":"R"}"#,
        r#"{"type":"record","name":"R","fields":[{"name":"a","type":"Q"}]}"#,
    ] {
        let path = file(&folder, "bad.avsc", bad.as_bytes());
        let error = error(&Format::Avro(Source::File(path)));
        assert!(
            matches!(&error, FormatError::Schema { .. }) && error.to_string().contains("bad.avsc"),
            "{bad}: {error}"
        );
    }
    let scale = r#"{"type":"bytes","logicalType":"decimal","precision":999999,"scale":999999}"#;
    let path = file(&folder, "scale.avsc", scale.as_bytes());
    assert!(error(&Format::Avro(Source::File(path))).to_string().contains("999999 digits"));
    let set = error(&Format::Protobuf(MessageSource::File { schema: text, message: "a.B".to_owned() }));
    assert!(set.to_string().contains("not a descriptor set"), "{set}");
}

#[test]
fn a_schema_file_of_any_size_is_read_up_to_its_bound() {
    let folder = Folder::new("large-file");
    let path = file(&folder, "large.json", &vec![b' '; (16 << 20) + 1]);
    assert!(error(&Format::JsonSchema(Source::File(path))).to_string().contains("more than 16 MiB"));
}

#[test]
fn a_format_that_needs_a_registry_says_so() {
    for format in [
        Format::Avro(Source::Registry),
        Format::JsonSchema(Source::Registry),
        Format::Protobuf(MessageSource::Registry),
    ] {
        assert!(matches!(error(&format), FormatError::NoRegistry));
    }
}
