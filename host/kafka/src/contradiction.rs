//! Settings that are fine alone and cannot work together. Each refusal names both with their numbers.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::settings::{ConsumerSettings, SettingsError};

/// What librdkafka takes where nothing is set; from its CONFIGURATION.md of 2.12.1.
const SESSION_TIMEOUT_MS: i64 = 45_000;
const HEARTBEAT_INTERVAL_MS: i64 = 3_000;
const MAX_POLL_INTERVAL_MS: i64 = 300_000;
const MESSAGE_MAX_BYTES: i64 = 1_000_000;
/// What one fetch answer has beside its records.
const ANSWER_OVERHEAD_BYTES: i64 = 512;

/// Settings that a group with `group.protocol=consumer` takes from the brokers, each as it contradicts that.
const CLASSIC_ONLY: &[&[&str]] = &[
    &["session.timeout.ms", "group.protocol"],
    &["heartbeat.interval.ms", "group.protocol"],
    &["partition.assignment.strategy", "group.protocol"],
    &["group.protocol.type", "group.protocol"],
];

/// What a rebalance needs beside the drain, for the commit (B4).
const COMMIT_ROOM: Duration = Duration::from_secs(1);

/// Finds everything that cannot work together. A number that is none is told once; what hangs on it is not judged.
pub(crate) fn find(settings: &ConsumerSettings, all: &BTreeMap<String, String>, refusals: &mut Vec<SettingsError>) {
    let consumer = all.get("group.protocol").is_some_and(|value| value == "consumer");
    if consumer {
        find_classic(all, refusals);
    } else {
        find_two_strategies(all, refusals);
    }
    find_small_answers(all, refusals);
    let poll = number(all, "max.poll.interval.ms", MAX_POLL_INTERVAL_MS, refusals);
    let room = settings.commit_wait_max;
    find_long_drain(settings, room, &["kafka.drain", "max.poll.interval.ms"], poll, refusals);
    if !consumer {
        find_short_session(settings, all, poll, refusals);
    }
}

/// Settings that the brokers decide.
fn find_classic(all: &BTreeMap<String, String>, refusals: &mut Vec<SettingsError>) {
    let given = CLASSIC_ONLY.iter().filter_map(|names| all.get(names[0]).map(|value| (*names, value)));
    refusals.extend(given.map(|(names, value)| {
        contradiction(
            names,
            format!("{}={value}", names[0]),
            "group.protocol=consumer".to_owned(),
            "with this protocol the brokers decide it; remove the setting, or use group.protocol=classic",
        )
    }));
}

fn find_two_strategies(all: &BTreeMap<String, String>, refusals: &mut Vec<SettingsError>) {
    let strategy = all.get("partition.assignment.strategy").map(String::as_str).unwrap_or_default();
    let mut names = strategy.split(',').map(str::trim);
    let cooperative = names.clone().find(|name| *name == "cooperative-sticky");
    let eager = names.find(|name| !name.is_empty() && *name != "cooperative-sticky");
    if let (Some(cooperative), Some(eager)) = (cooperative, eager) {
        refusals.push(contradiction(
            &["partition.assignment.strategy"],
            format!("{eager} in partition.assignment.strategy"),
            cooperative.to_owned(),
            "one gives the whole assignment up at each rebalance and the other does not; name only one. To change the \
             strategy of a running group, stop all its members first",
        ));
    }
}

fn find_small_answers(all: &BTreeMap<String, String>, refusals: &mut Vec<SettingsError>) {
    // Always there: where nobody says otherwise, it is our own.
    let fetch = number(all, "fetch.max.bytes", 0, refusals);
    let message = number(all, "message.max.bytes", MESSAGE_MAX_BYTES, refusals);
    if !all.contains_key("receive.message.max.bytes") {
        return;
    }
    let receive = number(all, "receive.message.max.bytes", 0, refusals);
    let (Some(fetch), Some(message), Some(receive)) = (fetch, message, receive) else { return };
    if receive < fetch.saturating_add(message).saturating_add(ANSWER_OVERHEAD_BYTES) {
        refusals.push(contradiction(
            &["receive.message.max.bytes", "fetch.max.bytes", "message.max.bytes"],
            format!("receive.message.max.bytes={receive}"),
            format!("fetch.max.bytes={fetch} with message.max.bytes={message}"),
            "an answer that is slightly larger than the first would be thrown away and asked for again for ever; raise \
             the first to at least the sum of the others and 512, or remove it",
        ));
    }
}

/// Sessions that end too early, for a group with the classic protocol.
fn find_short_session(
    settings: &ConsumerSettings,
    all: &BTreeMap<String, String>,
    poll: Option<i64>,
    refusals: &mut Vec<SettingsError>,
) {
    let session = number(all, "session.timeout.ms", SESSION_TIMEOUT_MS, refusals);
    let heartbeat = number(all, "heartbeat.interval.ms", HEARTBEAT_INTERVAL_MS, refusals);
    if let (Some(session), Some(heartbeat)) = (session, heartbeat)
        && heartbeat >= session
    {
        refusals.push(contradiction(
            &["heartbeat.interval.ms", "session.timeout.ms"],
            format!("heartbeat.interval.ms={heartbeat}"),
            format!("session.timeout.ms={session}"),
            "the session would end between two heartbeats; make the first a third of the second",
        ));
    }
    if let (Some(session), Some(poll)) = (session, poll)
        && session > poll
    {
        refusals.push(contradiction(
            &["session.timeout.ms", "max.poll.interval.ms"],
            format!("session.timeout.ms={session}"),
            format!("max.poll.interval.ms={poll}"),
            "the second must not be the smaller one",
        ));
    }
    find_long_drain(settings, COMMIT_ROOM, &["kafka.drain", "session.timeout.ms"], session, refusals);
}

/// A drain that leaves no room for the commit before the group gives the partitions away.
fn find_long_drain(
    settings: &ConsumerSettings,
    room: Duration,
    names: &'static [&'static str; 2],
    millis: Option<i64>,
    refusals: &mut Vec<SettingsError>,
) {
    let whole = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    let (drain, room) = (whole(settings.drain_max), whole(room));
    if let Some(millis) = millis.filter(|millis| drain.saturating_add(room) > *millis) {
        refusals.push(contradiction(
            names,
            format!("{} of {drain} ms with {room} ms for the commit", names[0]),
            format!("{}={millis}", names[1]),
            "the group would give the partitions away before the running batch is committed; lower the first or raise the second",
        ));
    }
}

/// The number that a property has, or its default. None where it is no number.
fn number(
    all: &BTreeMap<String, String>,
    name: &'static str,
    default: i64,
    refusals: &mut Vec<SettingsError>,
) -> Option<i64> {
    let Some(value) = all.get(name) else { return Some(default) };
    let number = value.trim().parse().ok();
    if number.is_none() {
        refusals.push(SettingsError::NotANumber { name, value: value.clone() });
    }
    number
}

fn contradiction(names: &'static [&'static str], first: String, second: String, reason: &'static str) -> SettingsError {
    SettingsError::Contradiction { names, first, second, reason }
}
