//! The pure state machine of gristmill: when a batch closes, what its answer means, what may be committed.
//!
//! It does no input or output, has no time of its own, no threads, no randomness, no logging. Things that happened come in
//! as an [`Input`](io::Input), things to do come out as an [`Action`](io::Action), and [`Machine`] is what lies between:
//!
//! ```text
//!              Input                                    Action
//!   Kafka ─────────────▶ ┌───────────────────────────┐ ─────────────▶ Kafka: commit, look up, seek, answer, leave
//!   guest ─────────────▶ │ Machine: handle(now, …)   │ ─────────────▶ guest: deliver, cancel
//!   time  ─────────────▶ │ poll() → next_wakeup()    │ ─────────────▶ operator: report, stopped
//!                        └───────────────────────────┘
//!
//!   a lane:   filling ──▶ out ──ok──▶ producing ──acknowledged──▶ settling ──committed──▶ filling
//!                │         │            (where there is something to write)
//!                │         ├─retryable, fault─▶ waiting ──delay over──▶ out   (or: read again by seek ──▶ filling)
//!                │         ├─to the last──────▶ cut in parts, each handed over before anything else
//!                │         └─policy───────────▶ held ──retry or skip asked──▶ waiting
//!                └─ the next batch fills while one is out, producing, settling, waiting or held
//! ```
//!
//! Reading order: [`record`] and [`io`] for the words; `machine/deliver`, `machine/answer`, `machine/commit` for the straight
//! line of one batch; `machine/rewind` and `machine/assign` for what can come in between.

#![forbid(unsafe_code)]

mod assemble;
mod backoff;
mod batch;
mod decide;
pub mod invariants;
pub mod io;
mod lane;
mod letters;
mod machine;
pub mod outcome;
pub mod planted;
pub mod policy;
mod positions;
pub mod record;
pub mod report;
pub mod time;

pub use machine::Machine;
