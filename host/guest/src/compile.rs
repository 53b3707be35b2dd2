//! From a component's bytes to code: compiled in this process, or by a child that may die of it, or found in a cache.
//!
//! Knows no plugin and no batch. That the bytes are worth compiling was decided before, by their shape and by what they import.

mod answer;
mod cache;
mod child;
mod confine;
mod error;
mod process;

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::{debug, warn};
use wasmparser::Validator;
use wasmtime::Engine;
use wasmtime::component::Component;

pub use self::cache::{Cache, CacheError};
pub use self::child::{COMPILE_COMMAND, compile_worker};
pub use self::error::{CompileError, CompileLimit};
use crate::engine::FEATURES;
use crate::plugin::Digest;
use crate::stdio::escape_path;
use crate::sys;

/// How plugins become code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Compile {
    /// By the calling thread. The compiler's time and memory have no bound then: for plugins that one trusts.
    #[default]
    InProcess,
    /// By a child process with bounds, one at a time.
    Worker {
        /// What is started: a program that calls [`compile_worker`] when its first argument is [`COMPILE_COMMAND`], and that is
        /// built from the same sources as this one.
        program: PathBuf,
        /// What the child may use up.
        limits: CompileLimits,
        /// Where compiled plugins are kept.
        cache: Option<Cache>,
    },
}

/// What compiling one plugin may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileLimits {
    /// Processor time, in whole seconds.
    pub cpu: Duration,
    /// Time on the clock.
    pub wall: Duration,
    /// Bytes of address space.
    pub address_space_bytes: u64,
    /// Bytes of what comes out.
    pub artefact_bytes: u64,
}

impl CompileLimits {
    /// What the largest toolchains need, several times over: a component of StarlingMonkey takes ten seconds and 0.4 GiB, and its
    /// code is three times as large as the file, which has 32 MiB at most. What bounds the cost is the processor time; the clock bounds
    /// a child that does nothing, and leaves room for one that gets a third of a processor.
    pub const STRICT: Self = Self {
        cpu: Duration::from_secs(60),
        wall: Duration::from_secs(180),
        address_space_bytes: 4 << 30,
        artefact_bytes: 256 << 20,
    };
}

impl Default for CompileLimits {
    fn default() -> Self {
        Self::STRICT
    }
}

/// Where a plugin's code came from, and how long that took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// True: found in the cache. False: compiled.
    pub cached: bool,
    /// From the bytes to the code.
    pub took: Duration,
}

/// Compiled code that may be loaded: made by the compile worker, or kept in the cache under its key.
pub(crate) struct Artefact {
    bytes: Vec<u8>,
    /// Where the code begins.
    begins: usize,
}

impl Artefact {
    pub(crate) fn code(&self) -> &[u8] {
        &self.bytes[self.begins..]
    }
}

/// Makes code of the bytes of a component, whose digest is `digest`. Blocks for as long as that takes.
///
/// # Errors
///
/// They do not compile, not within the limits, or nobody is there to do it.
pub(crate) fn code(
    engine: &crate::Engine,
    digest: Digest,
    bytes: &[u8],
) -> Result<(Component, Compiled), CompileError> {
    let began = Instant::now();
    let (component, cached) = match engine.compile() {
        Compile::InProcess => (in_process(engine.wasmtime(), bytes)?, false),
        Compile::Worker { program, limits, cache } => {
            let order = Order { program, limits, deterministic: engine.is_deterministic(), bytes };
            let engine = engine.wasmtime();
            let kept = cache.as_ref().map(|cache| (cache, cache::name(engine, digest)));
            match kept.as_ref().map_or(Found::Nothing, |(cache, name)| find(engine, cache, name)) {
                Found::Code(component) => (component, true),
                Found::Nothing => by_worker(engine, &order, kept.as_ref())?,
                Found::InTheWay => by_worker(engine, &order, None)?,
            }
        }
    };
    Ok((component, Compiled { cached, took: began.elapsed() }))
}

fn in_process(engine: &Engine, bytes: &[u8]) -> Result<Component, CompileError> {
    validate(bytes)?;
    Component::from_binary(engine, bytes).map_err(|error| CompileError::Refused { detail: format!("{error:#}") })
}

/// Holds bytes against what files may use. The compiler's own look at them lets more pass.
fn validate(bytes: &[u8]) -> Result<(), CompileError> {
    let validated = Validator::new_with_features(FEATURES).validate_all(bytes);
    validated.map(drop).map_err(|error| CompileError::Invalid { detail: error.to_string() })
}

/// What the worker is asked to do.
struct Order<'a> {
    program: &'a PathBuf,
    limits: &'a CompileLimits,
    /// Whether the code counts its instructions.
    deterministic: bool,
    bytes: &'a [u8],
}

/// Held while a child compiles: two at once would take twice of everything that one is bounded in.
static TURN: Mutex<()> = Mutex::new(());

/// Compiles by a child and keeps what came out. True beside it: somebody else had kept it meanwhile.
fn by_worker(
    engine: &Engine,
    order: &Order<'_>,
    kept: Option<&(&Cache, String)>,
) -> Result<(Component, bool), CompileError> {
    // Poisoned: a thread panicked while its child compiled; the child is dead, and nothing was left half done.
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    // Whoever had the turn before may have compiled the same.
    if let Some(Found::Code(component)) = kept.map(|(cache, name)| find(engine, cache, name)) {
        return Ok((component, true));
    }
    let artefact = process::run(order)?;
    let component = sys::load(engine, &artefact)
        .map_err(|error| CompileError::Answer { detail: format!("its code is for another host: {error:#}") })?;
    if let Some((cache, name)) = kept
        && let Err(error) = cache.keep(name, &artefact)
    {
        warn!(folder = %escape_path(cache.folder()), cause = %error, "a compiled plugin could not be kept; it is compiled again at the next start");
    }
    Ok((component, false))
}

/// What the cache has of a plugin.
enum Found {
    /// Its code.
    Code(Component),
    /// Nothing, or nothing any more.
    Nothing,
    /// Something that cannot be used and does not go away, such as a folder: nothing is kept in its place.
    InTheWay,
}

/// Looks a plugin up in the cache. What is there and cannot be used is told, and counts as not there.
fn find(engine: &Engine, cache: &Cache, name: &str) -> Found {
    let unused = |cause: &dyn std::fmt::Display| {
        warn!(folder = %escape_path(cache.folder()), entry = name, cause = %cause, "a compiled plugin in the cache is not used; it is compiled again");
        if cache.forget(name) { Found::Nothing } else { Found::InTheWay }
    };
    match cache.find(name) {
        Ok(Some(artefact)) => match sys::load(engine, &artefact) {
            Ok(component) => Found::Code(component),
            Err(error) => unused(&format_args!("it is for another host: {error:#}")),
        },
        Ok(None) => {
            debug!(entry = name, "not in the cache");
            Found::Nothing
        }
        Err(cause) => unused(&cause),
    }
}
