//! A request as it goes out: its body, its headers, its name.
//!
//! It must not know how it is sent.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::item::Item;
use crate::settings::{Body, Settings, Target, with_count};

/// A name longer than this is replaced by its hash.
const NAME_BYTES_MAX: usize = 200;

/// A request to be sent by POST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request<'s> {
    pub(crate) target: &'s Target,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// How long it may take, its answer included.
    pub(crate) limit: Duration,
}

/// What came back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// What `Retry-After` says.
    pub(crate) retry_after: Option<String>,
    /// What `Location` says.
    pub(crate) location: Option<String>,
    pub(crate) body: Vec<u8>,
}

/// Why nothing came back.
#[cfg_attr(not(target_family = "wasm"), allow(dead_code, reason = "natively nothing is sent, but for tests"))]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SendError {
    /// Time may help.
    Passing(String),
    /// The host does not allow it, or the request can never be sent.
    Lasting(String),
}

/// The request for some items, never none.
pub(crate) fn request<'s>(settings: &'s Settings, pipeline: &str, items: &[Item<'_>], limit: Duration) -> Request<'s> {
    let body = body(&settings.body, items);
    let mut headers = vec![
        ("content-type".to_owned(), settings.content_type.clone()),
        ("content-length".to_owned(), body.len().to_string()),
        ("accept".to_owned(), "application/json, */*;q=0.5".to_owned()),
        ("idempotency-key".to_owned(), name(pipeline, items)),
    ];
    // What the settings say wins.
    headers.retain(|(name, _)| settings.headers.iter().all(|(other, _)| other != name));
    headers.extend(settings.headers.iter().cloned());
    Request { target: &settings.target, headers, body, limit }
}

fn body(body: &Body, items: &[Item<'_>]) -> Vec<u8> {
    let bytes: usize = items.iter().map(|item| item.json.len() + 1).sum();
    match body {
        Body::Around(before, behind) => {
            let (before, behind) = (with_count(before, items.len()), with_count(behind, items.len()));
            let mut text = String::with_capacity(before.len() + bytes + behind.len());
            text.push_str(&before);
            for (at, item) in items.iter().enumerate() {
                text.push_str(if at == 0 { "" } else { "," });
                text.push_str(item.json);
            }
            text.push_str(&behind);
            text.into_bytes()
        }
        Body::Lines => {
            let mut lines = Vec::with_capacity(bytes);
            for item in items {
                // Line breaks stand between values of JSON only, never in them.
                lines.extend(item.json.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }));
                lines.push(b'\n');
            }
            lines
        }
    }
}

/// What the request is called, the same whenever it holds the same records: the pipeline, and of each partition the first and the
/// last offset.
fn name(pipeline: &str, items: &[Item<'_>]) -> String {
    let mut spans: BTreeMap<(&str, i32), (i64, i64)> = BTreeMap::new();
    for record in items.iter().map(|item| item.record) {
        let offset = record.offset();
        let span = spans.entry((record.topic(), record.partition())).or_insert((offset, offset));
        *span = (span.0.min(offset), span.1.max(offset));
    }
    let spans =
        spans.into_iter().map(|((topic, partition), (first, last))| format!("{topic}-{partition}-{first}-{last}"));
    let name = format!("{pipeline}/{}", spans.collect::<Vec<_>>().join(","));
    if name.len() <= NAME_BYTES_MAX && name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return name;
    }
    Sha256::digest(name.as_bytes()).iter().fold(String::from("sha256:"), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use gristmill_plugin::{Batch, Fixture, FixtureRecord, run_batch};

    use super::*;
    use crate::item::items;

    /// The body and the headers of the request for all of the records.
    fn made(settings: &[(&str, &str)], records: Vec<FixtureRecord>) -> (String, BTreeMap<String, String>) {
        let settings =
            [("url", "http://a")].iter().chain(settings).map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        let settings = Settings::read(settings).unwrap();
        let seen = RefCell::default();
        let look = |batch: &Batch| {
            let request = request(&settings, batch.pipeline(), &items(&settings, batch), Duration::from_secs(1));
            *seen.borrow_mut() = (String::from_utf8(request.body).unwrap(), request.headers.into_iter().collect());
        };
        run_batch(look, records.into_iter().fold(Fixture::new(), Fixture::record));
        seen.into_inner()
    }

    fn two() -> Vec<FixtureRecord> {
        vec![FixtureRecord::new().at("a", 0, 7).value("{\n \"x\": 1}"), FixtureRecord::new().at("a", 0, 9).value("2")]
    }

    #[test]
    fn values_become_a_list_lines_or_part_of_a_template() {
        let (body, headers) = made(&[], two());
        assert_eq!(body, "[{\n \"x\": 1},2]");
        assert_eq!((headers["content-type"].as_str(), headers["content-length"].as_str()), ("application/json", "14"));
        let (body, headers) = made(&[("body", "jsonl")], two());
        assert_eq!((body.as_str(), headers["content-type"].as_str()), ("{  \"x\": 1}\n2\n", "application/x-ndjson"));
        let template =
            [("body", "template"), ("template", "{\"n\":{count},\"v\":[{values}]}"), ("content_type", "text/x")];
        let (body, headers) = made(&template, two());
        assert_eq!((body.as_str(), headers["content-type"].as_str()), ("{\"n\":2,\"v\":[{\n \"x\": 1},2]}", "text/x"));
    }

    #[test]
    fn a_request_is_named_by_its_records() {
        let mut records = two();
        assert_eq!(made(&[], two()).1["idempotency-key"], "fixture/a-0-7-9");
        records.push(FixtureRecord::new().at("b", 3, 1).value("3"));
        assert_eq!(made(&[], records).1["idempotency-key"], "fixture/a-0-7-9,b-3-1-1");
        let many =
            |last: i32| (0..last).map(|partition| FixtureRecord::new().at("topic", partition, 1).value("1")).collect();
        let name = made(&[], many(100)).1["idempotency-key"].clone();
        assert!(name.starts_with("sha256:") && name.len() == 71, "{name}");
        assert_eq!(name, made(&[], many(100)).1["idempotency-key"]);
        assert_ne!(name, made(&[], many(101)).1["idempotency-key"]);
    }

    #[test]
    fn headers_of_the_settings_go_along_and_win() {
        let (_, headers) = made(&[("header.X-Source", "mill"), ("header.Accept", "text/plain")], two());
        assert_eq!((headers["x-source"].as_str(), headers["accept"].as_str()), ("mill", "text/plain"));
    }
}
