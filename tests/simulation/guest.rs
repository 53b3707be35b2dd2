//! The guests: what they answer, and when. Trouble sits on single records and wears off, or is cured by a new version.
//!
//! Must not know what the machine makes of an answer.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use gristmill_core::io::{Delivery, PluginId};
use gristmill_core::outcome::{Answer, Fault as GuestFault, FaultClass, Outcome};

use crate::chance::{Chance, Stream};
use crate::fault::Fault;
use crate::names::{Body, Place, place};
use crate::scenario::Scenario;

/// One way to answer badly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bad {
    Retryable,
    RetryAfter(u64),
    Fatal,
    Broken(FaultClass),
}

impl Bad {
    /// The answer as the machine sees it.
    pub(crate) fn answer(self) -> Answer {
        match self {
            Self::Retryable => Answer::Outcome(Outcome::Retryable { reason: "again".to_owned(), after: None }),
            Self::RetryAfter(millis) => {
                let after = Some(Duration::from_millis(millis));
                Answer::Outcome(Outcome::Retryable { reason: "later".to_owned(), after })
            }
            Self::Fatal => Answer::Outcome(Outcome::Fatal { reason: "poison".to_owned() }),
            Self::Broken(class) => Answer::Fault(GuestFault { class, detail: "broke".to_owned() }),
        }
    }
}

/// Answers to come, for a record that gives trouble.
#[derive(Debug)]
struct Trouble {
    answers: VecDeque<Bad>,
    /// The version that has no trouble with it.
    cured_by: Option<u64>,
}

/// All guests of all members.
pub(crate) struct Guests {
    chance: Chance,
    troubles: BTreeMap<(Place, i64), Trouble>,
    /// Answers that a script prescribes, one for each hand-over, before anything else.
    pub(crate) script: VecDeque<Option<Bad>>,
}

/// What a guest will do with a hand-over.
pub(crate) struct Plan {
    pub(crate) micros: u64,
    pub(crate) answer: Answer,
}

impl Guests {
    pub(crate) fn new(seed: u64) -> Self {
        Self { chance: Chance::new(seed, Stream::Guest), troubles: BTreeMap::new(), script: VecDeque::new() }
    }

    /// A record is appended; perhaps it will give trouble.
    pub(crate) fn meet(&mut self, scenario: &Scenario, place: Place, offset: i64) {
        const KINDS: &[Fault] = &[
            Fault::Retryable,
            Fault::RetryableLong,
            Fault::RetryAfter,
            Fault::Fatal,
            Fault::Trap,
            Fault::MixedFailures,
        ];
        let kind = self.chance.pick(KINDS);
        if !scenario.has(kind) || !self.chance.permille(scenario.rate) {
            return;
        }
        let times = self.chance.between(1, 4);
        let answers: VecDeque<Bad> = match kind {
            Fault::RetryableLong => (0..self.chance.pick(&[10, 70])).map(|_| Bad::Retryable).collect(),
            Fault::RetryAfter => {
                (0..times).map(|_| Bad::RetryAfter(self.chance.pick(&[0, 50, 1_000, 60_000]))).collect()
            }
            Fault::Fatal => std::iter::once(Bad::Fatal).collect(),
            Fault::Trap => (0..times * 2).map(|_| Bad::Broken(self.broken())).collect(),
            Fault::MixedFailures => (0..times * 5).map(|n| self.mixed(n)).collect(),
            _ => (0..times).map(|_| Bad::Retryable).collect(),
        };
        let cured_by = self.chance.permille(300).then(|| self.chance.between(1, 3));
        self.troubles.insert((place, offset), Trouble { answers, cured_by });
    }

    fn broken(&mut self) -> FaultClass {
        use FaultClass::{Contract, Exit, Memory, Start, Timeout, Trap};
        self.chance.pick(&[Trap, Timeout, Memory, Exit, Contract, Start])
    }

    fn mixed(&mut self, n: u64) -> Bad {
        if n.is_multiple_of(2) { Bad::Broken(self.broken()) } else { Bad::Retryable }
    }

    /// From now on every record is harmless.
    pub(crate) fn heal(&mut self) {
        self.troubles.clear();
    }

    /// What the guest does with this hand-over.
    pub(crate) fn plan(&mut self, scenario: &Scenario, healed: bool, delivery: &Delivery<Body>) -> Plan {
        if let Some(scripted) = self.script.pop_front() {
            return Plan { micros: 1_000, answer: scripted.map_or(Answer::Outcome(Outcome::Ok), Bad::answer) };
        }
        let answer = self.answer(delivery);
        let hangs = !healed && scenario.has(Fault::Hang) && self.chance.permille(scenario.rate);
        let micros = if hangs { self.chance.between(1_000_000, 15_000_000) } else { self.chance.between(100, 20_000) };
        Plan { micros, answer }
    }

    fn answer(&mut self, delivery: &Delivery<Body>) -> Answer {
        let PluginId(version) = delivery.plugin;
        for record in &*delivery.records {
            let at = (place(record.facts.partition), record.facts.offset.0);
            let Some(trouble) = self.troubles.get_mut(&at) else { continue };
            if trouble.cured_by.is_some_and(|cure| version >= cure) {
                continue;
            }
            // Poison stays until it is cured or the world is healed; everything else wears off.
            let bad = match trouble.answers.front() {
                Some(Bad::Fatal) => Some(Bad::Fatal),
                Some(_) => trouble.answers.pop_front(),
                None => None,
            };
            if let Some(bad) = bad {
                return bad.answer();
            }
        }
        Answer::Outcome(Outcome::Ok)
    }

    /// What comes of a hand-over that is cancelled: mostly nothing, sometimes what would have come anyway.
    pub(crate) fn cancelled(&mut self, scenario: &Scenario, planned: &Answer) -> Plan {
        let answers = scenario.has(Fault::AnswerAfterCancel) && self.chance.permille(500);
        let answer = if answers { planned.clone() } else { Answer::Cancelled };
        Plan { micros: self.chance.between(50, 5_000), answer }
    }
}
