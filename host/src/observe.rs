//! What people and supervisors see of a running host: log lines, the live line, a summary now and then, the last word.
//!
//! Told of everything, decides nothing about records. Its one decision is not to wait any longer at start, see
//! [`crate::start_watch`].

mod decoding;

use std::time::Duration;

use gristmill_core::io::{Action, Input, Report, StopReason};
use gristmill_core::outcome::{Answer, Outcome};
use gristmill_core::record::NextOffset;
use gristmill_core::time::Moment;
use gristmill_guest::Answered;
use gristmill_kafka::{ClientErrorKind, Event, without_state};
use tokio::sync::watch;
use tracing::{debug, info, warn};

use crate::body::Body;
use crate::control::{Identity, Wish};
use crate::error_log::ErrorLog;
use crate::exit::{self, Exit};
use crate::live::{self, Live};
use crate::narrate::TopicNames;
use crate::stall_watch::StallWatch;
use crate::start_watch::StartWatch;
use crate::status::{Counts, Status};
use crate::whereabouts::Lanes;
use crate::wishes::{self, Granted};

/// How often a host without a terminal sums up what it did.
const SUMMARY_EVERY: Duration = Duration::from_secs(10);

/// Everything that watches one run.
pub(crate) struct Observer {
    status: Status,
    start: StartWatch,
    live: Option<Live>,
    progress: Option<watch::Sender<Counts>>,
    summary_due: Moment,
    summed_up: Counts,
    /// Set when the process ends for a reason that the machine does not know.
    exit: Option<Exit>,
    stalls: StallWatch,
    errors: ErrorLog,
    close_timed_out: bool,
    /// The static member id, for people.
    instance_id: Option<String>,
    /// Who this host is, for whoever asks.
    identity: Option<Identity>,
    waits: StopWaits,
}

/// How long a stop may take, for people.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StopWaits {
    /// For the running batch and its commit.
    pub(crate) grace: Duration,
    /// For leaving the group.
    pub(crate) leave: Duration,
}

impl StopWaits {
    /// What a stop waits for, and how long. Where nothing is unfinished, only leaving is left.
    pub(crate) fn for_the(self, unfinished: Option<&'static str>) -> (&'static str, Duration) {
        unfinished.map_or(("leaving the group", self.leave), |unfinished| (unfinished, self.grace))
    }
}

impl Observer {
    /// `live` when there is a terminal; `progress` when somebody in this process waits for figures.
    pub(crate) fn new(
        lanes: Lanes,
        start: StartWatch,
        live: Option<Live>,
        progress: Option<watch::Sender<Counts>>,
        waits: StopWaits,
    ) -> Self {
        Self {
            status: Status::new(lanes),
            start,
            live,
            progress,
            summary_due: Moment(0).after(SUMMARY_EVERY),
            summed_up: Counts::default(),
            exit: None,
            stalls: StallWatch::default(),
            errors: ErrorLog::default(),
            close_timed_out: false,
            instance_id: None,
            identity: None,
            waits,
        }
    }

    /// With the static member id that this run joins with, and what it says of itself.
    pub(crate) fn known_as(mut self, instance_id: Option<String>, identity: Identity) -> Self {
        self.instance_id = instance_id;
        self.identity = Some(identity);
        self
    }

    pub(crate) fn note_input(&mut self, now: Moment, input: &Input<Body>) {
        if matches!(input, Input::Assigned(_) | Input::Fetched(_)) {
            self.start.reached();
        }
        if let Input::Fetched(records) = input {
            self.note_undecodable(records);
        }
        self.status.note_input(now, input);
    }

    pub(crate) fn note_action(&mut self, now: Moment, action: &Action<Body>, topics: &impl TopicNames) {
        if let Action::Report(Report::Assigned { partition, .. }) = action {
            let topic = topics.name(partition.topic);
            self.start.found(&topic);
            self.refuse_own_records(&topic);
            self.refuse_unclear_formats(&topic);
        }
        self.status.note_action(now, action, topics);
    }

    pub(crate) fn note_answer(&self, answered: &Answered) {
        let facts = &answered.facts;
        // The whole reason: every other line cuts it.
        let reason = match &answered.answer {
            Answer::Outcome(Outcome::Retryable { reason, .. } | Outcome::Fatal { reason }) => Some(reason),
            Answer::Fault(fault) => Some(&fault.detail),
            Answer::Outcome(Outcome::Ok(_)) | Answer::Cancelled => None,
        };
        debug!(
            delivery = answered.delivery.0,
            reason = reason.map(display),
            handler_ms = facts.duration.as_millis() as u64,
            guest_memory_bytes = facts.guest_memory_bytes,
            instance_fresh = facts.instance_fresh,
            "the plugin answered"
        );
    }

    /// Says at once that a stop was heard, and what is still waited for.
    pub(crate) fn note_stop_asked(&self) {
        let (waits_for, wait_max) = self.waits.for_the(self.status.unfinished());
        let wait_max_ms = wait_max.as_millis() as u64;
        info!(waits_for, wait_max_ms, "asked to stop; a second signal leaves at once");
    }

    /// Says at once that a second signal was heard.
    pub(crate) fn note_stop_insisted(&self) {
        info!("asked again; leaves at once");
    }

    /// From now on leaving the group may take no longer than this.
    pub(crate) fn note_haste(&mut self, leave: Duration) {
        self.waits.leave = leave;
    }

    /// Hears a wish. `None`: it was refused.
    pub(crate) fn grant(&self, wish: Wish, topics: &impl TopicNames) -> Option<Granted> {
        wishes::grant(wish, &self.status, self.identity.as_ref()?, topics)
    }

    /// Answers a wish that was granted, with what there is now.
    pub(crate) fn answer(&self, now: Moment, granted: Granted, topics: &impl TopicNames) {
        let Some(identity) = &self.identity else { return };
        let detail = live::detail(now, &self.status, &self.start, self.waits);
        granted.answer(now, &self.status, detail, identity, topics);
    }

    /// Hears what the Kafka edge says beside inputs.
    #[expect(clippy::too_many_lines, reason = "one match over the kinds of news, a line or two for each")]
    pub(crate) fn hear(&mut self, now: Moment, event: &Event, topics: &impl TopicNames) {
        match event {
            Event::Input(_) => {}
            Event::Reached => self.start.reached(),
            Event::Statistics(statistics) => {
                if statistics.brokers.iter().any(|broker| broker.state == "UP") {
                    self.start.reached();
                }
                for figures in &statistics.partitions {
                    if let Some(end) = figures.end {
                        self.status.end_of(figures.partition, NextOffset(end));
                    }
                }
                self.mention_stalled(now, topics);
            }
            Event::ClientError { kind, code, text, partition, fatal } => {
                if let Some(silent) = self.errors.mention(now, code, text, *partition) {
                    let topic = partition.map(|partition| topics.name(partition.topic));
                    let partition = partition.map(|partition| partition.number);
                    warn!(topic = topic.as_deref(), partition, code, fatal, silent, "{text}");
                }
                self.weigh(*kind, code, text, *fatal);
            }
            Event::Evicted { text } => {
                self.status.counts.evictions += 1;
                warn!(reason = text, "this member fell out of the group; it rejoins by itself");
            }
            Event::TopicMissing { name } => {
                // Only a broker can know.
                self.start.reached();
                self.start.missing(name);
                warn!(topic = %name, "the topic does not exist; reading begins when it appears");
            }
            Event::StartUnknown { partitions, code, since } => {
                let waited_ms = since.as_millis() as u64;
                warn!(
                    partitions = partitions.len(),
                    code,
                    waited_ms,
                    "the committed offsets cannot be learnt; it is tried again, nothing is read meanwhile"
                );
            }
            Event::PositionMoved { partition, wanted, now: next } => {
                let topic = topics.name(partition.topic);
                warn!(%topic, partition = partition.number, wanted = wanted.0, next_offset = next.0, "the committed offset is not in the log; went on where kafka.on_out_of_range says");
            }
            Event::TopicRecreated { partition, wanted } => {
                let topic = topics.name(partition.topic);
                warn!(%topic, partition = partition.number, wanted = wanted.0, "the topic was deleted and created again; the offset is of the old one, so the start is chosen as if nothing was committed");
            }
            Event::RevokeUnanswered { partitions } => {
                warn!(
                    partitions = partitions.len(),
                    "the running batch did not end before its partitions had to go; its records come again elsewhere"
                );
            }
            Event::Dropped { records } => {
                self.status.counts.stale_at_edge += records;
                debug!(records, "dropped records that were read twice or belong to an earlier reading");
            }
            // Only who asked for it can say what it means.
            Event::Produced { .. } | Event::ProducerClosed { .. } => {}
            Event::CloseTimedOut => {
                self.close_timed_out = true;
                warn!(
                    "the kafka client did not close in time and is left behind; the group notices when the session ends"
                );
            }
        }
    }

    /// Mentions partitions that stand still although nothing holds them: what blocks a batch or a partition on purpose is
    /// said elsewhere.
    fn mention_stalled(&mut self, now: Moment, topics: &impl TopicNames) {
        for (partition, age) in self.stalls.look(now, self.status.free_partitions()) {
            let topic = topics.name(partition.topic);
            warn!(%topic, partition = partition.number, seconds = age.as_secs(), "this partition has lag and makes no progress; look at its leader and at the errors above");
        }
    }

    /// What a client error means for a start that has not succeeded yet, or for good.
    fn weigh(&mut self, kind: ClientErrorKind, code: &str, text: &str, fatal: bool) {
        match kind {
            // That all are down follows from what was said of each.
            ClientErrorKind::Unreachable if code == "_ALL_BROKERS_DOWN" => {}
            ClientErrorKind::Unreachable => self.start.unreachable(without_state(text)),
            ClientErrorKind::Authentication if code == "_SSL" => self.start.insecure(text),
            ClientErrorKind::Authentication => self.start.refused(text),
            ClientErrorKind::Authorization if code.contains("GROUP_AUTHORIZATION") => self.ends_with(Exit::because(
                exit::NOT_AUTHORISED,
                format!("the broker denies this user the group: {text}; give it the right to read the group kafka.group_id"),
            )),
            // Other topics may flow; a denied one stays visible in the log and begins when the right is given.
            ClientErrorKind::Authorization | ClientErrorKind::UnknownTopic => self.start.reached(),
            ClientErrorKind::Protocol => self.ends_with(Exit::because(
                exit::MISFIT,
                format!(
                    "this member cannot join the group: {text}; all members need one partition.assignment.strategy and one \
                     group.protocol: stop all of them, then start them with the same"
                ),
            )),
            ClientErrorKind::Other if fatal => {
                self.ends_with(Exit::because(exit::UNEXPECTED, format!("the kafka client failed for good: {text}")));
            }
            ClientErrorKind::Other => {}
        }
    }

    /// D5: the brokers' client matches patterns as its system does, so a pattern may read more than the configuration's check saw.
    fn refuse_own_records(&mut self, assigned: &str) {
        let Some(key) = self.identity.as_ref().and_then(|identity| identity.writes(assigned)) else { return };
        self.ends_with(Exit::because(
            exit::MISFIT,
            format!(
                "{key}: {assigned:?} is read by this pipeline itself, so each record that is written there would come back; name \
                 another topic, or narrow the pattern in kafka.topics"
            ),
        ));
    }

    /// The first such reason is the one that counts.
    pub(crate) fn ends_with(&mut self, exit: Exit) {
        self.exit.get_or_insert(exit);
    }

    /// True when the process should end now for a reason of its own.
    pub(crate) fn wants_to_end(&mut self, now: Moment) -> bool {
        if let Some(exit) = self.start.verdict(now) {
            self.ends_with(exit);
        }
        self.exit.is_some()
    }

    pub(crate) fn next_wakeup(&self) -> Option<Moment> {
        let live = self.live.as_ref().map(Live::due);
        let summary = self.live.is_none().then_some(self.summary_due);
        // Once the end is certain, nothing about the start is worth waking up for.
        let start = if self.exit.is_none() { self.start.wakeup() } else { None };
        [start, live, summary].into_iter().flatten().min()
    }

    /// Shows what is due to be shown.
    pub(crate) fn show(&mut self, now: Moment) {
        if let Some(progress) = &self.progress {
            progress.send_if_modified(|known| std::mem::replace(known, self.status.counts) != self.status.counts);
        }
        if let Some(live) = &mut self.live {
            live.show(now, &self.status, &self.start, self.waits);
        } else if now >= self.summary_due {
            self.summary_due = now.after(SUMMARY_EVERY);
            self.sum_up();
        }
    }

    /// One line about the last ten seconds, if there is anything to say.
    fn sum_up(&mut self) {
        let counts = self.status.counts;
        let before = std::mem::replace(&mut self.summed_up, counts);
        if counts == before {
            return;
        }
        info!(
            state = self.status.state().word(),
            committed = counts.committed - before.committed,
            batches = counts.batches_ok - before.batches_ok,
            retries = counts.retries - before.retries,
            faults = counts.faults - before.faults,
            dead_letters = counts.dead_letters - before.dead_letters,
            emitted = counts.emitted - before.emitted,
            lag = self.status.lag(),
            "the last {} s",
            SUMMARY_EVERY.as_secs()
        );
    }

    /// The last word: the machine's reason, unless something else ended the process first. `place` is where the batch lies that
    /// was handed over last.
    pub(crate) fn end(mut self, now: Moment, reason: &StopReason, place: Option<&str>) -> Exit {
        self.show(now);
        if let Some(live) = &mut self.live {
            live.clear();
        }
        let counts = self.status.counts;
        info!(
            committed = counts.committed,
            handed_over = counts.handed_over,
            redelivered = counts.redelivered,
            batches = counts.batches_ok,
            "stopped"
        );
        // What the machine ended for is closer to the cause than what the client said about it; but having been asked to
        // stop is no cause at all.
        match (self.exit, reason) {
            (Some(exit), StopReason::Asked | StopReason::Abandoned { .. }) => exit,
            (None, StopReason::Asked) if self.close_timed_out => Exit::because(
                exit::DEADLINE,
                "leaving the group did not end in time; whatever is not committed comes again, and the group notices by itself",
            ),
            (None | Some(_), StopReason::Fenced) if self.instance_id.is_some() => Exit::because(
                exit::FENCED,
                format!(
                    "another process joined with group.instance.id {}; give every process an id of its own",
                    self.instance_id.unwrap_or_default()
                ),
            ),
            (None | Some(_), reason) => Exit::stopped(reason, place),
        }
    }
}
