//! Dead letters as people look for them: which ones are meant, what is told of them, how far a replay came.
//!
//! Pure: from records and words to words. It reaches no broker, no clock and no plugin.

mod choice;
mod progress;
mod summary;
mod when;

use std::fmt;
use std::str::FromStr;

use gristmill_kafka::dead_letter::{self, Told, ToldFailure};
use gristmill_kafka::{RecordBody, Timestamp, check_topic, is_pattern};

use crate::records::{FileHeader, FileRecord};

pub(crate) use self::choice::{Choice, Class, OriginChoice};
pub(crate) use self::progress::Progress;
pub(crate) use self::summary::Summary;
pub(crate) use self::when::{When, shown};

/// Where a dead letter lies in its topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    /// The partition's number.
    pub(crate) partition: i32,
    /// The offset.
    pub(crate) offset: i64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.partition, self.offset)
    }
}

/// A text that is no position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no position; write PARTITION:OFFSET, such as 0:12")]
pub(crate) struct NoPosition;

impl FromStr for Position {
    type Err = NoPosition;

    fn from_str(text: &str) -> Result<Self, NoPosition> {
        let (partition, offset) = text.split_once(':').ok_or(NoPosition)?;
        let (partition, offset) = (partition.parse().ok(), offset.parse().ok());
        let (Some(partition), Some(offset)) = (partition, offset) else { return Err(NoPosition) };
        if partition < 0 || offset < 0 { Err(NoPosition) } else { Ok(Self { partition, offset }) }
    }
}

/// One dead letter: where it lies, and what it tells.
#[derive(Clone, Debug)]
pub(crate) struct Letter {
    /// Where it lies.
    pub(crate) at: Position,
    /// When it was written, in milliseconds since 1970.
    pub(crate) written_ms: Option<i64>,
    /// Its story.
    pub(crate) told: Told,
}

impl Letter {
    /// That of a record of a dead-letter topic. `None`: it is none.
    pub(crate) fn of(record: &RecordBody) -> Option<Self> {
        let told = dead_letter::read(record)?;
        Some(Self { at: position(record), written_ms: millis(record.timestamp()), told })
    }

    /// The failure that brought it here: the latest.
    pub(crate) fn latest(&self) -> &ToldFailure {
        self.told.last.as_ref().map_or(&self.told.first, |(_, last)| last)
    }

    /// When that was.
    pub(crate) fn failed_ms(&self) -> Option<i64> {
        self.latest().at_ms.or(self.written_ms)
    }
}

/// Whether one topic can be called so.
///
/// # Errors
/// Why not.
pub(crate) fn check_name(topic: &str) -> Result<(), String> {
    if is_pattern(topic) {
        return Err("it is a pattern; name one topic".to_owned());
    }
    check_topic(topic).map_err(|fault| fault.to_string())
}

/// Where a record lies.
pub(crate) fn position(record: &RecordBody) -> Position {
    Position { partition: record.partition(), offset: record.offset() }
}

/// The record that a dead letter was made of, as far as it was copied: without the headers that tell its story, at its origin.
pub(crate) fn original(record: &RecordBody, told: &Told) -> FileRecord {
    let own = record.headers().filter(|(name, _)| !dead_letter::names::is_story(name));
    let headers = own.map(|(name, value)| FileHeader { name: name.to_vec(), value: value.map(<[u8]>::to_vec) });
    let (headers, bytes) = (headers.collect(), |bytes: &[u8]| bytes.to_vec());
    at_origin(told, record.key().map(bytes), record.value().map(bytes), headers)
}

/// A record with these parts where a dead letter came from.
pub(crate) fn at_origin(
    told: &Told,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<FileHeader>,
) -> FileRecord {
    let origin = told.origin.as_ref();
    let timestamp = match origin.map_or(Timestamp::None, |origin| origin.timestamp) {
        Timestamp::None => gristmill_guest::Timestamp::None,
        Timestamp::CreateTime(ms) => gristmill_guest::Timestamp::CreateTime(ms),
        Timestamp::LogAppendTime(ms) => gristmill_guest::Timestamp::LogAppendTime(ms),
    };
    FileRecord {
        topic: origin.map(|origin| origin.place.topic.clone()).unwrap_or_default(),
        partition: origin.map_or(0, |origin| origin.place.partition),
        offset: origin.map_or(0, |origin| origin.place.offset),
        timestamp,
        key,
        value,
        headers,
    }
}

/// A time that a record has.
fn millis(timestamp: Timestamp) -> Option<i64> {
    match timestamp {
        Timestamp::None => None,
        Timestamp::CreateTime(ms) | Timestamp::LogAppendTime(ms) => Some(ms),
    }
}

/// A dead letter for the tests of what is made of dead letters.
#[cfg(test)]
pub(crate) fn sample() -> Letter {
    use gristmill_kafka::dead_letter::{Origin, Place};

    let first = ToldFailure {
        class: "rejected".to_owned(),
        reason: "no such currency: GBP".to_owned(),
        attempts: Some(1),
        plugin_digest: Some("sha256:852edbc595d9aabb".to_owned()),
        at_ms: Some(1_700_000_000_000),
        ..ToldFailure::default()
    };
    let place = Place { topic: "orders".to_owned(), partition: 3, offset: 7777 };
    Letter {
        at: Position { partition: 0, offset: 12 },
        written_ms: Some(1_700_000_000_500),
        told: Told {
            origin: Some(Origin { place, timestamp: Timestamp::CreateTime(1_600_000_000_000) }),
            first,
            last: None,
            failures: 1,
            replays: 0,
            pointer: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_reads_back_as_it_is_written() {
        let position = Position { partition: 3, offset: i64::MAX };
        assert_eq!(position.to_string().parse(), Ok(position));
        for text in ["", "3", "3:", ":3", "-1:0", "0:-1", "a:b", "0:1:2", "0: 1"] {
            assert_eq!(text.parse::<Position>(), Err(NoPosition), "{text}");
        }
    }

    #[test]
    fn the_failure_that_counts_is_the_latest() {
        let mut letter = sample();
        assert_eq!((letter.latest().class.as_str(), letter.failed_ms()), ("rejected", Some(1_700_000_000_000)));
        letter.told.last = Some((None, ToldFailure { class: "fault".to_owned(), ..ToldFailure::default() }));
        assert_eq!((letter.latest().class.as_str(), letter.failed_ms()), ("fault", letter.written_ms));
    }
}
