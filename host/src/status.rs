//! What a running host is doing, in the words that logs, the live line and `gristmill status` share, and how much it has done.
//!
//! Told of everything that goes into the machine and comes out of it; decides nothing.

mod counts;
mod held;
mod in_hand;
mod progress;
mod schemas;
mod state;
mod tell;
mod undecodable;

use std::collections::BTreeMap;

use gristmill_core::io::{Action, BatchId, ClosedBy, Delivery, Input, LetterClass, NOT_WRITTEN, Production, Report};
use gristmill_core::record::{NextOffset, Partition};
use gristmill_core::time::Moment;

pub(crate) use self::counts::Counts;
pub(crate) use self::held::Held;
use self::held::HeldKey;
use self::in_hand::{InHand, Stands};
pub(crate) use self::progress::Progress;
use self::schemas::SchemaWait;
pub(crate) use self::state::State;
use self::state::waiting;
pub(crate) use self::tell::Blocked;
use self::undecodable::Undecodable;
use crate::narrate::TopicNames;
use crate::whereabouts::{Lanes, Whereabouts};

/// The running host as an observer sees it.
#[derive(Debug)]
pub(crate) struct Status {
    pub(crate) counts: Counts,
    pub(crate) assigned: BTreeMap<Partition, Progress>,
    /// What is held: a partition, or everything.
    held: BTreeMap<HeldKey, Held>,
    /// The texts of what is held, for the state. Made once, since the state is asked for often.
    held_words: BTreeMap<HeldKey, String>,
    lanes: Lanes,
    /// What each lane has in hand; `None` is the one lane of all partitions.
    in_hand: BTreeMap<Option<Partition>, InHand>,
    /// A batch that the plugin is done with, until it is known whether something has to be written for it: within a turn.
    done: Option<InHand>,
    schemas: Option<SchemaWait>,
    /// When a wait for schemas was last mentioned.
    schemas_mentioned: Option<Moment>,
    undecodable: Undecodable,
    whereabouts: Whereabouts,
    /// The highest number of a batch so far: an operator's retry hands the same one over as a first attempt.
    last_batch: Option<BatchId>,
    /// Taken in since the last hand-over: how full the next batch is.
    pub(crate) filling: u64,
    paused: bool,
    /// Set from the wish to stop to the end.
    ending: Option<Moment>,
    leaving: bool,
    stopped: bool,
    commits_out: u64,
    /// The word of the state, and since when.
    word: (&'static str, Moment),
}

impl Status {
    pub(crate) fn new(lanes: Lanes) -> Self {
        Self {
            counts: Counts::default(),
            assigned: BTreeMap::new(),
            held: BTreeMap::new(),
            held_words: BTreeMap::new(),
            lanes,
            in_hand: BTreeMap::new(),
            done: None,
            schemas: None,
            schemas_mentioned: None,
            undecodable: Undecodable::default(),
            whereabouts: Whereabouts::new(lanes),
            last_batch: None,
            filling: 0,
            paused: false,
            ending: None,
            leaving: false,
            stopped: false,
            commits_out: 0,
            word: (State::Joining.word(), Moment(0)),
        }
    }

    /// What a stop would have to wait for now.
    pub(crate) fn unfinished(&self) -> Option<&'static str> {
        if self.leaving {
            return None;
        }
        if self.batch_out().is_some() {
            Some("the running batch")
        } else if self.is_writing() {
            Some("what has to be written")
        } else {
            (self.commits_out > 0).then_some("a commit")
        }
    }

    /// How many records are with the plugin, and since when: of several batches the one that is there for longest.
    pub(crate) fn batch_out(&self) -> Option<(u64, Moment)> {
        let out = self.in_hand.values().filter_map(|in_hand| match in_hand.stands {
            Stands::Out { since } => Some((in_hand.records, since)),
            Stands::Answered | Stands::Writes { .. } | Stands::Waits { .. } => None,
        });
        out.min_by_key(|(_, since)| *since)
    }

    /// True while the brokers are to acknowledge what a batch made.
    fn is_writing(&self) -> bool {
        self.in_hand.values().any(|in_hand| matches!(in_hand.stands, Stands::Writes { .. }))
    }

    fn of_batch(&mut self, batch: BatchId) -> Option<&mut InHand> {
        self.in_hand.values_mut().find(|in_hand| in_hand.batch == batch)
    }

    fn take_batch(&mut self, batch: BatchId) -> Option<InHand> {
        let lane = *self.in_hand.iter().find(|(_, in_hand)| in_hand.batch == batch)?.0;
        self.in_hand.remove(&lane)
    }

    /// True once the end has begun.
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.is_some() || self.stopped
    }

    /// True while an operator wants no hand-overs.
    pub(crate) fn is_paused(&self) -> bool {
        self.paused
    }

    /// How many more are held than the one that the state tells of.
    pub(crate) fn more_held(&self) -> usize {
        self.held.len().saturating_sub(1)
    }

    /// The state, the most pressing first.
    pub(crate) fn state(&self) -> State<'_> {
        if self.stopped {
            return State::Stopped;
        }
        if let Some(since) = self.ending {
            return State::Draining { since, waits_for: self.unfinished() };
        }
        if let Some(reason) = self.held_words.values().next() {
            return State::Held { reason };
        }
        if self.paused {
            return State::Paused;
        }
        if let Some(waiting) = self.in_hand.values().find_map(waiting) {
            return waiting;
        }
        match &self.schemas {
            _ if self.assigned.is_empty() => State::Joining,
            Some(wait) if self.in_hand.is_empty() => {
                State::WaitingForSchemas { until: wait.until, reason: wait.reason() }
            }
            Some(_) | None => State::Running,
        }
    }

    /// The partitions that nothing blocks on purpose, with their progress.
    pub(crate) fn free_partitions(&self) -> impl Iterator<Item = (Partition, &Progress)> {
        let blocked = self.paused || self.schemas.is_some();
        let waits = |partition| {
            let mut waiting = self.in_hand.iter().filter(|(_, it)| matches!(it.stands, Stands::Waits { .. }));
            waiting.any(|(lane, _)| lane.is_none_or(|lane| lane == partition))
        };
        let free = move |partition: &Partition| !blocked && !self.is_held(*partition) && !waits(*partition);
        self.assigned.iter().map(|(&partition, progress)| (partition, progress)).filter(move |(it, _)| free(it))
    }

    /// Sum of the lag of all partitions; `None` while it is not known of every one.
    pub(crate) fn lag(&self) -> Option<u64> {
        if self.assigned.is_empty() {
            return None;
        }
        self.assigned.values().map(Progress::lag).sum()
    }

    pub(crate) fn end_of(&mut self, partition: Partition, end: NextOffset) {
        if let Some(progress) = self.assigned.get_mut(&partition) {
            progress.end = Some(end);
        }
    }

    pub(crate) fn note_input<R>(&mut self, now: Moment, input: &Input<R>) {
        self.done = None;
        match input {
            Input::Fetched(records) => {
                self.counts.records_in += records.len() as u64;
                self.filling += records.len() as u64;
            }
            Input::Assigned(_) | Input::Revoking { .. } | Input::Lost(_) => self.counts.rebalances += 1,
            Input::StopAsked | Input::StopNowAsked => {
                self.ending.get_or_insert(now);
            }
            Input::PauseAsked => self.paused = true,
            Input::ResumeAsked => self.paused = false,
            Input::Answered { delivery, .. } => {
                let answered = self.in_hand.values_mut().find(|in_hand| in_hand.delivery == Some(*delivery));
                if let Some(in_hand) = answered {
                    in_hand.stands = Stands::Answered;
                }
            }
            Input::CommitEnded { .. } => self.commits_out = self.commits_out.saturating_sub(1),
            Input::Tick
            | Input::Passed(_)
            | Input::Produced { .. }
            | Input::SkipAsked { .. }
            | Input::PositionTrouble { .. }
            | Input::CommittedKnown { .. }
            | Input::Sought { .. }
            | Input::PluginReady(_)
            | Input::RetryAsked
            | Input::MemoryShort
            | Input::Fenced
            | Input::Left => {}
        }
        self.keep_time(now);
    }

    pub(crate) fn note_action<R>(&mut self, now: Moment, action: &Action<R>, topics: &impl TopicNames) {
        match action {
            Action::Deliver(delivery) => self.note_delivery(now, delivery),
            Action::Report(report) => self.note_report(now, report, topics),
            // From here on the time counts that leaving may take.
            Action::Leave => (self.ending, self.leaving) = (Some(now), true),
            Action::Stopped(_) => self.stopped = true,
            Action::Commit { .. } => self.commits_out += 1,
            Action::Produce(production) => self.note_production(now, production),
            Action::Cancel(_) | Action::AskCommitted { .. } | Action::Seek { .. } | Action::AnswerRevoke(_) => {}
        }
        self.keep_time(now);
    }

    /// Notes since when the state is what it is.
    fn keep_time(&mut self, now: Moment) {
        let word = self.state().word();
        if word != self.word.0 {
            self.word = (word, now);
        }
    }

    fn note_delivery<R>(&mut self, now: Moment, delivery: &Delivery<R>) {
        let records = delivery.records.len() as u64;
        self.whereabouts.note(delivery);
        let lane = self.lanes.at(&delivery.places);
        let before = self.in_hand.remove(&lane);
        self.in_hand.insert(lane, InHand::new(now, delivery, before));
        self.counts.handed_over += records;
        let again = delivery.attempt > 1 || delivery.part || self.last_batch >= Some(delivery.batch);
        self.last_batch = self.last_batch.max(Some(delivery.batch));
        if again {
            self.counts.redelivered += records;
            return;
        }
        self.filling = self.filling.saturating_sub(records);
        match delivery.closed_by {
            ClosedBy::Records => self.counts.closed_by_records += 1,
            ClosedBy::Bytes => self.counts.closed_by_bytes += 1,
            ClosedBy::Wait => self.counts.closed_by_wait += 1,
        }
    }

    /// What the plugin is done with is not done until it is written; and what never was handed over is in hand now.
    fn note_production<R>(&mut self, now: Moment, production: &Production<R>) {
        let done = self.done.take().filter(|done| done.batch == production.batch);
        let known = done.or_else(|| self.take_batch(production.batch));
        let in_hand = known.unwrap_or_else(|| InHand::never_handed_over(production));
        let lane = self.lanes.at(&in_hand.places);
        self.in_hand.insert(lane, InHand { stands: Stands::Writes { since: now }, ..in_hand });
    }

    fn note_report(&mut self, now: Moment, report: &Report, topics: &impl TopicNames) {
        match report {
            Report::Assigned { partition, start } => {
                self.assigned.insert(*partition, Progress::at_start(now, start));
            }
            Report::Removed { partition, records, .. } => {
                self.forget(*partition, topics);
                self.filling = self.filling.saturating_sub(*records);
            }
            Report::DroppedStale { records } => {
                self.counts.stale += records;
                self.filling = self.filling.saturating_sub(*records);
            }
            Report::BatchOk { batch, .. } => {
                self.counts.batches_ok += 1;
                self.done = self.take_batch(*batch).map(InHand::well);
            }
            Report::Committed { offsets, records } => {
                self.counts.committed += records;
                for offset in offsets {
                    if let Some(progress) = self.assigned.get_mut(&offset.partition) {
                        progress.committed = Some(offset.next);
                        progress.moved = now;
                    }
                }
            }
            Report::Waiting { batch, attempt, delay, fault, reason } => {
                if *fault {
                    self.counts.faults += 1
                } else {
                    self.counts.retries += 1
                }
                if let Some(in_hand) = self.of_batch(*batch) {
                    in_hand.fail(now, now.after(*delay), *attempt, false, reason);
                }
            }
            Report::WriteFailed { batch, tries, delay, reason } => {
                self.counts.write_failures += 1;
                if let Some(in_hand) = self.of_batch(*batch) {
                    let reason = format!("{NOT_WRITTEN}: {reason}");
                    in_hand.fail(now, now.after(*delay), *tries, true, &reason);
                }
            }
            Report::Cut { .. } => self.counts.cut += 1,
            Report::Produced { batch, letters, emitted } => {
                self.take_batch(*batch);
                self.counts.dead_letters += letters.len() as u64;
                // These were taken in, and never handed over.
                let passed =
                    letters.iter().filter(|class| matches!(class, LetterClass::Undecodable | LetterClass::TooLarge));
                self.filling = self.filling.saturating_sub(passed.count() as u64);
                self.counts.emitted += emitted;
            }
            Report::Held { reason } => self.hold(now, reason, topics),
            Report::Released { reason } => self.release(reason),
            Report::GivenUp { batch, .. } => drop(self.take_batch(*batch)),
            Report::LateAnswer(delivery) => self.in_hand.retain(|_, it| it.delivery != Some(*delivery)),
            Report::RequestFailed { .. } | Report::Rewound { .. } | Report::PluginSwitched { .. } => {}
        }
    }

    /// The partition is somebody else's.
    fn forget(&mut self, partition: Partition, topics: &impl TopicNames) {
        self.assigned.remove(&partition);
        self.undecodable.forget(partition);
        self.release_position(partition);
        self.held.values_mut().for_each(|held| held.forget(partition, topics));
        let in_hand = std::mem::take(&mut self.in_hand);
        let left = in_hand.into_iter().filter_map(|(lane, it)| Some((lane, it.without(partition)?)));
        self.in_hand = left.collect();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use gristmill_core::io::{
        DeadLetter, DeliveryId, HeldReason, OffsetTrouble, PluginId, RequestId, StartPosition, StopReason, Verdict,
    };
    use gristmill_core::outcome::{Answer, Outcome};
    use gristmill_core::record::Topic;

    use super::*;
    use crate::whereabouts::tests::delivery;

    struct Orders;

    impl TopicNames for Orders {
        fn name(&self, _: Topic) -> Arc<str> {
            "orders".into()
        }
    }

    const BATCH: BatchId = BatchId(7);

    fn second(second: u64) -> Moment {
        Moment(second * 1_000_000)
    }

    fn partition(number: i32) -> Partition {
        Partition { topic: Topic(0), number }
    }

    fn report(status: &mut Status, at: u64, report: Report) {
        status.note_action(second(at), &Action::<()>::Report(report), &Orders);
    }

    /// A host with two partitions that has handed a batch of both over.
    fn busy() -> Status {
        let mut status = Status::new(Lanes::One);
        for number in [0, 1] {
            let start = StartPosition::Committed(NextOffset(5));
            report(&mut status, 1, Report::Assigned { partition: partition(number), start });
        }
        hand_over(&mut status, 2, 1);
        status
    }

    fn held(status: &Status) -> &Held {
        status.held.values().next().unwrap()
    }

    fn hand_over(status: &mut Status, at: u64, attempt: u32) {
        let delivery = Delivery { attempt, ..delivery(BATCH, &[(0, 0, 5, 6), (0, 1, 9, 9)]) };
        status.note_action(second(at), &Action::Deliver(delivery), &Orders);
    }

    fn answer(status: &mut Status, at: u64) {
        let answer = Answer::Outcome(Outcome::OK);
        status.note_input(second(at), &Input::<()>::Answered { delivery: DeliveryId(1), answer });
    }

    fn fail(status: &mut Status, at: u64, attempt: u32) {
        answer(status, at);
        let (delay, reason) = (Duration::from_secs(10), format!("failure {attempt}"));
        report(status, at, Report::Waiting { batch: BATCH, attempt, delay, fault: false, reason });
    }

    fn word(status: &Status) -> (&'static str, u64) {
        (status.word.0, status.word.1.0 / 1_000_000)
    }

    #[test]
    fn a_state_counts_from_when_it_began() {
        let mut status = busy();
        assert_eq!(word(&status), ("running", 1));
        fail(&mut status, 3, 1);
        assert_eq!(word(&status), ("waiting", 3));
        status.note_input(second(4), &Input::<()>::Tick);
        assert_eq!(word(&status), ("waiting", 3));
        status.note_input(second(5), &Input::<()>::PauseAsked);
        assert_eq!(word(&status), ("paused", 5));
        status.note_input(second(6), &Input::<()>::StopAsked);
        assert_eq!(word(&status), ("draining", 6));
        status.note_action(second(7), &Action::<()>::Stopped(StopReason::Asked), &Orders);
        assert_eq!(word(&status), ("stopped", 7));
    }

    /// S5: since when, not since the last attempt.
    #[test]
    fn s5_failures_count_from_the_first_of_their_row() {
        let mut status = busy();
        fail(&mut status, 3, 1);
        hand_over(&mut status, 13, 2);
        fail(&mut status, 14, 2);
        let in_hand = status.in_hand.values().next().unwrap();
        assert_eq!(in_hand.stands, Stands::Waits { since: second(14), until: second(24) });
        let failing = in_hand.failing.as_ref().unwrap();
        assert_eq!((failing.since, failing.reason.as_str(), in_hand.attempt), (second(3), "failure 2", 2));
        hand_over(&mut status, 24, 3);
        answer(&mut status, 25);
        report(&mut status, 25, Report::BatchOk { batch: BATCH, records: 3 });
        assert!(status.in_hand.is_empty());
    }

    /// What is done is not, until the brokers have what it made; and a stop waits for that.
    #[test]
    fn a_batch_that_is_being_written_is_in_hand_until_it_is_written() {
        let mut status = busy();
        let write = |status: &mut Status, at: u64| {
            answer(status, at);
            report(status, at, Report::BatchOk { batch: BATCH, records: 3 });
            let production = production(BATCH, Vec::new());
            status.note_action(second(at), &Action::<()>::Produce(production), &Orders);
        };
        write(&mut status, 3);
        assert_eq!((word(&status).0, status.unfinished()), ("running", Some("what has to be written")));
        let (delay, reason) = (Duration::from_secs(10), "silence".to_owned());
        report(&mut status, 4, Report::WriteFailed { batch: BATCH, tries: 1, delay, reason });
        assert_eq!((word(&status), status.unfinished()), (("waiting", 4), None));
        hand_over(&mut status, 14, 1);
        write(&mut status, 15);
        let State::WaitingForBrokers { reason } = status.state() else { panic!("{:?}", status.state()) };
        assert!(reason.ends_with(": silence"), "{reason}");
        report(&mut status, 16, Report::Produced { batch: BATCH, letters: Vec::new(), emitted: 1 });
        assert_eq!((word(&status).0, status.unfinished()), ("running", None));
        assert_eq!((status.counts.write_failures, status.counts.retries), (1, 0));
    }

    fn production(batch: BatchId, letters: Vec<DeadLetter<()>>) -> Production<()> {
        Production { id: RequestId(1), batch, letters, emitted_of: None, plugin: PluginId(1) }
    }

    /// What never was handed over is in hand while it is written; what was done before is not.
    #[test]
    fn a_batch_that_no_plugin_could_take_is_in_hand_while_it_is_written() {
        let mut status = busy();
        answer(&mut status, 3);
        report(&mut status, 3, Report::BatchOk { batch: BATCH, records: 3 });
        status.note_input(second(4), &Input::<()>::Fetched(Vec::new()));
        status.filling = 1;
        let record = delivery(BatchId(8), &[(0, 0, 7, 7)]).records[0].clone();
        let verdict = Verdict {
            class: LetterClass::Undecodable,
            reason: String::new(),
            said: None,
            attempts: 0,
            path: Vec::new(),
        };
        let letters = vec![DeadLetter { record, verdict }];
        status.note_action(second(5), &Action::Produce(production(BatchId(8), letters)), &Orders);
        let in_hand = status.in_hand.values().next().unwrap();
        assert_eq!((in_hand.batch, in_hand.positions(&Orders).as_str()), (BatchId(8), "orders/0 7"));
        let (delay, reason) = (Duration::from_secs(10), "silence".to_owned());
        report(&mut status, 6, Report::WriteFailed { batch: BatchId(8), tries: 2, delay, reason });
        assert_eq!(word(&status), ("waiting", 6));
        assert!(matches!(status.state(), State::Waiting { attempt: 2, .. }), "{:?}", status.state());
        let letters = vec![LetterClass::Undecodable];
        report(&mut status, 7, Report::Produced { batch: BatchId(8), letters, emitted: 0 });
        assert_eq!(status.filling, 0, "it waits for no hand-over any more");
    }

    /// What the plugin failed at before says nothing about the brokers.
    #[test]
    fn a_batch_that_failed_and_is_written_at_last_waits_for_nobody() {
        let mut status = busy();
        fail(&mut status, 3, 1);
        hand_over(&mut status, 13, 2);
        answer(&mut status, 14);
        report(&mut status, 14, Report::BatchOk { batch: BATCH, records: 3 });
        status.note_action(second(14), &Action::Produce(production(BATCH, Vec::new())), &Orders);
        assert_eq!(word(&status).0, "running");
    }

    /// An operator's retry begins to count from one, with the same batch.
    #[test]
    fn a_batch_that_comes_again_after_a_hold_is_a_redelivery() {
        let mut status = busy();
        answer(&mut status, 3);
        let reason = HeldReason::Fatal { batch: BATCH, reason: "no table".to_owned() };
        report(&mut status, 3, Report::Held { reason: reason.clone() });
        assert_eq!(word(&status), ("held", 3));
        assert_eq!(held(&status).positions.as_deref(), Some("orders/0 5..6, orders/1 9"));
        let mut half = Status { held: status.held.clone(), ..Status::new(Lanes::One) };
        report(&mut half, 4, Report::Removed { partition: partition(1), lost: false, records: 1 });
        assert_eq!(held(&half).positions.as_deref(), Some("orders/0 5..6"), "what moved is somebody else's");
        let before = status.blocked(&Orders);
        report(&mut status, 4, Report::Released { reason });
        hand_over(&mut status, 4, 1);
        assert_eq!(status.released(before), ["the plugin said fatal: no table (orders/0 5..6, orders/1 9)"]);
        assert_eq!((status.counts.handed_over, status.counts.redelivered), (6, 3));
        assert_eq!(status.counts.closed_by_records, 1);
        assert_eq!(word(&status), ("running", 4));
    }

    #[test]
    fn a_wait_ends_when_all_of_its_partitions_are_gone() {
        let mut status = busy();
        fail(&mut status, 3, 1);
        let gone = |number| Report::Removed { partition: partition(number), lost: false, records: 1 };
        report(&mut status, 4, gone(0));
        assert_eq!(word(&status), ("waiting", 3));
        assert_eq!(status.in_hand.values().next().unwrap().positions(&Orders), "orders/1 9");
        report(&mut status, 5, gone(1));
        assert_eq!(word(&status), ("joining", 5));
    }

    #[test]
    fn a_hold_names_commands_that_can_release_it() {
        let fatal = HeldReason::Fatal { batch: BATCH, reason: String::new() };
        let trouble = OffsetTrouble::NothingCommitted;
        let offset = HeldReason::Offset { partition: partition(0), trouble };
        let facts = delivery(BATCH, &[(0, 0, 5, 5)]).records[0].facts;
        let large = HeldReason::RecordTooLarge { facts };
        let commands = |reason: &HeldReason, topic| {
            let held = Held {
                since: second(0),
                reason: reason.clone(),
                partition: None,
                places: Vec::new(),
                positions: None,
                detail: None,
            };
            held.releases(topic).map(|(release, _)| release.command()).collect::<Vec<_>>()
        };
        assert_eq!(commands(&fatal, false), ["retry", "stop"]);
        assert_eq!(commands(&offset, false), ["retry", "stop"]);
        // What the limits forbid is forbidden again.
        assert_eq!(commands(&large, false), ["stop"]);
        // A partition that cannot be read has nothing to skip.
        assert_eq!(commands(&fatal, true), ["retry", "skip --reason WHY", "stop"]);
        assert_eq!(commands(&offset, true), ["retry", "stop"]);
    }

    /// S5: what nobody reads has no statistics, and is what an operator asks about.
    #[test]
    fn a_partition_that_is_held_from_its_start_shows_its_lag() {
        let mut status = Status::new(Lanes::One);
        let (low, high) = (Some(NextOffset(60)), Some(NextOffset(100)));
        let start = StartPosition::Unusable(OffsetTrouble::OutOfRange { wanted: NextOffset(20), low, high });
        report(&mut status, 1, Report::Assigned { partition: partition(0), start });
        let progress = &status.assigned[&partition(0)];
        assert_eq!((progress.committed, progress.end, progress.lag()), (Some(NextOffset(20)), high, Some(80)));
    }

    #[test]
    fn what_an_operator_holds_back_does_not_count_as_stalled() {
        let mut status = busy();
        assert_eq!(status.free_partitions().count(), 2);
        let reason = HeldReason::Offset { partition: partition(1), trouble: OffsetTrouble::NothingCommitted };
        report(&mut status, 3, Report::Held { reason });
        assert_eq!(status.free_partitions().count(), 1);
        status.note_input(second(4), &Input::<()>::PauseAsked);
        assert_eq!(status.free_partitions().count(), 0);
    }
}
