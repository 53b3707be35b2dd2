//! Turns what the machine reports into log lines: facts as fields, a short message in the past tense, never a payload.

use std::sync::Arc;
use std::time::Duration;

use gristmill_core::io::{
    BatchId, Delivery, HeldReason, NOT_WRITTEN, OffsetTrouble, Report, RequestError, SeekTo, StartPosition, StopReason,
};
use gristmill_core::record::{NextOffset, Partition, Topic};
use gristmill_core::time::Moment;
use tracing::field::{DisplayValue, display};
use tracing::{debug, error, info, trace, warn};

use crate::excerpt::short_reason;
use crate::telemetry::{LetterLog, Mention, RetryLog};
use crate::whereabouts::{Lanes, Whereabouts};

/// Finds the name of a topic by its number.
pub(crate) trait TopicNames {
    /// The topic's name, or its number as text when it was never seen.
    fn name(&self, topic: Topic) -> Arc<str>;
}

/// How often a batch that fails again and again is mentioned after its second time.
const RETRY_WINDOW: Duration = Duration::from_secs(60);

/// How often dead letters are mentioned.
const LETTER_WINDOW: Duration = Duration::from_secs(60);

/// Tells the machine's reports as log lines.
#[derive(Debug)]
pub(crate) struct Narrator {
    retries: RetryLog,
    letters: LetterLog,
    /// False while a batch that is read again for each attempt fails too often to be mentioned.
    rewinds_are_news: bool,
    whereabouts: Whereabouts,
}

impl Narrator {
    pub(crate) fn new(lanes: Lanes) -> Self {
        Self {
            retries: RetryLog::new(RETRY_WINDOW),
            letters: LetterLog::new(LETTER_WINDOW),
            rewinds_are_news: true,
            whereabouts: Whereabouts::new(lanes),
        }
    }

    /// Notes where a batch lies that is handed over now, so that its failure can be told with its place.
    pub(crate) fn note_delivery<R>(&mut self, delivery: &Delivery<R>) {
        self.whereabouts.note(delivery);
    }

    /// Where that lies for which a host ends, in short: the partition whose dead letters are too many, which the plugin need not have
    /// seen, or the batch that was handed over last.
    pub(crate) fn place_of(&self, reason: &StopReason, topics: &impl TopicNames) -> Option<String> {
        match reason {
            StopReason::TooManyDeadLetters { partition, .. } => {
                Some(format!("{}/{}", topics.name(partition.topic), partition.number))
            }
            StopReason::Asked
            | StopReason::Abandoned { .. }
            | StopReason::Fatal { .. }
            | StopReason::Exhausted { .. }
            | StopReason::Fenced
            | StopReason::CommitRefused => self.whereabouts.of_last(topics),
        }
    }

    /// Where this batch lies, as a field.
    fn positions(&self, batch: BatchId, topics: &impl TopicNames) -> Option<DisplayValue<String>> {
        self.whereabouts.of(batch, topics).map(display)
    }

    /// Where the batch lies that a hold is about, as a field.
    fn positions_of_hold(&self, reason: &HeldReason, topics: &impl TopicNames) -> Option<DisplayValue<String>> {
        match reason {
            HeldReason::Fatal { batch, .. }
            | HeldReason::Exhausted { batch, .. }
            | HeldReason::NotWritten { batch, .. } => self.positions(*batch, topics),
            HeldReason::RecordTooLarge { .. }
            | HeldReason::Undecodable { .. }
            | HeldReason::Rejected { .. }
            | HeldReason::Offset { .. } => None,
        }
    }

    /// Logs one report.
    pub(crate) fn tell(&mut self, now: Moment, report: &Report, topics: &impl TopicNames) {
        let topic = |partition: &Partition| topics.name(partition.topic);
        match report {
            Report::Assigned { partition, start } => tell_start(&topic(partition), partition.number, start),
            Report::Removed { partition, lost: true, records } => {
                warn!(topic = %topic(partition), partition = partition.number, records, "lost a partition; what was unfinished of it is not committed");
            }
            Report::Removed { partition, lost: false, records } => {
                info!(topic = %topic(partition), partition = partition.number, records, "gave a partition back");
            }
            Report::DroppedStale { records } => debug!(records, "dropped records of an earlier reading"),
            Report::LateAnswer(delivery) => {
                debug!(delivery = delivery.0, "ignored an answer that came too late to count")
            }
            Report::Committed { offsets, .. } => {
                let next_offsets: Vec<String> = offsets
                    .iter()
                    .map(|offset| format!("{}/{} {}", topic(&offset.partition), offset.partition.number, offset.next.0))
                    .collect();
                debug!(next_offsets = next_offsets.join(", "), "committed");
            }
            Report::RequestFailed { id, error, again_in } => {
                let (error, again_in_ms) = (request_words(*error), again_in.as_millis() as u64);
                warn!(request = id.0, again_in_ms, error, "a commit, look-up or seek failed and is tried again");
            }
            Report::BatchOk { batch, records } => {
                self.rewinds_are_news = true;
                trace!(batch = batch.0, records, "the batch is done");
            }
            Report::Waiting { .. } | Report::WriteFailed { .. } | Report::GivenUp { .. } | Report::Cut { .. } => {
                self.tell_failed(now, report, topics)
            }
            Report::Rewound { targets } => {
                targets.iter().for_each(|target| self.tell_rewound(&topic(&target.partition), target))
            }
            Report::Held { reason } => self.tell_held(reason, topics),
            Report::Released { reason } => {
                let (partition, positions) = (place_of_hold(reason), self.positions_of_hold(reason, topics));
                let reason = trouble_words(reason);
                let topic = partition.map(|partition| topics.name(partition.topic));
                let partition = partition.map(|partition| partition.number);
                info!(topic = topic.as_deref(), partition, positions, %reason, "released what was held");
            }
            Report::Produced { batch, letters, emitted } => {
                debug!(batch = batch.0, dead_letters = letters.len() as u64, emitted, "what the batch made is written");
                if let Some(written) = self.letters.written(now, letters) {
                    let classes: Vec<String> =
                        written.iter().map(|(class, count)| format!("{count} {class}")).collect();
                    let dead_letters: u64 = written.values().sum();
                    warn!(
                        dead_letters,
                        classes = classes.join(", "),
                        "records were put aside since this was last said, which is at most once in {} s; gristmill dead-letters list shows them",
                        LETTER_WINDOW.as_secs()
                    );
                }
            }
            Report::PluginSwitched { from, to } => info!(from = from.0, to = to.0, "switched the plugin"),
        }
    }

    /// What becomes of a batch that failed.
    fn tell_failed(&mut self, now: Moment, report: &Report, topics: &impl TopicNames) {
        match report {
            Report::Waiting { batch, attempt, delay, fault, reason } => {
                let what = if *fault { "the plugin broke" } else { "the plugin said retryable" };
                let reason = format!("{what}: {}", short_reason(reason));
                self.tell_waiting(now, *batch, *attempt, *delay, &reason, topics);
            }
            // Its number is that of the tries in a row, so that it is mentioned as often as one that fails so often.
            Report::WriteFailed { batch, tries, delay, reason } => {
                let reason = format!("{NOT_WRITTEN}: {}", short_reason(reason));
                self.tell_waiting(now, *batch, *tries, *delay, &reason, topics);
            }
            Report::GivenUp { batch, attempt, reason } => {
                let positions = self.positions(*batch, topics);
                error!(
                    batch = batch.0,
                    attempt,
                    positions,
                    reason = %short_reason(reason),
                    "the batch failed and was not committed; this host hands it over no more"
                );
            }
            Report::Cut { batch, parts, reason } => {
                let (positions, parts) = (self.positions(*batch, topics), parts.len());
                warn!(
                    batch = batch.0,
                    parts,
                    positions,
                    reason = %short_reason(reason),
                    "the batch failed to the last and is cut in parts, to find the record that fails"
                );
            }
            _ => {}
        }
    }

    fn tell_rewound(&self, topic: &str, target: &SeekTo) {
        let (partition, next_offset) = (target.partition.number, target.next.0);
        if self.rewinds_are_news {
            info!(topic, partition, next_offset, "rewound to the committed offset");
        } else {
            debug!(topic, partition, next_offset, "rewound again");
        }
    }

    /// First, second with notice, then one summary per window.
    fn tell_waiting(
        &mut self,
        now: Moment,
        batch: BatchId,
        attempt: u32,
        delay: Duration,
        reason: &str,
        topics: &impl TopicNames,
    ) {
        let (batch_number, delay_ms) = (batch.0, delay.as_millis() as u64);
        let positions = self.positions(batch, topics);
        let mention = self.retries.failed(attempt, now);
        self.rewinds_are_news = mention != Mention::Silent;
        match mention {
            Mention::First => {
                warn!(
                    batch = batch_number,
                    attempt, delay_ms, positions, %reason, "the batch failed and is handed over again after a wait"
                );
            }
            Mention::SecondWithNotice => {
                warn!(
                    batch = batch_number,
                    attempt,
                    delay_ms,
                    positions,
                    %reason,
                    "the batch failed again; from now on it is mentioned once in {} s",
                    RETRY_WINDOW.as_secs()
                );
            }
            Mention::Summary { attempts } => {
                warn!(batch = batch_number, attempt, attempts, delay_ms, positions, %reason, "the batch still fails");
            }
            Mention::Silent => debug!(batch = batch_number, attempt, delay_ms, %reason, "the batch failed again"),
        }
    }

    fn tell_held(&self, reason: &HeldReason, topics: &impl TopicNames) {
        match reason {
            HeldReason::Fatal { batch, reason } => {
                let positions = self.positions(*batch, topics);
                error!(
                    batch = batch.0,
                    positions,
                    reason = %short_reason(reason), "held: the plugin said fatal; nothing is handed over until its cause is corrected and a retry or a restart follows"
                );
            }
            HeldReason::Exhausted { batch, reason } => {
                let positions = self.positions(*batch, topics);
                error!(
                    batch = batch.0,
                    positions,
                    reason = %short_reason(reason), "held: no attempt is left; nothing is handed over until its cause is corrected and a retry or a restart follows"
                );
            }
            HeldReason::RecordTooLarge { facts } => {
                let topic = topics.name(facts.partition.topic);
                error!(%topic, partition = facts.partition.number, offset = facts.offset.0, bytes = facts.bytes, "held: this record is larger than the plugin can take; raise plugin.limits.record and plugin.limits.memory");
            }
            HeldReason::Undecodable { facts } => {
                let topic = topics.name(facts.partition.topic);
                error!(%topic, partition = facts.partition.number, offset = facts.offset.0, "held: this record cannot be decoded, and there is no dead-letter topic; configure [dead_letter], or mend the topic's format");
            }
            HeldReason::Rejected { facts, reason, .. } => {
                let topic = topics.name(facts.partition.topic);
                error!(%topic, partition = facts.partition.number, offset = facts.offset.0, reason = %short_reason(reason), "held: the plugin rejected this record, and there is no dead-letter topic; configure [dead_letter]");
            }
            HeldReason::NotWritten { batch, reason } => {
                let positions = self.positions(*batch, topics);
                error!(batch = batch.0, positions, reason = %short_reason(reason), "held: the brokers refuse what has to be written before the commit");
            }
            HeldReason::Offset { partition, trouble } => {
                let topic = topics.name(partition.topic);
                error!(%topic, partition = partition.number, reason = %position_words(trouble), "held: the partition cannot be read at its position");
            }
        }
    }
}

/// For each partition whether it resumes or resets, and where (O3).
fn tell_start(topic: &str, partition: i32, start: &StartPosition) {
    match start {
        StartPosition::Committed(next) => {
            info!(topic, partition, next_offset = next.0, "assigned; resumes at the committed offset");
        }
        StartPosition::Reset(next) => {
            info!(
                topic,
                partition,
                next_offset = next.0,
                "assigned; no committed offset could be used, so the configured policy chose the start"
            );
        }
        // That it is held, and why, is told next.
        StartPosition::Unusable(_) => debug!(topic, partition, "assigned; cannot start reading"),
    }
}

/// Why something is held, in words, without the place.
pub(crate) fn trouble_words(reason: &HeldReason) -> String {
    match reason {
        HeldReason::Fatal { reason, .. } => format!("the plugin said fatal: {}", short_reason(reason)),
        HeldReason::Exhausted { reason, .. } => format!("no attempt is left: {}", short_reason(reason)),
        HeldReason::RecordTooLarge { facts } => {
            format!("the record at offset {} has {} bytes, more than the plugin can take", facts.offset.0, facts.bytes)
        }
        HeldReason::Undecodable { facts } => {
            format!("the record at offset {} cannot be decoded, and there is no dead-letter topic", facts.offset.0)
        }
        HeldReason::Rejected { facts, reason, .. } => format!(
            "the plugin rejected the record at offset {}, and there is no dead-letter topic: {}",
            facts.offset.0,
            short_reason(reason)
        ),
        HeldReason::NotWritten { reason, .. } => {
            format!("the brokers refuse what has to be written before the commit: {}", short_reason(reason))
        }
        HeldReason::Offset { trouble, .. } => position_words(trouble),
    }
}

/// The partition that a hold is about, where it is about one record or position.
fn place_of_hold(reason: &HeldReason) -> Option<Partition> {
    match reason {
        HeldReason::Fatal { .. } | HeldReason::Exhausted { .. } | HeldReason::NotWritten { .. } => None,
        HeldReason::RecordTooLarge { facts }
        | HeldReason::Undecodable { facts }
        | HeldReason::Rejected { facts, .. } => Some(facts.partition),
        HeldReason::Offset { partition, .. } => Some(*partition),
    }
}

/// The same in one text, with the place where there is one.
pub(crate) fn held_words(reason: &HeldReason, topics: &impl TopicNames) -> String {
    let place =
        place_of_hold(reason).map(|it| format!("{}/{}: ", topics.name(it.topic), it.number)).unwrap_or_default();
    format!("{place}{}", trouble_words(reason))
}

/// What is wrong with a position, and the way out.
fn position_words(trouble: &OffsetTrouble) -> String {
    let or_unknown = |next: &Option<NextOffset>| next.map_or_else(|| "unknown".to_owned(), |next| next.0.to_string());
    match trouble {
        OffsetTrouble::NothingCommitted => "the group has committed nothing and kafka.auto_offset_reset is \"error\"; \
             commit a start with Kafka's own tool, or choose earliest or latest"
            .to_owned(),
        OffsetTrouble::OutOfRange { wanted, low: Some(low), high: Some(high) } if (low..=high).contains(&wanted) => {
            format!(
                "offset {} is in the log, which reaches from {} to {}, but not what came before it: the log lost its end and \
                 was written anew; move the group's offset back to where the two part with Kafka's own tool, or set \
                 kafka.on_out_of_range to earliest or latest to go on there, knowing that records are skipped or repeated",
                wanted.0, low.0, high.0
            )
        }
        OffsetTrouble::OutOfRange { wanted, low, high } => format!(
            "offset {} is not in the log, which reaches from {} to {}; set kafka.on_out_of_range to earliest or latest to \
             go on there, knowing that records are skipped or repeated",
            wanted.0,
            or_unknown(low),
            or_unknown(high)
        ),
        OffsetTrouble::Unreadable { at } => format!(
            "the stored records at offset {} cannot be read; repair the log, or move the group's offset behind them with \
             Kafka's own tool",
            at.0
        ),
    }
}

/// Why a request failed, in words.
fn request_words(error: RequestError) -> &'static str {
    match error {
        RequestError::Temporary => "the broker cannot do it right now",
        RequestError::Unknown => "it is unknown whether it was done",
        RequestError::NotOurs => "the partition belongs to another member",
        RequestError::Fenced => "another process took over this member id",
        RequestError::Refused => "the broker refuses it",
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Mutex;

    use super::*;
    use crate::whereabouts::tests::delivery;

    /// What was written as log lines for people.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    struct Orders;

    impl TopicNames for Orders {
        fn name(&self, _: Topic) -> Arc<str> {
            "orders".into()
        }
    }

    fn told(report: &Report) -> String {
        let written = Written::default();
        let writer = written.clone();
        let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).with_ansi(false).finish();
        let mut narrator = Narrator::new(Lanes::One);
        narrator.note_delivery(&delivery(BatchId(1), &[(0, 0, 120, 149), (0, 3, 7, 7)]));
        tracing::subscriber::with_default(subscriber, || narrator.tell(Moment(0), report, &Orders));
        let bytes = written.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    /// A reason comes escaped, and as long as a plugin likes.
    #[test]
    fn a_reason_is_escaped_once_and_cut_wherever_it_is_told() {
        let reason = format!(r#"row 1\nrow 2 "{}""#, "x".repeat(4_000));
        let batch = BatchId(1);
        let held = |reason| Report::Held { reason };
        let fatal = HeldReason::Fatal { batch, reason: reason.clone() };
        for report in [
            Report::GivenUp { batch, attempt: 1, reason: reason.clone() },
            Report::Waiting { batch, attempt: 1, delay: Duration::ZERO, fault: true, reason: reason.clone() },
            Report::Released { reason: fatal.clone() },
            held(fatal),
            held(HeldReason::Exhausted { batch, reason }),
        ] {
            let line = told(&report);
            assert!(line.contains(r#"row 1\nrow 2 "xxx"#) && line.contains("x…"), "{line}");
            assert!(line.chars().count() < 450, "{line}");
        }
    }

    /// The machine reports both: that the partition came, and that it is held.
    #[test]
    fn a_partition_that_is_held_when_it_is_assigned_is_told_in_one_line() {
        let partition = Partition { topic: Topic(0), number: 3 };
        let trouble = OffsetTrouble::NothingCommitted;
        let assigned = told(&Report::Assigned { partition, start: StartPosition::Unusable(trouble) });
        let held = told(&Report::Held { reason: HeldReason::Offset { partition, trouble } });
        assert_eq!((assigned.as_str(), held.lines().count()), ("", 1), "{held}");
        assert!(
            held.contains("orders") && held.contains("partition=3") && held.contains("has committed nothing"),
            "{held}"
        );
    }

    #[test]
    fn every_line_about_a_failed_batch_says_where_it_lies() {
        let (batch, reason) = (BatchId(1), "no rate".to_owned());
        let held = |reason| Report::Held { reason };
        for report in [
            Report::GivenUp { batch, attempt: 1, reason: reason.clone() },
            Report::Waiting { batch, attempt: 1, delay: Duration::ZERO, fault: true, reason: reason.clone() },
            held(HeldReason::Fatal { batch, reason: reason.clone() }),
            held(HeldReason::Exhausted { batch, reason }),
        ] {
            let line = told(&report);
            assert!(line.contains(r#"positions=orders/0 120..149, orders/3 7 "#), "{line}");
        }
    }

    #[test]
    fn an_offset_that_the_log_has_is_not_called_missing() {
        let words = |wanted| {
            let (low, high) = (Some(NextOffset(50)), Some(NextOffset(120)));
            position_words(&OffsetTrouble::OutOfRange { wanted: NextOffset(wanted), low, high })
        };
        assert!(words(100).contains("was written anew"), "{}", words(100));
        for wanted in [49, 121] {
            assert!(words(wanted).contains("is not in the log"), "{}", words(wanted));
        }
    }
}
