//! The headers that a failure writes, in both styles. Every text has a bound, so that a dead letter has one.

use super::names::{self, FailureNames, PlaceNames};
use gristmill_core::io::LetterClass;

use super::{Cut, DeadLetterTopic, Failure, HeaderStyle};
use crate::arena::{RecordBody, Timestamp};
use crate::outgoing::OutgoingHeader;

/// Bounds of the texts in bytes: a reason, a reason that is cut, the plugin's own words, and everything else, which is short
/// unless somebody made it long on purpose.
const REASON_BYTES_MAX: usize = 8 << 10;
const CUT_REASON_BYTES_MAX: usize = 256;
const DETAIL_BYTES_MAX: usize = 16 << 10;
const HALVING_BYTES_MAX: usize = 1 << 10;
const WORD_BYTES_MAX: usize = 256;
/// Stands where something was cut away.
const ELLIPSIS: &str = "…";

/// The headers of a first failure.
pub(super) fn first_failure(
    record: &RecordBody,
    failure: &Failure,
    to: &DeadLetterTopic,
    cut: Cut,
) -> Vec<OutgoingHeader> {
    let mut headers = Vec::with_capacity(20);
    match to.style {
        HeaderStyle::Native => {
            place(&mut headers, &names::ORIGIN, record);
            timestamp(&mut headers, record);
            plain(&mut headers, &names::FIRST, failure, cut);
        }
        HeaderStyle::KafkaConnect => connect(&mut headers, record, failure, &to.pipeline, cut),
    }
    rest(&mut headers, &names::FIRST, failure, cut);
    headers
}

/// The headers of a failure that is not the first.
pub(super) fn later_failure(record: &RecordBody, failure: &Failure, cut: Cut) -> Vec<OutgoingHeader> {
    let mut headers = Vec::with_capacity(12);
    place(&mut headers, &names::LAST_PLACE, record);
    plain(&mut headers, &names::LAST, failure, cut);
    rest(&mut headers, &names::LAST, failure, cut);
    headers
}

/// The headers that say where the original lies, and how large it is.
pub(super) fn pointer(record: &RecordBody) -> Vec<OutgoingHeader> {
    let length = |bytes: Option<&[u8]>| bytes.map_or(0, <[u8]>::len);
    let headers: usize = record.headers().map(|(name, value)| name.len() + length(value)).sum();
    let bytes = length(record.key()) + length(record.value()) + headers;
    let mut pointer = Vec::with_capacity(4);
    place(&mut pointer, &names::POINTER, record);
    pointer.push(OutgoingHeader::text(names::POINTER_BYTES, bytes.to_string()));
    pointer
}

fn place(headers: &mut Vec<OutgoingHeader>, names: &PlaceNames, record: &RecordBody) {
    headers.push(OutgoingHeader { name: names.topic.as_bytes().into(), value: Some(record.topic_bytes().to_vec()) });
    headers.push(OutgoingHeader::text(names.partition, record.partition().to_string()));
    headers.push(OutgoingHeader::text(names.offset, record.offset().to_string()));
}

fn timestamp(headers: &mut Vec<OutgoingHeader>, record: &RecordBody) {
    let (millis, kind) = match record.timestamp() {
        Timestamp::None => return,
        Timestamp::CreateTime(millis) => (millis, "create"),
        Timestamp::LogAppendTime(millis) => (millis, "append"),
    };
    headers.push(OutgoingHeader::text(names::ORIGIN_TIMESTAMP, millis.to_string()));
    headers.push(OutgoingHeader::text(names::ORIGIN_TIMESTAMP_TYPE, kind));
}

/// What Kafka Connect has names for too.
fn plain(headers: &mut Vec<OutgoingHeader>, names: &FailureNames, failure: &Failure, cut: Cut) {
    headers.push(OutgoingHeader::text(names.class, failure.class.as_str()));
    headers.push(OutgoingHeader::text(names.reason, reason(failure, cut)));
    if let LetterClass::Fault(fault) = failure.class {
        headers.push(OutgoingHeader::text(names.fault, fault.as_str()));
    }
    headers.extend(detail(failure, cut).map(|detail| OutgoingHeader::text(names.detail, detail)));
}

/// What it has none for.
fn rest(headers: &mut Vec<OutgoingHeader>, names: &FailureNames, failure: &Failure, cut: Cut) {
    headers.push(OutgoingHeader::text(names.attempts, failure.attempts.to_string()));
    headers.push(OutgoingHeader::text(names.plugin, trimmed(&failure.plugin_digest, WORD_BYTES_MAX)));
    if let Some(halving) = &failure.halving {
        let bytes_max = if cut == Cut::Nothing { HALVING_BYTES_MAX } else { WORD_BYTES_MAX };
        headers.push(OutgoingHeader::text(names.halving, trimmed(halving, bytes_max)));
    }
    headers.push(OutgoingHeader::text(names.at, failure.at_ms.to_string()));
}

/// In the order in which Kafka Connect writes them.
fn connect(headers: &mut Vec<OutgoingHeader>, record: &RecordBody, failure: &Failure, pipeline: &str, cut: Cut) {
    place(headers, &names::CONNECT_ORIGIN, record);
    let stage = if failure.class == LetterClass::Undecodable { "VALUE_CONVERTER" } else { "TASK_PUT" };
    let fault = match failure.class {
        LetterClass::Fault(fault) => format!(".{}", fault.as_str()),
        _ => String::new(),
    };
    headers.push(OutgoingHeader::text(names::CONNECT_CONNECTOR, trimmed(pipeline, WORD_BYTES_MAX)));
    headers.push(OutgoingHeader::text(names::CONNECT_TASK, "0"));
    headers.push(OutgoingHeader::text(names::CONNECT_STAGE, stage));
    headers.push(OutgoingHeader::text(names::CONNECT_RUNNING, "gristmill"));
    headers.push(OutgoingHeader::text(names::CONNECT_CLASS, format!("gristmill.{}{fault}", failure.class.as_str())));
    headers.push(OutgoingHeader::text(names::CONNECT_REASON, reason(failure, cut)));
    headers.extend(detail(failure, cut).map(|detail| OutgoingHeader::text(names::CONNECT_DETAIL, detail)));
    timestamp(headers, record);
}

fn reason(failure: &Failure, cut: Cut) -> String {
    trimmed(&failure.reason, if cut == Cut::Nothing { REASON_BYTES_MAX } else { CUT_REASON_BYTES_MAX })
}

fn detail(failure: &Failure, cut: Cut) -> Option<String> {
    let detail = failure.detail.as_ref().filter(|detail| cut < Cut::Detail && !detail.is_empty())?;
    Some(trimmed(detail, DETAIL_BYTES_MAX))
}

/// A text of at most so many bytes, cut between two characters.
fn trimmed(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(bytes_max.saturating_sub(ELLIPSIS.len()));
    format!("{}{ELLIPSIS}", &text[..end])
}
