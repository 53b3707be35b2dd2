//! Settings that are fine alone and cannot work together. Each refusal names both with their numbers.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::settings::{ConsumerSettings, SettingsError};

/// What librdkafka takes where nothing is set; from its CONFIGURATION.md of 2.12.1.
const SESSION_TIMEOUT_MS: i64 = 45_000;
const HEARTBEAT_INTERVAL_MS: i64 = 3_000;
const MAX_POLL_INTERVAL_MS: i64 = 300_000;
const FETCH_MAX_BYTES: i64 = 52_428_800;
const MESSAGE_MAX_BYTES: i64 = 1_000_000;
/// What one fetch answer has beside its records.
const ANSWER_OVERHEAD_BYTES: i64 = 512;

/// Settings that a group with `group.protocol=consumer` takes from the brokers.
const CLASSIC_ONLY: &[&str] =
    &["session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy", "group.protocol.type"];

/// Refuses what cannot work together.
pub(crate) fn check(settings: &ConsumerSettings, all: &BTreeMap<String, String>) -> Result<(), SettingsError> {
    check_protocol(all)?;
    check_sizes(all)?;
    check_times(settings, all)
}

fn check_protocol(all: &BTreeMap<String, String>) -> Result<(), SettingsError> {
    if all.get("group.protocol").is_some_and(|value| value == "consumer") {
        return CLASSIC_ONLY.iter().find_map(|name| all.get(*name).map(|value| (*name, value))).map_or(
            Ok(()),
            |(name, value)| {
                Err(contradiction(
                    format!("{name}={value}"),
                    "group.protocol=consumer".to_owned(),
                    "with this protocol the brokers decide it; remove the setting, or use group.protocol=classic",
                ))
            },
        );
    }
    let strategy = all.get("partition.assignment.strategy").map(String::as_str).unwrap_or_default();
    let mut names = strategy.split(',').map(str::trim);
    let cooperative = names.clone().find(|name| *name == "cooperative-sticky");
    let eager = names.find(|name| !name.is_empty() && *name != "cooperative-sticky");
    if let (Some(cooperative), Some(eager)) = (cooperative, eager) {
        return Err(contradiction(
            format!("{eager} in partition.assignment.strategy"),
            cooperative.to_owned(),
            "one gives the whole assignment up at each rebalance and the other does not; name only one. To change the \
             strategy of a running group, stop all its members first",
        ));
    }
    Ok(())
}

fn check_sizes(all: &BTreeMap<String, String>) -> Result<(), SettingsError> {
    let fetch = number(all, "fetch.max.bytes", FETCH_MAX_BYTES)?;
    let message = number(all, "message.max.bytes", MESSAGE_MAX_BYTES)?;
    let Some(receive) = all.get("receive.message.max.bytes") else { return Ok(()) };
    let receive = parse("receive.message.max.bytes", receive)?;
    if receive < fetch.saturating_add(message).saturating_add(ANSWER_OVERHEAD_BYTES) {
        return Err(contradiction(
            format!("receive.message.max.bytes={receive}"),
            format!("fetch.max.bytes={fetch} with message.max.bytes={message}"),
            "an answer that is slightly larger than the first would be thrown away and asked for again for ever; raise \
             the first to at least the sum of the others and 512, or remove it",
        ));
    }
    Ok(())
}

fn check_times(settings: &ConsumerSettings, all: &BTreeMap<String, String>) -> Result<(), SettingsError> {
    let poll = number(all, "max.poll.interval.ms", MAX_POLL_INTERVAL_MS)?;
    check_drain(
        "drain time and wait for its commit",
        settings.drain_max + settings.commit_wait_max,
        "max.poll.interval.ms",
        poll,
    )?;
    if all.get("group.protocol").is_some_and(|value| value == "consumer") {
        return Ok(());
    }
    let session = number(all, "session.timeout.ms", SESSION_TIMEOUT_MS)?;
    let heartbeat = number(all, "heartbeat.interval.ms", HEARTBEAT_INTERVAL_MS)?;
    if heartbeat >= session {
        return Err(contradiction(
            format!("heartbeat.interval.ms={heartbeat}"),
            format!("session.timeout.ms={session}"),
            "the session would end between two heartbeats; make the first a third of the second",
        ));
    }
    if session > poll {
        return Err(contradiction(
            format!("session.timeout.ms={session}"),
            format!("max.poll.interval.ms={poll}"),
            "the second must not be the smaller one",
        ));
    }
    check_drain("drain time", settings.drain_max, "session.timeout.ms", session)
}

fn check_drain(what: &str, drain: Duration, name: &str, millis: i64) -> Result<(), SettingsError> {
    let drain_ms = i64::try_from(drain.as_millis()).unwrap_or(i64::MAX);
    if drain_ms < millis {
        return Ok(());
    }
    Err(contradiction(
        format!("{what} of {drain_ms} ms"),
        format!("{name}={millis}"),
        "the group would give the partitions away before the running batch has ended; lower the first or raise the second",
    ))
}

fn number(all: &BTreeMap<String, String>, name: &'static str, default: i64) -> Result<i64, SettingsError> {
    all.get(name).map_or(Ok(default), |value| parse(name, value))
}

fn parse(name: &'static str, value: &str) -> Result<i64, SettingsError> {
    value.trim().parse().map_err(|_| SettingsError::NotANumber { name, value: value.to_owned() })
}

fn contradiction(first: String, second: String, reason: &'static str) -> SettingsError {
    SettingsError::Contradiction { first, second, reason }
}
