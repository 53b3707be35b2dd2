//! Checks each record's value against a JSON Schema, and rejects what fails with the place in the value and the rule.
//!
//! Settings: `schema.TOPIC` holds the schema for the records of a topic, `schema` the one for all other topics. `sink`, where it
//! is set, names the sink that a copy of what passes goes to. Tombstones pass: null is no JSON, and says that a key is to be
//! forgotten. A topic without a schema is fatal, since nobody said what its records should be. Settings that make no sense keep
//! the plugin from starting; nothing that a schema refers to is fetched.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use gristmill_plugin::{Batch, Failure, OutputRecord, Record, fatal, handler, settings};
use jsonschema::{PatternOptions, Retrieve, Uri, ValidationError, Validator};
use serde_json::Value;

handler!(process, init = start);

/// What a setting's name begins with when it holds the schema of a topic.
const SCHEMA_OF: &str = "schema.";

/// How many broken rules are told.
const RULES_MAX: usize = 3;

/// How much is told of the path to a value, of the rule, and of the path to the rule.
const PART_CHARS_MAX: usize = 90;

/// Up to this size all broken rules are looked for, beyond it the first: each of millions of items may break one.
const LISTED_BYTES_MAX: usize = 64 << 10;

/// How much a pattern of a schema may go back and forth over a text; beyond it the text does not match.
const BACKTRACKS_MAX: usize = 100_000;

/// What the records of each topic should be, and where they go then.
struct Schemas {
    by_topic: BTreeMap<String, Validator>,
    other: Option<Validator>,
    sink: Option<String>,
}

impl Schemas {
    fn from_settings(settings: impl IntoIterator<Item = (String, String)>) -> Result<Self, String> {
        let mut schemas = Self { by_topic: BTreeMap::new(), other: None, sink: None };
        for (name, text) in settings {
            match (name.as_str(), name.strip_prefix(SCHEMA_OF)) {
                ("schema", _) => schemas.other = Some(compile(&name, &text)?),
                ("sink", _) => schemas.sink = Some(text),
                (_, Some(topic)) => drop(schemas.by_topic.insert(topic.to_owned(), compile(&name, &text)?)),
                (other, None) => {
                    return Err(format!("there is no setting {other}; known are schema, schema.TOPIC and sink"));
                }
            }
        }
        if schemas.by_topic.is_empty() && schemas.other.is_none() {
            return Err("there is neither a setting schema nor schema.TOPIC: what should the records be?".to_owned());
        }
        Ok(schemas)
    }

    fn of(&self, topic: &str) -> Result<&Validator, Failure> {
        let schema = self.by_topic.get(topic).or(self.other.as_ref());
        schema.ok_or_else(|| fatal(format!("there is no schema for the topic {topic}: set schema or schema.{topic}")))
    }
}

fn compile(setting: &str, text: &str) -> Result<Validator, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("the setting {setting} is no JSON Schema: {error}");
    let schema: Value = serde_json::from_str(text).map_err(|error| wrong(&error))?;
    let patterns = PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS_MAX);
    let options = jsonschema::options().with_retriever(Nowhere).with_pattern_options(patterns);
    options.build(&schema).map_err(|error| wrong(&format!("{}: {}", place(&error), error.masked())))
}

/// Refuses to fetch what a schema refers to.
struct Nowhere;

impl Retrieve for Nowhere {
    fn retrieve(&self, _: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err("nothing is fetched; put it into the schema".into())
    }
}

/// What is wrong with a value, if anything is.
fn trouble(schema: &Validator, value: &[u8]) -> Option<String> {
    let json: Value = match serde_json::from_slice(value) {
        Ok(json) => json,
        Err(error) => return Some(format!("its value is not JSON: {error}")),
    };
    let first = schema.validate(&json).err()?;
    if value.len() > LISTED_BYTES_MAX {
        return Some(told(&first));
    }
    let all: Vec<_> = schema.iter_errors(&json).collect();
    let mut rules: Vec<String> = all.iter().take(RULES_MAX).map(told).collect();
    if all.len() > RULES_MAX {
        rules.push(format!("and {} more", all.len() - RULES_MAX));
    }
    Some(rules.join("; "))
}

/// Where, what it should be, and by which rule; without the value, which is nobody's business.
fn told(error: &ValidationError<'_>) -> String {
    let (masked, rule) = (error.masked().to_string(), error.schema_path().as_str());
    format!("{}: {} ({})", short(&place(error)), short(&masked), short(rule))
}

fn place(error: &ValidationError<'_>) -> String {
    let place = error.instance_path().to_string();
    if place.is_empty() { "the whole".to_owned() } else { place }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(PART_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The schemas of this instance, compiled once.
fn schemas() -> Result<&'static Schemas, String> {
    static SCHEMAS: OnceLock<Result<Schemas, String>> = OnceLock::new();
    SCHEMAS.get_or_init(|| Schemas::from_settings(settings())).as_ref().map_err(String::clone)
}

fn start() -> Result<(), String> {
    schemas().map(drop)
}

fn process(batch: &Batch) -> Result<(), Failure> {
    validate(batch, schemas().map_err(fatal)?)
}

fn validate(batch: &Batch, schemas: &Schemas) -> Result<(), Failure> {
    for record in batch {
        let schema = schemas.of(record.topic())?;
        match record.value().and_then(|value| trouble(schema, value)) {
            Some(trouble) => batch.reject(record, trouble),
            None => pass(batch, record, schemas.sink.as_deref()),
        }
    }
    Ok(())
}

fn pass(batch: &Batch, record: Record<'_>, sink: Option<&str>) {
    if let Some(sink) = sink {
        batch.emit(sink, OutputRecord::copy_of(record));
    }
}

#[cfg(test)]
mod tests {
    use gristmill_plugin::{Effects, Fixture, FixtureRecord, Outcome, run_batch};

    use super::*;

    const PERSON: &str = r#"{"type":"object","required":["name"],"properties":{
        "name":{"type":"string","maxLength":5},"age":{"type":"integer","minimum":0},"tags":{"items":{"type":"string"}}}}"#;

    fn read(settings: &[(&str, &str)]) -> Result<Schemas, String> {
        Schemas::from_settings(settings.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())))
    }

    fn run(settings: &[(&str, &str)], records: Vec<FixtureRecord>) -> Outcome {
        let schemas = read(settings).unwrap();
        run_batch(|batch| validate(batch, &schemas), records.into_iter().fold(Fixture::new(), Fixture::record))
    }

    fn person(value: &str) -> FixtureRecord {
        FixtureRecord::new().at("people", 0, 1).value(value)
    }

    fn reason(value: &str) -> String {
        match run(&[("schema", PERSON)], vec![person(value)]) {
            Outcome::Ok(Effects { mut rejected, .. }) if rejected.len() == 1 => rejected.remove(0).reason,
            other => panic!("not rejected: {other:?}"),
        }
    }

    #[test]
    fn what_passes_is_done_and_what_does_not_is_rejected_with_place_and_rule() {
        let records =
            vec![person(r#"{"name":"Ada","age":36}"#), person(r#"{"name":"secret","age":-1,"tags":["a",7]}"#)];
        let Outcome::Ok(Effects { rejected, emitted }) = run(&[("schema", PERSON)], records) else { panic!("not ok") };
        assert_eq!((rejected.len(), rejected[0].index, emitted.len()), (1, 1, 0));
        let reason = &rejected[0].reason;
        for part in ["/name: ", "(/properties/name/maxLength)", "/age: ", "(/properties/age/minimum)", "/tags/1: "] {
            assert!(reason.contains(part), "{part} in {reason}");
        }
        assert!(!reason.contains("secret"), "values are not shown: {reason}");
    }

    #[test]
    fn a_missing_field_and_what_is_no_json_are_told() {
        assert!(reason("{}").starts_with("the whole: ") && reason("{}").ends_with("(/required)"), "{}", reason("{}"));
        assert!(reason("{").starts_with("its value is not JSON: EOF"), "{}", reason("{"));
        assert!(reason("").starts_with("its value is not JSON"), "{}", reason(""));
    }

    #[test]
    fn many_broken_rules_are_counted_and_of_a_large_value_the_first_is_told() {
        let tags = |count: usize| format!(r#"{{"name":"a","tags":[{}]}}"#, vec!["1"; count].join(","));
        assert!(reason(&tags(10)).ends_with("; and 7 more"), "{}", reason(&tags(10)));
        let large = reason(&tags(100_000));
        assert!(large.starts_with("/tags/0: ") && !large.contains("more"), "{large}");
    }

    #[test]
    fn tombstones_pass_and_what_passes_goes_to_the_sink() {
        let records = vec![FixtureRecord::new().key("k"), person(r#"{"name":"Ada"}"#), person("{}")];
        let Outcome::Ok(effects) = run(&[("schema", PERSON), ("sink", "clean")], records) else { panic!("not ok") };
        let emitted: Vec<_> = effects.emitted.iter().map(|record| (record.sink.as_str(), record.source)).collect();
        assert_eq!(emitted, [("clean", Some(0)), ("clean", Some(1))]);
        assert_eq!((effects.emitted[0].key.as_deref(), effects.emitted[0].value.as_deref()), (Some(&b"k"[..]), None));
    }

    #[test]
    fn each_topic_may_have_its_own_schema_and_one_without_is_fatal() {
        let numbers = ("schema.numbers", r#"{"type":"number"}"#);
        let number = |value: &str| FixtureRecord::new().at("numbers", 0, 1).value(value);
        let both = [("schema", PERSON), numbers];
        assert_eq!(run(&both, vec![number("7"), person(r#"{"name":"Ada"}"#)]), Outcome::OK);
        assert!(matches!(run(&both, vec![number("{}")]), Outcome::Ok(effects) if effects.rejected.len() == 1));
        let Outcome::Fatal { reason } = run(&[numbers], vec![number("7"), person("{}")]) else { panic!("not fatal") };
        assert_eq!(reason, "there is no schema for the topic people: set schema or schema.people");
    }

    #[test]
    fn settings_that_make_no_sense_are_refused_and_nothing_is_fetched() {
        for (settings, words) in [
            (&[][..], "neither a setting schema nor schema.TOPIC"),
            (&[("schema", "{")], "the setting schema is no JSON Schema: EOF"),
            (&[("schema.a", r#"{"type":7}"#)], "the setting schema.a is no JSON Schema: /type: "),
            (&[("schema", r#"{"$ref":"http://127.0.0.1:1/x.json"}"#)], "nothing is fetched"),
            (&[("schema", "true"), ("sinks", "x")], "there is no setting sinks"),
        ] {
            let error = read(settings).err().expect("refused");
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_pattern_that_explodes_is_given_up() {
        let text = format!("\"{}!\"", "a".repeat(60));
        let outcome = run(&[("schema", r#"{"pattern":"^(?:(?=a)a|a|aa)+$"}"#)], vec![person(&text)]);
        assert!(
            matches!(&outcome, Outcome::Ok(effects) if effects.rejected[0].reason.contains("(/pattern)")),
            "{outcome:?}"
        );
    }
}
