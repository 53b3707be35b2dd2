//! The `gristmill` binary as a process against a real Apache Kafka. Every judgement is made by observers outside the host:
//! the loader's list of acknowledged records, the witness guest's reports, and Kafka's own tools.

mod fixture;
