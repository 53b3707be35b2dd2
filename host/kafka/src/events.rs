//! The event thread: reads what the client reports, serves rebalances, keeps the membership alive, and closes.
//!
//! Waits for a guest never: it goes on while batches are out, while retries wait and while everything is held (R1).

use std::ffi::CString;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use gristmill_core::io::Input;

use crate::close::{CloseBy, Leaving};
use crate::error::ClientErrorKind;
use crate::event::Event;
use crate::log::{LogGate, LogLine};
use crate::ownership::withdraw_strayed;
use crate::rebalance;
use crate::shared::Shared;
use crate::statistics;
use crate::sys::{ClientEvent, Code, code_name};

/// How long the thread waits when the client reports nothing. Closing wakes it.
const IDLE_WAIT: Duration = Duration::from_secs(1);
/// How long it waits while closing, which ends without a report.
const CLOSE_WAIT: Duration = Duration::from_millis(5);
/// librdkafka's words for a subscribed topic that is not there, before its name.
const MISSING: &str = "Subscribed topic not available: ";

/// Runs until closing was asked for and done, or its deadline passed. Says how leaving went.
pub(crate) fn run(shared: &Shared, lines: &Receiver<LogLine>, close_by: &CloseBy) -> Leaving {
    let mut gate = LogGate::default();
    while !shared.is_closing() {
        serve(shared, &mut gate, lines, IDLE_WAIT);
    }
    if let Err((code, text)) = shared.client.begin_close(&shared.reports) {
        if shared.client.fatal_error().is_some() {
            return Leaving::NoMember;
        }
        tracing::warn!(?code, text, "closing could not begin");
        return Leaving::Late;
    }
    while !shared.client.closed() && close_by.is_ahead(Instant::now()) {
        serve(shared, &mut gate, lines, CLOSE_WAIT);
    }
    if shared.client.closed() { Leaving::Left } else { Leaving::Late }
}

/// Waits for one report, then writes the log lines that came until then.
fn serve(shared: &Shared, gate: &mut LogGate, lines: &Receiver<LogLine>, wait: Duration) {
    if let Some(event) = shared.reports.poll(wait) {
        handle(shared, event);
    }
    lines.try_iter().for_each(|line| gate.log(&line));
}

fn handle(shared: &Shared, event: ClientEvent) {
    match event {
        ClientEvent::Assign(rows) => rebalance::assign(shared, &rows),
        ClientEvent::Revoke(rows) => rebalance::revoke(shared, &rows),
        ClientEvent::Error { code, text, fatal } => handle_error(shared, code, text, fatal),
        ClientEvent::Statistics(json) => match statistics::parse(&json, &shared.topics) {
            Ok(statistics) => shared.tell(Event::Statistics(statistics)),
            Err(error) => tracing::debug!(%error, "statistics could not be read"),
        },
        ClientEvent::StrayRecords(places) => give_strays_up(shared, places),
        ClientEvent::Committed { .. } | ClientEvent::Delivered(_) => {}
        ClientEvent::Other(name) => tracing::debug!(name, "event ignored"),
    }
}

/// Records came past the private queue: what was passed on behind them would make a hole. Nothing of their partitions may be
/// committed any more; the next assignment reads them again from the committed offset, properly forwarded.
fn give_strays_up(shared: &Shared, places: Vec<(Vec<u8>, i32)>) {
    tracing::error!(records = places.len(), "records came past the private queue; their partitions are read again");
    let strayed = places
        .into_iter()
        .filter_map(|(name, number)| shared.topics.known_partition(&CString::new(name).ok()?, number));
    let lost = withdraw_strayed(&mut shared.ownership.lock(), strayed);
    if !lost.is_empty() {
        shared.input(Input::Lost(lost));
    }
    shared.ask_rejoin("records came past the private queue");
}

fn handle_error(shared: &Shared, code: Code, text: String, fatal: bool) {
    match code {
        Code::UnknownTopicOrPartition | Code::UnknownTopic => {
            if let Some(name) = missing_topic(shared, &text) {
                return shared.tell(Event::TopicMissing { name: name.into() });
            }
        }
        _ => {}
    }
    // What is fatal is raised once, and its cause is asked for. What comes later is only what it is.
    let (code, text, fatal) = match shared.client.fatal_error() {
        Some((cause, words)) if fatal || code == Code::Fatal => (cause, words, true),
        Some(_) | None => (code, text, fatal),
    };
    let id = shared.settings.instance_id().unwrap_or_default();
    if fatal && matches!(code, Code::FencedInstanceId | Code::Fenced) {
        // The core ends for it; as a client error it would be one more cause of the same end.
        tracing::error!(group_instance_id = id, text, "fenced: another process joined with the same id");
        return shared.input(Input::Fenced);
    }
    // With the consumer protocol the newcomer is turned away, and not the older one fenced. A killed one counts as there until
    // its session ends, so this passes, unless there really are two.
    let text = match code {
        Code::UnreleasedInstanceId => format!(
            "group.instance.id {id} is still taken: {text}; a process that was killed gives it up when its session ends, so start \
             again, and give every process an id of its own"
        ),
        _ => text,
    };
    let kind = ClientErrorKind::of(code);
    shared.tell(Event::ClientError { kind, code: code_name(code), text, partition: None, fatal });
}

/// The subscribed topic that an error says is not there.
fn missing_topic<'a>(shared: &'a Shared, text: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(MISSING)?;
    let mut topics = shared.settings.topics.iter();
    topics.find(|name| rest.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with(": "))).map(String::as_str)
}

/// Starts the thread.
pub(crate) fn spawn(
    shared: &Arc<Shared>,
    lines: Receiver<LogLine>,
    close_by: Arc<CloseBy>,
) -> std::io::Result<std::thread::JoinHandle<Leaving>> {
    let shared = Arc::clone(shared);
    std::thread::Builder::new().name("kafka-events".into()).spawn(move || run(&shared, &lines, &close_by))
}
