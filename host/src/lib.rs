//! The gristmill host: what it reads, how it runs, how it ends.
//!
//! The binary is `main`; everything it does is here, so that tests can do it too.

#![forbid(unsafe_code)]

pub mod cli;
pub mod config;
pub mod exit;
pub mod telemetry;
