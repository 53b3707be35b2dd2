//! The broker goes away and comes back, or stops answering for a while: the host waits, and nothing is lost.

use std::time::Duration;

use gristmill_tests::Seen;
use xtask::kafka::{Broker, Options};

use crate::pipeline::{Pipeline, SOON, stop, wait_until_all_seen, wait_until_handed_over};

/// C2, C5: commits that failed or whose end is unknown are settled once the broker is back.
#[test]
fn a_broker_that_dies_and_comes_back_costs_no_record() {
    let broker = Broker::start(&Options::default()).unwrap();
    let pipeline = Pipeline::new(&broker, "outage").batches_of(100).setting("pause_ms", "30");
    let pipeline = pipeline.set("batch", "max_wait", "\"200ms\"");
    let loaded = pipeline.load(2, 4_000);
    let host = pipeline.run();
    wait_until_handed_over(&host, 500, SOON);
    broker.kill().unwrap();
    broker.restart().unwrap();
    wait_until_handed_over(&host, 3_000, SOON);
    broker.freeze().unwrap();
    // The broker's silence is what is tested.
    std::thread::sleep(Duration::from_secs(2));
    broker.thaw().unwrap();
    wait_until_all_seen(&host, &loaded, SOON * 2);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let seen = Seen::from_lines(&stop(host));
    assert_eq!(seen.missing(&loaded), "");
    println!("{} repeats", seen.repeats());
}
