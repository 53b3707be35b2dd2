//! Checks that bytes are one JSON text, without building anything.
//!
//! It does not know schemas. What RFC 8259 calls JSON is accepted: also numbers that no machine type holds, half surrogates in
//! escapes, and names that stand twice in an object.

use std::str;

use serde::Deserialize as _;
use serde::de::IgnoredAny;

use crate::json_text::Exceeded;
use crate::limits::Limits;

/// Checks the bytes.
///
/// # Errors
/// Says what is wrong, and where.
pub(crate) fn check(bytes: &[u8], limits: Limits) -> Result<(), String> {
    // Skipping a text does not look at its encoding, so that is looked at first; it is the fastest part.
    check_utf8(bytes)?;
    let mut parser = serde_json::Deserializer::from_slice(bytes);
    let skipped = IgnoredAny::deserialize(&mut parser).and_then(|_| parser.end());
    skipped.map_err(|error| not_json(&error))?;
    check_depth(bytes, limits)
}

/// Checks how deeply a JSON text is nested.
///
/// # Errors
/// Says that it is too deep.
pub(crate) fn check_depth(json: &[u8], limits: Limits) -> Result<(), String> {
    if is_deeper(json, limits.depth()) { Err(Exceeded::Depth(limits.depth()).to_string()) } else { Ok(()) }
}

/// What the parser found instead of JSON.
pub(crate) fn not_json(error: &serde_json::Error) -> String {
    format!("it is not JSON: {error}")
}

/// Checks that the bytes are UTF-8.
///
/// # Errors
/// Says where they are not.
pub(crate) fn check_utf8(bytes: &[u8]) -> Result<&str, String> {
    str::from_utf8(bytes)
        .map_err(|error| format!("it is not UTF-8: byte {} of {} cannot stand there", error.valid_up_to(), bytes.len()))
}

/// True for a JSON text in which more than `depth_max` brackets are open at once.
fn is_deeper(json: &[u8], depth_max: usize) -> bool {
    // Hardly any text has so many brackets at all, and counting them takes no branches.
    if json.iter().filter(|byte| matches!(byte, b'[' | b'{')).count() <= depth_max {
        return false;
    }
    let (mut depth, mut in_text, mut at) = (0_usize, false, 0);
    while let Some(byte) = json.get(at) {
        match byte {
            b'\\' if in_text => at += 1,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => depth += 1,
            b']' | b'}' if !in_text => depth -= 1,
            _ => {}
        }
        if depth > depth_max {
            return true;
        }
        at += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(bytes: &[u8]) -> String {
        check(bytes, Limits::default()).unwrap_err()
    }

    fn passes(bytes: &[u8]) -> bool {
        check(bytes, Limits::default()).is_ok()
    }

    #[test]
    fn json_of_every_kind_passes() {
        for text in
            ["null", " {\"a\":[1,-2.5e3,true,\"\\u00e9é\"]} ", "\"\"", "0", "1e999", "{\"a\":1,\"a\":2}", "\"\\ud800\""]
        {
            assert!(passes(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn what_is_not_json_is_refused_with_the_place() {
        for text in
            ["", " ", "{", "{\"a\":}", "01", "nul", "1 2", "{'a':1}", "[1,]", "\u{feff}1", "\"\n\"", "NaN", "\"\\x\""]
        {
            assert!(!passes(text.as_bytes()), "{text}");
        }
        assert!(reason(b"{\"a\":}").contains("line 1 column 6"), "{}", reason(b"{\"a\":}"));
    }

    #[test]
    fn bytes_that_are_no_utf8_are_refused_also_inside_of_texts() {
        assert!(reason(b"\"ab\xffcd\"").ends_with("byte 3 of 7 cannot stand there"), "{}", reason(b"\"ab\xffcd\""));
    }

    #[test]
    fn depth_is_counted_outside_of_texts_only() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(passes(nested(100).as_bytes()));
        assert!(reason(nested(101).as_bytes()).contains("deeper than 100 levels"));
        // The parser must not follow it down, whatever the depth.
        assert!(reason(nested(1_000_000).as_bytes()).contains("deeper"));
        assert!(passes(format!("[\"{}\\\"[\"]", "[".repeat(1000)).as_bytes()));
        assert!(passes(format!("[{}]", vec!["[]"; 1000].join(",")).as_bytes()));
    }
}
