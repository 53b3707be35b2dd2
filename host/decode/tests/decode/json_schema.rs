//! JSON Schema by file and by registry. What rules mean is tested where they are applied.
//!
//! Tests run on threads with a stack of two mebibytes: what needs more has to get it by itself.

use std::borrow::Cow;
use std::fmt::Write as _;
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

/// What a definition says, with how it refers to the next one.
type Link = fn(&str) -> String;

/// Definitions that lead to each other, so many, and at the end to that one.
fn chain(count: usize, link: impl Fn(&str) -> String, end: &str) -> String {
    let mut text = String::from("{\"$ref\":\"#/$defs/d0\",\"$defs\":{");
    for at in 0..count {
        let next = format!("{{\"$ref\":\"#/$defs/d{}\"}}", at + 1);
        write!(text, "\"d{at}\":{},", link(&next)).unwrap();
    }
    write!(text, "\"d{count}\":{end}}}}}").unwrap();
    text
}

/// An object in an object, so many.
fn nested(depth: usize) -> Vec<u8> {
    format!("{}{{}}{}", "{\"a\":".repeat(depth - 1), "}".repeat(depth - 1)).into_bytes()
}

#[test]
fn a_long_chain_of_references_is_followed_and_a_longer_one_refused() {
    let registry = FakeRegistry::new();
    let text = |count| chain(count, str::to_owned, PERSON);
    registry.answer_id(1, Reply::schema("JSON", &text(4000)));
    // With the one at the top that is as many as there may be.
    registry.answer_id(2, Reply::schema("JSON", &text(9999)));
    registry.answer_id(3, Reply::schema("JSON", &text(10_000)));
    let decoder = fake_registry::decoder(&Format::JsonSchema(Source::Registry), &registry.client());
    for id in [1, 2] {
        assert!(decoder.decode(&framed(id, br#"{"name":1}"#), Instant::now()).is_ok());
        assert!(undecodable(&decoder, &framed(id, b"{}")).contains("the whole: "));
    }
    let reason = undecodable(&decoder, &framed(3, b"{}"));
    assert!(reason.contains("it has 10001 keywords") && reason.contains("at most 10000"), "{reason}");
    let reason = undecodable(&decoder, &framed(2, &nested(5)));
    assert!(reason.contains("deeper than 4 levels") && reason.contains("10000 keywords"), "{reason}");
}

#[test]
fn references_times_levels_are_followed_as_far_as_both_may_go() {
    let registry = FakeRegistry::new();
    let end = r##"{"type":"object","additionalProperties":{"$ref":"#/$defs/d0"}}"##;
    let links: [Link; 3] = [
        |next| format!("{{\"allOf\":[{next}]}}"),
        |next| format!("{{\"anyOf\":[{next},{{\"type\":\"null\"}}]}}"),
        |next| format!("{{\"oneOf\":[{{\"maxProperties\":0,\"minProperties\":1}},{next}]}}"),
    ];
    let decoder = fake_registry::decoder(&Format::JsonSchema(Source::Registry), &registry.client());
    let mut id = 0;
    for link in links {
        // Two keywords in each link, and two more.
        for (count, depth) in [(60, 99), (248, 99), (4999, 4)] {
            id += 1;
            registry.answer_id(id, Reply::schema("JSON", &chain(count, link, end)));
            let record = framed(id, &nested(depth));
            assert!(decoder.decode(&record, Instant::now()).is_ok(), "{count} {depth}");
        }
    }
    let wrong = String::from_utf8(nested(98)).unwrap().replace("{}", "{\"a\":7}");
    assert!(undecodable(&decoder, &framed(1, wrong.as_bytes())).contains("breaks its schema"));
    assert!(undecodable(&decoder, &framed(3, &nested(5))).contains("deeper than 4 levels"));
}

#[test]
fn whichever_keyword_leads_on_there_is_stack_for_as_many_as_may_be() {
    let registry = FakeRegistry::new();
    let decoder = fake_registry::decoder(&Format::JsonSchema(Source::Registry), &registry.client());
    // Each with its keywords in place.
    let links: [(usize, Link); 8] = [
        (3, |next| format!("{{\"unevaluatedProperties\":true,\"allOf\":[{next}]}}")),
        (2, |next| format!("{{\"dependentSchemas\":{{\"a\":{next}}}}}")),
        (4, |next| format!("{{\"if\":{{\"minProperties\":1}},\"then\":{next},\"else\":false}}")),
        (4, |next| format!("{{\"if\":{next},\"then\":true,\"else\":false}}")),
        (3, |next| format!("{{\"not\":{{\"not\":{next}}}}}")),
        (2, |next| format!("{{\"oneOf\":[{{\"maxProperties\":0}},{next}]}}")),
        (2, |next| format!("{{\"anyOf\":[{{\"maxProperties\":0}},{next}]}}")),
        (1, |next| next.replace("$ref", "$dynamicRef")),
    ];
    for (id, (keywords, link)) in (1..).zip(links) {
        let end = r##"{"required":["a"],"properties":{"a":{"properties":{"b":{"const":7}}}}}"##;
        registry.answer_id(id, Reply::schema("JSON", &chain(9_999 / keywords, link, end)));
        let good = framed(id, br#"{"a":{"b":7}}"#);
        assert!(decoder.decode(&good, Instant::now()).is_ok(), "{}", link("{}"));
        assert!(
            undecodable(&decoder, &framed(id, br#"{"a":{"b":8}}"#)).contains("breaks its schema"),
            "{}",
            link("{}")
        );
    }
}
