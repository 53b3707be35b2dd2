//! The host measured on a real Kafka beside a native loop of librdkafka's, and beside what a user could take instead: all in the same run
//! and taking turns, so that a busy machine slows each of them, with the broker on a core of its own.
//!
//! `cargo xtask bench [RECORDS] [--full] [--only NAME[,NAME…]] [--rounds N]`; it prints tables, writes every figure down as JSON, and judges
//! nothing but whether all was read and committed.

mod arguments;
mod contestant;
mod copying;
mod cores;
mod course;
mod decoding;
mod group;
mod growth;
mod host;
mod idle;
mod lanes;
mod latency;
mod loops;
mod machine;
mod meter;
mod peer;
mod race;
mod reading;
mod report;
mod scenario;
mod start;
mod sys;
mod table;

use std::process::ExitCode;

use self::arguments::Wanted;
use self::cores::Cores;
use self::machine::Machine;
use self::peer::Program;
use self::report::{Report, note};

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [word, rest @ ..] = words.as_slice()
        && word == "--as"
    {
        loops::run(rest);
    }
    let wanted = match Wanted::of(&words) {
        Ok(wanted) => wanted,
        Err(complaint) => {
            note(&complaint);
            return ExitCode::FAILURE;
        }
    };
    let (mut peers, mut skipped) = (Vec::new(), Vec::new());
    for (name, built) in xtask::peers::built().unwrap_or_else(|error| panic!("{error:#}")) {
        match built {
            Ok(command) => peers.push((name.to_owned(), Program::of(&command))),
            Err(why) => skipped.push(format!("{name}: {why}")),
        }
    }
    let cores = Cores::of_machine();
    let mut report = Report::begin(&words, wanted.rounds, Machine::this(&cores), skipped);
    for scenario in &wanted.scenarios {
        let title = scenario.title(wanted.records);
        note(&format!("{}: {title}", scenario.name));
        let outcome = scenario.measure(&cores, &peers, wanted.rounds, wanted.records);
        report.add(scenario.name, &title, scenario.cores(&cores).told(), outcome);
    }
    report.end();
    ExitCode::SUCCESS
}
