//! How a dead letter is made of a record that could not be handled, and how its story is read again.
//!
//! Pure: knows nothing of clients, clocks or retries. Key, value and headers stay the original bytes (D3); what is told about the
//! failure comes as headers behind them, in one of two styles ([`names`]). A record that was dead-lettered before keeps the
//! headers of its first failure (D4). What is too large is cut in steps, of which there are five, and then it is an error that
//! means *hold* (D7).

pub mod names;
mod told;
mod writing;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use gristmill_core::io::LetterClass;

pub use told::{Origin, Place, ReplayError, Told, ToldFailure, read, replay};

use crate::arena::RecordBody;
use crate::outgoing::{Outgoing, OutgoingBody, OutgoingHeader};

/// What is told about a failure. Texts of any length: they are cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind.
    pub class: LetterClass,
    /// In words.
    pub reason: String,
    /// How often the record was tried.
    pub attempts: u32,
    /// The digest of the plugin that ran last.
    pub plugin_digest: String,
    /// The plugin's own words: for a fault such as the end of its stderr or the frames of its stack; for a skip what was held for.
    pub detail: Option<String>,
    /// How the record was found among others, where the batch was halved.
    pub halving: Option<String>,
    /// When it was given up, in milliseconds since 1970.
    pub at_ms: i64,
}

/// The names of the headers that tell of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum HeaderStyle {
    /// `gristmill.…`, see [`names`].
    #[default]
    Native,
    /// `__connect.errors.…`, as Kafka Connect writes them, and native ones for what it has no name for.
    KafkaConnect,
}

/// Where dead letters go, and in which form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetterTopic {
    /// The topic.
    pub topic: Arc<str>,
    /// The names of its headers.
    pub style: HeaderStyle,
    /// The pipeline, which Kafka Connect's style has a name for.
    pub pipeline: Arc<str>,
    /// The largest record that may be sent, as [`Outgoing::wire_bytes`] counts.
    pub bytes_max: u64,
    /// Where the source's partition number is to be kept: how many partitions the topic has. A number that it does not have is
    /// not kept (D6), and neither is any where this is `None`: the key decides.
    pub partitions: Option<i32>,
}

/// How much of a dead letter was left out for its size (D7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Cut {
    /// Nothing.
    #[default]
    Nothing,
    /// Most of the reason.
    Reason,
    /// That, and the plugin's own words.
    Detail,
    /// That, and the value and the headers: what is left is the key, the story, and where the original lies.
    Value,
    /// That, the key, and the story of a failure before this one.
    Key,
}

impl Cut {
    /// The next step, where a broker finds this one too large.
    #[must_use]
    pub fn further(self) -> Option<Self> {
        match self {
            Self::Nothing => Some(Self::Reason),
            Self::Reason => Some(Self::Detail),
            Self::Detail => Some(Self::Value),
            Self::Value => Some(Self::Key),
            Self::Key => None,
        }
    }
}

/// A dead letter, ready to be produced.
#[derive(Clone, Debug)]
pub struct DeadLetter {
    /// The record to produce.
    pub outgoing: Outgoing,
    /// What it is short of.
    pub cut: Cut,
}

/// A dead letter that has no form small enough: its record has to be held.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a dead letter of {bytes} bytes, with nothing left to cut, is more than the {bytes_max} bytes that {topic} may take; raise message.max.bytes"
)]
pub struct DoesNotFit {
    /// The topic.
    pub topic: Arc<str>,
    /// The size of the smallest form.
    pub bytes: u64,
    /// What is allowed.
    pub bytes_max: u64,
}

/// Makes the dead letter of a record: the largest form that fits, beginning with `cut`. Where a broker calls that too large, the next
/// one is made with [`Cut::further`]; there are five in all.
///
/// # Errors
///
/// No form fits.
pub fn dead_letter(
    record: &RecordBody,
    failure: &Failure,
    to: &DeadLetterTopic,
    mut cut: Cut,
) -> Result<DeadLetter, DoesNotFit> {
    let told = read(record);
    loop {
        let outgoing = outgoing(record, failure, to, told.as_ref(), cut);
        let bytes = outgoing.wire_bytes();
        if bytes <= to.bytes_max {
            return Ok(DeadLetter { outgoing, cut });
        }
        match cut.further() {
            Some(further) => cut = further,
            None => return Err(DoesNotFit { topic: Arc::clone(&to.topic), bytes, bytes_max: to.bytes_max }),
        }
    }
}

/// The form that a cut leaves, whatever its size.
fn outgoing(record: &RecordBody, failure: &Failure, to: &DeadLetterTopic, told: Option<&Told>, cut: Cut) -> Outgoing {
    let mut added = match told {
        None => writing::first_failure(record, failure, to, cut),
        Some(_) => writing::later_failure(record, failure, cut),
    };
    let failures = told.map_or(0, |told| told.failures).saturating_add(1);
    added.push(OutgoingHeader::text(names::FAILURES, failures.to_string()));
    let body = match cut {
        Cut::Nothing | Cut::Reason | Cut::Detail => {
            // Of a record that is no dead letter every header is the producer's own.
            let is_replaced = |name: &[u8]| told.is_some() && names::is_replaced(name);
            let replaced = record.headers().enumerate().filter(|(_, (name, _))| is_replaced(name));
            OutgoingBody::Original {
                record: record.clone(),
                headers_left_out: replaced.map(|(index, _)| index).collect(),
            }
        }
        Cut::Value | Cut::Key => {
            if told.is_none_or(|told| told.pointer.is_none()) {
                added.extend(writing::pointer(record));
            }
            pointer_body(record, told, cut)
        }
    };
    let same = to.partitions.filter(|partitions| (0..*partitions).contains(&record.partition()));
    Outgoing {
        topic: Arc::clone(&to.topic),
        partition: same.map(|_| record.partition()),
        // The time of the failure. With the record's own one an old record would be gone at once where the topic keeps less than
        // its age, and a topic may refuse times that are far from its own.
        timestamp_ms: None,
        body,
        added,
    }
}

/// What is left of the record itself where only a pointer to it fits. The headers of a first failure stay, and those of a pointer
/// in any case: the original lies where that says.
fn pointer_body(record: &RecordBody, told: Option<&Told>, cut: Cut) -> OutgoingBody {
    let stays = |name: &[u8]| {
        let is_story = cut < Cut::Key && names::is_first(name);
        let is_pointer = || names::is_pointer(name) && told.is_some_and(|told| told.pointer.is_some());
        told.is_some() && (is_story || is_pointer())
    };
    let kept = record.headers().filter(|(name, _)| stays(name));
    let owned = |(name, value): (&[u8], Option<&[u8]>)| OutgoingHeader {
        name: name.to_vec().into(),
        value: value.map(<[u8]>::to_vec),
    };
    let key = record.key().filter(|_| cut < Cut::Key).map(<[u8]>::to_vec);
    OutgoingBody::Owned { key, value: None, headers: kept.map(owned).collect() }
}
