//! Reads the stream that `cargo test` prints and adds it up: which suites ran, how many tests passed, failed, were
//! skipped, how long it took.
//!
//! It must not start anything.

use std::fmt::Write as _;

/// What one suite (one test binary, or one crate's doc tests) came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suite {
    /// Its name: that of the test target, or of the crate for unit and doc tests.
    pub name: String,
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed; one for a suite that ended without a result.
    pub failed: u64,
    /// Tests that were there and did not run.
    pub skipped: u64,
    /// How long it took, as the suite itself says: `1.25s`.
    pub took: String,
}

/// The sum so far.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    suites: Vec<Suite>,
    running: Option<String>,
}

impl Tally {
    /// Takes one line of output, without its end.
    pub fn handle_line(&mut self, line: &str) {
        if let Some(name) = suite_started(line) {
            self.give_up_running();
            self.running = Some(name);
        } else if let Some(result) = line.trim_start().strip_prefix("test result: ") {
            let name = self.running.take().unwrap_or_else(|| "unnamed".to_owned());
            self.suites.push(suite_from_result(name, result));
        }
    }

    /// Takes the end of the output: a suite that began and gave no result counts as one failure.
    pub fn handle_end(&mut self) {
        self.give_up_running();
    }

    /// Adds a suite that could not run at all.
    pub fn add_skipped(&mut self, name: &str) {
        self.suites.push(Suite { name: name.to_owned(), passed: 0, failed: 0, skipped: 1, took: "skipped".to_owned() });
    }

    /// All tests that passed.
    #[must_use]
    pub fn passed(&self) -> u64 {
        self.suites.iter().map(|suite| suite.passed).sum()
    }

    /// All tests that failed.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.suites.iter().map(|suite| suite.failed).sum()
    }

    /// All tests and suites that did not run.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.suites.iter().map(|suite| suite.skipped).sum()
    }

    /// One line for each suite that has tests, aligned.
    #[must_use]
    pub fn table(&self) -> String {
        let mut text = format!("{:<36} {:>7} {:>7} {:>7}  {}\n", "suite", "passed", "failed", "skipped", "took");
        for suite in self.suites.iter().filter(|suite| suite.passed + suite.failed + suite.skipped > 0) {
            let Suite { name, passed, failed, skipped, took } = suite;
            // Writing into a String cannot fail.
            let _ = writeln!(text, "{name:<36} {passed:>7} {failed:>7} {skipped:>7}  {took}");
        }
        text
    }

    /// The closing line: `12 passed, 0 failed, 0 skipped`.
    #[must_use]
    pub fn closing_line(&self) -> String {
        format!("{} passed, {} failed, {} skipped", self.passed(), self.failed(), self.skipped())
    }

    fn give_up_running(&mut self) {
        if let Some(name) = self.running.take() {
            self.suites.push(Suite { name, passed: 0, failed: 1, skipped: 0, took: "no result".to_owned() });
        }
    }
}

/// Recognises `Running tests/tidy.rs (target/debug/deps/tidy-0123456789abcdef)` and `Doc-tests gristmill_core`.
fn suite_started(line: &str) -> Option<String> {
    let line = line.trim_start();
    if let Some(name) = line.strip_prefix("Doc-tests ") {
        return Some(format!("{name} (doc)"));
    }
    let rest = line.strip_prefix("Running ")?;
    let (what, path) = rest.strip_suffix(')')?.rsplit_once(" (")?;
    let file = path.rsplit(['/', '\\']).next()?;
    let (name, _hash) = file.rsplit_once('-')?;
    Some(if what.starts_with("unittests ") { format!("{name} (unit)") } else { name.to_owned() })
}

/// Reads `ok. 3 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.05s`.
fn suite_from_result(name: String, result: &str) -> Suite {
    let mut suite = Suite { name, passed: 0, failed: 0, skipped: 0, took: String::new() };
    let counts = result.split_once(". ").map_or(result, |(_verdict, counts)| counts);
    for part in counts.split("; ") {
        match part.split_once(' ') {
            Some((number, "passed")) => suite.passed = number.parse().unwrap_or(0),
            Some((number, "failed")) => suite.failed = number.parse().unwrap_or(0),
            Some((number, "ignored")) => suite.skipped = number.parse().unwrap_or(0),
            Some(("finished", time)) => suite.took = time.trim_start_matches("in ").to_owned(),
            _ => {}
        }
    }
    suite
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(lines: &[&str]) -> Tally {
        let mut tally = Tally::default();
        for line in lines {
            tally.handle_line(line);
        }
        tally.handle_end();
        tally
    }

    #[test]
    fn results_of_all_suites_are_added_up() {
        let tally = tally(&[
            "     Running unittests src/lib.rs (target/debug/deps/gristmill_core-9e52aa0c6d1b2f43)",
            "running 2 tests",
            "test lane::tests::a ... ok",
            "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "     Running tidy/main.rs (target/debug/deps/tidy-9e52aa0c6d1b2f43)",
            "test result: FAILED. 3 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 1.05s",
            "   Doc-tests gristmill_core",
            "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.50s",
        ]);
        assert_eq!(tally.closing_line(), "6 passed, 1 failed, 2 skipped");
        let names: Vec<_> = tally.suites.iter().map(|suite| suite.name.as_str()).collect();
        assert_eq!(names, ["gristmill_core (unit)", "tidy", "gristmill_core (doc)"]);
        assert_eq!(tally.suites[1].took, "1.05s");
    }

    #[test]
    fn a_suite_that_dies_without_a_result_counts_as_a_failure() {
        let tally = tally(&[
            "     Running broker/main.rs (target/debug/deps/broker-9e52aa0c6d1b2f43)",
            "running 9 tests",
            "     Running tidy/main.rs (target/debug/deps/tidy-9e52aa0c6d1b2f43)",
            "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.05s",
            "     Running end_to_end/main.rs (target/debug/deps/end_to_end-9e52aa0c6d1b2f43)",
        ]);
        assert_eq!(tally.closing_line(), "3 passed, 2 failed, 0 skipped");
        assert!(tally.table().contains("no result"));
    }

    #[test]
    fn a_suite_that_cannot_run_is_counted_and_named() {
        let mut tally = tally(&[]);
        tally.add_skipped("end_to_end");
        assert_eq!(tally.closing_line(), "0 passed, 0 failed, 1 skipped");
        assert!(tally.table().contains("end_to_end"));
    }

    #[test]
    fn ordinary_lines_are_neither_suites_nor_results() {
        let tally = tally(&["Running out of memory", "the test result: was odd", "Compiling x v0.1.0 (host)"]);
        assert_eq!(tally.closing_line(), "0 passed, 0 failed, 0 skipped");
    }
}
