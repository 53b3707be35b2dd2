//! A real Apache Kafka on this machine, for tests and for trying things out: fetched once, started in two seconds, gone
//! when dropped; and Kafka's own tools as witnesses of what the host did.
//!
//! It must not know the host, nor any Kafka client of ours: what the witnesses say must not depend on our own code.

mod broker;
mod install;
mod log_files;
mod properties;
pub mod security;
pub mod standalone;
mod witness;

pub use broker::{Broker, Options};
pub use install::Installation;
pub use log_files::StoredBatch;
pub use witness::GroupOffset;
