//! Records per second on a real Kafka: the host beside a native loop of librdkafka's, in the same run and taking turns, so that a busy
//! machine slows both. Once with a plugin that does nothing, once with one that emits a copy of each record; and what decoding adds.
//!
//! `cargo xtask bench [RECORDS]`; it prints tables and judges nothing.

#![expect(clippy::print_stdout, reason = "the tables are what this program is for")]

mod copy;
mod cost;
mod decoding;
mod host;
mod sys;

use gristmill_tests::{Loaded, create_topic, load, plugin, unique};
use xtask::kafka::{Broker, Options};

use self::cost::Cost;

const PARTITIONS: i32 = 6;
const ROUNDS: usize = 5;

/// What is measured: a name, and what does it.
type Contestant<'c> = (&'static str, Box<dyn Fn() -> Cost + 'c>);

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
    println!("{} records of 100 bytes in {PARTITIONS} partitions, batches of 10000, {ROUNDS} rounds", loaded.records());
    let gristmill = |package: &str, instances: &str, sections: &str| {
        let plugin = section(package, instances, sections);
        let (bootstrap, topic, loaded) = (&bootstrap, &topic, &loaded);
        Box::new(move || host::run_through(bootstrap, topic, loaded, &plugin))
    };

    println!("\nA plugin that does nothing");
    compare(
        &loaded,
        [
            ("librdkafka's batch loop", Box::new(|| sys::read_all(&bootstrap, &topic, &loaded))),
            ("gristmill, fresh instances", gristmill("gristmill-noop", "fresh", "")),
            ("gristmill, reused instance", gristmill("gristmill-noop", "reuse", "")),
            ("the same, lists of records", gristmill("gristmill-noop-records", "reuse", "")),
        ],
    );

    println!("\nEach record copied to another topic");
    let sink = unique("bench-copies");
    create_topic(&bootstrap, &sink, PARTITIONS);
    let sections = format!("[sinks.copies]\ntopic = {sink:?}\nprovenance = false\n");
    let contestants: [Contestant<'_>; 3] = [
        ("the loop with a producer", Box::new(|| copy::copy_all(&bootstrap, &topic, &loaded, &sink))),
        ("gristmill, fresh instances", gristmill("gristmill-copy", "fresh", &sections)),
        ("gristmill, reused instance", gristmill("gristmill-copy", "reuse", &sections)),
    ];
    let runs = i64::try_from(contestants.len() * ROUNDS).unwrap_or(0);
    compare(&loaded, contestants);
    match broker.end_offsets(&sink) {
        Ok(ends) => assert_eq!(ends.values().sum::<i64>(), runs * loaded.records(), "copies are missing, or too many"),
        Err(error) => panic!("cannot count the copies: {error:#}"),
    }

    println!("\nValues in JSON, checked; a plugin that does nothing");
    compare_decoded(&bootstrap, &decoding::json(&bootstrap, each), "gristmill, as JSON");
    println!("\nValues in Avro, made JSON; a plugin that does nothing");
    compare_decoded(&bootstrap, &decoding::avro(&bootstrap, each), "gristmill, from Avro");
}

/// What decoding adds to a plugin that does nothing.
fn compare_decoded(bootstrap: &str, encoded: &decoding::Encoded, name: &'static str) {
    let run = |sections: &str| {
        let plugin = section("gristmill-noop", "reuse", sections);
        Box::new(move || host::run_through(bootstrap, &encoded.topic, &encoded.loaded, &plugin))
    };
    compare(&encoded.loaded, [("gristmill, as they are", run("")), (name, run(&encoded.section))]);
}

/// The section of the plugin, and what comes behind it.
fn section(package: &str, instances: &str, sections: &str) -> String {
    let path = plugin(package).display().to_string();
    format!("path = {path:?}\ninstances = {instances:?}\n{sections}")
}

/// Lets contestants take turns, and prints what they did and what it cost. The first is what the others are compared with.
fn compare<const COUNT: usize>(loaded: &Loaded, contestants: [Contestant<'_>; COUNT]) {
    let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); contestants.len()];
    for _ in 0..ROUNDS {
        for ((_, run), costs) in contestants.iter().zip(&mut costs) {
            costs.push(run());
        }
    }
    let names = contestants.map(|(name, _)| name);
    #[expect(clippy::cast_precision_loss, reason = "a rate needs no exact count")]
    let records = loaded.records() as f64;
    let rates = costs.iter().map(|costs| costs.iter().map(|cost| records / cost.wall.as_secs_f64()).collect());
    print_table("records per second", 0, &names, rates.collect());
    let burnt = |cost: &Cost| cost.processor.as_secs_f64() * 1_000_000.0 / records;
    let burnt = costs.iter().map(|costs| costs.iter().map(burnt).collect());
    print_table("CPU-seconds per million records", 2, &names, burnt.collect());
}

fn print_table(what: &str, digits: usize, names: &[&str], mut figures: Vec<Vec<f64>>) {
    println!("\n{what:<32} {:>12} {:>12} {:>12} {:>12}", "median", "least", "most", "of the first");
    let mut base = None;
    for (name, figures) in names.iter().zip(&mut figures) {
        figures.sort_by(f64::total_cmp);
        let (median, least, most) = (figures[figures.len() / 2], figures[0], figures[figures.len() - 1]);
        let base = *base.get_or_insert(median);
        println!("{name:<32} {median:>12.digits$} {least:>12.digits$} {most:>12.digits$} {:>12.2}", median / base);
    }
}
