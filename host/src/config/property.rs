//! Properties of librdkafka as the configuration gives them: which the host owns or refuses, and their numbers.

use std::time::Duration;

use super::contradictions::Findings;
use super::file::ConfigFile;

/// Properties that have a key of their own.
const NAMED: [(&str, &str); 8] = [
    ("bootstrap.servers", "kafka.bootstrap_servers"),
    ("metadata.broker.list", "kafka.bootstrap_servers"),
    ("group.id", "kafka.group_id"),
    ("auto.offset.reset", "kafka.auto_offset_reset"),
    ("enable.auto.commit", ""),
    ("auto.commit.interval.ms", ""),
    ("enable.auto.offset.store", ""),
    ("enable.partition.eof", ""),
];

/// Properties that would let a configuration run programs or load code.
const DANGEROUS: [&str; 4] =
    ["plugin.library.paths", "sasl.kerberos.kinit.cmd", "ssl.engine.location", "ssl.providers"];

/// With `group.protocol=consumer` the broker decides these.
const CLASSIC_ONLY: [&str; 3] = ["session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy"];

/// Refuses properties that the host owns, that are dangerous, or that do not fit the group protocol.
pub(crate) fn refuse(file: &ConfigFile, findings: &mut Findings<'_>) {
    let consumer = file.kafka.properties.get("group.protocol").is_some_and(|property| property.0 == "consumer");
    for name in file.kafka.properties.keys() {
        let reason = match NAMED.iter().find(|(owned, _)| owned == name) {
            Some((_, "")) => Some("the host decides when to commit; remove it".to_owned()),
            Some((_, key)) => Some(format!("it has a key of its own; write {key}")),
            None if DANGEROUS.contains(&name.as_str()) => {
                Some("it would run foreign code in the host; remove it".to_owned())
            }
            None if name.starts_with("test.mock.") => {
                Some("it replaces the brokers by a mock; see gristmill demo".to_owned())
            }
            None if consumer && CLASSIC_ONLY.contains(&name.as_str()) => {
                Some("with group.protocol = \"consumer\" the broker decides it; remove one of the two".to_owned())
            }
            None => None,
        };
        if let Some(reason) = reason {
            let path: &[&str] = &["kafka", "properties", name];
            findings.refuse(&[path], format!("the property {name} is not accepted: {reason}"));
        }
    }
    for name in [
        "max.poll.interval.ms",
        "session.timeout.ms",
        "heartbeat.interval.ms",
        "fetch.max.bytes",
        "receive.message.max.bytes",
    ] {
        let Some(property) = file.kafka.properties.get(name) else { continue };
        if property.0.trim().parse::<u64>().is_err() {
            let path: &[&str] = &["kafka", "properties", name];
            findings.refuse(&[path], format!("the property {name} = \"{}\": wanted a whole number", property.0));
        }
    }
}

/// The number that a property has, or the client's default.
pub(crate) fn number(file: &ConfigFile, name: &str, default: u64) -> u64 {
    file.kafka.properties.get(name).and_then(|property| property.0.trim().parse().ok()).unwrap_or(default)
}

/// The time that a property in milliseconds has, or the client's default.
pub(crate) fn millis(file: &ConfigFile, name: &str, default: u64) -> Duration {
    Duration::from_millis(number(file, name, default))
}
