//! The gristmill host.

#![forbid(unsafe_code)]
