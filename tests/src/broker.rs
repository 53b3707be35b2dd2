//! One broker for all tests of a process, and names that no two tests share.
//!
//! A test that kills, freezes or fills its broker starts one of its own.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use xtask::kafka::{Broker, Options};

/// The broker that this process's tests share, started by the first one that asks.
///
/// # Panics
///
/// When it cannot be started: no test can go on then.
#[must_use]
pub fn shared_broker() -> &'static Broker {
    static BROKER: OnceLock<Broker> = OnceLock::new();
    BROKER.get_or_init(|| match Broker::start(&Options::default()) {
        Ok(broker) => broker,
        Err(error) => panic!("cannot start Kafka: {error:#}"),
    })
}

/// A name for a topic or a group that nobody else uses.
#[must_use]
pub fn unique(name: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{name}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}
