//! What a batch has written before its commit: makes the records, hands them to the producer, and tells what became of them.
//!
//! It decides nothing about batches. A dead letter that a broker finds too large is made again, shorter, as often as there is
//! something to leave out (D7).

use std::collections::BTreeMap;
use std::sync::Arc;

use gristmill_core::io::{DeadLetter, LetterClass, ProduceError, Production, RequestId, Verdict};
use gristmill_kafka::dead_letter::{self, Cut, DeadLetterTopic, Failure};
use gristmill_kafka::{Event, Outgoing, ProduceFailure, ProduceFailureKind, Producer, ProducerSettings, StartError};
use tokio::sync::mpsc::UnboundedSender;
use tracing::warn;

use crate::body::Body;
use crate::clock::now_ms;
use crate::exit::{self, Exit};

/// The producer's side of a pipeline. Without a producer nothing is ever asked of it.
pub(crate) struct Writer {
    producer: Option<Producer>,
    letters: Option<DeadLetterTopic>,
    /// What is being written, by the core's number of it.
    under_way: BTreeMap<RequestId, Writing>,
    /// What could not even be sent, until the run loop tells the core.
    refused: Vec<(RequestId, ProduceError)>,
}

/// Records that are being written before one commit.
struct Writing {
    letters: Vec<Letter>,
    /// What the plugin emitted, until it is sent for the last time.
    emitted: Vec<Outgoing>,
    /// Where each of those goes.
    topics: Vec<Arc<str>>,
}

/// One dead letter, in the form that was sent last.
struct Letter {
    record: Body,
    failure: Failure,
    cut: Cut,
}

impl Writer {
    pub(crate) fn new(producer: Option<Producer>, letters: Option<DeadLetterTopic>) -> Self {
        Self { producer, letters, under_way: BTreeMap::new(), refused: Vec::new() }
    }

    /// Begins to write. The core hears of the end by what [`Writer::ended`] makes of the producer's answer.
    pub(crate) fn write(&mut self, production: Production<Body>, emitted: Vec<Outgoing>, digest: &str) {
        let at_ms = now_ms();
        let letters = production.letters.into_iter().map(|letter| letter_of(letter, digest, at_ms)).collect();
        let topics = emitted.iter().map(|record| Arc::clone(&record.topic)).collect();
        self.under_way.insert(production.id, Writing { letters, emitted, topics });
        self.send(production.id);
    }

    /// What an answer of the producer means to the core. `None`: what was too large is sent again, shorter.
    pub(crate) fn ended(
        &mut self,
        id: RequestId,
        result: Result<(), ProduceFailure>,
    ) -> Option<Result<(), ProduceError>> {
        let failure = match result {
            Ok(()) => {
                if let Some(writing) = self.under_way.remove(&id) {
                    tell_pointers(&writing.letters);
                }
                return Some(Ok(()));
            }
            Err(failure) => failure,
        };
        if failure.kind == ProduceFailureKind::TooLarge
            && let Some(letter) =
                self.under_way.get_mut(&id).and_then(|writing| writing.letters.get_mut(failure.record))
            && let Some(further) = letter.cut.further()
        {
            letter.cut = further;
            self.send(id);
            return None;
        }
        let writing = self.under_way.remove(&id)?;
        let letter = writing.letters.get(failure.record).map(|letter| letter.record.original());
        let what = letter.map_or_else(
            || "a record that the plugin emitted".to_owned(),
            |it| format!("the dead letter of {}/{} {}", it.topic(), it.partition(), it.offset()),
        );
        let emitted = failure.record.checked_sub(writing.letters.len()).and_then(|index| writing.topics.get(index));
        let letters = self.letters.as_ref().map(|letters| &letters.topic);
        let topic = emitted.or(letters).map_or("?", |topic| topic);
        Some(Err(error_of(&failure, &what, topic)))
    }

    /// What could not even be sent since this was last asked.
    pub(crate) fn take_refused(&mut self) -> Vec<(RequestId, ProduceError)> {
        std::mem::take(&mut self.refused)
    }

    /// Sends what is under way, each dead letter in the longest form that its topic takes.
    fn send(&mut self, id: RequestId) {
        let (Some(producer), Some(writing)) = (&self.producer, self.under_way.get_mut(&id)) else { return };
        let mut outgoing: Vec<Outgoing> = Vec::with_capacity(writing.letters.len() + writing.emitted.len());
        for letter in &mut writing.letters {
            let Some(topic) = &self.letters else { return };
            match dead_letter::dead_letter(letter.record.original(), &letter.failure, topic, letter.cut) {
                Ok(made) => {
                    letter.cut = made.cut;
                    outgoing.push(made.outgoing);
                }
                Err(error) => {
                    self.under_way.remove(&id);
                    return self.refused.push((id, ProduceError::Refused(error.to_string())));
                }
            }
        }
        // Only a dead letter is ever made again and sent with all the rest.
        let once = writing.letters.is_empty();
        outgoing.extend(if once { std::mem::take(&mut writing.emitted) } else { writing.emitted.clone() });
        producer.produce(id, outgoing);
    }
}

fn letter_of(letter: DeadLetter<Body>, digest: &str, at_ms: i64) -> Letter {
    let DeadLetter { record, verdict: Verdict { class, reason, said, attempts, path } } = letter;
    let reason = match class {
        LetterClass::Undecodable => record.body.failure().unwrap_or("it cannot be decoded").to_owned(),
        LetterClass::TooLarge => format!("it counts {} bytes, more than the plugin can take", record.facts.bytes),
        LetterClass::Rejected | LetterClass::Fault(_) | LetterClass::Retries | LetterClass::Skipped => reason,
    };
    let detail = if matches!(class, LetterClass::Fault(_)) { Some(reason.clone()) } else { said };
    let halving = (path.len() > 1).then(|| path.iter().map(u32::to_string).collect::<Vec<_>>().join(" > "));
    let failure = Failure { class, reason, attempts, plugin_digest: digest.to_owned(), detail, halving, at_ms };
    Letter { record: record.body, failure, cut: Cut::Nothing }
}

/// Starts a producer.
///
/// # Errors
/// Its settings make no client.
pub(crate) fn producer(settings: ProducerSettings, events: UnboundedSender<Event>) -> Result<Producer, Exit> {
    Producer::start(settings, events).map_err(|error| {
        let why = match error {
            StartError::Client { text } => {
                format!("cannot create the client that writes: {}; correct [producer]", text.trim())
            }
            other => other.to_string(),
        };
        Exit::because(exit::MISFIT, why)
    })
}

/// What the core needs to know: whether to try again. With the way out for people; `what` is the record that failed.
pub(crate) fn error_of(failure: &ProduceFailure, what: &str, topic: &str) -> ProduceError {
    let code = &failure.code;
    match failure.kind {
        ProduceFailureKind::Temporary | ProduceFailureKind::ClientLost => {
            ProduceError::Temporary(format!("the brokers did not acknowledge {what} for {topic} ({code})"))
        }
        ProduceFailureKind::TooLarge => ProduceError::Refused(format!(
            "{what} is too large for {topic}, and no more of it may be left out ({code}); raise its max.message.bytes, or what \
             producer.properties say about sizes"
        )),
        ProduceFailureKind::NotAuthorised => {
            ProduceError::Refused(format!("this user may not write to {topic} ({code}); give it the right to"))
        }
        ProduceFailureKind::UnknownTopic if code == "_UNKNOWN_PARTITION" => ProduceError::Refused(format!(
            "the brokers know no topic {topic}, or it has no such partition as the plugin emits to ({code}); create it, give it more \
             partitions, or correct the plugin"
        )),
        ProduceFailureKind::UnknownTopic => {
            ProduceError::Refused(format!("the brokers know no topic {topic} ({code}); create it"))
        }
        ProduceFailureKind::Refused if code == "INVALID_RECORD" => ProduceError::Refused(format!(
            "the brokers refuse {what} for {topic} ({code}); a compacted topic takes no record without a key"
        )),
        ProduceFailureKind::Refused => ProduceError::Refused(format!("the brokers refuse {what} for {topic} ({code})")),
    }
}

/// Says of dead letters that are short of their content where the first of them is: whoever replays them has to fetch it there, while
/// it is there.
fn tell_pointers(letters: &[Letter]) {
    let mut pointers = letters.iter().filter(|letter| letter.cut >= Cut::Value);
    let Some(first) = pointers.next().map(|letter| letter.record.original()) else { return };
    let (topic, partition, offset) = (first.topic(), first.partition(), first.offset());
    let dead_letters = 1 + pointers.count() as u64;
    warn!(dead_letters, %topic, partition, offset, "dead letters are short of values and headers, which are too large for their topic; they say where these lie");
}
