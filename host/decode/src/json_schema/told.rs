//! What is told of a broken rule: where, which rule, and what it asks for.
//!
//! Nothing of the record is: reasons are logged. Of a path to a value only the names that the schema itself has are shown, since the
//! others may be anything, as the addresses in an object that has one property for each customer.

use std::collections::HashSet;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value;

use crate::failure::short;

/// How much is told of the path to a value, of the path to a rule, and of the rule.
const PART_CHARS_MAX: usize = 90;

/// What stands for a name that the schema does not have.
const UNNAMED: &str = "*";

/// The names that stand in a schema.
#[derive(Debug, Default)]
pub(super) struct Names(HashSet<Box<str>>);

impl Names {
    /// Those of schemas that belong together.
    pub(super) fn of<'a>(schemas: impl Iterator<Item = &'a Value>) -> Self {
        let mut names = Self::default();
        schemas.for_each(|schema| names.add(schema));
        names
    }

    fn add(&mut self, schema: &Value) {
        match schema {
            Value::Object(members) => {
                for (name, value) in members {
                    self.0.insert(name.as_str().into());
                    self.add(value);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// What a record breaks, without anything of it.
    pub(super) fn broken(&self, error: &ValidationError<'_>, record: &Value) -> String {
        told(&self.place(error.instance_path().as_str(), record), error, &rule(error))
    }

    /// The path to a value.
    fn place(&self, pointer: &str, record: &Value) -> String {
        let (mut place, mut at) = (String::new(), Some(record));
        for segment in pointer.split('/').skip(1) {
            let name = segment.replace("~1", "/").replace("~0", "~");
            let (shown, inside) = match at {
                Some(Value::Array(items)) => (segment, name.parse().ok().and_then(|index: usize| items.get(index))),
                Some(Value::Object(members)) if self.0.contains(name.as_str()) => (segment, members.get(&name)),
                Some(Value::Object(members)) => (UNNAMED, members.get(&name)),
                Some(_) | None => (UNNAMED, None),
            };
            place.push('/');
            place.push_str(shown);
            at = inside;
        }
        place
    }
}

/// What is wrong with a schema.
pub(super) fn of_schema(error: &ValidationError<'_>) -> String {
    told(error.instance_path().as_str(), error, &error.masked().to_string())
}

fn told(place: &str, error: &ValidationError<'_>, rule: &str) -> String {
    let place = if place.is_empty() { "the whole".to_owned() } else { short(place, PART_CHARS_MAX) };
    let path = short(error.schema_path().as_str(), PART_CHARS_MAX);
    format!("{place}: {} ({path})", short(rule, PART_CHARS_MAX))
}

/// The rule in words, without names and values of the record.
fn rule(error: &ValidationError<'_>) -> String {
    let counted = |count: usize, one: &str, more: &str| match count {
        1 => format!("{one} that the schema does not allow"),
        count => format!("{count} {more} that the schema does not allow"),
    };
    match error.kind() {
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            counted(unexpected.len(), "a property", "properties")
        }
        Kind::UnevaluatedItems { unexpected } => counted(unexpected.len(), "an item", "items"),
        Kind::PropertyNames { .. } => "the name of a property is none that the schema allows".to_owned(),
        _ => error.masked().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_and_values_of_the_record_are_not_told() {
        let secret = "secret";
        for (schema, record, told) in [
            (
                json!({"properties": {"a": true}, "additionalProperties": false}),
                json!({"secret": 1}),
                ": a property that",
            ),
            (json!({"unevaluatedProperties": false}), json!({"secret": 1, "secret2": 2}), ": 2 properties that"),
            (json!({"prefixItems": [true], "unevaluatedItems": false}), json!([1, secret]), ": an item that"),
            (json!({"propertyNames": {"maxLength": 1}}), json!({"secret": 1}), "the name of a property"),
            (json!({"additionalProperties": {"type": "null"}}), json!({"secret": secret}), "/*: value is not of type"),
            (json!({"properties": {"a/b": {"items": {"const": 7}}}}), json!({"a/b": [7, secret]}), "/a~1b/1: "),
            (json!({"additionalProperties": {"const": 7}}), json!({"0049123": secret}), "/*: 7 was expected"),
            (json!({"anyOf": [{"const": 7}, false]}), json!(secret), "the whole: value is not valid under any"),
            (json!({"not": {"minLength": 1}}), json!(secret), "is not allowed for value"),
            (json!({"uniqueItems": true}), json!([secret, secret]), "has non-unique elements"),
            (json!({"contains": {"type": "null"}}), json!([secret]), "None of value"),
            (
                json!({"format": "date", "$schema": "http://json-schema.org/draft-07/schema#"}),
                json!(secret),
                "\"date\"",
            ),
        ] {
            let names = Names::of(std::iter::once(&schema));
            let validator = jsonschema::validator_for(&schema).unwrap();
            let errors: Vec<String> =
                validator.iter_errors(&record).map(|error| names.broken(&error, &record)).collect();
            let text = errors.join("; ");
            assert!(text.contains(told), "{told}: {text}");
            assert!(!text.contains(secret) && !text.contains("49123"), "{text}");
        }
    }
}
