//! How often each thing happened: a world that has become polite shows here, before a bug walks through it.

use std::collections::BTreeMap;

use gristmill_core::io::{
    Action, HeldReason, Input, LetterClass, OffsetTrouble, ProduceError, Report, RequestError, StartPosition,
    StopReason,
};
use gristmill_core::outcome::{Answer, Outcome};

use crate::names::Body;
use crate::scenario::Scenario;
use crate::world::World;

/// Counts by name.
#[derive(Debug, Default)]
pub(crate) struct Tally(pub(crate) BTreeMap<&'static str, u64>);

impl Tally {
    fn count(&mut self, name: &'static str) {
        *self.0.entry(name).or_default() += 1;
    }

    pub(crate) fn input(&mut self, input: &Input<Body>) {
        match input {
            Input::Answered { answer, .. } => self.count(answered(answer)),
            Input::CommitEnded { result, .. } => self.count(match result {
                Ok(()) => "commit ok",
                Err(error) => commit_error(*error),
            }),
            Input::Produced { result, .. } => self.count(match result {
                Ok(()) => "written",
                Err(ProduceError::Temporary(_)) => "not written for now",
                Err(ProduceError::Refused(_)) => "writing refused",
            }),
            Input::CommittedKnown { result: Err(_), .. } => self.count("look-up failed"),
            Input::CommittedKnown { result: Ok(known), .. } => {
                let none = known.iter().any(|(_, committed)| committed.is_none());
                self.count(if none { "look-up of nothing" } else { "look-up ok" });
            }
            Input::Sought { results, .. } => {
                let failed = results.iter().filter(|(_, result)| result.is_err()).count();
                self.count(match (failed, results.len() - failed) {
                    (0, _) => "seek ok",
                    (_, 0) => "seek failed",
                    (_, _) => "seek failed for one of several",
                });
            }
            Input::Assigned(assignments) => assignments.iter().for_each(|assignment| {
                self.count(match assignment.start {
                    StartPosition::Committed(_) => "assigned committed",
                    StartPosition::Reset(_) => "assigned reset",
                    StartPosition::Unusable(OffsetTrouble::NothingCommitted) => "assigned without an offset",
                    StartPosition::Unusable(_) => "assigned outside the log",
                });
            }),
            Input::Revoking { partitions, .. } if partitions.is_empty() => self.count("revoked nothing"),
            Input::Revoking { .. } => self.count("revoked"),
            Input::Lost(_) => self.count("lost"),
            Input::Passed(_) => self.count("passed"),
            Input::PositionTrouble { .. } => self.count("trouble with a position"),
            Input::Tick
            | Input::Fetched(_)
            | Input::PluginReady(_)
            | Input::PauseAsked
            | Input::ResumeAsked
            | Input::RetryAsked
            | Input::SkipAsked { .. }
            | Input::MemoryShort
            | Input::StopAsked
            | Input::StopNowAsked
            | Input::Fenced
            | Input::Left => {}
        }
    }

    pub(crate) fn action(&mut self, action: &Action<Body>) {
        match action {
            Action::Deliver(delivery) if delivery.attempt > 1 => self.count("redelivery"),
            Action::Deliver(_) => self.count("hand-over"),
            Action::Cancel(_) => self.count("cancel"),
            Action::Stopped(reason) => self.count(match reason {
                StopReason::Asked => "ended as asked",
                StopReason::Abandoned { insisted: true, .. } => "ended at once",
                StopReason::Abandoned { insisted: false, .. } => "ended by grace",
                StopReason::Fatal { .. } => "ended by fatal",
                StopReason::Exhausted { .. } => "ended by exhaustion",
                StopReason::Fenced => "ended by fencing",
                StopReason::CommitRefused => "ended by refusal",
                StopReason::TooManyDeadLetters { .. } => "ended by dead letters",
            }),
            Action::Report(Report::LateAnswer(_)) => self.count("late answer"),
            Action::Report(Report::DroppedStale { .. }) => self.count("stale records dropped"),
            Action::Report(Report::PluginSwitched { .. }) => self.count("version switched"),
            Action::Report(Report::Held { reason }) => self.count(match reason {
                HeldReason::Fatal { .. } => "held by fatal",
                HeldReason::Exhausted { .. } => "held by exhaustion",
                HeldReason::RecordTooLarge { .. } => "held by a record",
                HeldReason::Undecodable { .. } => "held by bytes",
                HeldReason::Rejected { .. } => "held by a rejection",
                HeldReason::NotWritten { .. } => "held by brokers",
                HeldReason::Offset { .. } => "held by a position",
            }),
            Action::Report(Report::Cut { .. }) => self.count("cut in parts"),
            Action::Produce(production) => production.letters.iter().for_each(|letter| {
                self.count(match letter.verdict.class {
                    LetterClass::Rejected => "letter for a rejection",
                    LetterClass::Undecodable => "letter for bytes",
                    LetterClass::TooLarge => "letter for size",
                    LetterClass::Fault(_) => "letter for a fault",
                    LetterClass::Retries => "letter for retries",
                    LetterClass::Skipped => "letter for the operator",
                });
            }),
            Action::Commit { .. }
            | Action::AskCommitted { .. }
            | Action::Seek { .. }
            | Action::AnswerRevoke(_)
            | Action::Leave
            | Action::Report(_) => {}
        }
    }
}

/// The word for an answer.
fn answered(answer: &Answer) -> &'static str {
    match answer {
        Answer::Outcome(Outcome::Ok(effects)) if !effects.rejected.is_empty() => "answer ok with rejected records",
        Answer::Outcome(Outcome::Ok(effects)) if effects.emitted > 0 => "answer ok with emitted records",
        Answer::Outcome(Outcome::Ok(_)) => "answer ok",
        Answer::Outcome(Outcome::Retryable { completed: Some(_), .. }) => "answer in part",
        Answer::Outcome(Outcome::Retryable { after: None, .. }) => "answer retryable",
        Answer::Outcome(Outcome::Retryable { after: Some(_), .. }) => "answer retryable with a wish",
        Answer::Outcome(Outcome::Fatal { .. }) => "answer fatal",
        Answer::Fault(fault) => fault.class.as_str(),
        Answer::Cancelled => "answer cancelled",
    }
}

fn commit_error(error: RequestError) -> &'static str {
    match error {
        RequestError::Temporary => "commit failed for now",
        RequestError::Unknown => "commit unknown",
        RequestError::NotOurs => "commit not ours",
        RequestError::Fenced => "commit fenced",
        RequestError::Refused => "commit refused",
    }
}

/// What has to happen often in a thousand seeds, or the world is polite.
const RUDE: &[&str] = &[
    "answer ok",
    "answer ok with rejected records",
    "answer ok with emitted records",
    "answer in part",
    "answer retryable",
    "answer retryable with a wish",
    "answer fatal",
    "answer cancelled",
    "trap",
    "timeout",
    "memory",
    "exit",
    "contract",
    "start",
    "commit ok",
    "commit failed for now",
    "commit unknown",
    "commit not ours",
    "commit refused",
    "written",
    "not written for now",
    "writing refused",
    "cut in parts",
    "letter for a rejection",
    "letter for bytes",
    "letter for size",
    "letter for a fault",
    "letter for retries",
    "letter for the operator",
    "look-up ok",
    "look-up of nothing",
    "look-up failed",
    "seek ok",
    "seek failed",
    "seek failed for one of several",
    "assigned committed",
    "assigned reset",
    "assigned without an offset",
    "assigned outside the log",
    "revoked",
    "revoked nothing",
    "lost",
    "passed",
    "trouble with a position",
    "hand-over",
    "redelivery",
    "cancel",
    "late answer",
    "stale records dropped",
    "version switched",
    "held by fatal",
    "held by exhaustion",
    "held by a record",
    "held by bytes",
    "held by a rejection",
    "held by brokers",
    "held by a position",
    "ended as asked",
    "ended at once",
    "ended by grace",
    "ended by fatal",
    "ended by exhaustion",
    "ended by fencing",
    "ended by refusal",
    "ended by dead letters",
];

#[test]
fn the_world_is_rude() {
    let mut tally = Tally::default();
    for seed in 0..1_000 {
        let mut world = World::new(Scenario::draw(seed), None);
        world.tally = Some(std::mem::take(&mut tally));
        let _judged_elsewhere = world.run();
        tally = world.tally.take().unwrap_or_default();
    }
    for (name, times) in &tally.0 {
        println!("{times:>8} × {name}");
    }
    let rare: Vec<_> = RUDE.iter().filter(|name| tally.0.get(**name).copied().unwrap_or(0) < 20).collect();
    assert!(rare.is_empty(), "fewer than 20 times in a thousand seeds: {rare:?}");
}
