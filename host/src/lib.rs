//! The gristmill host: what it reads, how it runs, how it ends.
//!
//! The binary is `main`; everything it does is here, so that tests can do it too.

#![forbid(unsafe_code)]

mod act;
mod body;
pub mod cli;
mod clock;
mod compiling;
pub mod config;
mod confine;
mod control;
mod counted;
mod dead_letters;
mod decoding;
mod demo;
mod emitting;
mod error_log;
mod excerpt;
pub mod exit;
mod kafka_batch;
mod live;
mod loading;
mod narrate;
mod observe;
mod pipeline;
mod plugin_file;
mod profile;
pub mod records;
mod regular_file;
mod run;
mod signals;
mod stall_watch;
mod start_watch;
mod status;
pub mod stderr;
pub mod telemetry;
mod watchdog;
mod whereabouts;
mod wishes;
mod writer;
mod written_topics;
