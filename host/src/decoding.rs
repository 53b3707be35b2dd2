//! Decoding on the way from the Kafka edge to the machine: on a thread of its own, while the plugin works.
//!
//! | file | what it does |
//! | --- | --- |
//! | `formats` | which topic's keys and values are what |
//! | `record` | one record: what the plugin gets, or why it gets nothing |
//! | `stage` | the thread: everything about records passes it in order |
//!
//! Where no topic has a format there is no stage, and records go straight to the machine.

mod formats;
mod record;
mod stage;

pub(crate) use self::formats::Formats;
pub(crate) use self::record::{Made, Unavailable, decode};
pub(crate) use self::stage::{News, Stage};
