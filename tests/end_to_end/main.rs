//! The `gristmill` binary as a process against a real Apache Kafka. Every judgement is made by observers outside the host:
//! the loader's list of acknowledged records, the witness guest's reports, and Kafka's own tools.
//!
//! The short form runs with every `cargo xtask test`, the long one by `cargo xtask chaos`.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "these are tests: they fail by panics and say what they measured"
)]

mod answers;
mod bytes;
mod chance;
mod clean;
mod control;
mod corrupt;
mod dead_letters;
mod decoding;
mod effects;
mod epochs;
mod evicted;
mod examples;
mod fixture;
mod http_post;
mod kill;
mod lanes;
mod members;
mod offsets;
mod outage;
mod pipeline;
mod postgres;
mod records;
mod relay;
mod replay;
mod rights;
mod secure;
mod start;
mod stop;
mod transactions;
