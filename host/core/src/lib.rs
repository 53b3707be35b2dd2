//! The pure state machine of gristmill.

#![forbid(unsafe_code)]

pub mod io;
pub mod outcome;
pub mod policy;
pub mod record;
pub mod time;
