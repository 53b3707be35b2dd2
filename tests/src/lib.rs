//! What the tests against a real Kafka share: the broker, the records that were put into it, the host as a process, and
//! what a plugin saw.
//!
//! Nothing in here may use the host's own code: a judge that shares code with the judged agrees with its mistakes.

#![forbid(unsafe_code)]

pub mod bombs;
mod broker;
mod damage;
mod fetch;
mod host;
mod lines;
mod load;
mod postgres;
mod seen;
mod temporary;
mod topic;
mod wire;

pub use broker::{shared_broker, unique};
pub use damage::{Damage, cut_off, damage};
pub use fetch::read_partition;
pub use host::{Host, cache_folder, plugin};
pub use lines::Lines;
pub use load::{
    Ending, Loaded, create_topic, load, load_compressed, load_large, load_more, load_values, put, put_in_transaction,
    put_value, recreate_topic,
};
pub use postgres::shared_postgres;
pub use seen::Seen;
pub use temporary::TemporaryFolder;
pub use topic::{Found, read_topic};
pub use wire::{WireRecord, put_batch, varint};
