//! The wasmtime edge of gristmill: loads plugins and hands batches to guests.
//!
//! A **plugin** is a file; a **guest** is a running instance of one. [`Engine`] is made once per process. [`Plugin::load`]
//! reads the file's bytes once, refuses everything that is not a plugin in words a person can act on, compiles it and starts it
//! for trial. A [`Worker`] is one OS thread that takes a [`Job`], runs a guest over its batch inside the plugin's [`Limits`],
//! and gives exactly one [`Answered`] back, whatever the guest does. [`inspect()`] says what a file is without compiling it.
//!
//! Nothing here knows Kafka: a batch comes as a [`BatchSource`], what an answer means is decided in the core, and what a guest
//! emits is handed on with the answer, for whoever writes it.

#![deny(unsafe_code)]

mod bindings;
mod budget;
mod cancel;
mod clock;
mod compile;
mod crew;
mod denials;
mod deterministic;
mod emitted;
mod engine;
mod error;
mod fault;
mod file;
mod files;
mod frames;
mod grants;
mod guest;
mod handover;
mod inspect;
mod limits;
mod lower;
mod names;
mod needs;
mod opening;
mod packed;
mod panics;
mod plugin;
mod provided;
mod reply;
mod requests;
mod said;
mod shape;
mod sockets;
mod stdio;
mod sys;
mod ticker;
mod view;
mod words;
mod worker;

pub use compile::{
    COMPILE_COMMAND, Cache, CacheError, Compile, CompileError, CompileLimit, CompileLimits, Compiled, compile_worker,
};
pub use crew::Crew;
pub use emitted::{EMITTED_HEADER_OVERHEAD_BYTES, EMITTED_RECORD_OVERHEAD_BYTES, EmittedHeader, EmittedRecord};
pub use engine::{Engine, EngineSettings};
pub use error::{DeliverError, EngineError, LoadError, ReachError, Refusal, SpawnError};
pub use file::Kind;
pub use files::{FilesError, FilesGrant};
pub use grants::Grants;
/// Where requests and connections may go.
pub use gristmill_egress as egress;
pub use inspect::{Import, Inspection, Producer, inspect};
pub use limits::Limits;
pub use lower::{BatchSource, HeaderView, NAMED_MAX, RecordView, Timestamp, Visit, positions};
pub use panics::catches_panics;
pub use plugin::{Digest, Instances, Plugin, PluginSettings};
pub use shape::SHAPE_BOUNDS;
pub use stdio::{escape, escape_path};
pub use ticker::TICK;
pub use words::shortened;
pub use worker::{Answered, CallFacts, Job, Worker, WorkerSettings};
