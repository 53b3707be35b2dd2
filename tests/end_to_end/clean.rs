//! Nothing goes wrong: every record once, every offset committed, memory flat, no processor time when idle.

use std::fs;
use std::time::Duration;

use gristmill_tests::{Host, Seen, shared_broker};

use crate::chance::long;
use crate::pipeline::{Pipeline, SOON, stop, wait_until_all_seen, wait_until_handed_over};

/// C1: offsets come from the batches, and are the end of each partition as Kafka's own tool says.
#[test]
fn a_clean_run_hands_every_record_over_once_and_commits_it() {
    let records = if long() { 166_667 } else { 100_000 };
    let pipeline = Pipeline::new(shared_broker(), "clean");
    let loaded = pipeline.load(6, records);
    let host = pipeline.run();
    wait_until_handed_over(&host, 100_000, SOON);
    let (resident_early, _) = resident_bytes(&host);
    wait_until_all_seen(&host, &loaded, SOON * 3);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let (resident_late, _) = resident_bytes(&host);
    println!("resident: {resident_early} bytes after 100000 records, {resident_late} at the end");
    let seen = Seen::from_lines(&stop(host));
    assert_eq!(seen.missing(&loaded), "");
    assert_eq!((seen.handed_over(), seen.repeats()), (loaded.records(), 0));
    if long() {
        assert!(
            resident_late * 10 <= resident_early * 11,
            "memory grew from {resident_early} to {resident_late} bytes"
        );
    }
}

/// S6: an idle host sleeps.
#[test]
fn an_idle_host_uses_no_processor_time_to_speak_of() {
    let pipeline = Pipeline::new(shared_broker(), "idle");
    let loaded = pipeline.load(3, 10);
    let host = pipeline.run();
    wait_until_all_seen(&host, &loaded, SOON);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let before = processor_ticks(&host);
    // The passing of time is what is measured here.
    std::thread::sleep(Duration::from_secs(5));
    let ticks = processor_ticks(&host) - before;
    println!("{ticks} of 500 ticks");
    assert!(ticks <= 25, "an idle host used {ticks} ticks of 10 ms in 5 s");
    stop(host);
}

/// What the process has in memory now, and the most that it ever had.
pub(crate) fn resident_bytes(host: &Host) -> (u64, u64) {
    let text = fs::read_to_string(format!("/proc/{}/status", host.process_id())).unwrap();
    let bytes = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
    };
    (bytes("VmRSS:"), bytes("VmHWM:"))
}

/// Time that the process has used, in user and in system mode, in ticks of 10 ms.
fn processor_ticks(host: &Host) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/stat", host.process_id())).unwrap();
    let (_, after_name) = text.rsplit_once(") ").unwrap();
    let fields: Vec<&str> = after_name.split(' ').collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}
