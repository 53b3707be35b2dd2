//! What was measured on, and with: the machine and the versions of everything that takes part.
//!
//! It must not know the figures.

use std::process::Command;

use serde::Serialize;
use xtask::kafka::Installation;
use xtask::{tools, workspace};

use crate::cores::Cores;

/// The machine, and the versions.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    processor: String,
    cores: usize,
    memory_mib: u64,
    kernel: String,
    versions: Vec<(String, String)>,
}

impl Machine {
    /// This one.
    pub(crate) fn this(cores: &Cores) -> Self {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let field = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
            line.split_once(':').map_or(String::new(), |(_, value)| value.trim().to_owned())
        };
        let memory = field(&read("/proc/meminfo"), "MemTotal");
        Self {
            processor: field(&read("/proc/cpuinfo"), "model name"),
            cores: cores.count(),
            memory_mib: memory.split(' ').next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or_default() / 1024,
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            versions: versions(),
        }
    }

    /// One line for each thing, as a list in markdown.
    pub(crate) fn markdown(&self) -> String {
        let Self { processor, cores, memory_mib, kernel, versions } = self;
        let versions: Vec<String> = versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
        format!("{processor}, {cores} cores, {memory_mib} MiB, Linux {kernel}; {}", versions.join(", "))
    }
}

fn versions() -> Vec<(String, String)> {
    let root = workspace::root();
    let ours = std::fs::read_to_string(root.join("Cargo.lock")).unwrap_or_default();
    let of_peers = std::fs::read_to_string(root.join("tests/peers/rust/Cargo.lock")).unwrap_or_default();
    let of_go = std::fs::read_to_string(root.join("tests/peers/go/go.mod")).unwrap_or_default();
    let (_, librdkafka) = rdkafka::util::get_rdkafka_version();
    let mut git = Command::new("git");
    git.current_dir(root).args(["describe", "--always", "--dirty", "--abbrev=12"]);
    let known = [
        ("gristmill", Some(env!("CARGO_PKG_VERSION").to_owned())),
        ("commit", first_line(&mut git)),
        ("rustc", first_line(Command::new("rustc").arg("--version"))),
        ("wasmtime", locked(&ours, "wasmtime")),
        ("rdkafka", locked(&ours, "rdkafka")),
        ("librdkafka", Some(librdkafka)),
        ("kafka", Installation::ready().ok().and_then(|kafka| kafka.version().map(str::to_owned))),
        ("java", first_line(tools::java().arg("--version"))),
        ("go", first_line(Command::new("go").arg("version"))),
        ("sentry_arroyo", locked(&of_peers, "sentry_arroyo")),
        ("its librdkafka", locked(&of_peers, "rdkafka-sys")),
        ("franz-go", required(&of_go, "github.com/twmb/franz-go")),
    ];
    known.into_iter().filter_map(|(name, version)| Some((name.to_owned(), version?))).collect()
}

/// The first line that a command prints, where there is such a command.
fn first_line(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned)
}

/// The version of a package in a lock file of cargo's.
fn locked(lock: &str, package: &str) -> Option<String> {
    let (_, behind) = lock.split_once(&format!("name = \"{package}\"\nversion = \""))?;
    behind.split('"').next().map(str::to_owned)
}

/// The version of a module that a go.mod requires.
fn required(module: &str, path: &str) -> Option<String> {
    module
        .lines()
        .find_map(|line| line.trim_start_matches("require ").trim().strip_prefix(path)?.strip_prefix(' '))
        .and_then(|behind| behind.split(' ').next())
        .map(str::to_owned)
}
