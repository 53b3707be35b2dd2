//! Dead letters for machines.
//!
//! Pure: from a letter to what is printed. What is not known is null.

use std::collections::BTreeMap;

use gristmill_kafka::Timestamp;
use gristmill_kafka::dead_letter::{Place, ToldFailure};
use serde::Serialize;

use crate::dead_letters::{Letter, Summary};
use crate::records::FileRecord;

/// A dead letter's story, and the record that it was made of where that is asked for.
#[derive(Serialize)]
pub(super) struct Story<'l> {
    partition: i32,
    offset: i64,
    timestamp: Option<i64>,
    origin: Option<OriginLine<'l>>,
    failures: u32,
    replays: u32,
    first: FailureLine<'l>,
    last: Option<LastLine<'l>>,
    pointer: Option<PointerLine<'l>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<&'l FileRecord>,
}

#[derive(Serialize)]
struct OriginLine<'l> {
    #[serde(flatten)]
    place: PlaceLine<'l>,
    timestamp: Option<i64>,
    timestamp_type: Option<&'static str>,
}

#[derive(Serialize)]
struct PlaceLine<'l> {
    topic: &'l str,
    partition: i32,
    offset: i64,
}

#[derive(Serialize)]
struct FailureLine<'l> {
    class: &'l str,
    fault: Option<&'l str>,
    reason: &'l str,
    attempts: Option<u32>,
    plugin: Option<&'l str>,
    detail: Option<&'l str>,
    halving: Option<&'l str>,
    at: Option<i64>,
}

#[derive(Serialize)]
struct LastLine<'l> {
    place: Option<PlaceLine<'l>>,
    #[serde(flatten)]
    failure: FailureLine<'l>,
}

#[derive(Serialize)]
struct PointerLine<'l> {
    #[serde(flatten)]
    place: PlaceLine<'l>,
    bytes: Option<u64>,
}

/// What was counted: the last line of a list.
#[derive(Serialize)]
pub(super) struct SummaryLine<'l> {
    summary: Counts<'l>,
}

#[derive(Serialize)]
struct Counts<'l> {
    dead_letters: u64,
    classes: &'l BTreeMap<String, u64>,
    not_matched: u64,
    no_dead_letters: u64,
}

/// The story alone.
pub(super) fn story(letter: &Letter) -> Story<'_> {
    let told = &letter.told;
    Story {
        partition: letter.at.partition,
        offset: letter.at.offset,
        timestamp: letter.written_ms,
        origin: told.origin.as_ref().map(|origin| {
            let (timestamp, timestamp_type) = match origin.timestamp {
                Timestamp::None => (None, None),
                Timestamp::CreateTime(ms) => (Some(ms), Some("create")),
                Timestamp::LogAppendTime(ms) => (Some(ms), Some("log_append")),
            };
            OriginLine { place: place(&origin.place), timestamp, timestamp_type }
        }),
        failures: told.failures,
        replays: told.replays,
        first: failure(&told.first),
        last: told.last.as_ref().map(|(at, last)| LastLine { place: at.as_ref().map(place), failure: failure(last) }),
        pointer: told.pointer.as_ref().map(|(at, bytes)| PointerLine { place: place(at), bytes: *bytes }),
        record: None,
    }
}

/// The same with the record.
pub(super) fn whole<'l>(letter: &'l Letter, original: &'l FileRecord) -> Story<'l> {
    Story { record: Some(original), ..story(letter) }
}

/// What was counted.
pub(super) fn summary(summary: &Summary) -> SummaryLine<'_> {
    SummaryLine {
        summary: Counts {
            dead_letters: summary.meant(),
            classes: &summary.classes,
            not_matched: summary.not_meant,
            no_dead_letters: summary.no_letters,
        },
    }
}

fn place(place: &Place) -> PlaceLine<'_> {
    PlaceLine { topic: &place.topic, partition: place.partition, offset: place.offset }
}

fn failure(failure: &ToldFailure) -> FailureLine<'_> {
    FailureLine {
        class: &failure.class,
        fault: failure.fault.as_deref(),
        reason: &failure.reason,
        attempts: failure.attempts,
        plugin: failure.plugin_digest.as_deref(),
        detail: failure.detail.as_deref(),
        halving: failure.halving.as_deref(),
        at: failure.at_ms,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dead_letters::{at_origin, sample};

    #[test]
    fn everything_is_always_there_and_what_is_not_known_is_null() {
        let letter = sample();
        let written = serde_json::to_value(story(&letter)).expect("it is JSON");
        let wanted = serde_json::json!({
            "partition": 0, "offset": 12, "timestamp": 1_700_000_000_500_i64,
            "origin": {
                "topic": "orders", "partition": 3, "offset": 7777, "timestamp": 1_600_000_000_000_i64, "timestamp_type": "create"
            },
            "failures": 1, "replays": 0,
            "first": {
                "class": "rejected", "fault": null, "reason": "no such currency: GBP", "attempts": 1,
                "plugin": "sha256:852edbc595d9aabb", "detail": null, "halving": null, "at": 1_700_000_000_000_i64
            },
            "last": null, "pointer": null
        });
        assert_eq!(written, wanted);
        let record = at_origin(&letter.told, None, Some(vec![0xff]), Vec::new());
        let written = serde_json::to_value(whole(&letter, &record)).expect("it is JSON");
        assert_eq!(written["record"]["value_b64"], "/w==");
        assert_eq!(written["record"]["offset"], 7777);
    }
}
