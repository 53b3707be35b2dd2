//! Runs the hostile corpus: `gristmill-hostile alone` prints its table. The other commands are for the tests of the target
//! `hostile`, and for the processes that these commands start of their own.
//!
//! It must not know what the guests do.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the table is what this program is for")]

#[path = "../../sandbox/batch.rs"]
mod batch;
mod beside;
mod component;
mod corpus;
mod crowd;
mod given;
mod guests;
mod memory;
mod mill;
mod neighbour;
mod row;
mod storm;
mod table;

use std::process::{Command, ExitCode};

use beside::Pace;

const USAGE: &str = "\
gristmill-hostile COMMAND

  alone [ROUNDS [FILTER]]   run each guest in a process of its own and print the table
  crowd                     run all guests, 32 at once on one core
  beside [PACE]             run all guests beside an honest consumer; PACE: its records a second, or flat-out
  storm WHAT TIMES          so many of these in a row: cancels, traps, timeouts
  row INDEX ROUNDS          run one guest and print what became of it, for programs
  crowd-here                run the crowd on the cores that this process has";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["alone"] => alone("5", ""),
        ["alone", rounds] => alone(rounds, ""),
        ["alone", rounds, filter] => alone(rounds, filter),
        ["crowd"] => pinned_crowd(),
        ["crowd-here"] => verdict(crowd::run(&corpus::read(), is_quiet(), |line| println!("{line}"))),
        ["beside"] => beside("20000"),
        ["beside", pace] => beside(pace),
        ["storm", what, times] => blow(what, times),
        ["row", index, rounds] => one_row(index, rounds),
        _ => refuse(),
    }
}

fn refuse() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(64)
}

/// Whether nothing else runs on this machine: what the long form of the tests asks for.
fn is_quiet() -> bool {
    std::env::var_os("GRISTMILL_LONG").is_some_and(|value| value == "1")
}

fn verdict(good: bool) -> ExitCode {
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn alone(rounds: &str, filter: &str) -> ExitCode {
    let Ok(rounds) = rounds.parse() else { return refuse() };
    verdict(table::run(&corpus::read(), rounds, filter, is_quiet(), |line| println!("{line}")))
}

fn one_row(index: &str, rounds: &str) -> ExitCode {
    let (Ok(index), Ok(rounds)) = (index.parse::<usize>(), rounds.parse()) else { return refuse() };
    let corpus = corpus::read();
    let Some(row) = corpus.row.get(index) else { return refuse() };
    match serde_json::to_string(&row::run(row, rounds)) {
        Ok(report) => println!("{report}"),
        Err(error) => eprintln!("{error}"),
    }
    ExitCode::SUCCESS
}

fn beside(pace: &str) -> ExitCode {
    let pace = match pace {
        "flat-out" => Pace::FlatOut,
        records => match records.parse() {
            Ok(records) => Pace::PerSecond(records),
            Err(_) => return refuse(),
        },
    };
    verdict(beside::run(&corpus::read(), pace, |line| println!("{line}")))
}

fn blow(what: &str, times: &str) -> ExitCode {
    let (Some(storm), Ok(times)) = (storm::Storm::named(what), times.parse()) else { return refuse() };
    verdict(storm::blow(storm, times, |line| println!("{line}")))
}

/// Starts the crowd in a process that has one core.
fn pinned_crowd() -> ExitCode {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default();
    let core: String = allowed.trim().chars().take_while(char::is_ascii_digit).collect();
    // What `taskset` would call itself is another program.
    let here = std::fs::read_link(table::OURSELVES);
    let started =
        here.and_then(|here| Command::new("taskset").args(["-c", &core]).arg(here).arg("crowd-here").status());
    match started {
        Ok(status) => verdict(status.success()),
        Err(error) => {
            eprintln!("cannot keep a process on one core: taskset (util-linux): {error}");
            ExitCode::FAILURE
        }
    }
}
