//! One PostgreSQL for all tests of a process.
//!
//! A test that kills its server starts one of its own.

use std::sync::OnceLock;

use xtask::postgres::Postgres;

/// The server that this process's tests share, started by the first one that asks.
///
/// # Panics
///
/// When it cannot be started: no test can go on then.
#[must_use]
pub fn shared_postgres() -> &'static Postgres {
    static SERVER: OnceLock<Postgres> = OnceLock::new();
    SERVER.get_or_init(|| match Postgres::start() {
        Ok(server) => server,
        Err(error) => panic!("cannot start PostgreSQL: {error:#}"),
    })
}
