//! The producer's thread: feeds the client within the budget of bytes and hears of the ends of records.
//!
//! What is open and when it is answered stands in `requests`. Here is no clock for records: the client's time limit is the
//! only one, so that no record is written after its end was told. A client that counts its records differently from the brokers is of no
//! use any more; it is replaced once it has said its last word about each record that it had.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use gristmill_core::io::RequestId;
use tokio::sync::mpsc::UnboundedSender;

use crate::consumer::create;
use crate::error::{ClientErrorKind, ProduceFailure, ProduceFailureKind, StartError};
use crate::event::Event;
use crate::log::{self, LogGate, LogLine};
use crate::outgoing::Outgoing;
use crate::producer::Line;
use crate::producer_settings::ProducerSettings;
use crate::requests::{Answer, Requests};
use crate::settings::ClientProperties;
use crate::sys::{Client, ClientEvent, ClientKind, Code, PARTITION_ANY, Producible, Queue, code_name};

/// How long the thread waits when the client reports nothing. An order wakes it.
const IDLE_WAIT: Duration = Duration::from_secs(1);
/// So many reports are read before it is looked for orders and for room again.
const REPORTS_AT_ONCE: usize = 64;
/// What is kept of the time for closing to hear the ends of what was given up.
const RESERVE: Duration = Duration::from_millis(200);
/// How long it waits before it tries again to make a client that could not be made.
const REMAKE_WAIT: Duration = Duration::from_secs(1);

/// How long it may ask for a topic that was refused before.
const LOOK_WAIT: Duration = Duration::from_secs(5);

/// One order.
#[derive(Debug)]
pub(crate) enum Order {
    /// Produce, and answer.
    Produce {
        /// Names the answer.
        id: RequestId,
        /// What.
        records: Vec<Outgoing>,
    },
    /// End by then. Nothing comes after it.
    Close {
        /// When it has to be over.
        deadline: Instant,
    },
}

/// A client and the queue that it reports on.
pub(crate) struct Wire {
    pub(crate) reports: Queue,
    pub(crate) client: Client,
}

/// The thread's own.
struct Worker {
    properties: ClientProperties,
    queue_bytes_max: u64,
    requests: Requests,
    wire: Option<Arc<Wire>>,
    /// Set from the client's fatal error until there is another one.
    lost: bool,
    remake_after: Instant,
    /// Set from the news that a topic is not there, or not for us, until the next request. The client goes on believing that for
    /// minutes, whatever an operator has done about it.
    topic_refused: bool,
    /// The topic of the last record, as the client wants it.
    topic: (Arc<str>, CString),
    lines: Receiver<LogLine>,
    log: std::sync::mpsc::SyncSender<LogLine>,
    gate: LogGate,
    orders: Receiver<Order>,
    line: Arc<Line>,
    outbox: UnboundedSender<Event>,
    close_by: Option<Instant>,
}

/// Makes the client and starts the thread.
pub(crate) fn spawn(
    settings: ProducerSettings,
    orders: Receiver<Order>,
    line: Arc<Line>,
    outbox: UnboundedSender<Event>,
) -> Result<(), StartError> {
    let properties = settings.client_properties()?;
    let (log, lines) = sync_channel(log::LINES_WAITING_MAX);
    let mut worker = Worker {
        properties,
        queue_bytes_max: settings.queue_bytes_max,
        requests: Requests::default(),
        wire: None,
        lost: false,
        remake_after: Instant::now(),
        topic_refused: false,
        topic: (Arc::from(""), CString::default()),
        lines,
        log,
        gate: LogGate::default(),
        orders,
        line,
        outbox,
        close_by: None,
    };
    worker.connect()?;
    let thread = std::thread::Builder::new().name("kafka-produce".into()).spawn(move || worker.run());
    thread.map(drop).map_err(|source| StartError::Thread { name: "kafka-produce", source })
}

impl Worker {
    /// Runs until it is told to close and everything is answered.
    fn run(mut self) {
        loop {
            self.take_orders();
            self.renew();
            self.feed();
            self.line.set_load(self.requests.bytes_out(), self.requests.records_out());
            let now = Instant::now();
            if let Some(deadline) = self.close_by
                && (self.requests.is_empty() || now >= deadline)
            {
                return self.end();
            }
            let wait = self.close_by.map_or(IDLE_WAIT, |deadline| deadline.saturating_duration_since(now));
            self.hear(wait.min(IDLE_WAIT));
        }
    }

    fn take_orders(&mut self) {
        while let Ok(order) = self.orders.try_recv() {
            match order {
                Order::Produce { id, records } => {
                    if std::mem::take(&mut self.topic_refused) {
                        self.look_anew(&records);
                    }
                    let answer = self.requests.accept(id, records);
                    self.answer(answer);
                }
                Order::Close { deadline } => {
                    let wait = deadline.saturating_duration_since(Instant::now());
                    self.close_by = Some(deadline.checked_sub(RESERVE.min(wait / 2)).unwrap_or(deadline));
                }
            }
        }
    }

    /// Asks the brokers for the topics of these records, so that the client hears of what was done about one meanwhile. What it
    /// does not hear shows when it produces.
    fn look_anew(&self, records: &[Outgoing]) {
        let Some(wire) = &self.wire else { return };
        let topics: BTreeSet<&str> = records.iter().map(|record| &*record.topic).collect();
        for topic in topics.into_iter().filter_map(|topic| CString::new(topic).ok()) {
            let found = wire.client.count_partitions(&topic, LOOK_WAIT);
            tracing::debug!(?topic, ?found, "asked again for a topic that was refused");
        }
    }

    /// Hands records over while there is room.
    fn feed(&mut self) {
        let Some(wire) = self.wire.clone().filter(|_| !self.lost) else { return };
        while let Some((ticket, record)) = self.requests.next() {
            let bytes_out = self.requests.bytes_out();
            if bytes_out > 0 && bytes_out + record.wire_bytes() > self.queue_bytes_max {
                return;
            }
            match hand_over(&wire.client, &mut self.topic, ticket, record) {
                Ok(()) => self.requests.sent(ticket),
                // Our own bound lies below the client's. Should it be full all the same, the end of a record makes room.
                Err(Code::QueueFull) if self.requests.records_out() > 0 => return,
                Err(Code::Fatal) => return self.lose(),
                Err(code) => {
                    let answer = self.requests.refused(ticket, code);
                    self.answer(answer);
                }
            }
        }
    }

    /// Waits for a report, then reads those that are there.
    fn hear(&mut self, wait: Duration) {
        let Some(wire) = self.wire.clone() else {
            // Nobody is there to wake it; the only thing to wait for is the next attempt to make a client.
            std::thread::sleep(wait.min(self.remake_after.saturating_duration_since(Instant::now())));
            return;
        };
        let mut wait = wait;
        for _ in 0..REPORTS_AT_ONCE {
            let Some(event) = wire.reports.poll(wait) else { break };
            self.handle(event);
            wait = Duration::ZERO;
        }
        while let Ok(line) = self.lines.try_recv() {
            self.gate.log(&line);
        }
    }

    fn handle(&mut self, event: ClientEvent) {
        match event {
            ClientEvent::Delivered(ended) => {
                for (ticket, result) in ended {
                    // A client that is lost gives up what it had queued.
                    let result = result.map_err(|code| if self.lost && is_given_up(code) { Code::Fatal } else { code });
                    let answer = self.requests.ended(ticket, result);
                    self.answer(answer);
                }
            }
            ClientEvent::Error { fatal: true, .. } | ClientEvent::Error { code: Code::Fatal, .. } => self.lose(),
            ClientEvent::Error { code, text, .. } => self.tell_error(code, text),
            ClientEvent::Assign(_)
            | ClientEvent::Revoke(_)
            | ClientEvent::Committed { .. }
            | ClientEvent::Statistics(_)
            | ClientEvent::StrayRecords(_) => {}
            ClientEvent::Other(name) => tracing::debug!(name, "event ignored"),
        }
    }

    /// Marks the client as of no use any more. It gives its queue up by itself; what is on its way ends as it ends.
    fn lose(&mut self) {
        if !self.lost {
            self.lost = true;
            let cause = self.wire.as_ref().and_then(|wire| wire.client.fatal_error());
            let (code, text) = cause.map_or((Code::Fatal, String::new()), |cause| cause);
            tracing::warn!(code = code_name(code), text, "the producer lost count of its records; it begins anew");
        }
    }

    /// Replaces a client that is lost and has nothing any more. One that cannot be made is tried again, and what is open
    /// meanwhile is answered.
    fn renew(&mut self) {
        if self.lost && self.requests.records_out() == 0 {
            self.let_go();
            self.lost = false;
        }
        if self.wire.is_none()
            && Instant::now() >= self.remake_after
            && let Err(error) = self.connect()
        {
            self.remake_after = Instant::now() + REMAKE_WAIT;
            self.tell_error(Code::Fail, error.to_string());
            let answers = self.requests.give_up(Code::Fail);
            answers.into_iter().for_each(|answer| self.answer(Some(answer)));
        }
    }

    fn connect(&mut self) -> Result<(), StartError> {
        let sink = log::forward(&self.properties, self.log.clone());
        let client = create(ClientKind::Producer, &self.properties, sink)?;
        let wire = Arc::new(Wire { reports: client.deliveries(), client });
        self.line.set_wire(Some(Arc::clone(&wire)));
        self.wire = Some(wire);
        Ok(())
    }

    /// Destroys the client on a thread of its own, since that waits for its threads.
    fn let_go(&mut self) {
        self.line.set_wire(None);
        let Some(old) = self.wire.take() else { return };
        let destroy = move || {
            // The host may hold a reference for the length of one call; the last one destroys the client, which is to be here.
            while Arc::strong_count(&old) > 1 {
                std::thread::sleep(Duration::from_millis(1));
            }
            drop(old);
        };
        let ended = std::thread::Builder::new().name("kafka-produce-end".into()).spawn(destroy);
        if ended.is_err() {
            tracing::debug!("no thread for destroying a client could be started; it was destroyed at once");
        }
    }

    /// Gives up what is left, answers it, and says that it is over. What follows only frees memory.
    fn end(mut self) {
        let in_time = self.requests.is_empty();
        if let Some(wire) = self.wire.clone().filter(|_| !in_time) {
            if let Err(code) = wire.client.give_up_deliveries() {
                tracing::debug!(?code, "giving records up failed");
            }
            let deadline = Instant::now() + RESERVE / 2;
            while self.requests.records_out() > 0 && Instant::now() < deadline {
                self.hear(deadline.saturating_duration_since(Instant::now()));
            }
        }
        let answers = self.requests.give_up(Code::BrokerDestroy);
        answers.into_iter().for_each(|answer| self.answer(Some(answer)));
        self.line.set_load(0, 0);
        self.tell(Event::ProducerClosed { in_time });
        self.let_go();
    }

    fn answer(&mut self, answer: Option<Answer>) {
        if let Some((id, result)) = answer {
            self.topic_refused |= matches!(
                &result,
                Err(ProduceFailure { kind: ProduceFailureKind::UnknownTopic | ProduceFailureKind::NotAuthorised, .. })
            );
            // Before the answer: who hears it finds the load without its records.
            self.line.set_load(self.requests.bytes_out(), self.requests.records_out());
            self.tell(Event::Produced { id, result });
        }
    }

    fn tell_error(&self, code: Code, text: String) {
        let kind = ClientErrorKind::of(code);
        self.tell(Event::ClientError { kind, code: code_name(code), text, partition: None, fatal: false });
    }

    /// Tells the host. A host that no longer listens is on its way out, so nothing is lost with the news.
    fn tell(&self, event: Event) {
        let _ = self.outbox.send(event);
    }
}

/// Hands one record to the client, which copies it.
fn hand_over(client: &Client, topic: &mut (Arc<str>, CString), ticket: usize, record: &Outgoing) -> Result<(), Code> {
    if topic.0 != record.topic {
        let raw = CString::new(&*record.topic).map_err(|_| Code::InvalidTopic)?;
        *topic = (Arc::clone(&record.topic), raw);
    }
    // Zero is the client's word for now.
    let timestamp_ms = record.timestamp_ms.map_or(0, |time| if time == 0 { 1 } else { time });
    let producible = Producible {
        topic: &topic.1,
        partition: record.partition.unwrap_or(PARTITION_ANY),
        key: record.key(),
        value: record.value(),
        timestamp_ms,
        ticket,
    };
    client.produce(&producible, record.headers())
}

fn is_given_up(code: Code) -> bool {
    matches!(code, Code::PurgeQueue | Code::PurgeInflight | Code::Fatal)
}
