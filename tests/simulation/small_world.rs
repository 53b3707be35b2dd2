//! The exhaustive small world: two partitions of two records each, every short sequence of answers, of commit results and of
//! ends of productions, a crash after every step. What chance leaves out stands here.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gristmill_core::io::{ProduceError, RequestError};
use gristmill_core::outcome::FaultClass;
use gristmill_core::policy::{DeadLetterPolicy, Exhausted, Policy, Redeliver, Scope};

use crate::guest::{Bad, Scripted};
use crate::names::Violation;
use crate::scenario::{Reset, Scenario, Style};
use crate::trace::Trace;
use crate::world::{Event, Fate, Totals, World};

const TRAP: Scripted = Scripted::Bad(Bad::Broken(FaultClass::Trap));
const RETRYABLE: Scripted = Scripted::Bad(Bad::Retryable);

const ANSWERS: [Scripted; 4] = [Scripted::Ok, RETRYABLE, Scripted::Bad(Bad::Fatal), TRAP];

/// Answers after which something is written, and those that cut a batch.
const EFFECTS: [Scripted; 7] =
    [Scripted::Ok, Scripted::Rejects, Scripted::Emits, Scripted::Partial, Scripted::PartialRejects, RETRYABLE, TRAP];

/// What becomes of a production.
#[derive(Clone, Copy, Debug)]
enum Written {
    Yes,
    /// The brokers have it, and nobody knows.
    YesButTemporary,
    Temporary,
    Refused,
}

const WRITTEN: [Written; 4] = [Written::Yes, Written::YesButTemporary, Written::Temporary, Written::Refused];

impl Written {
    fn end(self) -> (bool, Result<(), ProduceError>) {
        let temporary = || Err(ProduceError::Temporary("no leader".to_owned()));
        match self {
            Self::Yes => (true, Ok(())),
            Self::YesButTemporary => (true, temporary()),
            Self::Temporary => (false, temporary()),
            Self::Refused => (false, Err(ProduceError::Refused("not authorised".to_owned()))),
        }
    }
}

const FATES: [Fate; 6] = [
    Fate { stored: true, result: Ok(()), early: false },
    Fate { stored: false, result: Err(RequestError::Temporary), early: false },
    Fate { stored: true, result: Err(RequestError::Temporary), early: false },
    Fate { stored: false, result: Err(RequestError::Unknown), early: true },
    Fate { stored: true, result: Err(RequestError::Unknown), early: false },
    Fate { stored: false, result: Err(RequestError::NotOurs), early: false },
];

/// One small world.
struct Small {
    scope: Scope,
    redeliver: Redeliver,
    reset: Reset,
    /// Where dead letters have a place; the second record of the first partition is one then.
    letters: bool,
    answers: Vec<Scripted>,
    fates: Vec<Fate>,
    written: Vec<Written>,
    crash_at: Option<u64>,
}

impl Small {
    fn run(&self) -> Result<Totals, Violation> {
        self.run_with(Trace::default()).0
    }

    fn run_with(&self, trace: Trace) -> (Result<Totals, Violation>, Trace) {
        let mut world = World::new(scenario(self), None);
        world.guests.script = self.answers.iter().copied().collect();
        world.commit_script = self.fates.iter().copied().collect();
        world.trace = trace;
        world.write_script = self.written.iter().map(|written| written.end()).collect();
        world.crash_at = self.crash_at;
        for place in 0..2 {
            for record in 0..2 {
                world.broker.logs[place].append(0, 100, self.letters && (place, record) == (0, 1));
            }
        }
        world.at(1_000, Event::Start { slot: 0 });
        world.at(world.scenario.faults_end, Event::Heal);
        (world.run_prepared(), std::mem::take(&mut world.trace))
    }

    fn describe(&self) -> String {
        let Self { scope, redeliver, reset, letters, answers, fates, written, crash_at } = self;
        format!(
            "{scope:?}, {redeliver:?}, {reset:?}, dead letters {letters}, answers {answers:?}, commits {fates:?}, writing {written:?}, crash at step {crash_at:?}"
        )
    }
}

fn scenario(small: &Small) -> Scenario {
    let mut scenario = Scenario::draw(0);
    let mut policy: Policy = crate::schedules::policy();
    policy.scope = small.scope;
    policy.retry.redeliver = small.redeliver;
    if small.letters {
        policy.dead_letters = Some(DeadLetterPolicy::default());
        policy.fault.isolate = true;
        policy.fault.then = Exhausted::DeadLetter;
    }
    policy.batch.wait_max = Duration::from_millis(5);
    policy.fault.attempts_max = NonZeroU32::new(2).expect("not zero");
    policy.commit.tries_max = NonZeroU32::new(2).expect("not zero");
    scenario.members = 1;
    scenario.partitions = 2;
    scenario.records = 4;
    scenario.style = Style::Cooperative;
    scenario.reset = small.reset;
    scenario.policy = policy;
    scenario.faults.clear();
    scenario.faults_end = 9_000_000;
    scenario.slow = 0;
    scenario
}

/// Every sequence of `len` of the choices.
fn sequences<T: Copy>(choices: &[T], len: u32) -> Vec<Vec<T>> {
    (0..len).fold(vec![Vec::new()], |all, _| {
        let longer = |sequence: &Vec<T>| {
            let sequence = sequence.clone();
            choices.iter().map(move |&choice| sequence.iter().copied().chain([choice]).collect()).collect::<Vec<_>>()
        };
        all.iter().flat_map(longer).collect()
    })
}

/// Runs every crash point of one script. The steps of a run without a crash are its crash points.
fn every_crash_point(script: &mut Small) -> Result<u64, String> {
    script.crash_at = None;
    let steps = script.run().map_err(|broken| tell(script, &broken))?.steps;
    for step in 1..=steps {
        script.crash_at = Some(step);
        script.run().map_err(|broken| tell(script, &broken))?;
    }
    Ok(steps + 1)
}

fn tell(script: &Small, broken: &Violation) -> String {
    let lines = script.run_with(Trace::kept()).1.lines().join("\n");
    format!("{}: {}\nin the small world of {}\n{lines}", broken.rule, broken.text, script.describe())
}

/// Every combination, where nothing is written.
fn all_scripts(answers: u32, fates: u32) -> Vec<Small> {
    all(false, &sequences(&ANSWERS, answers), &sequences(&FATES, fates), &[Vec::new()])
}

fn all(letters: bool, answers: &[Vec<Scripted>], fates: &[Vec<Fate>], written: &[Vec<Written>]) -> Vec<Small> {
    let mut all = Vec::new();
    for scope in [Scope::Consumer, crate::schedules::lanes(2)] {
        for redeliver in [Redeliver::Memory, Redeliver::Seek] {
            for answers in answers {
                for fates in fates {
                    for written in written {
                        let reset = if all.len() % 2 == 0 { Reset::Earliest } else { Reset::Error };
                        all.push(Small {
                            scope,
                            redeliver,
                            reset,
                            letters,
                            answers: answers.clone(),
                            fates: fates.clone(),
                            written: written.clone(),
                            crash_at: None,
                        });
                    }
                }
            }
        }
    }
    all
}

fn run_all(scripts: &mut [Small]) -> u64 {
    let half = scripts.len().div_ceil(2);
    let failures = AtomicUsize::new(0);
    let runs: u64 = std::thread::scope(|scope| {
        let run_half = |scripts: &mut [Small]| -> u64 {
            let mut runs = 0;
            for script in scripts {
                match every_crash_point(script) {
                    Ok(more) => runs += more,
                    Err(text) => {
                        println!("{text}");
                        failures.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
            runs
        };
        let threads: Vec<_> = scripts.chunks_mut(half).map(|part| scope.spawn(move || run_half(part))).collect();
        threads.into_iter().map(|thread| thread.join().expect("the thread ends")).sum()
    });
    assert_eq!(failures.into_inner(), 0, "scripts that break a promise, printed above");
    runs
}

#[test]
fn every_crash_point_of_every_sequence_of_three_answers() {
    let runs = run_all(&mut all_scripts(3, 1));
    println!("small world: {runs} runs of three answers and one commit result");
}

#[test]
fn every_crash_point_of_every_sequence_of_three_commit_results() {
    let runs = run_all(&mut all_scripts(1, 3));
    println!("small world: {runs} runs of one answer and three commit results");
}

#[test]
fn d1_r7_f5_every_crash_point_of_every_sequence_of_three_answers_with_effects_and_one_production() {
    let mut scripts = all(true, &sequences(&EFFECTS, 3), &[Vec::new()], &sequences(&WRITTEN, 1));
    let runs = run_all(&mut scripts);
    println!("small world: {runs} runs of three answers and one production");
}

#[test]
fn d1_d2_every_crash_point_of_every_sequence_of_two_productions() {
    let mut scripts = all(true, &sequences(&EFFECTS, 2), &[Vec::new()], &sequences(&WRITTEN, 2));
    let runs = run_all(&mut scripts);
    println!("small world: {runs} runs of two answers and two productions");
}

#[test]
fn d1_c2_c5_every_crash_point_of_every_production_and_commit_result() {
    let mut scripts = all(true, &sequences(&EFFECTS, 1), &sequences(&FATES, 1), &sequences(&WRITTEN, 2));
    let runs = run_all(&mut scripts);
    println!("small world: {runs} runs of one answer, two productions and one commit result");
}

#[test]
fn d1_every_crash_point_where_dead_letters_have_no_place() {
    let mut scripts = all(false, &sequences(&EFFECTS, 2), &[Vec::new()], &sequences(&WRITTEN, 1));
    let runs = run_all(&mut scripts);
    println!("small world: {runs} runs of two answers and one production without a place for dead letters");
}
