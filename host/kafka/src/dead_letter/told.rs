//! What a dead letter tells, read from its headers in either style, and the way back to where it came from.
//!
//! Reads what others may have written: a header that is no number or no text is taken for what can be made of it, and never
//! an error.

use std::sync::Arc;

use super::names::{self, FailureNames, PlaceNames};
use crate::arena::{RecordBody, Timestamp};
use crate::outgoing::{Outgoing, OutgoingBody, OutgoingHeader};

/// A place in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The topic.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
    /// The offset.
    pub offset: i64,
}

/// Where a record came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The place.
    pub place: Place,
    /// Its time there.
    pub timestamp: Timestamp,
}

/// What is told about a failure. What was cut, or never told, is `None`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ToldFailure {
    /// `rejected`, `undecodable`, `fault`; of a dead letter that Kafka Connect wrote, the name of a Java class.
    pub class: String,
    /// In words.
    pub reason: String,
    /// How often the record was tried.
    pub attempts: Option<u32>,
    /// The plugin's digest.
    pub plugin_digest: Option<String>,
    /// What broke, such as `trap`.
    pub fault: Option<String>,
    /// The plugin's own words.
    pub detail: Option<String>,
    /// How it was found among others.
    pub halving: Option<String>,
    /// When it was given up, in milliseconds since 1970.
    pub at_ms: Option<i64>,
}

/// The story of a dead letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Where it came from, if that can be read.
    pub origin: Option<Origin>,
    /// The first failure.
    pub first: ToldFailure,
    /// The latest failure and where the record was then, when it was not the first.
    pub last: Option<(Option<Place>, ToldFailure)>,
    /// How often it failed.
    pub failures: u32,
    /// How often it was replayed.
    pub replays: u32,
    /// Where the original lies and how many bytes it has, when this record stands for one that was too large.
    pub pointer: Option<(Place, Option<u64>)>,
}

/// The headers of one record.
struct Headers<'a>(&'a RecordBody);

impl Headers<'_> {
    /// The last value of a name: bytes that are not UTF-8 are replaced, null is as if it was not there.
    fn text(&self, name: &str) -> Option<String> {
        let mut found = None;
        for (_, value) in self.0.headers().filter(|(found, _)| *found == name.as_bytes()) {
            found = value;
        }
        found.map(|value| String::from_utf8_lossy(value).into_owned())
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.text(name)?.trim().parse().ok()
    }

    fn place(&self, names: &PlaceNames) -> Option<Place> {
        let (partition, offset) = (self.number(names.partition)?, self.number(names.offset)?);
        Some(Place { topic: self.text(names.topic)?, partition, offset })
    }

    /// What has native names in both styles.
    fn failure(&self, names: &FailureNames) -> ToldFailure {
        ToldFailure {
            class: self.text(names.class).unwrap_or_default(),
            reason: self.text(names.reason).unwrap_or_default(),
            attempts: self.number(names.attempts),
            plugin_digest: self.text(names.plugin),
            fault: self.text(names.fault),
            detail: self.text(names.detail),
            halving: self.text(names.halving),
            at_ms: self.number(names.at),
        }
    }

    fn connect_failure(&self) -> ToldFailure {
        let class = self.text(names::CONNECT_CLASS).unwrap_or_default();
        let ours = class.strip_prefix("gristmill.").unwrap_or(&class);
        let fault = ours.strip_prefix("fault.");
        ToldFailure {
            class: if fault.is_some() { "fault".to_owned() } else { ours.to_owned() },
            fault: fault.map(str::to_owned),
            reason: self.text(names::CONNECT_REASON).unwrap_or_default(),
            detail: self.text(names::CONNECT_DETAIL),
            ..self.failure(&names::FIRST)
        }
    }

    fn timestamp(&self) -> Timestamp {
        match (self.number(names::ORIGIN_TIMESTAMP), self.text(names::ORIGIN_TIMESTAMP_TYPE).as_deref()) {
            (Some(millis), Some("append")) => Timestamp::LogAppendTime(millis),
            (Some(millis), _) => Timestamp::CreateTime(millis),
            // We tell it where there is one. Kafka Connect does not, and leaves the record its time.
            (None, _) if self.text(names::FIRST.at).is_none() => self.0.timestamp(),
            (None, _) => Timestamp::None,
        }
    }
}

/// The story that a record tells, in either style. `None`: it is no dead letter.
///
/// A producer may have given its record any header, so what only stands in certain company is not taken alone: a pointer has no
/// value, a latest failure is not the first one, and without a first failure it is what is left beside a pointer.
#[must_use]
pub fn read(record: &RecordBody) -> Option<Told> {
    let headers = Headers(record);
    let failures = headers.number(names::FAILURES).unwrap_or(1);
    let pointer = headers.place(&names::POINTER).filter(|_| record.value().is_none());
    let is_native = headers.text(names::FIRST.class).is_some();
    // A lone topic is no story: Connect tells the class of the error as well.
    let told_by_connect = [names::CONNECT_ORIGIN.topic, names::CONNECT_CLASS];
    let is_connect = !is_native && told_by_connect.iter().all(|name| headers.text(name).is_some());
    let failed_again = failures > 1 && headers.text(names::LAST.class).is_some();
    let is_cut = failed_again && pointer.is_some();
    if !is_native && !is_connect && !is_cut {
        return None;
    }
    let place = headers.place(if is_connect { &names::CONNECT_ORIGIN } else { &names::ORIGIN });
    let first = if is_connect { headers.connect_failure() } else { headers.failure(&names::FIRST) };
    let last = failed_again.then(|| (headers.place(&names::LAST_PLACE), headers.failure(&names::LAST)));
    Some(Told {
        origin: place.map(|place| Origin { place, timestamp: headers.timestamp() }),
        first,
        last,
        failures,
        replays: headers.number(names::REPLAYS).unwrap_or(0),
        pointer: pointer.map(|place| (place, headers.number(names::POINTER_BYTES))),
    })
}

/// Why a record cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// Nothing in its headers says where it came from.
    #[error("it does not say where it came from; only records of a dead-letter topic can be replayed")]
    NoOrigin,
    /// It stands for a record that was too large.
    #[error("it only points to its original, which lies at {topic}/{partition}@{offset}; read it there", topic = .0.topic, partition = .0.partition, offset = .0.offset)]
    Pointer(Place),
}

/// A dead letter on its way back to the topic it came from: the same bytes, time and headers, the replays counted. It goes to the
/// partition it came from where `partitions` says that there are so many, otherwise where its key says.
///
/// # Errors
///
/// It has no origin, or is not the record itself.
pub fn replay(record: &RecordBody, partitions: Option<i32>) -> Result<Outgoing, ReplayError> {
    let told = read(record).ok_or(ReplayError::NoOrigin)?;
    if let Some((place, _)) = told.pointer {
        return Err(ReplayError::Pointer(place));
    }
    let origin = told.origin.ok_or(ReplayError::NoOrigin)?;
    let before = record.headers().enumerate().filter(|(_, (name, _))| *name == names::REPLAYS.as_bytes());
    let headers_left_out = before.map(|(index, _)| index).collect();
    let number = origin.place.partition;
    Ok(Outgoing {
        topic: Arc::from(origin.place.topic),
        partition: partitions.filter(|partitions| (0..*partitions).contains(&number)).map(|_| number),
        timestamp_ms: match origin.timestamp {
            Timestamp::None => None,
            Timestamp::CreateTime(millis) | Timestamp::LogAppendTime(millis) => Some(millis),
        },
        body: OutgoingBody::Original { record: record.clone(), headers_left_out },
        added: vec![OutgoingHeader::text(names::REPLAYS, told.replays.saturating_add(1).to_string())],
    })
}
