//! The only unsafe code of the measurements: what no safe interface offers.
//!
//! It must not know what is measured.

#![expect(unsafe_code, reason = "librdkafka's batch calls, and what a system tells of processes, are C functions")]

pub(crate) mod process;
pub(crate) mod queue;
