//! How a running host stops, as whoever sends it signals sees it. The brokers are librdkafka's mock.

use std::process::Command;
use std::time::{Duration, Instant};

use gristmill_kafka::{MockCluster, MockRecord};
use gristmill_tests::{Host, TemporaryFolder, plugin};

use crate::process::configuration;

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(30);

/// A cluster with one topic of one partition.
fn cluster() -> MockCluster {
    let cluster = MockCluster::start(1).unwrap();
    cluster.create_topic("orders", 1).unwrap();
    cluster
}

/// Puts a record there whose key tells the plugin what to do.
fn put(cluster: &MockCluster, key: &str) {
    cluster.produce("orders", MockRecord { key: Some(key.as_bytes()), ..MockRecord::default() }).unwrap();
    cluster.flush().unwrap();
}

/// Runs a host on the cluster, with a plugin that does what records say.
fn run(cluster: &MockCluster) -> Host {
    let more = "[plugin.limits]\ntime = \"19s\"\n[batch]\nmax_wait = \"10ms\"\n";
    let text = configuration("gristmill-mischief", more).replace("127.0.0.1:1", &cluster.bootstrap_servers());
    let folder = TemporaryFolder::new();
    let path = folder.write("g.toml", &text).display().to_string();
    let host = Host::start(folder, &["run", &path, "-v"]);
    host.wait_for_line("assigned; ", SOON);
    host
}

/// Where a line with this text stands.
#[track_caller]
fn place(lines: &[String], text: &str) -> usize {
    let found = lines.iter().position(|line| line.contains(text));
    found.unwrap_or_else(|| panic!("no line with {text:?} in {lines:#?}"))
}

/// S1: who asks hears at once what is waited for, and at the end that it is over.
#[test]
fn a_stop_is_acknowledged_before_what_it_waits_for() {
    let cluster = cluster();
    put(&cluster, "sleep:6000");
    let host = run(&cluster);
    host.wait_for_line("handed a batch over", SOON);
    host.signal("TERM");
    let (code, lines) = host.wait_for_end(SOON);
    assert_eq!(code, 0, "{lines:#?}");
    let asked = place(&lines, "asked to stop; a second signal leaves at once");
    assert!(lines[asked].contains("waits_for=\"the running batch\" wait_max_ms=20000"), "{}", lines[asked]);
    assert!(asked < place(&lines, "the plugin answered"), "{lines:#?}");
    assert!(lines.last().unwrap().starts_with("gristmill: stopped as it was asked to; "), "{lines:#?}");
}

/// S1: an idle host has only the group to leave.
#[test]
fn a_stop_of_an_idle_host_waits_for_nothing_but_leaving() {
    let cluster = cluster();
    let host = run(&cluster);
    // The start position is committed first.
    host.wait_for_line("next_offsets=", SOON);
    host.signal("INT");
    let (code, lines) = host.wait_for_end(SOON);
    assert_eq!(code, 0, "{lines:#?}");
    let asked = place(&lines, "asked to stop; a second signal leaves at once");
    assert!(lines[asked].contains("waits_for=\"leaving the group\""), "{}", lines[asked]);
    assert!(lines.last().unwrap().starts_with("gristmill: stopped as it was asked to; "), "{lines:#?}");
}

/// What follows a second signal, less than the five seconds that leaving may take after the first. The host takes one; the rest is
/// for a machine that compiles meanwhile.
const AT_ONCE: Duration = Duration::from_secs(3);

/// S2: leaving has begun with the first signal and waits for a broker that says nothing any more.
#[test]
fn a_second_signal_ends_a_host_at_once_that_cannot_leave_its_group() {
    let cluster = cluster();
    let host = run(&cluster);
    host.wait_for_line("next_offsets=", SOON);
    cluster.set_round_trip(1, SOON * 2).unwrap();
    host.signal("TERM");
    host.wait_for_line("waits_for=\"leaving the group\"", SOON);
    let asked = Instant::now();
    host.signal("TERM");
    let (code, lines) = host.wait_for_end(SOON);
    assert!(asked.elapsed() < AT_ONCE, "it took {:?}: {lines:#?}", asked.elapsed());
    assert_eq!(code, 124, "{lines:#?}");
    assert!(place(&lines, "asked again; leaves at once") < lines.len(), "{lines:#?}");
}

/// S2: a batch is with the plugin, and its broker is gone.
#[test]
fn a_second_signal_ends_a_host_at_once_in_the_middle_of_a_batch() {
    let cluster = cluster();
    put(&cluster, "sleep:15000");
    let host = run(&cluster);
    host.wait_for_line("handed a batch over", SOON);
    cluster.set_round_trip(1, SOON * 2).unwrap();
    host.signal("TERM");
    host.wait_for_line("waits_for=\"the running batch\"", SOON);
    let asked = Instant::now();
    host.signal("INT");
    let (code, lines) = host.wait_for_end(SOON);
    assert!(asked.elapsed() < AT_ONCE, "it took {:?}: {lines:#?}", asked.elapsed());
    assert_eq!(code, 124, "{lines:#?}");
    assert!(lines.last().unwrap().contains("asked twice"), "{lines:#?}");
}

/// S1: neither an unread configuration nor a plugin that is still being loaded keeps a host from stopping. A pipe that nobody
/// writes to stands for a slow disk, a plugin that does not come to the end of its start for a long compilation.
#[test]
fn a_stop_that_comes_while_the_host_starts_is_heard() {
    let unread = configuration("gristmill-echo", "").replace("orders-to-nowhere", "${file:pipe}");
    let spinning = "settings = { init = \"spin\" }\nlimits = { time = \"90s\", cpu = \"90s\" }\n";
    let unloaded = configuration("gristmill-mischief", spinning);
    for (slow, text) in [("an unread configuration", unread), ("an unloaded plugin", unloaded)] {
        let folder = TemporaryFolder::new();
        folder.write("g.toml", &text);
        assert!(Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap().success());
        let host = Host::start(folder, &["run", "g.toml"]);
        wait_until_signals_are_taken(&host);
        host.signal("TERM");
        let (code, lines) = host.wait_for_end(SOON);
        assert_eq!(code, 0, "{slow}: {lines:#?}");
        let last = lines.last().map(String::as_str);
        assert_eq!(
            last,
            Some("gristmill: stopped as it was asked to, before any record was read"),
            "{slow}: {lines:#?}"
        );
    }
}

/// Whoever stops the demo early leaves records in the log, and they are part of the sum.
#[test]
fn a_demo_that_is_stopped_early_adds_up() {
    let plugin = plugin("gristmill-count").display().to_string();
    let until_stopped = (&["demo", "--plugin", &plugin, "--keep"][..], "a record every 10 ms, until you press Ctrl-C");
    let in_the_middle = (&["demo", "--plugin", &plugin][..], "60 records, one every 20 ms");
    for (arguments, scene) in [until_stopped, in_the_middle] {
        let host = Host::start(TemporaryFolder::new(), arguments);
        host.wait_for_line(scene, SOON);
        host.signal("INT");
        let (code, lines) = host.wait_for_end(SOON);
        assert_eq!(code, 0, "{arguments:?}: {lines:#?}");
        assert!(place(&lines, "records committed") < place(&lines, "everything adds up"), "{arguments:?}: {lines:#?}");
    }
}

/// Waits until the host has taken SIGTERM over from the system, which would kill it.
#[track_caller]
fn wait_until_signals_are_taken(host: &Host) {
    const TERM: u64 = 1 << (15 - 1);
    let deadline = Instant::now() + SOON;
    loop {
        let status = std::fs::read_to_string(format!("/proc/{}/status", host.process_id())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        if u64::from_str_radix(caught.trim(), 16).unwrap() & TERM != 0 {
            return;
        }
        assert!(Instant::now() < deadline, "SIGTERM would still kill the host: {caught}");
        std::thread::yield_now();
    }
}
