//! Everything that has to be set up, started or measured around the workspace, as a library: `cargo xtask` is a thin
//! command line over it, and the end-to-end tests start their brokers with the same code.
//!
//! It must not know what the host does: it builds the host, runs it and reads what comes out.

#![forbid(unsafe_code)]

pub mod commands;
pub mod count;
pub mod host;
pub mod hostile;
mod installing;
pub mod kafka;
pub mod lint;
mod log;
mod noted;
pub mod peers;
pub mod plugins;
mod port;
pub mod postgres;
pub mod purl_api;
pub mod registry;
mod signal;
pub mod suites;
pub mod tally;
pub mod tools;
mod watchdog;
pub mod workspace;
