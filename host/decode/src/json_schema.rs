//! Checks JSON against a schema.
//!
//! The draft is the one that the schema names, or 2020-12. Nothing is fetched: what a `$ref` names stands in the schema itself, is a
//! known meta-schema, or was handed in beside it. It does not know where schemas come from.

mod hops;
mod told;

use std::collections::HashMap;
use std::error::Error;

use jsonschema::{PatternOptions, Retrieve, Uri, Validator};
use serde_json::Value;

use self::hops::Hops;
use self::told::Names;
use crate::contain::contained;
use crate::json;
use crate::limits::Limits;
use crate::stack::{STACK_BYTES, with_stack};

/// How many broken rules are told.
const RULES_MAX: usize = 3;

/// Up to this product of a text's bytes and the keywords in place (and one) all broken rules are looked for, beyond it the first: the
/// validator hands them out all at once, and each of many items may break one under each branch.
const LISTED_PRODUCT_MAX: usize = 16 << 10;

/// Up to this size the first broken rule is looked for also where the schema has an `anyOf` or `oneOf`: for one that does not hold, the
/// validator lists all that is wrong under each of its schemas.
const TOLD_BYTES_MAX: usize = 64 << 10;

/// How much a pattern of a schema may go back and forth over a text; beyond it the text does not match.
const BACKTRACKS_MAX: usize = 100_000;

/// A schema to check with.
#[derive(Debug)]
pub(crate) struct JsonSchema {
    /// There until it is dropped.
    validator: Option<Validator>,
    hops: Hops,
    names: Names,
}

impl JsonSchema {
    /// Compiles a schema, with those that it refers to by name.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub(crate) fn parse(text: &str, references: &[(&str, &str)]) -> Result<Self, String> {
        let schema = parse(text)?;
        let others = references.iter().map(|(name, text)| Ok(((*name).to_owned(), parse(text)?)));
        let others = Others(others.collect::<Result<_, String>>()?);
        let hops = Hops::count(others.0.values().chain([&schema]))?;
        let names = Names::of(others.0.values().chain([&schema]));
        let patterns = PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS_MAX);
        let options = jsonschema::options().with_retriever(others).with_pattern_options(patterns);
        // It follows eight references at a time, each into a schema that is nested as deeply as JSON is read.
        let compiled = with_stack(STACK_BYTES, || options.build(&schema));
        let validator =
            Some(compiled.map_err(|error| format!("it is not a JSON Schema: {}", told::of_schema(&error)))?);
        Ok(Self { validator, hops, names })
    }

    /// Checks a JSON text.
    ///
    /// # Errors
    /// Says what is wrong: with the JSON, or which rules it breaks.
    pub(crate) fn check(&self, bytes: &[u8], limits: Limits) -> Result<(), String> {
        // A number that no machine type holds is JSON, and cannot be compared with a rule: it is refused here.
        let value: Value = serde_json::from_slice(bytes).map_err(|error| json::not_json(&error))?;
        json::check_depth(bytes, self.hops.limit(limits)).map_err(|_| self.hops.too_deep(limits))?;
        let check = || with_stack(self.hops.stack_bytes(limits), || self.broken(&value, bytes.len()));
        let broken = contained(check).ok_or("the schema cannot be applied to it")?;
        match broken {
            None => Ok(()),
            Some(rules) => Err(format!("it breaks its schema: {rules}")),
        }
    }

    /// The rules that are broken, if any are.
    fn broken(&self, value: &Value, bytes: usize) -> Option<String> {
        let validator = self.validator.as_ref()?;
        if validator.is_valid(value) {
            return None;
        }
        if bytes > TOLD_BYTES_MAX && self.hops.has_branches() {
            return Some(format!("which rule is told of texts up to {TOLD_BYTES_MAX} bytes"));
        }
        if bytes.saturating_mul(self.hops.keywords() + 1) > LISTED_PRODUCT_MAX {
            return validator.validate(value).err().map(|first| self.names.broken(&first, value));
        }
        let (mut told, mut count) = (Vec::new(), 0_usize);
        for error in validator.iter_errors(value) {
            if count < RULES_MAX {
                told.push(self.names.broken(&error, value));
            }
            count += 1;
        }
        if let Some(more) = count.checked_sub(RULES_MAX).filter(|more| *more > 0) {
            told.push(format!("and {more} more"));
        }
        Some(told.join("; "))
    }
}

/// A chain of references is dropped link by link, each inside of the one before.
impl Drop for JsonSchema {
    fn drop(&mut self) {
        let validator = self.validator.take();
        with_stack(self.hops.stack_bytes(Limits::default()), || drop(validator));
    }
}

fn parse(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("it is not a JSON Schema: {error}"))
}

/// The schemas that were handed in, by the names under which they are referred to.
struct Others(HashMap<String, Value>);

impl Retrieve for Others {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        // A name is relative to the schema that uses it, so that it arrives with that one's address in front.
        let named = self.0.iter().find(|(name, _)| {
            let front = uri.as_str().strip_suffix(name.as_str());
            front.is_some_and(|front| front.is_empty() || front.ends_with(['/', ':']))
        });
        named.map(|(_, schema)| schema.clone()).ok_or_else(|| "nothing is fetched; put it into the schema".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERSON: &str = r#"{"type":"object","required":["name"],"properties":{
        "name":{"type":"string","maxLength":5},"age":{"type":"integer","minimum":0},"tags":{"items":{"type":"string"}}}}"#;

    fn reason(schema: &str, json: &str) -> String {
        JsonSchema::parse(schema, &[]).unwrap().check(json.as_bytes(), Limits::default()).unwrap_err()
    }

    fn passes(schema: &JsonSchema, json: &str) -> bool {
        schema.check(json.as_bytes(), Limits::default()).is_ok()
    }

    #[test]
    fn what_follows_the_schema_passes_and_what_does_not_is_told_with_path_and_rule() {
        assert!(passes(&JsonSchema::parse(PERSON, &[]).unwrap(), r#"{"name":"Ada","age":36}"#));
        let reason = reason(PERSON, r#"{"name":"secret-name","age":-1,"tags":["a",7]}"#);
        assert!(reason.contains("/name: ") && reason.contains("(/properties/name/maxLength)"), "{reason}");
        assert!(reason.contains("/age: ") && reason.contains("(/properties/age/minimum)"), "{reason}");
        assert!(reason.contains("/tags/1: ") && reason.contains("(/properties/tags/items/type)"), "{reason}");
        assert!(!reason.contains("secret"), "values are not shown: {reason}");
    }

    #[test]
    fn a_few_broken_rules_are_told_and_the_rest_counted() {
        let reason = reason(PERSON, &format!(r#"{{"name":"a","tags":[{}]}}"#, ["1"; 10].join(",")));
        assert!(reason.contains("and 7 more"), "{reason}");
    }

    #[test]
    fn of_a_large_text_the_first_broken_rule_is_told() {
        let reason = reason(PERSON, &format!(r#"{{"name":"a","tags":[{}]}}"#, ["1"; 100_000].join(",")));
        assert!(reason.contains("/tags/0: ") && !reason.contains("more"), "{reason}");
    }

    #[test]
    fn of_a_large_text_no_list_is_made_either_where_no_branch_holds() {
        let schema = r#"{"anyOf":[{"items":{"type":"string"}},{"type":"null"}]}"#;
        assert!(reason(schema, &format!("[{}]", ["1"; 10].join(","))).contains("(/anyOf)"));
        assert!(reason(schema, &format!("[{}]", ["1"; 200_000].join(","))).contains("texts up to 65536 bytes"));
    }

    #[test]
    fn what_is_not_json_is_said_to_be_no_json() {
        assert!(reason(PERSON, "{").contains("not JSON"));
        assert!(reason("true", "1e999").contains("number out of range"), "{}", reason("true", "1e999"));
    }

    #[test]
    fn nothing_is_fetched() {
        let refused = JsonSchema::parse(r#"{"$ref":"http://127.0.0.1:1/x.json"}"#, &[]).unwrap_err();
        assert!(refused.contains("not a JSON Schema") && refused.contains("127.0.0.1"), "{refused}");
        assert!(JsonSchema::parse(r#"{"$ref":"file:///etc/hostname"}"#, &[]).is_err());
        assert!(JsonSchema::parse("{", &[]).is_err() && JsonSchema::parse(r#"{"type":7}"#, &[]).is_err());
    }

    #[test]
    fn a_schema_handed_in_is_found_by_its_name() {
        let text = [r#"{"$ref":"amount.json"}"#, r#"{"$id":"https://e.com/a/order.json","$ref":"amount.json"}"#];
        for text in text {
            let schema = JsonSchema::parse(text, &[("amount.json", r#"{"type":"integer"}"#)]).unwrap();
            assert!(passes(&schema, "1") && !passes(&schema, "\"1\""));
        }
        assert!(JsonSchema::parse(r#"{"$ref":"amount.json"}"#, &[("count.json", "true")]).is_err());
        assert!(JsonSchema::parse(r#"{"$ref":"discount.json"}"#, &[("count.json", "true")]).is_err());
    }

    #[test]
    fn schemas_that_refer_to_themselves_end() {
        for text in [
            r##"{"$ref":"#"}"##,
            r##"{"allOf":[{"$ref":"#"}]}"##,
            r##"{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"anyOf":[{"$ref":"#/$defs/a"}]}},"$ref":"#/$defs/a"}"##,
            r##"{"not":{"$ref":"#"}}"##,
            r##"{"if":{"$ref":"#"},"then":false}"##,
            r##"{"$dynamicAnchor":"x","oneOf":[{"$dynamicRef":"#x"},{"type":"string"}]}"##,
        ] {
            if let Ok(schema) = JsonSchema::parse(text, &[]) {
                let _ = schema.check(b"{\"a\":[1,2,{\"b\":3}]}", Limits::default());
            }
        }
        let tree = JsonSchema::parse(r##"{"type":"object","additionalProperties":{"$ref":"#"}}"##, &[]).unwrap();
        assert!(passes(&tree, r#"{"a":{"b":{}}}"#) && !passes(&tree, r#"{"a":{"b":1}}"#));
    }

    #[test]
    fn a_pattern_that_explodes_is_given_up() {
        let schema = r#"{"pattern":"^(?:(?=a)a|a|aa)+$"}"#;
        let text = format!("\"{}!\"", "a".repeat(60));
        assert!(reason(schema, &text).contains("(/pattern)"));
    }
}
