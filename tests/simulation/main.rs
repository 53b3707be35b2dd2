//! The simulation: the pure machine in a rude, seeded world, watched by observers that believe nothing.
//!
//! `world` and `happen` are the events; `broker`, `group`, `edge`, `guest`, `operator` the parts; `witness` and `ledger` the
//! judges. `seeds` runs many worlds, `shrink` makes a failing one small, `planted` shows that bugs are found, `small_world`
//! leaves nothing to chance, `schedules` tells single stories.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on says so by panicking")]
#![expect(clippy::print_stdout, reason = "what a run did is told, and a failing seed is shown")]

mod act;
mod broker;
mod chance;
mod edge;
mod fault;
mod group;
mod guest;
mod happen;
mod ledger;
mod member;
mod names;
mod operator;
mod planted;
mod scenario;
mod schedules;
mod seeds;
mod shrink;
mod small_world;
mod tally;
mod trace;
mod witness;
mod world;
