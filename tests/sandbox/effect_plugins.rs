//! The plugins that come with gristmill and have effects, as components.

use std::sync::OnceLock;

use gristmill_core::outcome::{Answer, Effects, Outcome};
use gristmill_guest::{Answered, Instances, LoadError, Plugin, PluginSettings};

use crate::mill::{Batch, Mill, Record, engine, guest_bytes, reuse, with_settings};

const PERSON: &str = r#"{"type":"object","required":["name"],"properties":{"name":{"type":"string","maxLength":5}}}"#;

/// The schema checker, which takes long to compile: it is compiled once for all tests.
fn validate(settings: &PluginSettings) -> Result<Mill, String> {
    static COMPILED: OnceLock<Plugin> = OnceLock::new();
    let compiled = COMPILED.get_or_init(|| load("gristmill_validate", &with_settings(&[("schema", PERSON)])).unwrap());
    mill(compiled.with_settings(settings))
}

fn load(name: &str, settings: &PluginSettings) -> Result<Plugin, LoadError> {
    Plugin::load(engine(), name, &guest_bytes(name), settings)
}

/// A mill, or what loading said.
fn mill(loaded: Result<Plugin, LoadError>) -> Result<Mill, String> {
    loaded.map(|plugin| Mill::of(plugin).with_sinks(&["orders", "rest"])).map_err(|error| error.to_string())
}

fn records(values: &[&str]) -> Batch {
    let record =
        |(offset, value): (i64, &&str)| Record { value: Some(value.as_bytes().to_vec()), ..Record::at(offset) };
    Batch((0..).zip(values).map(record).collect())
}

fn effects(answered: &Answered) -> &Effects {
    match &answered.answer {
        Answer::Outcome(Outcome::Ok(effects)) => effects,
        other => panic!("not ok: {other:?}"),
    }
}

fn rejected(answered: &Answered) -> Vec<(u32, &str)> {
    effects(answered).rejected.iter().map(|rejection| (rejection.index, rejection.reason.as_str())).collect()
}

#[test]
fn validate_rejects_what_breaks_its_schema_and_passes_the_rest_on() {
    let mut mill = validate(&with_settings(&[("schema", PERSON), ("sink", "orders")])).unwrap();
    let answered = mill.run(records(&[r#"{"name":"Ada"}"#, r#"{"name":"Augusta"}"#, "{}", r#"{"name":"Eve"}"#]));
    let wanted = [
        (1, "/name: value is longer than 5 characters (/properties/name/maxLength)"),
        (2, "the whole: \"name\" is a required property (/required)"),
    ];
    assert_eq!(rejected(&answered), wanted);
    let emitted: Vec<_> = answered.emitted.iter().map(|record| (&*record.sink, record.source)).collect();
    assert_eq!(emitted, [("orders", Some(0)), ("orders", Some(3))]);
}

#[test]
fn route_emits_to_the_sink_of_a_field_and_rejects_what_no_route_is_for() {
    let settings = with_settings(&[("field", "/kind"), ("route.order", "orders"), ("route.7", "rest")]);
    let mut mill = mill(load("gristmill_route", &settings)).unwrap();
    let answered = mill.run(records(&[r#"{"kind":"order"}"#, r#"{"kind":"x"}"#, r#"{"kind":7}"#, "?"]));
    assert_eq!(rejected(&answered)[0], (1, "no route is for the value \"x\" of /kind"));
    assert!(rejected(&answered)[1].1.starts_with("its value is not JSON"), "{:?}", rejected(&answered));
    let emitted: Vec<_> = answered.emitted.iter().map(|record| (&*record.sink, record.source)).collect();
    assert_eq!(emitted, [("orders", Some(0)), ("rest", Some(2))]);
}

#[test]
fn settings_that_make_no_sense_are_told_when_the_plugin_is_loaded() {
    let refused = |loaded: Result<Mill, String>, words: &str| {
        let error = loaded.err().expect("refused");
        assert!(error.contains(words), "{error}");
    };
    let nothing = with_settings(&[]);
    refused(validate(&nothing), "it refused to start: there is neither a setting schema nor schema.TOPIC");
    refused(validate(&with_settings(&[("schema", "{")])), "the setting schema is no JSON Schema: EOF");
    refused(mill(load("gristmill_route", &nothing)), "it refused to start: the setting field is missing");
}

/// A schema is compiled once for each instance, which the limits of a batch have to leave time for.
#[test]
fn ten_thousand_records_are_validated_well_within_the_limits() {
    let values: Vec<String> = (0..10_000).map(|number| format!(r#"{{"name":"n{number}"}}"#)).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    for instances in [Instances::Fresh, reuse(u32::MAX).instances] {
        let settings = PluginSettings { instances, ..with_settings(&[("schema", PERSON)]) };
        let mut mill = validate(&settings).unwrap();
        for _ in 0..3 {
            let answered = mill.run(records(&values));
            assert_eq!(effects(&answered), &Effects::NONE);
            assert!(answered.facts.busy < settings.limits.cpu / 2, "{:?}", answered.facts);
        }
    }
}
