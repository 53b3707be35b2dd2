//! Counts the instructions of the host's hot path and compares them with those that are written down: a measure of speed that no other
//! work on the machine disturbs.
//!
//! It must not know what the hot path does.

#![expect(clippy::print_stdout, reason = "the figures are this command's output")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::tools::{self, Tool};
use crate::workspace;

/// What counting needs.
pub const NEEDED: &[Tool] = &[Tool::Valgrind];

/// The program whose instructions are counted.
const PROGRAM: &str = "gristmill-counted";

/// What it can do, each with a figure of its own.
const PATHS: &[&str] = &["machine", "packing"];

/// What the C library is told of every processor.
const PLAIN_PROCESSOR: &str = "glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-AVX_Fast_Unaligned_Load,-ERMS,-FSRM:\
                               glibc.cpu.x86_non_temporal_threshold=0x1000000";

/// Few batches and many: the difference holds none of what is done once.
const BATCHES: [u32; 2] = [10, 30];

const RECORDS_IN_BATCH: u32 = 10_000;

/// A figure may be so much above the one that is written down.
const TOLERANCE: f64 = 0.05;

/// What becomes of the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// They are compared with those that are written down.
    Judge,
    /// They are written down.
    Write,
}

/// Instructions per record, by the compiler that made them.
#[derive(Clone, Debug, PartialEq)]
struct Figures {
    compiler: String,
    paths: Vec<(String, f64)>,
}

/// Counts, prints the figures, and judges them or writes them down.
///
/// # Errors
///
/// When valgrind is missing, or something does not build or run. A figure that is too high is no error but an exit code.
pub fn count(then: Then) -> Result<ExitCode> {
    tools::require(NEEDED)?;
    if then == Then::Write {
        let figures = counted()?;
        fs::write(file(), figures.written()).context("cannot write the figures down")?;
        print!("{}", figures.written());
        return Ok(ExitCode::SUCCESS);
    }
    Ok(if is_in_bounds()? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Counts, prints the figures, and says whether none of them is too high. Those of another compiler judge nothing.
///
/// # Errors
///
/// When something does not build or run, or nothing is written down.
pub fn is_in_bounds() -> Result<bool> {
    let text = fs::read_to_string(file()).context("no figures are written down: cargo xtask count --write")?;
    let known = Figures::read(&text).with_context(|| format!("{} is damaged", file().display()))?;
    let counted = counted()?;
    let mut good = true;
    for (path, figure) in &counted.paths {
        let before = known.paths.iter().find(|(name, _)| name == path).map(|(_, before)| *before);
        let verdict = verdict(*figure, before);
        println!("{path:<12} {figure:>8.1} instructions per record: {}", verdict.told(before));
        good &= verdict != Verdict::TooMany;
    }
    if counted.compiler != known.compiler {
        println!("not judged: written down with {}, counted with {}", known.compiler, counted.compiler);
        return Ok(true);
    }
    Ok(good)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    AsBefore,
    Fewer,
    TooMany,
    New,
}

impl Verdict {
    fn told(self, before: Option<f64>) -> String {
        let before = before.unwrap_or_default();
        match self {
            Self::AsBefore => format!("as the {before:.1} written down"),
            Self::Fewer => format!("fewer than the {before:.1} written down; cargo xtask count --write"),
            Self::TooMany => format!("TOO MANY, {before:.1} are written down"),
            Self::New => "nothing is written down; cargo xtask count --write".to_owned(),
        }
    }
}

fn verdict(figure: f64, before: Option<f64>) -> Verdict {
    match before {
        None => Verdict::New,
        Some(before) if figure > before * (1.0 + TOLERANCE) => Verdict::TooMany,
        Some(before) if figure < before * (1.0 - TOLERANCE) => Verdict::Fewer,
        Some(_) => Verdict::AsBefore,
    }
}

/// Where figures are written down.
fn file() -> PathBuf {
    workspace::root().join("tests/counted/figures.txt")
}

/// Builds the program, alone and so without what is planted in the core for the tests, and counts.
fn counted() -> Result<Figures> {
    let mut build = workspace::cargo();
    build.args(["build", "--quiet", "--release", "--package", PROGRAM]);
    workspace::run(&mut build).context("cannot build what is counted")?;
    let version = Command::new("rustc").arg("--version").output().context("cannot start rustc")?;
    let compiler = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    let mut paths = Vec::new();
    for path in PATHS {
        let [few, many] = BATCHES;
        let more = instructions(path, many)?.saturating_sub(instructions(path, few)?);
        #[expect(clippy::cast_precision_loss, reason = "a figure for each record needs no exact count")]
        let more = more as f64;
        paths.push(((*path).to_owned(), more / f64::from((many - few) * RECORDS_IN_BATCH)));
    }
    Ok(Figures { compiler, paths })
}

/// The instructions of one run.
fn instructions(path: &str, batches: u32) -> Result<u64> {
    let folder = workspace::target_dir().join("count");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut command = Command::new("valgrind");
    let profile = folder.join(format!("callgrind.{path}"));
    command.arg("--tool=callgrind").arg(format!("--callgrind-out-file={}", profile.display()));
    command.arg(workspace::target_dir().join("release").join(PROGRAM)).args([path, &batches.to_string()]);
    // The C library copies by what the processor can do, and a figure is to be the same on every machine.
    command.env("GLIBC_TUNABLES", PLAIN_PROCESSOR);
    let output = command.output().context("cannot start valgrind")?;
    let printed = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{} ended with {}:\n{printed}", workspace::shown(&command), output.status);
    }
    collected(&printed).with_context(|| format!("valgrind does not say what it counted:\n{printed}"))
}

/// Reads `==4711== Collected : 25098493`.
fn collected(printed: &str) -> Option<u64> {
    let line = printed.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(' ').next()?.parse().ok()
}

impl Figures {
    /// As they are written down: the compiler, then a path and its figure on each line.
    fn written(&self) -> String {
        let lines = self.paths.iter().map(|(path, figure)| format!("{path} {figure:.1}\n"));
        format!("{}\n{}", self.compiler, lines.collect::<String>())
    }

    fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let compiler = lines.next()?.to_owned();
        let path = |line: &str| line.split_once(' ').and_then(|(path, it)| Some((path.to_owned(), it.parse().ok()?)));
        Some(Self { compiler, paths: lines.map(path).collect::<Option<_>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_down_is_read_again() {
        let figures = Figures { compiler: "rustc 1.95.0".to_owned(), paths: vec![("machine".to_owned(), 117.5)] };
        assert_eq!(Figures::read(&figures.written()), Some(figures));
        assert_eq!(Figures::read("rustc 1.95.0\nmachine many\n"), None);
    }

    #[test]
    fn a_twentieth_more_is_borne_and_not_a_bit_beyond() {
        assert_eq!(verdict(104.9, Some(100.0)), Verdict::AsBefore);
        assert_eq!(verdict(105.1, Some(100.0)), Verdict::TooMany);
        assert_eq!(verdict(94.9, Some(100.0)), Verdict::Fewer);
        assert_eq!(verdict(94.9, None), Verdict::New);
    }

    #[test]
    fn the_count_is_found_in_what_valgrind_prints() {
        assert_eq!(collected("==1== \n==1== Events    : Ir\n==1== Collected : 25098493\n"), Some(25_098_493));
        assert_eq!(collected("==1== Events    : Ir\n"), None);
    }
}
