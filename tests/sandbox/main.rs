//! Real guests on the real wasmtime edge: what each way of misbehaving ends as, that it ends in time, and that the next batch
//! works.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on says so by panicking")]

mod batch;
mod cache;
mod caller;
mod cancel;
mod compile;
#[path = "../hostile/runner/component.rs"]
mod component;
mod connections;
mod deterministic;
mod effect_plugins;
mod effects;
mod files;
mod folders;
mod forged;
mod instances;
mod journal;
mod manifest;
mod memory;
mod mill;
mod outcomes;
mod output;
mod packed;
mod plugins;
mod reach;
mod records;
mod requests;
mod server;
mod settings;
mod start;
mod time;
mod traps;
mod workers;
