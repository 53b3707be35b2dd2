//! Records per second on a real Kafka: the host with a plugin that does nothing, beside librdkafka's own batch loop, in the
//! same run and taking turns, so that a busy machine slows both.
//!
//! `cargo xtask bench [RECORDS]`; it prints a table and judges nothing.

#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

mod host;
mod sys;

use std::time::Duration;

use gristmill_tests::{create_topic, load, plugin, unique};
use xtask::kafka::{Broker, Options};

const PARTITIONS: i32 = 6;
const ROUNDS: usize = 5;

/// What is measured: a name, and what does it.
type Contestant<'c> = (&'static str, Box<dyn Fn() -> Duration + 'c>);

fn main() {
    // Cargo adds `--bench`; a number is the number of records.
    let records: u64 = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(1_000_000);
    let each = records.div_ceil(PARTITIONS.unsigned_abs().into());
    let broker = match Broker::start(&Options::default()) {
        Ok(broker) => broker,
        Err(error) => panic!("cannot start Kafka: {error:#}"),
    };
    let bootstrap = broker.bootstrap();
    let topic = unique("bench");
    create_topic(&bootstrap, &topic, PARTITIONS);
    let loaded = load(&bootstrap, &topic, PARTITIONS, each);
    let guest = plugin("gristmill-noop").display().to_string();
    println!("{} records of 100 bytes in {PARTITIONS} partitions, batches of 10000, {ROUNDS} rounds", loaded.records());

    let contestants: [Contestant<'_>; 3] = [
        ("librdkafka's batch loop", Box::new(|| sys::read_all(&bootstrap, &topic, &loaded))),
        ("gristmill, fresh instances", Box::new(|| host::run_through(&bootstrap, &topic, &loaded, &guest, "fresh"))),
        ("gristmill, reused instance", Box::new(|| host::run_through(&bootstrap, &topic, &loaded, &guest, "reuse"))),
    ];
    let mut rates: Vec<Vec<f64>> = vec![Vec::new(); contestants.len()];
    for _ in 0..ROUNDS {
        for ((_, run), rates) in contestants.iter().zip(&mut rates) {
            #[expect(clippy::cast_precision_loss, reason = "a rate needs no exact count")]
            rates.push(loaded.records() as f64 / run().as_secs_f64());
        }
    }
    print_table(&contestants.map(|(name, _)| name), &mut rates);
}

fn print_table(names: &[&str], rates: &mut [Vec<f64>]) {
    println!(
        "\n{:<28} {:>14} {:>14} {:>14} {:>10}",
        "records per second", "median", "slowest", "fastest", "of the loop"
    );
    let mut base = None;
    for (name, rates) in names.iter().zip(rates) {
        rates.sort_by(f64::total_cmp);
        let median = rates[rates.len() / 2];
        let base = *base.get_or_insert(median);
        let (slowest, fastest) = (rates[0], rates[rates.len() - 1]);
        println!("{name:<28} {median:>14.0} {slowest:>14.0} {fastest:>14.0} {:>10.2}", median / base);
    }
}
