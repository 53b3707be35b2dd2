//! Asks, within a bound, whether the brokers answer and the topics are there. Joins no group.

use std::ffi::CString;
use std::time::{Duration, Instant};

use crate::consumer::create;
use crate::error::{ClientErrorKind, StartError};
use crate::log::unheard;
use crate::settings::{ClientProperties, ConsumerSettings};
use crate::sys::{ClientEvent, ClientKind, Code, code_name};

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Each topic that is named and no pattern: how many partitions it has, or why it cannot be read.
    pub topics: Vec<(String, Result<usize, ClientErrorKind>)>,
}

/// Why the brokers could not be reached.
#[derive(Debug, thiserror::Error)]
pub enum ReachError {
    /// The settings do not make a client.
    #[error(transparent)]
    Start(#[from] StartError),
    /// No broker answered.
    #[error("no broker of {servers} answered within {} s ({code}){hints}; check kafka.bootstrap_servers and security.protocol", .wait.as_secs())]
    Unreachable {
        /// Who was asked.
        servers: String,
        /// For how long.
        wait: Duration,
        /// librdkafka's name of the error.
        code: String,
        /// What the client said meanwhile.
        hints: String,
    },
    /// The brokers do not accept the credentials.
    #[error(
        "the brokers of {servers} refused the credentials ({code}){hints}; check sasl.mechanism, sasl.username, sasl.password and the certificates"
    )]
    NotAuthenticated {
        /// Who was asked.
        servers: String,
        /// librdkafka's name of the error.
        code: String,
        /// What the client said meanwhile.
        hints: String,
    },
}

/// Asks the brokers for each named topic. Waits at most about `wait` in all.
///
/// # Errors
///
/// The settings make no client, no broker answers, or the credentials are refused. A missing topic is a result.
pub fn reach(settings: &ConsumerSettings, wait: Duration) -> Result<Reach, ReachError> {
    let properties = ClientProperties::of(settings).map_err(StartError::from)?;
    let client = create(ClientKind::Consumer, &properties, unheard())?;
    let deadline = Instant::now() + wait;
    let reports = client.events();
    let mut found = Reach { topics: Vec::new() };
    let names = settings.topics.iter().filter(|name| !name.starts_with('^')).cloned();
    // A pattern alone still shows whether a broker answers: any name does.
    let asked: Vec<String> = names.collect();
    let probes = if asked.is_empty() { vec![String::from("gristmill-probe")] } else { asked.clone() };
    for name in probes {
        let raw = CString::new(name.as_str()).unwrap_or_default();
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(100));
        let report = client.count_partitions(&raw, left);
        let result = match report {
            Ok(partitions) => partitions,
            Err(code) if is_about_topic(code) => Err(code),
            Err(code) => {
                let hints = reports.as_ref().map(said).unwrap_or_default();
                let hints = Hints { texts: properties.without_secrets(&hints.texts), ..hints };
                client.abandon();
                return Err(refusal(settings, wait, code, hints));
            }
        };
        if !asked.is_empty() {
            found.topics.push((name, result.map_err(ClientErrorKind::of)));
        }
    }
    client.abandon();
    Ok(found)
}

fn is_about_topic(code: Code) -> bool {
    matches!(ClientErrorKind::of(code), ClientErrorKind::UnknownTopic | ClientErrorKind::Authorization)
        || code == Code::InvalidTopic
}

/// What a client said.
#[derive(Default)]
struct Hints {
    texts: String,
    authentication: bool,
}

/// Collects the errors that the client reported so far.
fn said(reports: &crate::sys::Queue) -> Hints {
    let mut hints = Hints::default();
    while let Some(event) = reports.poll(Duration::ZERO) {
        if let ClientEvent::Error { code, text, .. } = event {
            hints.authentication |= ClientErrorKind::of(code) == ClientErrorKind::Authentication;
            if hints.texts.len() < 500 && code != Code::AllBrokersDown {
                hints.texts.push_str(": ");
                hints.texts.push_str(&text);
            }
        }
    }
    hints
}

fn refusal(settings: &ConsumerSettings, wait: Duration, code: Code, hints: Hints) -> ReachError {
    let servers = settings.bootstrap_servers.clone();
    let name = code_name(code);
    if hints.authentication || ClientErrorKind::of(code) == ClientErrorKind::Authentication {
        ReachError::NotAuthenticated { servers, code: name, hints: hints.texts }
    } else {
        ReachError::Unreachable { servers, wait, code: name, hints: hints.texts }
    }
}
