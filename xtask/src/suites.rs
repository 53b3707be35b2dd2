//! Runs the tests: all of them with a sum at the end, one seed again, or the long ones.
//!
//! It must not know what is tested; only which suites need a tool that a machine may lack.

#![expect(clippy::print_stdout, reason = "the sum of all tests is this command's output")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::tally::Tally;
use crate::tools::{self, Tool};
use crate::{count, host, kafka, lint, plugins, postgres, registry, workspace};

/// What a suite that cannot run means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// It is named and counted, and the rest decides.
    Lenient,
    /// It makes the whole run fail; formatting and clippy are part of the run.
    Everything,
}

/// Test targets that need more than Rust and a C compiler.
const NEEDY: &[(&str, &[Tool])] = &[("end_to_end", tools::FOR_KAFKA)];

/// Builds the plugins, runs every test of the workspace, prints a table and the sum.
///
/// # Errors
///
/// When something cannot be built or started. Failing tests are no error but an exit code.
pub fn test(strictness: Strictness) -> Result<ExitCode> {
    let begun = Instant::now();
    tools::require(tools::FOR_THE_HOST)?;
    plugins::build()?;
    let skipped = skipped_suites();
    if skipped.is_empty() {
        // Once, here, with its progress visible, instead of inside the first test that wants a broker.
        kafka::Installation::ready().context("cannot set Kafka up")?;
        registry::installed()?;
        postgres::installed()?;
    }
    host::build(host::Build::Development)?;

    let mut tally = Tally::default();
    let mut clean = true;
    for command in &mut test_commands(&skipped)? {
        clean &= run_and_tally(command, &mut tally, &mut std::io::stdout())?;
    }
    tally.handle_end();
    let uncounted = tools::missing(count::NEEDED);
    let counts_clean = !uncounted.is_empty() || count::is_in_bounds()?;
    // No suite: without valgrind nothing is counted, and everything is tested.
    if !uncounted.is_empty() {
        println!("\ninstructions are not counted: {}", uncounted.join("; "));
    }
    let lints_clean = match strictness {
        Strictness::Everything => lint::format_and_clippy()?,
        Strictness::Lenient => true,
    };

    for (name, why) in &skipped {
        tally.add_skipped(name);
        println!("\nSKIPPED {name}: {}", why.join("; "));
    }
    println!("\n{}", tally.table());
    println!("took {:.0} s", begun.elapsed().as_secs_f64());
    if !clean && tally.failed() == 0 {
        println!("cargo itself failed, see above: not all tests were run");
    }
    if !lints_clean {
        println!("formatting or clippy is not clean, see above");
    }
    if !counts_clean {
        println!("the hot path takes more instructions than are written down, see above");
    }
    println!("{}", tally.closing_line());
    let whole = skipped.is_empty() || strictness == Strictness::Lenient;
    let good = clean && whole && lints_clean && counts_clean && tally.failed() == 0 && tally.passed() > 0;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs one seed of the simulated world again and shows every step.
///
/// # Errors
///
/// When the seed is no number or the tests cannot be started.
pub fn replay_seed(seed: &str) -> Result<ExitCode> {
    let seed: u64 = seed.parse().with_context(|| format!("a seed is a number, not {seed:?}"))?;
    let mut command = workspace::cargo();
    command.args(["test", "--workspace", "--test", "simulation", "--", "--nocapture", "--exact", "seeds::replay"]);
    command.env("GRISTMILL_SEED", seed.to_string());
    Ok(host::exit_code(workspace::status(&mut command)?))
}

/// Runs the end-to-end tests in their long form.
///
/// # Errors
///
/// When a tool is missing or the tests cannot be started.
pub fn chaos(filter: &[&str]) -> Result<ExitCode> {
    tools::require(tools::FOR_KAFKA)?;
    plugins::build()?;
    kafka::Installation::ready().context("cannot set Kafka up")?;
    registry::installed()?;
    postgres::installed()?;
    let mut command = workspace::cargo();
    command.args(["test", "--workspace", "--test", "end_to_end", "--", "--nocapture", "--test-threads=1"]);
    command.args(filter).env("GRISTMILL_LONG", "1");
    Ok(host::exit_code(workspace::status(&mut command)?))
}

/// The suites that cannot run on this machine, each with what is missing.
fn skipped_suites() -> Vec<(&'static str, Vec<String>)> {
    NEEDY
        .iter()
        .map(|&(name, needed)| (name, tools::missing(needed)))
        .filter(|(_, missing)| !missing.is_empty())
        .collect()
}

/// The cargo calls that run everything but the skipped suites, all with one set of features.
fn test_commands(skipped: &[(&str, Vec<String>)]) -> Result<Vec<Command>> {
    let mut whole = workspace::cargo();
    whole.args(["test", "--workspace", "--no-fail-fast"]);
    if skipped.is_empty() {
        return Ok(vec![whole]);
    }
    // Cargo cannot leave a target out; so name all the others. Doc tests then need a call of their own.
    let manifest = std::fs::read_to_string(workspace::root().join("tests").join("Cargo.toml"))
        .context("cannot read the manifest of the tests")?;
    whole.args(["--lib", "--bins"]);
    for name in test_targets(&manifest) {
        if !skipped.iter().any(|(left_out, _)| *left_out == name) {
            whole.args(["--test", name]);
        }
    }
    let mut docs = workspace::cargo();
    docs.args(["test", "--workspace", "--no-fail-fast", "--doc"]);
    Ok(vec![whole, docs])
}

/// The names of the `[[test]]` tables of a manifest.
fn test_targets(manifest: &str) -> Vec<&str> {
    let tables = manifest.split("\n[").filter_map(|table| table.strip_prefix("[test]]"));
    tables
        .filter_map(|table| {
            let line = table.lines().find(|line| line.starts_with("name"))?;
            line.split('"').nth(1)
        })
        .collect()
}

/// Runs one command, passes its output on as it comes, and adds up what it says. Returns whether it succeeded.
fn run_and_tally(command: &mut Command, tally: &mut Tally, out: &mut impl Write) -> Result<bool> {
    // One pipe for both streams: cargo names the suites on stderr, the suites print their results on stdout, and the
    // order between the two tells which result belongs to whom.
    let (reader, writer) = std::io::pipe().context("cannot make a pipe")?;
    command.stdout(writer.try_clone().context("cannot share the pipe")?).stderr(writer);
    let shown = workspace::shown(command);
    let mut child = command.spawn().with_context(|| format!("cannot start {shown}"))?;
    // The command holds our copies of the writing end; without this the output would never end.
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());

    let mut output = BufReader::new(reader);
    let mut line = Vec::new();
    loop {
        line.clear();
        if output.read_until(b'\n', &mut line).context("cannot read what the tests print")? == 0 {
            break;
        }
        out.write_all(&line).context("cannot pass on what the tests print")?;
        tally.handle_line(String::from_utf8_lossy(&line).trim_end());
    }
    tally.handle_end();
    let status = child.wait().with_context(|| format!("cannot wait for {shown}"))?;
    if status.code().is_none() {
        bail!("{shown} was ended by a signal: {status}");
    }
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[package]\nname = \"gristmill-tests\"\n\n[[test]]\nname = \"tidy\"\npath = \"tidy/main.rs\"\n\n[[test]]\nname = \"end_to_end\"\npath = \"end_to_end/main.rs\"\n\n[lints]\nworkspace = true\n";

    #[test]
    fn test_targets_are_read_from_the_manifest() {
        assert_eq!(test_targets(MANIFEST), ["tidy", "end_to_end"]);
    }

    #[test]
    fn every_needy_suite_is_a_target_of_the_manifest() {
        let manifest = std::fs::read_to_string(workspace::root().join("tests/Cargo.toml")).unwrap();
        for (name, _) in NEEDY {
            assert!(test_targets(&manifest).contains(name), "{name} is no [[test]] of tests/Cargo.toml");
        }
    }

    #[test]
    fn results_are_counted_and_a_failing_command_is_noticed() {
        let mut tally = Tally::default();
        let script = "echo '     Running tidy/main.rs (target/debug/deps/tidy-0123456789abcdef)' >&2; \
                      echo 'test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; finished in 1.05s'; exit 101";
        let mut passed_on = Vec::new();
        let clean = run_and_tally(Command::new("sh").args(["-c", script]), &mut tally, &mut passed_on).unwrap();
        assert!(!clean);
        assert!(String::from_utf8(passed_on).unwrap().contains("test result: FAILED"));
        assert_eq!(tally.closing_line(), "3 passed, 1 failed, 0 skipped");
    }
}
