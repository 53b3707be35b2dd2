//! What a story says is due: the next action of the machine, and nothing else.
//!
//! Must not feed the machine, except to shorten what always comes together.

use gristmill_core::io::{
    Action, CommitOffset, DeadLetter, DeliveryId, HeldReason, Input, Report, RevokeId, SeekTo, StopReason, Verdict,
};

use super::story::Story;
use super::words::{ok, parse};
use crate::names::{Body, Place, place};

impl Story {
    fn next_action(&mut self, wanted: &str) -> Action<Body> {
        self.actions.pop_front().unwrap_or_else(|| panic!("at {:?}: {wanted} was due, nothing came", self.now))
    }

    /// The next action hands exactly these records over.
    pub(super) fn delivers(&mut self, records: &str) -> &mut Self {
        match self.next_action("a hand-over") {
            Action::Deliver(delivery) => {
                let got: Vec<(Place, i64)> = delivery
                    .records
                    .iter()
                    .map(|record| (place(record.facts.partition), record.facts.offset.0))
                    .collect();
                assert_eq!(got, parse(records), "handed over at {:?}", self.now);
                self.out.push_back(delivery.id);
                self.last = Some(delivery);
            }
            other => panic!("at {:?}: a hand-over of {records} was due, not {other:?}", self.now),
        }
        self
    }

    /// Hands over when the first record has waited long enough.
    pub(super) fn delivers_after_wait(&mut self, records: &str) -> &mut Self {
        self.passes(1_000).delivers(records)
    }

    /// The next action hands one of these over.
    pub(super) fn delivers_one_of(&mut self, choices: &[&str]) -> &mut Self {
        let Some(Action::Deliver(delivery)) = self.actions.front() else {
            panic!("a hand-over was due, not {:?}", self.actions.front());
        };
        let first = delivery.records[0].facts;
        let first = (place(first.partition), first.offset.0);
        let choice = choices.iter().find(|choice| parse(choice)[0] == first).expect("one of the choices");
        self.delivers(choice)
    }

    /// The next action commits something, and it works.
    pub(super) fn commit_any(&mut self) -> &mut Self {
        match self.next_action("a commit") {
            Action::Commit { id, .. } => self.commit = Some(id),
            other => panic!("a commit was due, not {other:?}"),
        }
        self.commit_ends(Ok(()))
    }

    /// The attempt number of the last hand-over.
    pub(super) fn attempt(&self) -> u32 {
        self.last.as_ref().expect("something was handed over").attempt
    }

    pub(super) fn cancels(&mut self) -> &mut Self {
        match self.next_action("a cancel") {
            Action::Cancel(id) => assert!(self.out.contains(&id), "{id:?} is not out"),
            other => panic!("a cancel was due, not {other:?}"),
        }
        self
    }

    /// The next action commits exactly these positions, written as records are.
    pub(super) fn commits(&mut self, positions: &str) -> &mut Self {
        match self.next_action("a commit") {
            Action::Commit { id, offsets, .. } => {
                let got = |offset: &CommitOffset| (place(offset.partition), offset.next.0);
                assert_eq!(sorted(offsets.iter().map(got)), parse(positions), "committed at {:?}", self.now);
                self.commit = Some(id);
            }
            other => panic!("at {:?}: a commit of {positions} was due, not {other:?}", self.now),
        }
        self
    }

    /// A whole happy batch: handed over, ok, committed.
    pub(super) fn finishes(&mut self, records: &str, positions: &str) -> &mut Self {
        self.delivers(records).says(ok()).commits(positions).commit_ends(Ok(()))
    }

    /// The next action writes exactly these dead letters, in this order, each `place:offset=class`, and nothing that was
    /// emitted.
    pub(super) fn writes(&mut self, letters: &str) -> &mut Self {
        self.writes_with(letters, None)
    }

    /// As `writes`, together with what the guest that answered last emitted.
    pub(super) fn writes_emitted(&mut self, letters: &str) -> &mut Self {
        let emitted_of = Some(self.last.as_ref().expect("something was handed over").id);
        self.writes_with(letters, emitted_of)
    }

    fn writes_with(&mut self, letters: &str, emitted_of: Option<DeliveryId>) -> &mut Self {
        match self.next_action("a production") {
            Action::Produce(production) => {
                let got: Vec<String> = production.letters.iter().map(written_letter).collect();
                assert_eq!(got.join(" "), letters, "put aside at {:?}", self.now);
                assert_eq!(production.emitted_of, emitted_of, "whose records are written");
                self.production = Some(production);
            }
            other => panic!("at {:?}: writing {letters} was due, not {other:?}", self.now),
        }
        self
    }

    /// What was put aside last.
    pub(super) fn letters(&self) -> &[DeadLetter<Body>] {
        &self.production.as_ref().expect("something was written").letters
    }

    /// The verdict of the only letter that was written last.
    pub(super) fn verdict(&self) -> &Verdict {
        let [letter] = self.letters() else { panic!("not one letter: {:?}", self.letters()) };
        &letter.verdict
    }

    pub(super) fn asks(&mut self, places: &[Place]) -> &mut Self {
        match self.next_action("a look-up") {
            Action::AskCommitted { id, partitions } => {
                assert_eq!(sorted(partitions.into_iter().map(place)), places);
                self.lookup = Some(id);
            }
            other => panic!("at {:?}: a look-up of {places:?} was due, not {other:?}", self.now),
        }
        self
    }

    pub(super) fn seeks(&mut self, positions: &str) -> &mut Self {
        match self.next_action("a seek") {
            Action::Seek { id, targets } => {
                let got = |target: &SeekTo| (place(target.partition), target.next.0);
                assert_eq!(sorted(targets.iter().map(got)), parse(positions), "sought at {:?}", self.now);
                self.seek = Some((id, targets));
            }
            other => panic!("at {:?}: a seek to {positions} was due, not {other:?}", self.now),
        }
        self
    }

    pub(super) fn answers_revoke(&mut self, id: u64) -> &mut Self {
        match self.next_action("the answer to a revocation") {
            Action::AnswerRevoke(got) => assert_eq!(got, RevokeId(id)),
            other => panic!("at {:?}: the answer to revocation {id} was due, not {other:?}", self.now),
        }
        self
    }

    pub(super) fn leaves(&mut self) -> &mut Self {
        match self.next_action("leaving") {
            Action::Leave => self,
            other => panic!("at {:?}: leaving was due, not {other:?}", self.now),
        }
    }

    /// The group is left: the machine ends with this reason.
    pub(super) fn ends(&mut self, wanted: &StopReason) -> &mut Self {
        self.leaves().feed(Input::Left);
        match self.next_action("the end") {
            Action::Stopped(reason) => assert_eq!(reason, *wanted),
            other => panic!("the end was due, not {other:?}"),
        }
        self
    }

    /// Nothing is to be done now.
    pub(super) fn is_quiet(&mut self) -> &mut Self {
        assert!(self.actions.is_empty(), "at {:?}: nothing was due, but {:?}", self.now, self.actions);
        self
    }

    /// Records that were dropped so far because they were read twice or under an old epoch.
    pub(super) fn dropped(&self) -> u64 {
        let count = |report: &Report| if let Report::DroppedStale { records } = report { *records } else { 0 };
        self.reports.iter().map(count).sum()
    }

    /// Why something was held last.
    pub(super) fn held(&self) -> &HeldReason {
        let held = self.reports.iter().rev().find(|report| matches!(report, Report::Held { .. }));
        let Some(Report::Held { reason }) = held else { panic!("nothing was held") };
        reason
    }

    pub(super) fn holds(&self) -> usize {
        self.reports.iter().filter(|report| matches!(report, Report::Held { .. })).count()
    }
}

/// A dead letter as a story writes it.
fn written_letter(letter: &DeadLetter<Body>) -> String {
    let facts = &letter.record.facts;
    format!("{}:{}={}", place(facts.partition), facts.offset.0, letter.verdict.class.as_str())
}

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort();
    items
}
