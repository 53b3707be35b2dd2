//! The commands of `cargo xtask`, each in one place: what it is called, what it takes, what it starts.
//!
//! It must not know the details of any of them.

#![expect(clippy::print_stdout, reason = "a command line talks to the person who started it")]

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::{host, kafka, lint, plugins, suites};

const USAGE: &str = "\
cargo xtask COMMAND

  demo [ARGUMENT…]    build the plugins and the host, run the main job on an embedded broker
  test [--all]        build the plugins, run every test, end with the sum; --all also fails when a suite cannot run
  plugins             build the plugins and the test guests into target/plugins
  lint                formatting, clippy and, where installed, cargo-deny
  kafka up|down       start a real Kafka on a free port for trying things out, and stop it again
  sim SEED            run one seed of the simulated world again, step by step
  bench [ARGUMENT…]   measure records per second on a real Kafka
  chaos [FILTER]      the long form of the end-to-end tests: a million records, twenty kills";

/// Runs one command.
///
/// # Errors
///
/// Says which step failed and, where something is missing on this machine, how to get it.
pub fn run(arguments: &[String]) -> Result<ExitCode> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["demo", rest @ ..] => host::demo(rest),
        ["test"] => suites::test(suites::Strictness::Lenient),
        ["test", "--all"] => suites::test(suites::Strictness::Everything),
        ["plugins"] => plugins::build().map(|_| ExitCode::SUCCESS),
        ["lint"] => lint::lint(),
        ["kafka", "up"] => kafka::standalone::up().map(|()| ExitCode::SUCCESS),
        ["kafka", "down"] => kafka::standalone::down().map(|()| ExitCode::SUCCESS),
        ["sim", seed] => suites::replay_seed(seed),
        ["bench", rest @ ..] => host::bench(rest),
        ["chaos", filter @ ..] => suites::chaos(filter),
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        _ => bail!("no such command: {}\n\n{USAGE}", words.join(" ")),
    }
}
