//! Asks, within a bound, whether the brokers answer and the topics are there. Joins no group.

use std::ffi::CString;
use std::time::{Duration, Instant};

use crate::cause::{broker_of, without_state};
use crate::consumer::create;
use crate::error::{ClientErrorKind, StartError};
use crate::log::unheard;
use crate::settings::{ClientProperties, ConsumerSettings};
use crate::subscription::is_pattern;
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
    #[error(
        "no broker of {servers} answered within {wait:?} ({code}){hints}; check kafka.bootstrap_servers and security.protocol"
    )]
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
    /// The brokers and this client do not agree on TLS, for example on a certificate.
    #[error(
        "no secure connection to the brokers of {servers}{hints}; check security.protocol and ssl.* in [kafka.properties]"
    )]
    Insecure {
        /// Who was asked.
        servers: String,
        /// What the client said meanwhile.
        hints: String,
    },
}

/// Asks the brokers for each named topic. Waits at most about `wait` in all.
///
/// # Errors
///
/// The settings make no client, no broker answers, TLS fails, or the credentials are refused. A missing topic is a result.
pub fn reach(settings: &ConsumerSettings, wait: Duration) -> Result<Reach, ReachError> {
    let properties = ClientProperties::of(settings).map_err(StartError::from)?;
    let client = create(ClientKind::Consumer, &properties, unheard())?;
    let deadline = Instant::now() + wait;
    let reports = client.events();
    let mut found = Reach { topics: Vec::new() };
    let mut hints = Hints::default();
    let names = settings.topics.iter().filter(|name| !is_pattern(name)).cloned();
    // A pattern alone still shows whether a broker answers: any name does.
    let asked: Vec<String> = names.collect();
    let probes = if asked.is_empty() { vec![String::from("gristmill-probe")] } else { asked.clone() };
    for name in probes {
        let raw = CString::new(name.as_str()).unwrap_or_default();
        let mut patience = PATIENCE;
        let result = loop {
            let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(100));
            let code = match client.count_partitions(&raw, left.min(patience)) {
                Ok(partitions) => break partitions,
                Err(code) if is_about_topic(code) => break Err(code),
                Err(code) => code,
            };
            if let Some(reports) = &reports {
                hints.hear(reports);
            }
            if left <= patience || hints.refusal.is_some() {
                client.abandon();
                return Err(refusal(settings, wait, code, &properties.without_secrets(&hints.text()), &hints));
            }
            patience *= 2;
        };
        if !asked.is_empty() {
            found.topics.push((name, result.map_err(ClientErrorKind::of)));
        }
    }
    client.abandon();
    Ok(found)
}

/// How long the first answer is waited for before it is looked whether waiting makes sense: credentials that are refused do not get
/// better. Each further wait is twice as long, so that brokers that are slow are heard as well.
const PATIENCE: Duration = Duration::from_secs(1);

fn is_about_topic(code: Code) -> bool {
    matches!(ClientErrorKind::of(code), ClientErrorKind::UnknownTopic | ClientErrorKind::Authorization)
        || code == Code::InvalidTopic
}

/// What a client said: the first words about each broker, and about no broker.
#[derive(Default)]
pub(crate) struct Hints {
    words: Vec<(Option<String>, String)>,
    /// The first error that does not get better by waiting.
    refusal: Option<Code>,
}

/// So many brokers are told about.
const BROKERS_MAX: usize = 5;

impl Hints {
    /// Collects the errors that the client reported so far.
    pub(crate) fn hear(&mut self, reports: &crate::sys::Queue) {
        while let Some(event) = reports.poll(Duration::ZERO) {
            let ClientEvent::Error { code, text, .. } = event else { continue };
            if is_refusal(code) {
                self.refusal.get_or_insert(code);
            }
            if code != Code::AllBrokersDown {
                self.note(&text);
            }
        }
    }

    /// Collects one error.
    pub(crate) fn note(&mut self, text: &str) {
        let broker = broker_of(text).map(str::to_owned);
        let known = self.words.iter().any(|(known, _)| *known == broker);
        if !known && self.words.len() < BROKERS_MAX {
            self.words.push((broker, without_state(text).to_owned()));
        }
    }

    pub(crate) fn text(&self) -> String {
        self.words.iter().map(|(_, words)| format!(": {words}")).collect()
    }
}

fn refusal(settings: &ConsumerSettings, wait: Duration, code: Code, hints: &str, heard: &Hints) -> ReachError {
    let servers = settings.bootstrap_servers.clone();
    let hints = hints.to_owned();
    match heard.refusal.or_else(|| is_refusal(code).then_some(code)) {
        Some(Code::SSL) => ReachError::Insecure { servers, hints },
        Some(cause) => ReachError::NotAuthenticated { servers, code: code_name(cause), hints },
        None => ReachError::Unreachable { servers, wait, code: code_name(code), hints },
    }
}

fn is_refusal(code: Code) -> bool {
    ClientErrorKind::of(code) == ClientErrorKind::Authentication
}
