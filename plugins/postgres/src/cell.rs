//! What a column can hold, and how text and JSON become that.
//!
//! It must not know where the text came from.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::instant;
use crate::place::Found;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text.
    Text,
    /// A whole number of 64 bits; columns of smaller ones take it too.
    Bigint,
    /// A number of double precision.
    Double,
    /// True or false.
    Boolean,
    /// An instant.
    Timestamptz,
    /// JSON.
    Jsonb,
    /// A decimal number of any length.
    Numeric,
}

impl Kind {
    /// All kinds, by the names that PostgreSQL gives them.
    pub(crate) const ALL: [(&str, Self); 7] = [
        ("text", Self::Text),
        ("bigint", Self::Bigint),
        ("double", Self::Double),
        ("boolean", Self::Boolean),
        ("timestamptz", Self::Timestamptz),
        ("jsonb", Self::Jsonb),
        ("numeric", Self::Numeric),
    ];

    pub(crate) fn read(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// What a column gets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    Null,
    /// Text, and all that PostgreSQL reads from text.
    Text(Cow<'a, str>),
    Bigint(i64),
    Double(f64),
    Boolean(bool),
}

/// Makes a cell of what was found. An error completes a sentence that begins with the place.
pub(crate) fn cell(kind: Kind, found: Found<'_>) -> Result<Cell<'_>, String> {
    match found {
        Found::Nothing => Ok(Cell::Null),
        Found::Text(text) => from_text(kind, text),
        Found::Json("null") => Ok(Cell::Null),
        Found::Json(json) if kind == Kind::Jsonb => Ok(Cell::Text(json.into())),
        Found::Json(json) => match json.as_bytes().first() {
            Some(b'{') => Err(format!("is an object, no {}", kind.name())),
            Some(b'[') => Err(format!("is a list, no {}", kind.name())),
            Some(b'"') => from_text(kind, unquoted(json)?),
            // Numbers, true and false are their own texts.
            _ => from_text(kind, json.into()),
        },
    }
}

/// The text of a JSON string, borrowed where nothing in it is escaped.
fn unquoted(json: &str) -> Result<Cow<'_, str>, String> {
    if let Ok(text) = serde_json::from_str::<&str>(json) {
        return Ok(text.into());
    }
    serde_json::from_str::<String>(json)
        .map(Cow::from)
        .map_err(|_| "is no text: half a surrogate pair is in it".to_owned())
}

fn from_text(kind: Kind, text: Cow<'_, str>) -> Result<Cell<'_>, String> {
    let made = match kind {
        Kind::Text if text.contains('\0') => {
            return Err("has a NUL character, which PostgreSQL's text cannot hold".into());
        }
        Kind::Text => Some(Cell::Text(text)),
        Kind::Bigint => text.parse().ok().map(Cell::Bigint),
        Kind::Double if is_number(&text) => {
            text.parse().ok().filter(|double: &f64| double.is_finite()).map(Cell::Double)
        }
        Kind::Numeric if is_number(&text) => Some(Cell::Text(text)),
        Kind::Double | Kind::Numeric => None,
        Kind::Boolean => text.parse().ok().map(Cell::Boolean),
        Kind::Timestamptz => instant(&text).map(|text| Cell::Text(text.into())),
        Kind::Jsonb => serde_json::from_str::<&RawValue>(&text).is_ok().then_some(Cell::Text(text)),
    };
    made.ok_or_else(|| match kind {
        Kind::Timestamptz => "is no timestamptz: neither RFC 3339 nor milliseconds since 1970".to_owned(),
        _ => format!("is no {}", kind.name()),
    })
}

fn instant(text: &str) -> Option<String> {
    text.parse().map_or_else(|_| instant::from_rfc3339(text), instant::from_millis)
}

/// True for what JSON calls a number: no sign in front but minus, no words such as NaN, no blanks.
fn is_number(text: &str) -> bool {
    let digit_at_both_ends = {
        let digits = text.strip_prefix('-').unwrap_or(text);
        digits.starts_with(|c: char| c.is_ascii_digit()) && digits.ends_with(|c: char| c.is_ascii_digit())
    };
    digit_at_both_ends && serde_json::from_str::<&RawValue>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(kind: Kind, json: &str) -> String {
        shown(cell(kind, Found::Json(json)))
    }

    fn text(kind: Kind, text: &str) -> String {
        shown(cell(kind, Found::Text(text.into())))
    }

    fn shown(cell: Result<Cell<'_>, String>) -> String {
        match cell {
            Err(error) => error,
            Ok(Cell::Null) => "null".to_owned(),
            Ok(Cell::Text(text)) => format!("'{text}'"),
            Ok(Cell::Bigint(number)) => number.to_string(),
            Ok(Cell::Double(number)) => format!("{number:?}"),
            Ok(Cell::Boolean(yes)) => yes.to_string(),
        }
    }

    #[test]
    fn every_kind_takes_its_own() {
        assert_eq!(json(Kind::Text, r#""a\u00e9\n""#), "'aé\n'");
        assert_eq!(json(Kind::Bigint, "-9223372036854775808"), i64::MIN.to_string());
        assert_eq!(json(Kind::Double, "1e3"), "1000.0");
        assert_eq!(json(Kind::Boolean, "true"), "true");
        assert_eq!(json(Kind::Timestamptz, r#""2024-01-01T01:00:00+01:00""#), "'2024-01-01T00:00:00.000000Z'");
        assert_eq!(json(Kind::Timestamptz, "1"), "'1970-01-01T00:00:00.001000Z'");
        assert_eq!(json(Kind::Jsonb, r#"{"a": 1.10}"#), r#"'{"a": 1.10}'"#);
        assert_eq!(json(Kind::Jsonb, r#""a""#), r#"'"a"'"#);
        assert_eq!(json(Kind::Numeric, "12345678901234567890.10"), "'12345678901234567890.10'");
        for (_, kind) in Kind::ALL {
            assert_eq!(json(kind, "null"), "null");
            assert_eq!(shown(cell(kind, Found::Nothing)), "null");
        }
    }

    #[test]
    fn text_that_reads_as_one_counts_as_well() {
        assert_eq!(json(Kind::Bigint, r#""9007199254740993""#), "9007199254740993");
        assert_eq!(json(Kind::Numeric, r#""-1.50""#), "'-1.50'");
        assert_eq!(text(Kind::Bigint, "7"), "7");
        assert_eq!(text(Kind::Boolean, "false"), "false");
        assert_eq!(text(Kind::Jsonb, "[1]"), "'[1]'");
        assert_eq!(json(Kind::Text, "1.50"), "'1.50'");
        assert_eq!(json(Kind::Text, "true"), "'true'");
    }

    #[test]
    fn what_does_not_convert_is_told_by_kind_and_not_shown() {
        for (kind, written) in [
            (Kind::Bigint, "1.0"),
            (Kind::Bigint, "1e3"),
            (Kind::Bigint, "9223372036854775808"),
            (Kind::Bigint, r#"" 7""#),
            (Kind::Double, "1e999"),
            (Kind::Double, r#""NaN""#),
            (Kind::Double, r#""""#),
            (Kind::Numeric, r#""NaN""#),
            (Kind::Numeric, r#""+1""#),
            (Kind::Numeric, r#""--1""#),
            (Kind::Numeric, r#""1 ""#),
            (Kind::Boolean, "1"),
            (Kind::Boolean, r#""yes""#),
            (Kind::Timestamptz, r#""yesterday""#),
        ] {
            let told = json(kind, written);
            assert!(told.starts_with(&format!("is no {}", kind.name())), "{written}: {told}");
        }
        assert_eq!(json(Kind::Text, "{}"), "is an object, no text");
        assert_eq!(json(Kind::Numeric, "[1]"), "is a list, no numeric");
        assert!(json(Kind::Text, r#""a\u0000""#).starts_with("has a NUL character"));
        assert!(json(Kind::Text, r#""\ud800""#).starts_with("is no text: half a surrogate"));
        assert_eq!(text(Kind::Jsonb, "x"), "is no jsonb");
    }
}
