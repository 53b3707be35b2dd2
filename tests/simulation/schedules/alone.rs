//! A story that goes on alone: whatever the machine wants succeeds, and a guest answers as a function of what it is given.

use std::collections::BTreeMap;

use gristmill_core::io::{Action, DeadLetter, Delivery, Input, StopReason};
use gristmill_core::outcome::Answer;

use super::story::Story;
use crate::names::{Body, Place, place};

/// What happened meanwhile.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// How often the guest was called.
    pub(super) calls: usize,
    /// Records of the hand-overs that it was ok with.
    pub(super) handled: Vec<(Place, i64)>,
    pub(super) letters: Vec<DeadLetter<Body>>,
    pub(super) committed: BTreeMap<Place, i64>,
    pub(super) end: Option<StopReason>,
}

impl Course {
    /// Which records were put aside.
    pub(super) fn put_aside(&self) -> Vec<(Place, i64)> {
        let facts = self.letters.iter().map(|letter| letter.record.facts);
        facts.map(|facts| (place(facts.partition), facts.offset.0)).collect()
    }
}

impl Story {
    /// Goes on until nothing is due any more, not even later.
    pub(super) fn goes_on_alone(&mut self, mut guest: impl FnMut(&Delivery<Body>) -> Answer) -> Course {
        let mut course = Course::default();
        loop {
            match self.actions.pop_front() {
                Some(action) => self.carries_out(action, &mut guest, &mut course),
                None => match self.wakes_in() {
                    Some(millis) => _ = self.passes(millis.max(1)),
                    None => return course,
                },
            }
        }
    }

    fn carries_out(
        &mut self,
        action: Action<Body>,
        guest: &mut impl FnMut(&Delivery<Body>) -> Answer,
        course: &mut Course,
    ) {
        match action {
            Action::Deliver(delivery) => {
                course.calls += 1;
                let answer = guest(&delivery);
                if answer == super::words::ok() {
                    let facts = delivery.records.iter().map(|record| record.facts);
                    course.handled.extend(facts.map(|facts| (place(facts.partition), facts.offset.0)));
                }
                self.feed(Input::Answered { delivery: delivery.id, answer });
            }
            Action::Produce(production) => {
                let id = production.id;
                course.letters.extend(production.letters);
                self.feed(Input::Produced { id, result: Ok(()) });
            }
            Action::Commit { id, offsets, .. } => {
                course.committed.extend(offsets.iter().map(|offset| (place(offset.partition), offset.next.0)));
                self.feed(Input::CommitEnded { id, result: Ok(()) });
            }
            Action::Leave => _ = self.feed(Input::Left),
            Action::Stopped(reason) => course.end = Some(reason),
            other => panic!("{other:?} in a story that goes on alone"),
        }
    }
}
