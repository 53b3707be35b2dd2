//! All rows, one after the other and each in a process of its own; their verdicts as a table.
//!
//! Must not know how a row is run.

use std::fmt::Write as _;
use std::process::{Command, Stdio};

use gristmill_guest::Limits;

use crate::corpus::{Corpus, Row, Until};
use crate::memory::milliseconds;
use crate::row::Report;

/// How much later than its limit of the wall clock a guest may end on a machine that does other things as well.
const LATE_MAX_MS: f64 = 1_000.0;

/// The same for 99 of 100 on a quiet machine, which the long form holds.
const LATE_P99_MS: f64 = 25.0;

/// How much more processor time than it may a guest may use, whatever else the machine does.
const MORE_MAX_MS: f64 = 100.0;

/// A process grows by this much without a cause that can be named: what an allocator keeps, and pages of code.
const NOISE_BYTES: u64 = 4 << 20;

/// Runs all rows whose names hold `filter`. Gives the table, and whether all of it is as it should be, on a quiet machine where that is
/// asked for.
pub(crate) fn run(corpus: &Corpus, rounds: usize, filter: &str, quiet: bool, mut say: impl FnMut(&str)) -> bool {
    say(&format!(
        "{:<14} {:<44} {:<16} {:<10} {:>8} {:>8} {:>9} {:>9}",
        "id", "guest", "expected", "got", "p50 ms", "p99 ms", "grew MiB", "may MiB"
    ));
    let (mut late, mut wrong) = (Vec::new(), 0);
    let rows: Vec<(usize, &Row)> = corpus.row.iter().enumerate().collect();
    let chosen = rows.iter().filter(|(_, row)| row.id.contains(filter) || row.name().contains(filter));
    let mut count = 0;
    for (index, row) in chosen {
        count += 1;
        let ran = in_a_process(*index, rounds);
        let judged = judge(row, &ran);
        say(&line(row, &ran, judged.as_deref()));
        wrong += usize::from(judged.is_some());
        if let (Some(_), Ok(report)) = (row.until, &ran) {
            late.extend(report.took_ms.iter().copied());
        }
    }
    let uncovered = corpus.uncovered();
    if !uncovered.is_empty() {
        wrong += uncovered.len();
        say(&format!("NOT: no guest and no test for {}", uncovered.join(", ")));
    }
    late.sort_by(f64::total_cmp);
    say(&format!(
        "\n{count} guests, {rounds} times each: {wrong} not as they should be; {} ends by a limit of time, later than it by \
         p50 {:.1} ms, p99 {:.1} ms, {:.1} ms at most (to reach on a quiet machine: p99 {LATE_P99_MS} ms)",
        late.len(),
        percentile(&late, 50),
        percentile(&late, 99),
        percentile(&late, 100),
    ));
    count > 0 && wrong == 0 && !(quiet && percentile(&late, 99) > LATE_P99_MS)
}

/// This program, also where it was built anew meanwhile.
pub(crate) const OURSELVES: &str = "/proc/self/exe";

/// Runs a row in a process of its own: a host that does not survive it is a result as well, and what it holds is nobody else's.
fn in_a_process(index: usize, rounds: usize) -> Result<Report, String> {
    let mut command = Command::new(OURSELVES);
    command.args(["row", &index.to_string(), &rounds.to_string()]).stdin(Stdio::null());
    // A guest that shows these has seen more than it may.
    command.env("GRISTMILL_CANARY", "canary-of-the-environment");
    let output = command.output().map_err(|error| error.to_string())?;
    let told = String::from_utf8_lossy(&output.stdout);
    let report = told.lines().last().and_then(|line| serde_json::from_str(line).ok());
    report.filter(|_| output.status.success()).ok_or_else(|| {
        let words = String::from_utf8_lossy(&output.stderr);
        format!("the host died: {}: {}", output.status, words.lines().take(3).collect::<Vec<_>>().join(" / "))
    })
}

/// What is not as it should be.
fn judge(row: &Row, ran: &Result<Report, String>) -> Option<String> {
    let report = match ran {
        Ok(report) => report,
        Err(words) => return Some(words.clone()),
    };
    let mut wrong = String::new();
    // Writing to a string cannot fail.
    if let Some(class) = report.classes.iter().find(|class| !row.expects(class)) {
        let _ = write!(wrong, "ended as {class}; ");
    }
    let says_it = report.says.contains(&row.says) && row.answers.as_ref().is_none_or(|wanted| *wanted == report.says);
    if !wrong.is_empty() || !says_it {
        let said: String = report.says.chars().take(300).collect();
        let _ = write!(wrong, "said: {said}; ");
    }
    let worst = report.took_ms.iter().copied().fold(f64::MIN, f64::max);
    let late_max = match row.until {
        Some(Until::Wall) => LATE_MAX_MS,
        Some(Until::Cpu) => MORE_MAX_MS,
        // What has no limit to run into ends long before the strict one.
        None => milliseconds(Limits::STRICT.time),
    };
    if worst > late_max {
        let _ = write!(wrong, "ended late; ");
    }
    if report.took_ms.iter().any(|late| row.until.is_some() && *late < 0.0) {
        let _ = write!(wrong, "ended before its limit; ");
    }
    if report.grown_bytes > may_grow_bytes(row) {
        let _ = write!(wrong, "grew too much; ");
    }
    if report.spoilt > 0 {
        let _ = write!(wrong, "the next batch did not work, {} times; ", report.spoilt);
    }
    (!wrong.is_empty()).then_some(wrong)
}

/// A tenth more than its budget, and the noise.
fn may_grow_bytes(row: &Row) -> u64 {
    let budget = row.mebibytes << 20;
    budget + budget / 10 + NOISE_BYTES
}

fn line(row: &Row, ran: &Result<Report, String>, wrong: Option<&str>) -> String {
    let report = ran.as_ref().cloned().unwrap_or_default();
    let mut took = report.took_ms.clone();
    took.sort_by(f64::total_cmp);
    // A plus marks what is counted from a limit.
    let plus = if row.until.is_some() { "+" } else { "" };
    let figure = |percent| format!("{plus}{:.1}", percentile(&took, percent));
    format!(
        "{:<14} {:<44} {:<16} {:<10} {:>8} {:>8} {:>9.1} {:>9.1}  {}",
        row.id,
        row.name(),
        row.expect,
        report.classes.join(","),
        figure(50),
        figure(99),
        mebibytes(report.grown_bytes),
        mebibytes(may_grow_bytes(row)),
        wrong.map_or_else(|| "ok".to_owned(), |wrong| format!("NOT: {wrong}")),
    )
}

/// The least figure that so many of a hundred do not exceed. The figures are sorted.
pub(crate) fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

#[expect(clippy::cast_precision_loss, reason = "a figure with one digit needs no exact count")]
pub(crate) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
