//! The guests: what they answer, and when. Trouble sits on single records and wears off, or is cured by a new version.
//!
//! Must not know what the machine makes of an answer.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use gristmill_core::io::{Delivery, PluginId};
use gristmill_core::outcome::{Answer, Effects, Fault as GuestFault, FaultClass, Outcome, Progress, Rejection};

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
            Self::Retryable => Answer::Outcome(Outcome::retryable("again", None)),
            Self::RetryAfter(millis) => {
                let after = Some(Duration::from_millis(millis));
                Answer::Outcome(Outcome::retryable("later", after))
            }
            Self::Fatal => Answer::Outcome(Outcome::Fatal { reason: "poison".to_owned() }),
            Self::Broken(class) => Answer::Fault(GuestFault { class, detail: "broke".to_owned() }),
        }
    }
}

/// An answer that a script prescribes, whatever the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scripted {
    Ok,
    /// The first record is rejected, the others are done.
    Rejects,
    /// Every record makes another.
    Emits,
    /// The first record is done and makes another; the rest has to come again.
    Partial,
    /// The first record is rejected; the rest has to come again.
    PartialRejects,
    Bad(Bad),
}

/// Answers to come, for a record that gives trouble.
#[derive(Debug)]
struct Trouble {
    answers: VecDeque<Bad>,
    /// The version that has no trouble with it.
    cured_by: Option<u64>,
    /// It does not wear off.
    poison: bool,
}

/// All guests of all members.
pub(crate) struct Guests {
    chance: Chance,
    troubles: BTreeMap<(Place, i64), Trouble>,
    rejects: BTreeSet<(Place, i64)>,
    emits: BTreeSet<(Place, i64)>,
    /// Every record that ever gave trouble.
    bad: BTreeSet<(Place, i64)>,
    /// Answers that a script prescribes, one for each hand-over, before anything else.
    pub(crate) script: VecDeque<Scripted>,
}

/// What a guest will do with a hand-over.
pub(crate) struct Plan {
    pub(crate) micros: u64,
    pub(crate) answer: Answer,
    /// Of which records it makes others.
    pub(crate) outputs: Vec<(Place, i64)>,
}

impl Guests {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            chance: Chance::new(seed, Stream::Guest),
            troubles: BTreeMap::new(),
            rejects: BTreeSet::new(),
            emits: BTreeSet::new(),
            bad: BTreeSet::new(),
            script: VecDeque::new(),
        }
    }

    /// True when a record gives or gave trouble.
    pub(crate) fn was_bad(&self, place: Place, offset: i64) -> bool {
        self.bad.contains(&(place, offset))
    }

    /// A record is appended; perhaps it will give trouble.
    pub(crate) fn meet(&mut self, scenario: &Scenario, place: Place, offset: i64) {
        const KINDS: &[Fault] = &[
            Fault::Retryable,
            Fault::RetryableLong,
            Fault::RetryAfter,
            Fault::Fatal,
            Fault::Trap,
            Fault::Poison,
            Fault::MixedFailures,
        ];
        if scenario.has(Fault::Emits) && self.chance.permille(400) {
            self.emits.insert((place, offset));
        }
        if scenario.has(Fault::Rejects) && self.chance.permille(scenario.rate / 2) {
            self.rejects.insert((place, offset));
        }
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
            Fault::Poison => std::iter::once(Bad::Broken(self.broken())).collect(),
            Fault::Trap => (0..times * 2).map(|_| Bad::Broken(self.broken())).collect(),
            Fault::MixedFailures => (0..times * 5).map(|n| self.mixed(n)).collect(),
            _ => (0..times).map(|_| Bad::Retryable).collect(),
        };
        let cured_by = self.chance.permille(300).then(|| self.chance.between(1, 3));
        self.bad.insert((place, offset));
        self.troubles.insert((place, offset), Trouble { answers, cured_by, poison: kind == Fault::Poison });
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
        self.rejects.clear();
    }

    /// What the guest does with this hand-over.
    pub(crate) fn plan(&mut self, scenario: &Scenario, healed: bool, delivery: &Delivery<Body>) -> Plan {
        if let Some(scripted) = self.script.pop_front() {
            let (answer, outputs) = self.as_scripted(scripted, delivery);
            return Plan { micros: 1_000, answer, outputs };
        }
        let (answer, outputs) = self.answer(scenario, delivery);
        let hangs = !healed && scenario.has(Fault::Hang) && self.chance.permille(scenario.rate);
        let micros = if hangs { self.chance.between(1_000_000, 15_000_000) } else { self.chance.between(100, 20_000) };
        Plan { micros, answer, outputs }
    }

    fn as_scripted(&mut self, scripted: Scripted, delivery: &Delivery<Body>) -> (Answer, Vec<(Place, i64)>) {
        let mut names: Vec<(Place, i64)> = names(delivery).collect();
        let first_rejected = || vec![Rejection { index: 0, reason: "no good".to_owned() }];
        let partial = |effects| {
            let completed = Some(Progress { records: 1, effects });
            Outcome::Retryable { reason: "again".to_owned(), after: None, completed, suspect: None }
        };
        let outcome = match scripted {
            Scripted::Ok => return (Answer::Outcome(Outcome::OK), Vec::new()),
            Scripted::Bad(bad) => {
                self.bad.extend(names);
                return (bad.answer(), Vec::new());
            }
            Scripted::Rejects => Outcome::Ok(Effects { rejected: first_rejected(), emitted: 0 }),
            Scripted::PartialRejects => partial(Effects { rejected: first_rejected(), emitted: 0 }),
            Scripted::Emits => {
                let emitted = u32::try_from(names.len()).expect("few");
                return (Answer::Outcome(Outcome::Ok(Effects { rejected: Vec::new(), emitted })), names);
            }
            Scripted::Partial => {
                self.bad.extend(names.drain(1..));
                return (Answer::Outcome(partial(Effects { rejected: Vec::new(), emitted: 1 })), names);
            }
        };
        self.bad.extend(names.drain(1..));
        (Answer::Outcome(outcome), Vec::new())
    }

    fn answer(&mut self, scenario: &Scenario, delivery: &Delivery<Body>) -> (Answer, Vec<(Place, i64)>) {
        let names: Vec<(Place, i64)> = names(delivery).collect();
        let Some((index, bad)) = self.trouble(delivery.plugin, &names) else {
            let (effects, outputs) = self.effects(&names);
            return (Answer::Outcome(Outcome::Ok(effects)), outputs);
        };
        let Answer::Outcome(Outcome::Retryable { reason, after, .. }) = bad.answer() else {
            return (bad.answer(), Vec::new());
        };
        let suspect = (scenario.has(Fault::Suspect) && self.chance.permille(500)).then_some(index);
        if !(scenario.has(Fault::Partial) && self.chance.permille(600)) {
            return (Answer::Outcome(Outcome::Retryable { reason, after, completed: None, suspect }), Vec::new());
        }
        let records = u32::try_from(self.chance.below(u64::from(index) + 1)).expect("few");
        let (effects, outputs) = self.effects(&names[..records as usize]);
        let completed = Some(Progress { records, effects });
        (Answer::Outcome(Outcome::Retryable { reason, after, completed, suspect }), outputs)
    }

    /// The first record that gives trouble, and which.
    fn trouble(&mut self, plugin: PluginId, names: &[(Place, i64)]) -> Option<(u32, Bad)> {
        for (index, at) in names.iter().enumerate() {
            let Some(trouble) = self.troubles.get_mut(at) else { continue };
            if trouble.cured_by.is_some_and(|cure| plugin.0 >= cure) {
                continue;
            }
            // Poison stays until it is cured or the world is healed; everything else wears off.
            let bad = match trouble.answers.front() {
                Some(Bad::Fatal) => Some(Bad::Fatal),
                Some(bad) if trouble.poison => Some(*bad),
                Some(_) => trouble.answers.pop_front(),
                None => None,
            };
            if let Some(bad) = bad {
                return Some((u32::try_from(index).expect("few"), bad));
            }
        }
        None
    }

    /// What finishing these records makes.
    fn effects(&self, names: &[(Place, i64)]) -> (Effects, Vec<(Place, i64)>) {
        let rejected = names.iter().zip(0..).filter(|(at, _)| self.rejects.contains(at));
        let rejected = rejected.map(|(_, index)| Rejection { index, reason: "no good".to_owned() }).collect();
        let emits = |at: &&(Place, i64)| self.emits.contains(*at) && !self.rejects.contains(*at);
        let outputs: Vec<_> = names.iter().filter(emits).copied().collect();
        (Effects { rejected, emitted: u32::try_from(outputs.len()).expect("few") }, outputs)
    }

    /// What comes of a hand-over that is cancelled: mostly nothing, sometimes what would have come anyway.
    pub(crate) fn cancelled(&mut self, scenario: &Scenario, planned: &Answer) -> Plan {
        let answers = scenario.has(Fault::AnswerAfterCancel) && self.chance.permille(500);
        let answer = if answers { planned.clone() } else { Answer::Cancelled };
        Plan { micros: self.chance.between(50, 5_000), answer, outputs: Vec::new() }
    }
}

fn names(delivery: &Delivery<Body>) -> impl Iterator<Item = (Place, i64)> {
    delivery.records.iter().map(|record| (place(record.facts.partition), record.facts.offset.0))
}
