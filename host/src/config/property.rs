//! Properties of librdkafka as the configuration gives them. Which of them are accepted, and which go together, is the Kafka
//! edge's knowledge; here its refusals get their place in the file.

use std::time::{Duration, Instant};

use gristmill_kafka::properties::{self, Standing};
use gristmill_kafka::{ClientProperties, SettingsError};

use super::file::ConfigFile;
use super::findings::Findings;
use super::kafka::KafkaConfig;
use super::shape::nearest;

/// Refuses properties that the host owns, that nobody may set, and that no consumer has.
pub(crate) fn refuse(file: &ConfigFile, findings: &mut Findings) {
    for name in file.kafka.properties.keys() {
        let message = match properties::standing(name) {
            Standing::Accepted => continue,
            Standing::Owned(reason) => format!("the property {name} is the host's own: {reason}; remove it"),
            Standing::Refused(reason) => format!("the property {name} is never accepted: {reason}; remove it"),
            Standing::Unknown { for_producers: true } => {
                format!("the property {name} is for producers, and the host reads; remove it")
            }
            Standing::Unknown { for_producers: false } => {
                let near = nearest(name, properties::ACCEPTED.iter().copied());
                let advice = near.map_or("remove it".to_owned(), |near| format!("did you mean \"{near}\"?"));
                format!("the property {name} is not known; {advice}")
            }
        };
        findings.refuse(&[&["kafka", "properties", name]], message);
    }
}

/// Refuses values that librdkafka does not take, and what cannot work together, as the Kafka edge sees it.
pub(crate) fn refuse_contradictions(kafka: &KafkaConfig, findings: &mut Findings) {
    let settings = kafka.consumer_settings(Instant::now());
    let refusals = ClientProperties::refusals(&settings);
    let is_told = |value: &SettingsError| {
        let SettingsError::Value { name, .. } = value else { return false };
        refusals.iter().any(|told| matches!(told, SettingsError::NotANumber { name: told, .. } if told == name))
    };
    let values = ClientProperties::refused_values(&settings).into_iter().filter(|value| !is_told(value));
    for error in values.chain(refusals.iter().cloned()) {
        let named = match &error {
            SettingsError::Contradiction { names, .. } => names.to_vec(),
            SettingsError::NotANumber { name, .. } => vec![*name],
            SettingsError::ZeroByte { name } | SettingsError::Value { name, .. } => vec![name.as_str()],
            // Said already, at the places where they stand.
            SettingsError::Owned { .. }
            | SettingsError::Refused { .. }
            | SettingsError::Unknown { .. }
            | SettingsError::Topic { .. }
            | SettingsError::Producer { .. }
            | SettingsError::ProducerValue { .. }
            | SettingsError::Empty { .. } => continue,
        };
        let paths: Vec<Vec<&str>> = named.into_iter().map(path_of).collect();
        let paths: Vec<&[&str]> = paths.iter().map(Vec::as_slice).collect();
        findings.refuse(&paths, error.to_string());
    }
}

/// The path of a key or property that the Kafka edge names.
fn path_of(name: &str) -> Vec<&str> {
    match name.strip_prefix("kafka.") {
        Some(key) => vec!["kafka", key],
        None => vec!["kafka", "properties", name],
    }
}

/// The time that a property in milliseconds has, or the client's default. None where it is no number.
pub(crate) fn millis(file: &ConfigFile, name: &str, default: u64) -> Option<Duration> {
    let written = file.kafka.properties.get(name);
    written.map_or(Some(default), |property| property.0.trim().parse().ok()).map(Duration::from_millis)
}
