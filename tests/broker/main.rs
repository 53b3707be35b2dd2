//! The Kafka edge against librdkafka's mock cluster: what it passes on, commits, seeks, survives and refuses.
//!
//! The mock keeps no secrets, checks no credentials and forms groups at once; what it cannot show is shown against a real
//! broker by `end_to_end`. The tests named `rule_…` are the twelve rules at the head of the design's `kafka-edge.md`.

mod member;
mod records;
