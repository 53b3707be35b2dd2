//! YAML to tree, with the span of every key and value. YAML 1.2: `no` is text, not false.

use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

use super::{SyntaxError, byte_at};
use crate::config::tree::{Entry, Node, Origin, Value};

/// Reads a YAML text of one document.
///
/// # Errors
/// The first syntax error, or a key that is given twice.
pub(super) fn read(text: &str) -> Result<Node, SyntaxError> {
    let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
    let root: Spanned<Yaml> = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let span = error.location().map_or(0..0, |location| span(text, &location));
        let full = error.to_string();
        let message = full.split_once(" at line ").map_or(full.as_str(), |(message, _)| message);
        // Some messages go on with advice to whoever programs the parser.
        let message = message.split("; use ").next().unwrap_or(message);
        SyntaxError { message: message.replace('\n', "; "), span }
    })?;
    Ok(node(text, root))
}

/// A value as the parser gives it, before its places are turned into bytes.
enum Yaml {
    Scalar(Value),
    List(Vec<Spanned<Yaml>>),
    Table(Vec<(Spanned<String>, Spanned<Yaml>)>),
}

fn node(text: &str, spanned: Spanned<Yaml>) -> Node {
    let origin = Origin::File(span(text, &spanned.referenced));
    let value = match spanned.value {
        Yaml::Scalar(value) => value,
        Yaml::List(items) => Value::List(items.into_iter().map(|item| node(text, item)).collect()),
        Yaml::Table(members) => Value::Table(members.into_iter().map(|member| entry(text, member)).collect()),
    };
    Node::new(value, origin)
}

fn entry(text: &str, (key, value): (Spanned<String>, Spanned<Yaml>)) -> Entry {
    let key_origin = Origin::File(span(text, &key.referenced));
    Entry { key: key.value, key_origin, node: node(text, value) }
}

fn span(text: &str, location: &Location) -> Range<usize> {
    let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let start = byte_at(text, place(location.line()), place(location.column()));
    let chars = place(location.span().len());
    let length: usize = text.get(start..).unwrap_or_default().chars().take(chars).map(char::len_utf8).sum();
    start..start + length
}

impl<'de> Deserialize<'de> for Yaml {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Collect)
    }
}

struct Collect;

impl<'de> Visitor<'de> for Collect {
    type Value = Yaml;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(Value::Bool(truth)))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(Value::Integer(number.into())))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(Value::Integer(number.into())))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(Value::Float(number)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(Value::Text(text.to_owned())))
    }

    fn visit_unit<E: Error>(self) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(Value::Null))
    }

    fn visit_none<E: Error>(self) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Yaml, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Yaml::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Yaml, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Yaml::Table(members))
    }
}
