//! Why a component did not become code: one cause each, with the way out.

use std::path::PathBuf;
use std::time::Duration;

/// What compiling used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileLimit {
    /// Processor time.
    #[error("compiling it took more than {} of processor time", seconds(*.0))]
    Cpu(Duration),
    /// Time on the clock.
    #[error("compiling it did not end within {}", seconds(*.0))]
    Wall(Duration),
    /// Address space.
    #[error("compiling it took more than {} MiB of address space", .0 >> 20)]
    AddressSpace(u64),
    /// Bytes of what came out.
    #[error("compiled it has more than {} MiB", .0 >> 20)]
    Artefact(u64),
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

/// Why a component did not become code.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// It does not validate.
    #[error("{detail}")]
    Invalid {
        /// What the validator said.
        detail: String,
    },
    /// It validates, and the compiler refused it.
    #[error("it does not compile: {detail}; build it with a toolchain that is known to work, and report it")]
    Refused {
        /// What the compiler said.
        detail: String,
    },
    /// It used up what compiling may use.
    #[error(
        "compile limit: {0}; what a supported toolchain makes takes a fraction of that: build it optimised and with smaller functions, \
         and do not trust a file that somebody else made"
    )]
    Limit(CompileLimit),
    /// The worker ended without an answer.
    #[error(
        "the compiler broke over it: the worker {how}{}; build it with another toolchain, and report it",
        last_words(.said)
    )]
    Died {
        /// How it ended.
        how: String,
        /// What it said last; may be empty.
        said: String,
    },
    /// The worker answered, but not with code.
    #[error(
        "the compile worker's answer is no code: {detail}; run the binary that belongs to this host, and report it"
    )]
    Answer {
        /// What is wrong with it.
        detail: String,
    },
    /// No worker.
    #[error("cannot start the compile worker {}: {source}; a host that may start no process cannot load plugins", program.display())]
    Start {
        /// What was to be started.
        program: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Last words, where there are any.
fn last_words(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(" and said: {words}") }
}
