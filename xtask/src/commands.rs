//! The commands of `cargo xtask`, each in one place: what it is called, what it takes, what it starts.
//!
//! It must not know the details of any of them.

#![expect(clippy::print_stdout, reason = "a command line talks to the person who started it")]

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::{count, host, hostile, kafka, lint, plugins, postgres, purl_api, suites};

const USAGE: &str = "\
cargo xtask COMMAND

  demo [ARGUMENT…]    build the plugins and the host, run the main job on an embedded broker
  test [--all]        build the plugins, run every test, end with the sum; --all also fails when a suite cannot run
  plugins             build the plugins and the test guests into target/plugins
  lint                formatting, clippy and, where installed, cargo-deny
  kafka up|down       start a real Kafka on a free port for trying things out, and stop it again
  kafka tool CLASS [ARGUMENT…]
                      run one of Kafka's own tools against it: TopicCommand, ConsoleProducer,
                      consumer.ConsoleConsumer, consumer.group.ConsumerGroupCommand, …
  postgres up|down    start a real PostgreSQL on a free port for trying things out, and stop it again
  postgres sql SQL    run SQL in it and print the rows
  purl-api up|down|taken
                      start a server that takes package URLs many at once, stop it, see what it took
  sim SEED            run one seed of the simulated world again, step by step
  hostile [ROUNDS [FILTER]]
                      run the hostile corpus and print its table: each guest alone, all beside a consumer, all on one core
  bench [RECORDS] [--full] [--only NAME[,NAME…]] [--rounds N]
                      measure the host on a real Kafka beside native loops and other people's consumers: a short run, all, or some
  count [--write]     count the instructions of the hot path, and compare them with those that are written down
  profile [FILE…]     measure what the sandbox costs a batch, with our plugins or with these components
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
        ["kafka", "tool", class, rest @ ..] => kafka::standalone::tool(class, rest).map(|()| ExitCode::SUCCESS),
        ["postgres", "up"] => postgres::standalone::up().map(|()| ExitCode::SUCCESS),
        ["postgres", "down"] => postgres::standalone::down().map(|()| ExitCode::SUCCESS),
        ["postgres", "sql", sql] => postgres::standalone::sql(sql).map(|()| ExitCode::SUCCESS),
        ["purl-api", "up"] => purl_api::standalone::up().map(|()| ExitCode::SUCCESS),
        ["purl-api", "down"] => purl_api::standalone::down().map(|()| ExitCode::SUCCESS),
        ["purl-api", "taken"] => purl_api::standalone::taken().map(|()| ExitCode::SUCCESS),
        // How `up` starts it; the folder only tells which process it is.
        ["purl-api", "serve", _folder] => purl_api::standalone::serve().map(|never| match never {}),
        ["sim", seed] => suites::replay_seed(seed),
        ["hostile", rest @ ..] if rest.len() <= 2 => hostile::hostile(rest),
        ["count"] => count::count(count::Then::Judge),
        ["count", "--write"] => count::count(count::Then::Write),
        ["bench", rest @ ..] => host::bench(rest),
        ["profile", files @ ..] => host::profile(files),
        ["chaos", filter @ ..] => suites::chaos(filter),
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        [command, ..] => match usage_of(command) {
            None => bail!("no such command: {command}\n\n{USAGE}"),
            Some(lines) => bail!("cargo xtask {command} is written otherwise:\n\n{lines}"),
        },
    }
}

/// The lines of the usage about one command, with those that go on below them.
fn usage_of(command: &str) -> Option<String> {
    let mut is_about_it = false;
    let about = |line: &&str| {
        if !line.starts_with("   ") {
            is_about_it = line.starts_with("  ") && line.split_whitespace().next() == Some(command);
        }
        is_about_it
    };
    let lines: Vec<&str> = USAGE.lines().filter(about).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        run(&words).expect_err("there is no such command").to_string()
    }

    #[test]
    fn a_command_that_lacks_a_word_is_told_how_it_is_written() {
        for words in [&["kafka"][..], &["kafka", "sideways"]] {
            let text = refusal(words);
            assert!(text.contains("kafka up|down") && !text.contains("no such command"), "{text}");
        }
        assert!(refusal(&["kafka", "tool"]).contains("consumer.ConsoleConsumer"));
        assert!(refusal(&["sim"]).contains("sim SEED"));
        assert!(refusal(&["kafk", "up"]).starts_with("no such command: kafk\n"));
    }

    #[test]
    fn the_usage_lists_the_tools_that_a_wrong_one_is_answered_with() {
        for class in kafka::standalone::TOOLS {
            assert!(USAGE.contains(class), "{class}");
        }
    }
}
