//! The way out against real sockets: what arrives at a listener, what never does, and when a request ends.
//!
//! It sends to loopback only. Names are answered, and addresses dialled, by a network of the tests' own, which writes down what it is
//! asked for and refuses every address that is not loopback. Where a test has to tell a granted address from another, the one is 127.0.0.1
//! and the other 127.0.0.2, with a listener on each.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

mod answers;
mod bodies;
mod certificates;
mod granted;
mod kept;
mod looked_up;
mod nameserver;
mod namespace;
mod rebinding;
mod server;
mod slow;
mod smuggling;
mod tls;
mod world;
