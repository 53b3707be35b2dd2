//! Where in a record the value of a column stands, and how it is found there.
//!
//! It must not know what type the column is of.

use std::borrow::Cow;
use std::fmt;

use gristmill_plugin::{Record, Timestamp};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Where the value of a column stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the record's value, read as JSON; no step: the whole of it.
    Value(Path),
    /// In the record's key, read as JSON.
    KeyField(Path),
    /// The key as text.
    Key,
    /// The topic.
    Topic,
    /// The partition.
    Partition,
    /// The offset.
    Offset,
    /// The record's time.
    Timestamp,
    /// The last header of that name, as text.
    Header(String),
}

/// The steps from a JSON value to one inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    steps: Vec<String>,
}

impl Path {
    /// Reads a JSON Pointer.
    fn from_pointer(pointer: &str) -> Self {
        let steps = pointer.split('/').skip(1);
        Self { steps: steps.map(|step| step.replace("~1", "/").replace("~0", "~")).collect() }
    }
}

impl Place {
    /// Reads a place as the settings write it: the name of a field, a JSON Pointer, or a word that begins with `@`.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        match text {
            "@value" => Ok(Self::Value(Path { steps: Vec::new() })),
            "@key" => Ok(Self::Key),
            "@topic" => Ok(Self::Topic),
            "@partition" => Ok(Self::Partition),
            "@offset" => Ok(Self::Offset),
            "@timestamp" => Ok(Self::Timestamp),
            _ => Self::read_longer(text),
        }
    }

    fn read_longer(text: &str) -> Result<Self, String> {
        if let Some(name) = text.strip_prefix("@header.").filter(|name| !name.is_empty()) {
            return Ok(Self::Header(name.to_owned()));
        }
        if let Some(pointer) = text.strip_prefix("@key").filter(|pointer| pointer.starts_with('/')) {
            return Ok(Self::KeyField(Path::from_pointer(pointer)));
        }
        if text.starts_with('@') {
            return Err(format!(
                "there is no {text}; known are @value, @key, @key/POINTER, @topic, @partition, @offset, @timestamp and \
                 @header.NAME"
            ));
        }
        let path = if text.starts_with('/') { Path::from_pointer(text) } else { Path { steps: vec![text.to_owned()] } };
        Ok(Self::Value(path))
    }

    fn in_value(&self) -> Option<&[String]> {
        if let Self::Value(Path { steps }) = self { Some(steps) } else { None }
    }

    fn in_key(&self) -> Option<&[String]> {
        if let Self::KeyField(Path { steps }) = self { Some(steps) } else { None }
    }

    /// True where a record without a value has it too.
    pub(crate) fn is_of_key(&self) -> bool {
        matches!(self, Self::Key | Self::KeyField(_))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = |f: &mut fmt::Formatter<'_>, path: &Path| {
            path.steps.iter().try_for_each(|step| write!(f, "/{}", step.replace('~', "~0").replace('/', "~1")))
        };
        match self {
            Self::Value(Path { steps }) if steps.is_empty() => f.write_str("@value"),
            Self::Value(steps) => path(f, steps),
            Self::KeyField(steps) => f.write_str("@key").and_then(|()| path(f, steps)),
            Self::Key => f.write_str("@key"),
            Self::Topic => f.write_str("@topic"),
            Self::Partition => f.write_str("@partition"),
            Self::Offset => f.write_str("@offset"),
            Self::Timestamp => f.write_str("@timestamp"),
            Self::Header(name) => write!(f, "@header.{name}"),
        }
    }
}

/// What stands at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found<'a> {
    /// Nothing, or a null that is none of JSON's.
    Nothing,
    /// A JSON value, as it is written.
    Json(&'a str),
    /// Text.
    Text(Cow<'a, str>),
}

/// What stands at each of the places, in their order; an error is why the record cannot be read.
pub(crate) fn find<'a>(record: Record<'a>, places: &[&Place]) -> Result<Vec<Found<'a>>, String> {
    let mut found = Vec::with_capacity(places.len());
    for place in places {
        found.push(match place {
            Place::Value(_) | Place::KeyField(_) => Found::Nothing,
            Place::Key => text("key", record.key())?,
            Place::Topic => Found::Text(record.topic().into()),
            Place::Partition => Found::Text(record.partition().to_string().into()),
            Place::Offset => Found::Text(record.offset().to_string().into()),
            Place::Timestamp => match record.timestamp() {
                Timestamp::None => Found::Nothing,
                Timestamp::CreateTime(ms) | Timestamp::LogAppendTime(ms) => Found::Text(ms.to_string().into()),
            },
            Place::Header(name) => text("header", record.header(name).flatten())?,
        });
    }
    find_json("value", record.value(), places, Place::in_value, &mut found)?;
    find_json("key", record.key(), places, Place::in_key, &mut found)?;
    Ok(found)
}

fn text<'a>(what: &str, bytes: Option<&'a [u8]>) -> Result<Found<'a>, String> {
    let Some(bytes) = bytes else { return Ok(Found::Nothing) };
    let text = std::str::from_utf8(bytes).map_err(|_| format!("its {what} is not UTF-8"))?;
    Ok(Found::Text(text.into()))
}

/// A value that is looked for: the steps that are left, and where it goes in the answer.
type Wanted<'p> = (&'p [String], usize);

fn find_json<'a>(
    what: &str,
    bytes: Option<&'a [u8]>,
    places: &[&Place],
    steps_of: fn(&Place) -> Option<&[String]>,
    found: &mut [Found<'a>],
) -> Result<(), String> {
    let steps = places.iter().enumerate().filter_map(|(slot, place)| Some((steps_of(place)?, slot)));
    let wanted: Vec<Wanted<'_>> = steps.collect();
    let Some(bytes) = bytes.filter(|_| !wanted.is_empty()) else { return Ok(()) };
    let json: &RawValue = serde_json::from_slice(bytes).map_err(|error| format!("its {what} is not JSON: {error}"))?;
    descend(json.get(), &wanted, found);
    Ok(())
}

/// Notes a value where it is wanted itself, and looks into it for what is wanted inside.
fn descend<'a>(json: &'a str, wanted: &[Wanted<'_>], found: &mut [Found<'a>]) {
    for (steps, slot) in wanted {
        // Of a name that occurs twice the last one counts, with all that is in it.
        found[*slot] = if steps.is_empty() { Found::Json(json) } else { Found::Nothing };
    }
    let mut first: Vec<&str> = wanted.iter().filter_map(|(steps, _)| steps.first().map(String::as_str)).collect();
    first.dedup();
    for (step, json) in parts(json, &first) {
        let inside: Vec<Wanted<'_>> = wanted.iter().filter_map(|wanted| one_step_in(*wanted, step)).collect();
        descend(json, &inside, found);
    }
}

/// What of it is wanted in the part of that name.
fn one_step_in<'p>((steps, slot): Wanted<'p>, name: &str) -> Option<Wanted<'p>> {
    let (first, rest) = steps.split_first()?;
    (first == name).then_some((rest, slot))
}

/// The members of an object, or the items of a list, that have one of the names, in their order.
fn parts<'a, 'w>(json: &'a str, names: &[&'w str]) -> Vec<(&'w str, &'a str)> {
    let reader = &mut serde_json::Deserializer::from_str(json);
    let parts = match json.as_bytes().first() {
        Some(b'{') if !names.is_empty() => reader.deserialize_map(Parts(names)),
        Some(b'[') if !names.is_empty() => reader.deserialize_seq(Parts(names)),
        _ => return Vec::new(),
    };
    // The whole was read before, so that this is JSON as well; a name that is no text (half a surrogate) ends the search.
    parts.unwrap_or_default()
}

struct Parts<'n, 'w>(&'n [&'w str]);

/// The name of a member.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a, 'w> Visitor<'a> for Parts<'_, 'w> {
    type Value = Vec<(&'w str, &'a str)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut parts = Vec::new();
        while let Some(Name(name)) = map.next_key()? {
            match self.0.iter().find(|wanted| **wanted == name) {
                Some(wanted) => parts.push((*wanted, map.next_value::<&'a RawValue>()?.get())),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(parts)
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut parts = Vec::new();
        let mut index = 0_usize;
        while let Some(item) = seq.next_element::<&'a RawValue>()? {
            let name = index.to_string();
            parts.extend(self.0.iter().find(|wanted| **wanted == name).map(|wanted| (*wanted, item.get())));
            index += 1;
        }
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use gristmill_plugin::{Batch, Fixture, FixtureRecord, run_batch};

    use super::*;

    /// What stands at the places of a record, shown; or why it cannot be read.
    fn shown(record: FixtureRecord, places: &[&str]) -> String {
        let places: Vec<Place> = places.iter().map(|place| Place::read(place).unwrap()).collect();
        let places: Vec<&Place> = places.iter().collect();
        let text = std::cell::RefCell::new(String::new());
        let look = |batch: &Batch| {
            let found = find(batch.record(0).unwrap(), &places);
            *text.borrow_mut() = found.map_or_else(|error| error, |found| show(&found));
        };
        run_batch(look, Fixture::new().record(record));
        text.into_inner()
    }

    fn show(found: &[Found<'_>]) -> String {
        let one = |found: &Found<'_>| match found {
            Found::Nothing => "-".to_owned(),
            Found::Json(json) => (*json).to_owned(),
            Found::Text(text) => format!("'{text}'"),
        };
        found.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    fn in_value(json: &str, places: &[&str]) -> String {
        shown(FixtureRecord::new().value(json), places)
    }

    #[test]
    fn fields_and_pointers_find_values_as_they_are_written() {
        let json = r#"{ "a": 1.50, "b": {"c": [true, {"d": "x"}], "": null}, "e/f": 2, "g~": 3, "\u0068": 4 }"#;
        let places = ["a", "/a", "/b/c/1/d", "/b/c", "b", "/b/", "e/f", "/e~1f", "/g~0", "h"];
        let found = r#"1.50 1.50 "x" [true, {"d": "x"}] {"c": [true, {"d": "x"}], "": null} null 2 2 3 4"#;
        assert_eq!(in_value(json, &places), found);
        assert_eq!(in_value(json, &["x", "/b/x", "/a/x", "/b/c/2", "/b/c/01", "/b/c/-"]), "- - - - - -");
        assert_eq!(in_value(" [7] ", &["@value", "/0", "0"]), "[7] 7 7");
    }

    #[test]
    fn of_a_name_that_occurs_twice_the_last_one_counts() {
        assert_eq!(in_value(r#"{"a":{"b":1,"c":2},"a":{"b":3},"d":4,"d":5}"#, &["/a/b", "/a/c", "d"]), "3 - 5");
    }

    #[test]
    fn digits_are_not_lost() {
        assert_eq!(in_value(r#"{"n":12345678901234567890.123456789}"#, &["n"]), "12345678901234567890.123456789");
    }

    #[test]
    fn what_is_not_json_is_told_without_being_shown() {
        for (json, words) in [
            ("", "its value is not JSON: EOF"),
            ("{\"a\":1", "its value is not JSON: EOF"),
            ("{\"a\":1} x", "its value is not JSON: trailing characters"),
            ("secret", "its value is not JSON: expected value"),
        ] {
            let text = in_value(json, &["a"]);
            assert!(text.starts_with(words) && !text.contains("secret"), "{text}");
        }
        let bytes = FixtureRecord::new().value(b"{\"a\":\"\xff\"}".to_vec());
        assert!(shown(bytes, &["a"]).starts_with("its value is not JSON"));
    }

    #[test]
    fn deep_nesting_is_no_trouble() {
        let json = format!("{{\"a\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(in_value(&json, &["b"]), "-");
    }

    #[test]
    fn the_record_itself_has_places_too() {
        let record = || {
            FixtureRecord::new()
                .at("orders", 3, 9)
                .timestamp(Timestamp::CreateTime(5))
                .key(r#"{"id":7}"#)
                .header("h", None)
        };
        let places =
            ["@topic", "@partition", "@offset", "@timestamp", "@key", "@key/id", "@header.h", "@header.x", "a"];
        assert_eq!(shown(record(), &places), r#"'orders' '3' '9' '5' '{"id":7}' 7 - - -"#);
        assert_eq!(shown(record().header("h", Some(b"2")), &["@header.h"]), "'2'");
        assert_eq!(shown(record().header("h", Some(b"\xff")), &["@header.h"]), "its header is not UTF-8");
        assert_eq!(shown(FixtureRecord::new(), &["@key", "@timestamp", "@key/id", "a"]), "- - - -");
        // Looked at only where a column wants it.
        assert_eq!(shown(FixtureRecord::new().key("k").value("no JSON"), &["@key"]), "'k'");
    }

    #[test]
    fn a_place_is_shown_as_it_would_be_written() {
        for text in
            ["@value", "@key", "@key/a/b", "@topic", "@partition", "@offset", "@timestamp", "@header.x-y", "/a~1b/0"]
        {
            assert_eq!(Place::read(text).unwrap().to_string(), text);
        }
        assert_eq!(Place::read("name").unwrap().to_string(), "/name");
        for text in ["@keys", "@header.", "@valu"] {
            assert!(Place::read(text).unwrap_err().contains("there is no @"), "{text}");
        }
    }
}
