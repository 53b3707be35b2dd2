//! The Kafka edge against librdkafka's mock cluster: what it passes on, commits, seeks, survives and refuses.
//!
//! The mock keeps no secrets, checks no credentials and no ownership, and forms groups at once; what it cannot show is
//! shown against a real broker by `end_to_end`. The tests named `rule_…` are the rules at the head of the design's
//! `kafka-edge.md`. Rule 12 is about transactions, which the edge does not have yet and the mock gets wrong.

#![forbid(unsafe_code)]
#![expect(clippy::expect_used, reason = "a test that cannot go on says so by panicking")]

mod closing;
mod commits;
mod errors;
mod member;
mod members;
mod producer;
mod reading;
mod records;
mod seeks;
mod settings;
mod shares;
mod starts;
