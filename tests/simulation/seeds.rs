//! Runs of many seeds, and the replay of one.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, Once};
use std::time::Instant;

use gristmill_core::planted::Bug;

use crate::names::Violation;
use crate::scenario::Scenario;
use crate::shrink::shrink;
use crate::trace::Trace;
use crate::world::{Totals, World};

/// Seeds of every test run.
const SEEDS: u64 = 20_000;
const WORKERS: u64 = 2;

/// Runs one scenario. A panic of the machine is a violation like any other.
pub(crate) fn run(scenario: &Scenario, bug: Option<Bug>, trace: Trace) -> (Result<Totals, Violation>, u64, Trace) {
    let mut world = World::new(scenario.clone(), bug);
    world.trace = trace;
    hush_caught_panics();
    CAUGHT.set(true);
    let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.run()));
    CAUGHT.set(false);
    let result = match ran {
        Ok(Ok(totals)) => Ok(totals),
        Ok(Err(violation)) => Err(violation),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Err(Violation { rule: "panic", text: text.unwrap_or_else(|| "without a text".to_owned()) })
        }
    };
    (result, world.steps, std::mem::take(&mut world.trace))
}

/// The first violation among the seeds, in no particular order, and how much was run.
pub(crate) struct Sweep {
    pub(crate) broken: Option<(u64, Violation)>,
    pub(crate) seeds: u64,
    pub(crate) totals: Totals,
}

/// Runs seeds from `first` on two threads until `count` are done or one breaks a promise.
pub(crate) fn sweep(first: u64, count: u64, bug: Option<Bug>) -> Sweep {
    let next = AtomicU64::new(first);
    let stop = AtomicBool::new(false);
    let sum = Mutex::new(Sweep { broken: None, seeds: 0, totals: Totals::default() });
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count {
                        break;
                    }
                    let (result, steps, _) = run(&Scenario::draw(seed), bug, Trace::default());
                    let mut sum = sum.lock().expect("no panic holds it");
                    sum.seeds += 1;
                    sum.totals.steps += steps;
                    match result {
                        Ok(totals) => {
                            sum.totals.handed += totals.handed;
                            sum.totals.repeats += totals.repeats;
                            sum.totals.commits += totals.commits;
                            sum.totals.lives += totals.lives;
                        }
                        Err(violation) => {
                            stop.store(true, Ordering::Relaxed);
                            sum.broken.get_or_insert((seed, violation));
                        }
                    }
                }
            });
        }
    });
    sum.into_inner().expect("no panic holds it")
}

thread_local! {
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// The text of a panic that is caught and judged is noise; every other panic speaks as usual.
fn hush_caught_panics() {
    static HUSH: Once = Once::new();
    HUSH.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !CAUGHT.get() {
                loud(panic);
            }
        }));
    });
}

fn report(seed: u64, violation: &Violation) -> String {
    let shrunk = shrink(&Scenario::draw(seed), violation.rule);
    let (_, _, trace) = run(&shrunk, None, Trace::kept());
    let lines = trace.lines();
    let tail = lines[lines.len().saturating_sub(60)..].join("\n");
    format!(
        "seed {seed} breaks {}: {}\nreplay: cargo xtask sim {seed}\nshrunk to {} members, {} partitions, {} records, {:?}\n{tail}",
        violation.rule, violation.text, shrunk.members, shrunk.partitions, shrunk.records, shrunk.faults
    )
}

#[test]
fn no_seed_breaks_a_promise() {
    let count = std::env::var("GRISTMILL_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(SEEDS);
    let first = std::env::var("GRISTMILL_SEEDS_FROM").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let began = Instant::now();
    let sweep = sweep(first, count, None);
    let seconds = began.elapsed().as_secs_f64();
    if let Some((seed, violation)) = sweep.broken {
        panic!("{}", report(seed, &violation));
    }
    let totals = sweep.totals;
    let rate = totals.steps as f64 / seconds;
    println!(
        "simulation: {} seeds, {} steps in {seconds:.1} s, {rate:.0} steps/s; {} lives, {} records handed over, {} of them again, {} commits",
        sweep.seeds, totals.steps, totals.lives, totals.handed, totals.repeats, totals.commits
    );
    assert_eq!(sweep.seeds, count);
}

#[test]
fn i_38_the_same_seed_gives_the_same_commands() {
    for seed in (0..20_000).step_by(100) {
        let scenario = Scenario::draw(seed);
        let (once, _, _) = run(&scenario, None, Trace::default());
        let (twice, _, _) = run(&scenario, None, Trace::default());
        assert_eq!(once.ok(), twice.ok(), "I-38: seed {seed} differs from itself");
    }
}

#[test]
fn replay() {
    let Some(seed) = std::env::var("GRISTMILL_SEED").ok().and_then(|text| text.parse().ok()) else {
        return;
    };
    let scenario = Scenario::draw(seed);
    println!("{scenario:#?}");
    let (result, steps, trace) = run(&scenario, None, Trace::kept());
    for line in trace.lines() {
        println!("{line}");
    }
    match result {
        Ok(totals) => println!("seed {seed}: {steps} steps, nothing broken: {totals:?}"),
        Err(violation) => panic!("{}", report(seed, &violation)),
    }
}
