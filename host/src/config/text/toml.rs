//! TOML to tree, with the span of every key and value.

use std::ops::Range;

use ::toml::Spanned;
use ::toml::de::{DeInteger, DeTable, DeValue};

use super::SyntaxError;
use crate::config::tree::{Entry, Node, Origin, Value};

/// Reads a TOML text.
///
/// # Errors
/// The first syntax error, an integer that does not fit, or a date (no key takes one).
pub(super) fn read(text: &str) -> Result<Node, SyntaxError> {
    let table = DeTable::parse(text).map_err(|error| SyntaxError {
        message: error.message().trim().replace('\n', "; "),
        span: error.span().unwrap_or(0..0),
    })?;
    let entries = entries(table.get_ref())?;
    Ok(Node::new(Value::Table(entries), Origin::File(0..0)))
}

fn entries(table: &DeTable<'_>) -> Result<Vec<Entry>, SyntaxError> {
    table
        .iter()
        .map(|(key, value)| {
            Ok(Entry { key: key.get_ref().to_string(), key_origin: Origin::File(key.span()), node: node(value)? })
        })
        .collect()
}

fn node(spanned: &Spanned<DeValue<'_>>) -> Result<Node, SyntaxError> {
    let span = spanned.span();
    let value = match spanned.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => Value::Integer(integer(number, &span)?),
        DeValue::Float(number) => {
            Value::Float(number.as_str().parse().map_err(|_| refused("this number cannot be read", &span))?)
        }
        DeValue::Boolean(truth) => Value::Bool(*truth),
        DeValue::Datetime(_) => return Err(refused("no key takes a date; put quotes around it if it is text", &span)),
        DeValue::Array(array) => Value::List(array.iter().map(node).collect::<Result<_, _>>()?),
        DeValue::Table(table) => Value::Table(entries(table)?),
    };
    Ok(Node::new(value, Origin::File(span)))
}

fn integer(number: &DeInteger<'_>, span: &Range<usize>) -> Result<i128, SyntaxError> {
    i128::from_str_radix(number.as_str(), number.radix()).map_err(|_| refused("this number is too large", span))
}

fn refused(message: &str, span: &Range<usize>) -> SyntaxError {
    SyntaxError { message: message.to_owned(), span: span.clone() }
}
