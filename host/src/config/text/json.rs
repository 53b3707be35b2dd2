//! JSON to tree, with the span of every value. A value's span is found from where its raw text lies in the input.

use std::ops::Range;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{SyntaxError, byte_at};
use crate::config::tree::{Entry, Node, Origin, Value};

/// Reads a JSON text.
///
/// # Errors
/// The first syntax error, or a key that is given twice.
pub(super) fn read(text: &str) -> Result<Node, SyntaxError> {
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| syntax(text, 0, &error))?;
    Reader { text }.node(raw, 0)
}

/// How deep values may be nested. The configuration needs four levels; each level below us costs stack.
const DEPTH_MAX: usize = 64;

struct Reader<'t> {
    text: &'t str,
}

impl Reader<'_> {
    fn node(&self, raw: &RawValue, depth: usize) -> Result<Node, SyntaxError> {
        let span = self.span(raw.get());
        if depth > DEPTH_MAX {
            return Err(SyntaxError { message: format!("this is nested more than {DEPTH_MAX} deep"), span });
        }
        let broken = |error: serde_json::Error| syntax(self.text, span.start, &error);
        let value = match raw.get().as_bytes().first() {
            Some(b'{') => {
                let members: Members<'_> = serde_json::from_str(raw.get()).map_err(broken)?;
                Value::Table(self.entries(members, depth + 1)?)
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(raw.get()).map_err(broken)?;
                Value::List(items.into_iter().map(|item| self.node(item, depth + 1)).collect::<Result<_, _>>()?)
            }
            _ => match serde_json::from_str(raw.get()).map_err(broken)? {
                serde_json::Value::Bool(truth) => Value::Bool(truth),
                serde_json::Value::String(text) => Value::Text(text),
                serde_json::Value::Number(number) => match number.as_i128() {
                    Some(whole) => Value::Integer(whole),
                    None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
                },
                serde_json::Value::Null | serde_json::Value::Array(_) | serde_json::Value::Object(_) => Value::Null,
            },
        };
        Ok(Node::new(value, Origin::File(span)))
    }

    fn entries(&self, members: Members<'_>, depth: usize) -> Result<Vec<Entry>, SyntaxError> {
        let mut entries: Vec<Entry> = Vec::new();
        for (key, raw) in members.0 {
            let span = self.span(key.get());
            let key: String = serde_json::from_str(key.get()).map_err(|error| syntax(self.text, span.start, &error))?;
            if entries.iter().any(|entry| entry.key == key) {
                return Err(SyntaxError { message: format!("the key \"{key}\" is given twice"), span });
            }
            entries.push(Entry { key, key_origin: Origin::File(span), node: self.node(raw, depth)? });
        }
        Ok(entries)
    }

    /// Where `part`, a slice of the text, lies in it.
    fn span(&self, part: &str) -> Range<usize> {
        let start = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        start..start + part.len()
    }
}

/// The members of an object, in order, repeated keys included.
struct Members<'t>(Vec<(&'t RawValue, &'t RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

fn syntax(text: &str, base: usize, error: &serde_json::Error) -> SyntaxError {
    let full = error.to_string();
    let message = full.rsplit_once(" at line ").map_or(full.as_str(), |(message, _)| message).to_owned();
    let start = base + byte_at(text.get(base..).unwrap_or_default(), error.line(), error.column());
    SyntaxError { message, span: start..start }
}
