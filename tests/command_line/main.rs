//! The `gristmill` binary as whoever uses it meets it: arguments in, exit code and words out.
//!
//! Reaches no broker but librdkafka's mock, and nothing outside this machine.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bad_plugins;
mod bare;
mod call;
mod check;
mod compiling;
mod confined;
mod control;
mod dead_letters;
mod documents;
mod examples;
mod json_logs;
mod missing_tools;
mod odd_files;
mod online;
mod process;
mod secrets;
mod stopping;
mod streams;
mod terminal;
mod words;
