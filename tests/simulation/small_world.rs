//! The exhaustive small world: two partitions of two records each, every short sequence of answers and of commit results, a
//! crash after every step. What chance leaves out stands here.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gristmill_core::io::RequestError;
use gristmill_core::outcome::FaultClass;
use gristmill_core::policy::{Policy, Redeliver, Scope};

use crate::guest::Bad;
use crate::names::Violation;
use crate::scenario::{Reset, Scenario, Style};
use crate::world::{Event, Fate, Totals, World};

const ANSWERS: [Option<Bad>; 4] = [None, Some(Bad::Retryable), Some(Bad::Fatal), Some(Bad::Broken(FaultClass::Trap))];

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
    answers: Vec<Option<Bad>>,
    fates: Vec<Fate>,
    crash_at: Option<u64>,
}

impl Small {
    fn run(&self) -> Result<Totals, Violation> {
        let mut world = World::new(scenario(self.scope, self.redeliver, self.reset), None);
        world.guests.script = self.answers.iter().copied().collect();
        world.commit_script = self.fates.iter().copied().collect();
        world.crash_at = self.crash_at;
        for place in 0..2 {
            world.at(0, Event::Append { place, records: 2 });
        }
        world.at(1_000, Event::Start { slot: 0 });
        world.at(world.scenario.faults_end, Event::Heal);
        world.run_prepared()
    }

    fn describe(&self) -> String {
        let answers: Vec<String> = self.answers.iter().map(|answer| format!("{answer:?}")).collect();
        format!(
            "{:?}, {:?}, {:?}, answers [{}], commits {:?}, crash at step {:?}",
            self.scope,
            self.redeliver,
            self.reset,
            answers.join(", "),
            self.fates,
            self.crash_at
        )
    }
}

fn scenario(scope: Scope, redeliver: Redeliver, reset: Reset) -> Scenario {
    let mut scenario = Scenario::draw(0);
    let mut policy: Policy = crate::schedules::policy();
    policy.scope = scope;
    policy.retry.redeliver = redeliver;
    policy.batch.wait_max = Duration::from_millis(5);
    policy.fault.attempts_max = NonZeroU32::new(2).expect("not zero");
    policy.commit.tries_max = NonZeroU32::new(2).expect("not zero");
    scenario.members = 1;
    scenario.partitions = 2;
    scenario.records = 4;
    scenario.style = Style::Cooperative;
    scenario.reset = reset;
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
    format!("{}: {}\nin the small world of {}", broken.rule, broken.text, script.describe())
}

fn all_scripts(answers: u32, fates: u32) -> Vec<Small> {
    let two = NonZeroU32::new(2).expect("not zero");
    let mut all = Vec::new();
    for scope in [Scope::Consumer, Scope::Partition { workers: two }] {
        for redeliver in [Redeliver::Memory, Redeliver::Seek] {
            for answers in sequences(&ANSWERS, answers) {
                for fates in sequences(&FATES, fates) {
                    let reset = if all.len() % 2 == 0 { Reset::Earliest } else { Reset::Error };
                    all.push(Small { scope, redeliver, reset, answers: answers.clone(), fates, crash_at: None });
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
