//! A registry that answers anything but what it should, and schemas that nobody should register.

use std::time::{Duration, Instant};

use gristmill_decode::{Decoder, Failure, Format, MessageSource, RegistryAuth, RegistrySettings, Secret, Source};

use crate::fake_registry::{FakeRegistry, Reply, client, decoder};
use crate::{framed, text, undecodable};

/// A decoder of Avro, with bounds that a test can wait for.
fn avro(registry: &FakeRegistry) -> Decoder {
    decoder(&Format::Avro(Source::Registry), &registry.client())
}

/// Why the schema of the bytes cannot be had.
fn unavailable(decoder: &Decoder, bytes: &[u8]) -> String {
    match decoder.decode(bytes, Instant::now()) {
        Err(Failure::Unavailable { reason, again_in }) => {
            assert!(again_in <= Duration::from_secs(30) && !again_in.is_zero(), "{again_in:?}");
            reason.to_string()
        }
        other => panic!("it is not unavailable: {other:?}"),
    }
}

#[test]
fn answers_that_say_nothing_about_the_schema_are_not_the_fault_of_the_record() {
    let redirect = "Location: http://127.0.0.1:1/elsewhere\r\n";
    let cases = [
        (Reply::Plain(302, redirect, ""), "redirects"),
        (Reply::Plain(307, redirect, "{\"schema\":\"\\\"int\\\"\"}"), "redirects"),
        (Reply::Plain(500, "", "oops"), "status 500"),
        (Reply::Plain(503, "Retry-After: 7\r\n", ""), "status 503"),
        (Reply::Plain(429, "", ""), "status 429"),
        (Reply::Plain(401, "", "{\"error_code\":401,\"message\":\"who are you\"}"), "who are you"),
        (Reply::Plain(403, "", ""), "credentials"),
        (Reply::Plain(404, "", "<html>"), "url of the registry"),
        (Reply::Plain(200, "", "<html>"), "no schema registry"),
        (Reply::Plain(200, "", "{\"schema\":7}"), "no schema registry"),
        (Reply::Plain(200, "", ""), "no schema registry"),
        (Reply::Page(2 << 20), "no schema registry"),
        (Reply::Bytes(b"garbage\r\n\r\n\x00\xff"), "cannot be reached"),
        (Reply::Bytes(b""), "cannot be reached"),
        (Reply::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"schema\""), "cannot be reached"),
    ];
    for (reply, part) in cases {
        let registry = FakeRegistry::new();
        registry.answer_id(7, reply.clone());
        let reason = unavailable(&avro(&registry), &framed(7, &[2]));
        assert!(reason.contains(part) && reason.starts_with("schema 7: "), "{reply:?}: {reason}");
        assert!(reason.contains(&format!(" at {} ", registry.url())), "{reason}");
        assert_eq!(registry.asked().len(), 1, "nobody follows or repeats it");
    }
}

#[test]
fn a_wish_to_be_left_alone_is_passed_on() {
    let registry = FakeRegistry::new();
    registry.answer_id(7, Reply::Plain(503, "Retry-After: 7\r\n", ""));
    let failure = avro(&registry).decode(&framed(7, &[2]), Instant::now()).unwrap_err();
    assert!(
        matches!(failure, Failure::Unavailable { again_in, .. } if again_in == Duration::from_secs(7)),
        "{failure}"
    );
}

#[test]
fn an_answer_of_any_size_is_read_up_to_its_bound() {
    let registry = FakeRegistry::new();
    registry.answer_id(7, Reply::Endless);
    let begun = Instant::now();
    assert!(undecodable(&avro(&registry), &framed(7, &[2])).contains("more than 1048576 bytes"));
    assert!(begun.elapsed() < Duration::from_secs(10));
    // A head has a bound as well.
    registry.answer_id(
        8,
        Reply::Bytes(
            Box::leak(format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(1 << 20)).into_boxed_str()).as_bytes(),
        ),
    );
    assert!(unavailable(&avro(&registry), &framed(8, &[2])).contains("cannot be reached"));
}

#[test]
fn an_answer_that_does_not_come_is_waited_for_within_a_bound() {
    for reply in [Reply::Silent, Reply::Dripping] {
        let registry = FakeRegistry::new();
        registry.answer_id(7, reply);
        let settings =
            RegistrySettings { request_time_max: Duration::from_millis(300), ..RegistrySettings::new(registry.url()) };
        let begun = Instant::now();
        let reason = unavailable(&decoder(&Format::Avro(Source::Registry), &client(settings)), &framed(7, &[2]));
        let told = format!("the registry at {} did not answer within 300ms (schema_registry.timeout)", registry.url());
        assert!(reason.contains(&told), "{reason}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    }
}

#[test]
fn many_slow_references_are_waited_for_within_one_bound() {
    let registry = FakeRegistry::new();
    registry.answer_id(7, Reply::referring("AVRO", "\"int\"", &[("a", "a", 1)]));
    registry.answer("/subjects/a/versions/1", Reply::Dripping);
    let settings =
        RegistrySettings { answer_time_max: Duration::from_millis(300), ..RegistrySettings::new(registry.url()) };
    let begun = Instant::now();
    unavailable(&decoder(&Format::Avro(Source::Registry), &client(settings)), &framed(7, &[2]));
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn references_in_a_circle_too_many_or_too_deep_are_refused() {
    let registry = FakeRegistry::new();
    registry.answer_id(1, Reply::referring("AVRO", "\"int\"", &[("a", "a", 1)]));
    registry.answer("/subjects/a/versions/1", Reply::referring("AVRO", "\"int\"", &[("b", "b", 1)]));
    registry.answer("/subjects/b/versions/1", Reply::referring("AVRO", "\"int\"", &[("a", "a", 1)]));
    assert!(undecodable(&avro(&registry), &framed(1, &[2])).contains("in a circle"));

    registry.answer_id(2, Reply::referring("AVRO", "\"int\"", &[("d", "d0", 1)]));
    for level in 0..20 {
        let next = format!("d{}", level + 1);
        registry
            .answer(&format!("/subjects/d{level}/versions/1"), Reply::referring("AVRO", "\"int\"", &[("d", &next, 1)]));
    }
    assert!(undecodable(&avro(&registry), &framed(2, &[2])).contains("chain of more than 16"));

    let many: Vec<String> = (0..65).map(|n| format!("m{n}")).collect();
    let references: Vec<(&str, &str, i64)> = many.iter().map(|name| (name.as_str(), name.as_str(), 1)).collect();
    registry.answer_id(3, Reply::referring("AVRO", "\"int\"", &references));
    for name in &many {
        let named = format!(r#"{{"type":"fixed","size":1,"name":"{name}"}}"#);
        registry.answer(&format!("/subjects/{name}/versions/1"), Reply::schema("AVRO", &named));
    }
    assert!(undecodable(&avro(&registry), &framed(3, &[2])).contains("more than 64 schemas"));

    registry.answer_id(4, Reply::referring("AVRO", "\"int\"", &[("gone", "gone", 9)]));
    assert!(undecodable(&avro(&registry), &framed(4, &[2])).contains("version 9 of gone"));
}

#[test]
fn references_that_are_nested_as_deeply_as_may_be_are_read() {
    let registry = FakeRegistry::new();
    let deep = |name: &str, inner: &str| {
        let arrays = format!("{}\"{inner}\"{}", r#"{"type":"array","items":"#.repeat(110), "}".repeat(110));
        format!(r#"{{"type":"record","name":"{name}","fields":[{{"name":"a","type":{arrays}}}]}}"#)
    };
    let names: Vec<String> = (0..64).map(|at| format!("r{at}")).collect();
    let references: Vec<(&str, &str, i64)> = names.iter().map(|name| (name.as_str(), name.as_str(), 1)).collect();
    registry.answer_id(1, Reply::referring("AVRO", &deep("top", "r0"), &references));
    for (at, name) in names.iter().enumerate() {
        let inner = names.get(at + 1).map_or("int", String::as_str);
        registry.answer(&format!("/subjects/{name}/versions/1"), Reply::schema("AVRO", &deep(name, inner)));
    }
    assert_eq!(text(&avro(&registry), &framed(1, &[0])), r#"{"a":[]}"#);
}

#[test]
fn schemas_that_cannot_be_used_are_the_records_fault_and_fetched_once() {
    let registry = FakeRegistry::new();
    let deep_json = format!("{}\"int\"{}", "{\"type\":".repeat(1000), "}".repeat(1000));
    let deep_proto = |open: &str| format!("syntax = \"proto3\"; {}", open.repeat(50_000));
    let schemas = [
        ("AVRO", "not json".to_owned(), "not an Avro schema"),
        ("AVRO", deep_json, "recursion limit"),
        ("AVRO", r#"{"type":"record","name":"R","fields":[{"name":"a","type":"Nobody"}]}"#.to_owned(), "Nobody"),
        ("THRIFT", "\"int\"".to_owned(), "THRIFT"),
        ("PROTOBUF", "message".to_owned(), "does not compile"),
        ("PROTOBUF", "syntax = \"proto3\"; import \"/etc/passwd\";".to_owned(), "does not compile"),
        ("PROTOBUF", "syntax = \"proto3\"; import \"gristmill/registered.proto\";".to_owned(), "does not compile"),
        ("PROTOBUF", deep_proto("message A {"), "nested deeper"),
        ("PROTOBUF", deep_proto("option a = {"), "nested deeper"),
        ("PROTOBUF", deep_proto("option (a) = ["), "nested deeper"),
        ("JSON", "{\"$ref\":\"http://127.0.0.1:1/\"}".to_owned(), "not a JSON Schema"),
        ("JSON", "[".repeat(1000), "not a JSON Schema"),
        ("JSON", "{\"type\":\"integer\"}".to_owned(), "it is JSON Schema, and Avro is expected"),
    ];
    let decoder = avro(&registry);
    for (id, (language, schema, part)) in (1..).zip(&schemas) {
        registry.answer_id(id, Reply::schema(language, schema));
        for _ in 0..5 {
            let reason = undecodable(&decoder, &framed(id, &[2]));
            assert!(reason.contains(part) && reason.contains(&format!("schema {id}")), "{language}: {reason}");
        }
        assert_eq!(registry.count(&format!("/schemas/ids/{id}")), 1);
    }
}

#[test]
fn two_references_by_one_name_are_refused() {
    let registry = FakeRegistry::new();
    registry.answer_id(
        1,
        Reply::referring("PROTOBUF", "syntax = \"proto3\";", &[("a.proto", "a", 1), ("a.proto", "b", 1)]),
    );
    registry.answer("/subjects/a/versions/1", Reply::schema("PROTOBUF", "syntax = \"proto3\"; message A {}"));
    registry.answer("/subjects/b/versions/1", Reply::schema("PROTOBUF", "syntax = \"proto3\"; message B {}"));
    let decoder = decoder(&Format::Protobuf(MessageSource::Registry), &registry.client());
    assert!(undecodable(&decoder, &framed(1, &[0])).contains("two schemas by the name a.proto"));
}

#[test]
fn a_registry_is_told_who_we_are_and_nobody_else_is() {
    let registry = FakeRegistry::new();
    registry.answer_id(1, Reply::schema("AVRO", "\"int\""));
    let auth = RegistryAuth::Basic { user: "ada".to_owned(), password: Secret::new("secret") };
    let settings = RegistrySettings { auth: Some(auth), ..RegistrySettings::new(format!("{}/", registry.url())) };
    assert_eq!(text(&decoder(&Format::Avro(Source::Registry), &client(settings)), &framed(1, &[2])), "1");
    let settings = RegistrySettings {
        auth: Some(RegistryAuth::Bearer(Secret::new("token"))),
        ..RegistrySettings::new(registry.url())
    };
    assert_eq!(text(&decoder(&Format::Avro(Source::Registry), &client(settings)), &framed(1, &[2])), "1");
    let told: Vec<_> = registry.asked().into_iter().map(|asked| asked.authorization.unwrap()).collect();
    assert_eq!(told, ["Basic YWRhOnNlY3JldA==", "Bearer token"]);

    // A redirect is a way to make us tell somebody else.
    let thief = FakeRegistry::new();
    let location: &'static str = Box::leak(format!("Location: {}/schemas/ids/2\r\n", thief.url()).into_boxed_str());
    registry.answer_id(2, Reply::Plain(302, location, ""));
    unavailable(&avro(&registry), &framed(2, &[2]));
    assert_eq!(thief.asked().len(), 0);
}

#[test]
fn what_we_say_about_ourselves_is_not_told_though_the_registry_repeats_it() {
    let auths = [
        RegistryAuth::Basic { user: "bob".to_owned(), password: Secret::new("hunter2") },
        RegistryAuth::Bearer(Secret::new("Ym9iOmh1bnRlcjI=")),
    ];
    for auth in auths {
        let registry = FakeRegistry::new();
        (7..10).for_each(|id| registry.answer_id(id, Reply::Repeating([401, 500, 200][id as usize - 7])));
        for id in 7..10 {
            let settings = RegistrySettings { auth: Some(auth.clone()), ..RegistrySettings::new(registry.url()) };
            let avro = decoder(&Format::Avro(Source::Registry), &client(settings));
            let reason = unavailable(&avro, &framed(id, &[2]));
            assert!(!reason.contains("Ym9i") && !reason.contains("hunter2"), "{reason}");
            assert!(id == 9 || reason.contains("no such user: ***"), "{reason}");
        }
    }
}
