//! What the plugin saw, read from the lines that the witness guest printed, and compared with what was loaded.

use std::collections::BTreeMap;

use crate::load::Loaded;

/// One run of consecutive records of one partition within one batch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    partition: i32,
    first: i64,
    last: i64,
    attempt: u32,
}

/// All that the witness guest reported, in the order in which it did.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    runs: Vec<Run>,
}

impl Seen {
    /// Reads the witness guest's words, `saw PARTITION FIRST LAST ATTEMPT`, out of log lines of any format.
    #[must_use]
    pub fn from_lines(lines: &[String]) -> Self {
        Self { runs: lines.iter().filter_map(|line| run_from_line(line)).collect() }
    }

    /// Adds what another process saw after this one.
    pub fn extend(&mut self, later: Self) {
        self.runs.extend(later.runs);
    }

    /// The first hand-over of each partition that does not begin behind the one before it, as a text; empty when there is none.
    #[must_use]
    pub fn out_of_order(&self) -> String {
        let mut next: BTreeMap<i32, i64> = BTreeMap::new();
        let mut found = Vec::new();
        for run in &self.runs {
            let expected = next.insert(run.partition, run.last + 1);
            if expected.is_some_and(|expected| expected != run.first) {
                found.push(format!("{}: {} after {expected:?}", run.partition, run.first));
            }
        }
        found.join(", ")
    }

    /// How many records were handed over, repeats included.
    #[must_use]
    pub fn handed_over(&self) -> i64 {
        self.runs.iter().map(|run| run.last - run.first + 1).sum()
    }

    /// How many records were handed over again, after they had been handed over before.
    #[must_use]
    pub fn repeats(&self) -> i64 {
        self.counts().values().flatten().map(|(count, records)| (count - 1) * records).sum()
    }

    /// The highest attempt number that was seen.
    #[must_use]
    pub fn attempts_max(&self) -> u32 {
        self.runs.iter().map(|run| run.attempt).max().unwrap_or(0)
    }

    /// The next offset after the last record seen in each partition.
    #[must_use]
    pub fn next_offsets(&self) -> BTreeMap<i32, i64> {
        let mut next = BTreeMap::new();
        for run in &self.runs {
            let entry = next.entry(run.partition).or_insert(0);
            *entry = (*entry).max(run.last + 1);
        }
        next
    }

    /// The loaded records that were never handed over, as a text; empty when there is none.
    #[must_use]
    pub fn missing(&self, loaded: &Loaded) -> String {
        let mut missing = Vec::new();
        for (partition, range) in &loaded.partitions {
            let mut runs: Vec<&Run> = self.runs.iter().filter(|run| run.partition == *partition).collect();
            runs.sort_by_key(|run| run.first);
            let mut next = range.start;
            for run in runs {
                if run.first > next {
                    missing.push(format!("{partition}: {next}..{}", run.first));
                }
                next = next.max(run.last + 1);
            }
            if next < range.end {
                missing.push(format!("{partition}: {next}..{}", range.end));
            }
        }
        missing.join(", ")
    }

    /// For each partition: pairs of (how often a stretch of records was handed over, how long the stretch is).
    fn counts(&self) -> BTreeMap<i32, Vec<(i64, i64)>> {
        let mut edges: BTreeMap<i32, BTreeMap<i64, i64>> = BTreeMap::new();
        for run in &self.runs {
            let partition = edges.entry(run.partition).or_default();
            *partition.entry(run.first).or_insert(0) += 1;
            *partition.entry(run.last + 1).or_insert(0) -= 1;
        }
        edges.into_iter().map(|(partition, edges)| (partition, stretches(&edges))).collect()
    }
}

/// Turns the places where the depth changes into stretches of equal depth, leaving out those of depth nothing.
fn stretches(edges: &BTreeMap<i64, i64>) -> Vec<(i64, i64)> {
    let mut stretches = Vec::new();
    let mut depth = 0;
    let mut from = 0;
    for (at, change) in edges {
        if depth > 0 {
            stretches.push((depth, at - from));
        }
        depth += change;
        from = *at;
    }
    stretches
}

fn run_from_line(line: &str) -> Option<Run> {
    let (_, rest) = line.split_once("saw ")?;
    let mut numbers = rest.split(|c: char| !c.is_ascii_digit());
    let mut next = || numbers.next()?.parse::<i64>().ok();
    let (partition, first, last, attempt) = (next()?, next()?, next()?, next()?);
    Some(Run { partition: i32::try_from(partition).ok()?, first, last, attempt: u32::try_from(attempt).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(lines: &[&str]) -> Seen {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        Seen::from_lines(&lines)
    }

    fn loaded(partition: i32, end: i64) -> Loaded {
        Loaded { partitions: BTreeMap::from([(partition, 0..end)]) }
    }

    #[test]
    fn runs_are_read_from_any_log_format() {
        let seen = seen(&["saw 0 0 9 1", r#"{"level":"info","msg":"saw 1 5 5 2","target":"guest"}"#, "nothing"]);
        assert_eq!(seen.handed_over(), 11);
        assert_eq!(seen.attempts_max(), 2);
        assert_eq!(seen.next_offsets(), BTreeMap::from([(0, 10), (1, 6)]));
    }

    #[test]
    fn a_record_that_comes_late_is_out_of_order() {
        assert_eq!(seen(&["saw 0 0 4 1", "saw 1 0 4 1", "saw 0 5 9 1"]).out_of_order(), "");
        assert_eq!(seen(&["saw 0 0 4 1", "saw 0 9 9 1", "saw 0 5 8 1"]).out_of_order().matches("after").count(), 2);
    }

    #[test]
    fn a_missing_record_is_named() {
        let seen = seen(&["saw 0 0 4 1", "saw 0 6 8 1"]);
        assert_eq!(seen.missing(&loaded(0, 10)), "0: 5..6, 0: 9..10");
        assert_eq!(seen.missing(&loaded(1, 1)), "1: 0..1");
    }

    #[test]
    fn a_complete_run_misses_nothing_even_with_repeats() {
        let seen = seen(&["saw 0 0 4 1", "saw 0 3 9 1"]);
        assert_eq!(seen.missing(&loaded(0, 10)), "");
        assert_eq!(seen.repeats(), 2);
    }

    #[test]
    fn a_record_that_came_three_times_was_repeated_twice() {
        assert_eq!(seen(&["saw 0 0 0 1", "saw 0 0 0 2", "saw 0 0 1 3"]).repeats(), 2);
    }
}
