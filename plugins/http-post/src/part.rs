//! Parts of JSON as they are written, found without building anything of the rest: a small answer may hold a million values.
//!
//! It must not know what the parts are for.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// JSON as it is written, without blanks around it.
pub(crate) fn whole(bytes: &[u8]) -> Result<&str, serde_json::Error> {
    serde_json::from_slice::<&RawValue>(bytes).map(RawValue::get)
}

/// What of a [`whole`] stands at the end of the steps. Of a name that occurs twice the last one counts.
pub(crate) fn inside<'a>(json: &'a str, steps: &[String]) -> Option<&'a str> {
    steps.iter().try_fold(json, |json, step| match json.as_bytes().first() {
        Some(b'{') => serde_json::Deserializer::from_str(json).deserialize_map(Member(step)).ok()?,
        Some(b'[') => items(json, step.parse().ok()?, 1)?.pop(),
        _ => None,
    })
}

/// So many items of a list behind those that are skipped; nothing is read behind them. `None`: it is no list.
pub(crate) fn items(list: &str, skip: usize, most: usize) -> Option<Vec<&str>> {
    if !list.starts_with('[') {
        return None;
    }
    let mut items = Vec::new();
    // The reader's complaint is that the list goes on where we stop.
    drop(serde_json::Deserializer::from_str(list).deserialize_seq(Items { skip, most, items: &mut items }));
    Some(items)
}

/// Finds the member of that name.
struct Member<'n>(&'n str);

/// The name of a member.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> Visitor<'a> for Member<'_> {
    type Value = Option<&'a str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(Name(name)) = map.next_key()? {
            if name == self.0 {
                found = Some(map.next_value::<&'a RawValue>()?.get());
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Collects items.
struct Items<'v, 'a> {
    skip: usize,
    most: usize,
    items: &'v mut Vec<&'a str>,
}

impl<'a> Visitor<'a> for Items<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut seq: A) -> Result<(), A::Error> {
        for _ in 0..self.skip {
            if seq.next_element::<IgnoredAny>()?.is_none() {
                return Ok(());
            }
        }
        while self.items.len() < self.most
            && let Some(item) = seq.next_element::<&'a RawValue>()?
        {
            self.items.push(item.get());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(json: &'a str, pointer: &str) -> Option<&'a str> {
        let steps: Vec<String> = pointer.split('/').skip(1).map(str::to_owned).collect();
        inside(whole(json.as_bytes()).unwrap(), &steps)
    }

    #[test]
    fn a_part_is_found_as_it_is_written() {
        let json = r#" {"a": [1, {"b": 1.10, "\u0063": [ 2 ]}], "a~": null} "#;
        for (pointer, part) in [
            ("", Some(json.trim())),
            ("/a/1/b", Some("1.10")),
            ("/a/1/c", Some("[ 2 ]")),
            ("/a/1/c/0", Some("2")),
            ("/a~", Some("null")),
            ("/a/2", None),
            ("/a/-1", None),
            ("/a/x", None),
            ("/a/0/0", None),
            ("/b", None),
        ] {
            assert_eq!(found(json, pointer), part, "{pointer}");
        }
        assert_eq!(found(r#"{"a":{"b":1},"a":2}"#, "/a"), Some("2"));
        assert_eq!(found(r#"{"a":{"b":1},"a":2}"#, "/a/b"), None);
    }

    /// A name that is no text ends the search in that object.
    #[test]
    fn half_a_surrogate_in_a_name_hides_what_is_behind_it() {
        assert_eq!(found(r#"{"\ud800":1,"a":2}"#, "/a"), None);
        assert_eq!(found(r#"{"a":{"\ud800":1}}"#, "/a"), Some(r#"{"\ud800":1}"#));
    }

    #[test]
    fn a_list_is_read_as_far_as_it_is_wanted() {
        assert_eq!(items("[1, [2], 3]", 0, 9), Some(vec!["1", "[2]", "3"]));
        assert_eq!(items("[1, [2], 3]", 0, 2), Some(vec!["1", "[2]"]));
        assert_eq!(items("[1, [2], 3]", 1, 1), Some(vec!["[2]"]));
        assert_eq!(items("[1]", 7, 1), Some(vec![]));
        assert_eq!(items("[]", 0, 1), Some(vec![]));
        assert_eq!(items("{}", 0, 1), None);
        // Not even looked at.
        assert_eq!(items("[1, 2, no JSON", 0, 2), Some(vec!["1", "2"]));
    }

    #[test]
    fn depth_is_nobodys_end() {
        let deep = format!("{{\"a\":{}{},\"b\":[7]}}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        assert_eq!(found(&deep, "/b/0"), Some("7"));
    }
}
