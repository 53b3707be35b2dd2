//! All that was measured, as JSON beside the tables: written anew after each scenario, so that a run that is cut short leaves what it has.
//!
//! It must not measure anything.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the tables are what this program is for; progress is for whoever waits"
)]

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use xtask::workspace;

use crate::machine::Machine;
use crate::race::Run;
use crate::table::Table;

/// What one scenario came to.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Outcome {
    pub(crate) tables: Vec<Table>,
    pub(crate) runs: Vec<Run>,
}

/// One scenario, told.
#[derive(Debug, Serialize)]
struct Told {
    name: String,
    title: String,
    pinned: String,
    #[serde(flatten)]
    outcome: Outcome,
}

/// All that was measured so far.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    command: String,
    /// Seconds since 1970.
    begun_s: u64,
    rounds: usize,
    machine: Machine,
    /// Who could not take part, and why.
    skipped: Vec<String>,
    scenarios: Vec<Told>,
    #[serde(skip)]
    path: PathBuf,
}

impl Report {
    /// Begins one, and prints what is measured on.
    pub(crate) fn begin(words: &[String], rounds: usize, machine: Machine, skipped: Vec<String>) -> Self {
        let begun_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let folder = workspace::target_dir().join("bench");
        if let Err(error) = std::fs::create_dir_all(&folder) {
            panic!("cannot create {}: {error}", folder.display());
        }
        let command = [&["cargo xtask bench".to_owned()], words].concat().join(" ");
        println!("`{command}` on {}", machine.markdown());
        for line in &skipped {
            println!("\nSKIPPED {line}");
        }
        Self {
            command,
            begun_s,
            rounds,
            machine,
            skipped,
            scenarios: Vec::new(),
            path: folder.join(format!("{begun_s}.json")),
        }
    }

    /// Takes a scenario in, and prints its tables.
    pub(crate) fn add(&mut self, name: &str, title: &str, pinned: String, outcome: Outcome) {
        println!("\n### {name}: {title}\n\n{pinned}{}", told_of_others(&outcome.runs));
        for table in &outcome.tables {
            println!("\n{}", table.markdown().trim_end());
        }
        self.scenarios.push(Told { name: name.to_owned(), title: title.to_owned(), pinned, outcome });
        let text = match serde_json::to_string_pretty(self) {
            Ok(text) => text,
            Err(error) => panic!("cannot write the figures down: {error}"),
        };
        if let Err(error) = std::fs::write(&self.path, text) {
            panic!("cannot write {}: {error}", self.path.display());
        }
    }

    /// Says where the figures lie.
    pub(crate) fn end(&self) {
        note(&format!("every figure is in {}", self.path.display()));
    }
}

/// What others did on the machine while it was measured.
fn told_of_others(runs: &[Run]) -> String {
    let mut others: Vec<f64> = runs.iter().map(|run| run.others_cores).collect();
    others.sort_by(f64::total_cmp);
    match (others.get(others.len() / 2), others.last()) {
        (Some(median), Some(most)) => {
            format!("; others kept {median:.2} cores busy (median of the runs), {most:.2} at most")
        }
        _ => String::new(),
    }
}

/// Tells whoever waits how far it is.
pub(crate) fn note(text: &str) {
    eprintln!("bench: {text}");
}
