//! What can go wrong around guests, per operation, in words that name the thing and the way out.

use gristmill_core::outcome::Fault;

use crate::compile::CompileError;
use crate::file::Kind;
use crate::files::FilesError;
use crate::worker::Job;

/// An engine could not be made.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Deep recursion would end the process and not the guest.
    #[error(
        "the guest stack of {wasm_stack_bytes} bytes leaves no room in an async stack of {async_stack_bytes} bytes; \
         the async stack must be larger by at least {needed} bytes"
    )]
    StacksTooClose {
        /// The guest's stack.
        wasm_stack_bytes: usize,
        /// The whole stack.
        async_stack_bytes: usize,
        /// How much larger the whole must be.
        needed: usize,
    },
    /// wasmtime refused.
    #[error("cannot start wasmtime on this machine: {0:#}")]
    Wasmtime(#[source] wasmtime::Error),
    /// No threads for the ticker.
    #[error("cannot start the threads that interrupt guests")]
    Ticker(#[source] std::io::Error),
}

/// Why a file is not a plugin that this host runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Larger than allowed.
    #[error("the file has {bytes} bytes and the limit is {limit}; build it optimised and stripped, or raise the limit")]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// Not a component.
    #[error("{kind}; wanted is a WebAssembly component; {}", kind.way_out())]
    NotAComponent {
        /// What it is instead.
        kind: Kind,
    },
    /// A component that does not validate.
    #[error(
        "it is a WebAssembly component that does not validate: {detail}; build it again, without proposals that this host \
         keeps off (threads, memory64, multi-memory, gc, exceptions, component async), and copy the file whole"
    )]
    Invalid {
        /// What the validator said.
        detail: String,
    },
    /// Larger in some direction than any toolchain makes it.
    #[error(
        "it has more than {limit} {what}, and no supported toolchain makes such a file; build it optimised, or split the plugin"
    )]
    Shape {
        /// What there is too much of.
        what: &'static str,
        /// How much of it there may be.
        limit: u64,
    },
    /// No `process-batch` at all.
    #[error(
        "it exports no process-batch: wanted is the interface {wanted}, found {}; build it for the world `plugin` of wit/plugin.wit",
        list(found)
    )]
    NoHandler {
        /// The interface that was wanted.
        wanted: &'static str,
        /// What the file exports.
        found: Vec<String>,
    },
    /// Two ways to handle a batch.
    #[error("it exports both {0} and {1}, and only one may handle batches; export one of them")]
    BothHandlers(&'static str, &'static str),
    /// An interface whose capability was not granted.
    #[error(
        "it imports {import} ({capability}), and nothing of that is granted; write {line}, or build the plugin without it"
    )]
    NotGranted {
        /// The import's name.
        import: String,
        /// What it lets a guest do.
        capability: &'static str,
        /// A line of the configuration that grants it.
        line: &'static str,
    },
    /// An interface for the network, which a deterministic plugin does not have.
    #[error(
        "it imports {import}, and with plugin.deterministic a plugin has no network; remove plugin.deterministic, or build the plugin \
         without it"
    )]
    Deterministic {
        /// The import's name.
        import: String,
    },
    /// An interface that nobody offers.
    #[error("it imports {import}, which is not available: {way_out}")]
    ImportNotAvailable {
        /// The import's name.
        import: String,
        /// What to do about it.
        way_out: String,
    },
}

/// Exports, or that there are none.
fn list(found: &[String]) -> String {
    if found.is_empty() { "no export at all".to_owned() } else { found.join(", ") }
}

/// What a plugin may reach cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum ReachError {
    /// A granted folder cannot be given.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// Grants for the network contradict each other, or the system gives no thread.
    #[error(transparent)]
    Egress(#[from] gristmill_egress::StartError),
}

/// A plugin could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file is not a plugin that this host runs.
    #[error("cannot load plugin {plugin}: {refusal}")]
    Refused {
        /// The plugin's name.
        plugin: String,
        /// Why not.
        refusal: Refusal,
    },
    /// It does not compile.
    #[error("cannot load plugin {plugin}: {source}")]
    Compile {
        /// The plugin's name.
        plugin: String,
        /// Why not.
        source: CompileError,
    },
    /// The names fit, the types do not.
    #[error(
        "cannot load plugin {plugin}: it does not fit the contract gristmill:plugin@0.1.0: {detail}; \
         build it against the wit/plugin.wit of this version"
    )]
    Contract {
        /// The plugin's name.
        plugin: String,
        /// Where it does not fit.
        detail: String,
    },
    /// What it may reach cannot be set up.
    #[error("cannot load plugin {plugin}: {source}")]
    Reach {
        /// The plugin's name.
        plugin: String,
        /// What of it, why not, and the way out.
        source: ReachError,
    },
    /// It needs what is not granted.
    #[error("cannot load plugin {plugin}: it needs {}", missing.join("; "))]
    Needs {
        /// The plugin's name.
        plugin: String,
        /// Each need with its reason and the line to write.
        missing: Vec<String>,
    },
    /// The trial start failed.
    #[error("cannot load plugin {plugin}: it does not start: {}; correct it, or its settings in plugin.settings", fault.detail)]
    Start {
        /// The plugin's name.
        plugin: String,
        /// What broke.
        fault: Fault,
    },
    /// No thread for the trial start.
    #[error("cannot load plugin {plugin}: no thread to start it on")]
    Thread {
        /// The plugin's name.
        plugin: String,
        /// What the system said.
        source: std::io::Error,
    },
}

impl LoadError {
    /// A file that does not validate is refused, whoever finds that out.
    pub(crate) fn of_compiling(plugin: String, error: CompileError) -> Self {
        match error {
            CompileError::Invalid { detail } => Self::Refused { plugin, refusal: Refusal::Invalid { detail } },
            source => Self::Compile { plugin, source },
        }
    }
}

/// A worker could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start guest worker {name}")]
pub struct SpawnError {
    /// The worker's name.
    pub name: String,
    /// What the system said.
    pub source: std::io::Error,
}

/// A worker did not take a job. The job comes back.
#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// As many jobs wait as may wait; take answers first.
    #[error("the guest worker has as many jobs waiting as it takes")]
    Busy(Box<Job>),
    /// The worker's thread has ended.
    #[error("the guest worker has ended")]
    Gone(Box<Job>),
}
