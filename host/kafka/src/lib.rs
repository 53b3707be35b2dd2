//! The Kafka edge of gristmill: a consumer group member that hands records over exactly as the brokers keep them, and
//! does what the core orders: commit, look up, seek, leave.
//!
//! Decides nothing about batches and knows nothing of guests. Four threads work for one [`Consumer`]:
//!
//! | thread | file | what it does |
//! | --- | --- | --- |
//! | fetch | `fetch`, `seek`, `trouble` | takes records from a private queue, stamps them with their epochs, seeks |
//! | events | `events`, `rebalance`, `positions` | serves rebalances, errors, statistics; keeps the membership alive |
//! | command | `command` | commits, within a bound |
//! | fetch, command, events | `recreation` | lets partitions of a recreated topic begin anew |
//! | look-up | `lookup` | waits for answers that must keep nobody else waiting |
//!
//! A [`Producer`] writes records and says of each request, once, whether all of it was acknowledged. It has a client of its own
//! and one thread, in `produce`; what is open stands in `requests`.
//!
//! A [`TopicReader`] reads a topic from one end to the other beside the group, for a command.
//!
//! Everything they find out comes through one ordered, unbounded channel as an [`Event`]. What bounds it is not the
//! channel but the bytes of the records in it: [`ConsumerSettings::buffer_bytes_max`].

#![deny(unsafe_code)]

mod arena;
mod cause;
mod close;
mod command;
mod consumer;
mod contradiction;
mod credit;
pub mod dead_letter;
mod error;
mod event;
mod events;
mod fetch;
mod history;
mod log;
mod lookup;
mod mock;
mod outgoing;
mod ownership;
mod parking;
mod passed;
mod positions;
mod produce;
mod producer;
mod producer_settings;
pub mod properties;
mod reach;
mod reading;
mod rebalance;
mod recreation;
mod requests;
mod seek;
mod settings;
mod share;
mod shared;
mod statistics;
mod subscription;
mod sys;
mod topic_ids;
mod topics;
mod trouble;

pub use arena::{HEADER_OVERHEAD_BYTES, RECORD_OVERHEAD_BYTES, RecordBody, Timestamp};
pub use cause::{broker_of, without_state};
pub use consumer::Consumer;
pub use credit::{Credit, Lease};
pub use error::{ClientErrorKind, ProduceFailure, ProduceFailureKind, StartError};
pub use event::Event;
pub use mock::{CommittedOffset, MockCluster, MockError, MockRecord, RequestKind};
pub use outgoing::{Outgoing, OutgoingBody, OutgoingHeader};
pub use producer::Producer;
pub use producer_settings::ProducerSettings;
pub use reach::{Reach, ReachError, reach};
pub use reading::{ReadError, TopicReader};
pub use settings::{ClientProperties, ConsumerSettings, RangePolicy, ResetPolicy, SettingsError};
pub use statistics::{BrokerStatistics, PartitionStatistics, Statistics};
pub use subscription::{TOPIC_CHARS_MAX, TopicFault, check_pattern, check_topic, is_pattern};
pub use sys::keep_freed_memory;
