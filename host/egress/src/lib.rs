//! Where a plugin's requests and connections may go, and the way there.
//!
//! It knows addresses, names and HTTP; it knows no plugin, no guest and nothing of Kafka.

#![forbid(unsafe_code)]

pub mod address;
#[cfg(test)]
mod vectors;
