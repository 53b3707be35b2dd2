//! JSON Schema by file and by registry. What rules mean is tested where they are applied.

use std::borrow::Cow;
use std::time::Instant;

use gristmill_decode::{Format, Source};

use crate::fake_registry::{self, FakeRegistry, Reply};
use crate::{Folder, decoder, file, framed, undecodable};

const PERSON: &str = r#"{"type":"object","required":["name"]}"#;

#[test]
fn a_text_that_follows_its_schema_is_handed_on_as_it_is() {
    let folder = Folder::new("person");
    let path = file(&folder, "person.json", PERSON.as_bytes());
    let decoder = decoder(&Format::JsonSchema(Source::File(path)));
    let text = br#" {"name": 1e2, "name": "twice"} "#;
    let decoded = decoder.decode(text, Instant::now()).unwrap();
    assert!(matches!(decoded, Cow::Borrowed(same) if std::ptr::eq(same, text.as_slice())));
    assert!(undecodable(&decoder, b"{}").contains("the whole: "));
}

#[test]
fn a_registered_schema_checks_what_follows_its_id_and_hands_that_on() {
    let registry = FakeRegistry::new();
    registry.answer_id(3, Reply::referring("JSON", r#"{"items":{"$ref":"person.json"}}"#, &[("person.json", "p", 1)]));
    registry.answer("/subjects/p/versions/1", Reply::schema("JSON", PERSON));
    let decoder = fake_registry::decoder(&Format::JsonSchema(Source::Registry), &registry.client());
    let record = framed(3, br#"[{"name":1}]"#);
    assert_eq!(decoder.decode(&record, Instant::now()).unwrap(), br#"[{"name":1}]"#.as_slice());
    let reason = undecodable(&decoder, &framed(3, br#"[{"nam":1}]"#));
    assert!(reason.starts_with("with schema 3: ") && reason.contains("/0: "), "{reason}");
    assert_eq!(registry.asked().len(), 2);
}
