//! A host on a real Kafka that is talked to: what it shows, and what pause, resume, retry and stop do to records and offsets.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use gristmill_tests::{Host, Seen, TemporaryFolder, shared_broker};
use serde_json::{Value, json};

use crate::pipeline::{Pipeline, SOON, last, wait_until_all_seen, wait_until_handed_over};

/// Asks the host that listens there.
#[track_caller]
fn ask(socket: &Path, request: &str) -> Value {
    let stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    let mut stream = BufReader::new(stream);
    stream.get_mut().write_all(format!("{}\n", json!({"version": 1, "request": request})).as_bytes()).unwrap();
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

/// Runs a command beside the host, fails unless it ends well, and returns what it printed.
#[track_caller]
pub(crate) fn command(host: &Host, arguments: &[&str]) -> String {
    let (code, lines) = Host::start_beside(TemporaryFolder::new(), host, arguments).wait_for_end(SOON);
    assert_eq!(code, 0, "{arguments:?}: {lines:#?}");
    lines.join("\n")
}

/// The same for one that is refused: its code and what it said.
pub(crate) fn refused(host: &Host, arguments: &[&str]) -> (i32, String) {
    let (code, lines) = Host::start_beside(TemporaryFolder::new(), host, arguments).wait_for_end(SOON);
    assert_ne!(code, 0, "{arguments:?}: {lines:#?}");
    (code, lines.join("\n"))
}

/// Waits until the host's status fulfils the condition.
#[track_caller]
pub(crate) fn wait_until(socket: &Path, what: &str, found: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + SOON;
    loop {
        let status = ask(socket, "status")["status"].clone();
        if found(&status) {
            return status;
        }
        assert!(Instant::now() < deadline, "{what} did not come: {status:#}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The partition with this number in a status.
fn of_partition(status: &Value, number: i32) -> &Value {
    let partitions = status["partitions"].as_array().unwrap();
    partitions
        .iter()
        .find(|it| it["partition"] == number)
        .unwrap_or_else(|| panic!("no partition {number}: {status:#}"))
}

/// Stops the host by its socket and waits for a clean end.
#[track_caller]
fn stop(host: Host) -> Vec<String> {
    let said = command(&host, &["stop"]);
    assert!(said.contains("asked to stop; state draining"), "{said}");
    let (code, lines) = host.wait_for_end(SOON);
    assert_eq!(code, 0, "{}", last(&lines));
    lines
}

/// S5: everything is held by a fatal answer; status says why and how to go on; the retry hands the same batch over again, and what
/// stood behind it follows.
#[test]
fn what_a_fatal_answer_holds_is_released_by_a_retry() {
    let pipeline = Pipeline::new(shared_broker(), "talked-fatal").plugin("gristmill-mischief").batches_of(2);
    let pipeline = pipeline.set("fatal", "then", "\"hold\"").set("plugin", "instances", "\"reuse\"");
    let _ = pipeline.load(1, 0);
    for key in ["fatal-once:no table", "ok", "ok", "ok"] {
        pipeline.put(key);
    }
    let host = pipeline.run();
    let socket = host.socket(&pipeline.group);
    host.wait_for_line("held: the plugin said fatal", SOON);
    let status = ask(&socket, "status")["status"].clone();
    let hold = &status["held"][0];
    assert_eq!((&status["state"], &hold["kind"]), (&"held".into(), &"fatal".into()), "{status:#}");
    assert_eq!(hold["positions"], format!("{}/0 0..1", pipeline.topic), "{status:#}");
    let retry = hold["release"][0]["command"].as_str().unwrap();
    assert_eq!(retry, format!("gristmill retry --socket {}", socket.display()));
    assert!(command(&host, &["status"]).contains(retry));
    assert!(pipeline.committed().values().all(|next| *next == 0));
    let arguments: Vec<&str> = retry.split(' ').skip(1).collect();
    let said = command(&host, &arguments);
    assert!(said.contains("released 1 thing") && said.contains("the plugin said fatal: no table"), "{said}");
    pipeline.wait_until_committed(&BTreeMap::from([(0, 4)]), SOON);
    let status = wait_until(&socket, "the end of the log", |status| status["lag"] == 0);
    assert_eq!((&status["state"], &status["held"]), (&"running".into(), &json!([])), "{status:#}");
    assert_eq!((&status["counts"]["handed_over"], &status["counts"]["redelivered"]), (&6.into(), &2.into()));
    let lines = stop(host);
    assert!(
        lines.iter().any(|line| line.contains("\"wish\":\"retry\"") && line.contains("\"uid\":")),
        "{}",
        last(&lines)
    );
}

/// O1, S5: a position that is not in the log holds its partition and shows it; the other flows. A retry looks again, and what is not
/// cured is held again.
#[test]
fn a_held_partition_is_shown_and_a_retry_looks_again() {
    let broker = shared_broker();
    let pipeline = Pipeline::new(broker, "talked-offset").set("batch", "max_wait", "\"100ms\"");
    let _ = pipeline.load(2, 100);
    broker.set_committed(&pipeline.group, &pipeline.topic, 0, 20).unwrap();
    broker.delete_records(&pipeline.topic, &[(0, 60)]).unwrap();
    let host = pipeline.run();
    let socket = host.socket(&pipeline.group);
    host.wait_for_line("held: the partition cannot be read", SOON);
    pipeline.wait_until_committed(&BTreeMap::from([(0, 20), (1, 100)]), SOON);
    let status = wait_until(&socket, "both lags", |status| {
        of_partition(status, 0)["lag"] == 80 && of_partition(status, 1)["lag"] == 0
    });
    let [hold] = status["held"].as_array().unwrap().as_slice() else { panic!("{status:#}") };
    assert_eq!((&hold["kind"], &hold["partition"]), (&"position".into(), &0.into()), "{status:#}");
    assert!(hold["reason"].as_str().unwrap().contains("offset 20 is not in the log, which reaches from 60 to 100"));
    assert_eq!((&of_partition(&status, 0)["committed"], &of_partition(&status, 0)["end"]), (&20.into(), &100.into()));
    assert!(of_partition(&status, 0)["progress_age_ms"].as_u64() > Some(0), "{status:#}");
    assert_eq!(of_partition(&status, 1)["progress_age_ms"], 0, "{status:#}");
    let said = command(&host, &["retry"]);
    assert!(said.contains("released 1 thing") && said.contains(&format!("{}/0: offset 20", pipeline.topic)), "{said}");
    let held_twice = |lines: &[String]| {
        (lines.iter().filter(|line| line.contains("held: the partition cannot be read")).count() == 2).then_some(())
    };
    host.wait_until("the second hold", SOON, held_twice);
    wait_until(&socket, "the hold", |status| status["held"][0]["partition"] == 0);
    let seen = Seen::from_lines(&stop(host));
    assert_eq!((seen.next_offsets(), seen.repeats()), (BTreeMap::from([(1, 100)]), 0));
}

/// A pause hands nothing over and keeps the membership; resume goes on where it stood, and nothing comes twice.
#[test]
fn a_pause_stops_hand_overs_and_resume_goes_on() {
    let pipeline = Pipeline::new(shared_broker(), "talked-paused").set("batch", "max_wait", "\"50ms\"");
    let mut loaded = pipeline.load(2, 100);
    let host = pipeline.run();
    let socket = host.socket(&pipeline.group);
    wait_until_all_seen(&host, &loaded, SOON);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    command(&host, &["pause"]);
    let before = loaded.end_offsets();
    pipeline.load_more(&mut loaded, 100);
    let paused = wait_until(&socket, "the records", |status| status["filling"] == 200);
    assert_eq!((&paused["state"], &paused["counts"]["handed_over"]), (&"paused".into(), &200.into()), "{paused:#}");
    // Longer than the session: whoever only waits is still a member.
    wait_until(&socket, "the end of a session", |status| status["state_for_ms"].as_u64() > Some(4_000));
    assert_eq!(pipeline.committed(), before);
    command(&host, &["resume"]);
    wait_until_all_seen(&host, &loaded, SOON);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let seen = Seen::from_lines(&stop(host));
    assert_eq!((seen.missing(&loaded), seen.repeats()), (String::new(), 0));
}

/// S1: by its socket a host stops as by a signal: the running batch is committed, and nothing comes twice.
#[test]
fn a_stop_by_the_socket_commits_the_running_batch() {
    let pipeline = Pipeline::new(shared_broker(), "talked-stop").batches_of(10).setting("pause_ms", "2000");
    let loaded = pipeline.load(1, 30);
    let host = pipeline.run();
    let socket = host.socket(&pipeline.group);
    wait_until_handed_over(&host, 10, SOON);
    let status = ask(&socket, "status")["status"].clone();
    assert_eq!(
        (&status["batches"][0]["stands"], &status["batches"][0]["records"]),
        (&"out".into(), &10.into()),
        "{status:#}"
    );
    assert_eq!(status["batches"][0]["positions"], format!("{}/0 0..9", pipeline.topic));
    let seen = Seen::from_lines(&stop(host));
    assert_eq!(pipeline.committed(), seen.next_offsets());
    assert!(seen.handed_over() < 30 && !seen.missing(&loaded).is_empty());
}

/// Two hosts of one group on one machine, and then one of them killed: each is shown with its own partitions, and the next one
/// listens where the dead one did.
#[test]
fn hosts_of_one_pipeline_listen_beside_each_other_and_a_dead_one_makes_room() {
    let pipeline = Pipeline::new(shared_broker(), "talked-two").set("batch", "max_wait", "\"50ms\"");
    let loaded = pipeline.load(2, 50);
    // The folder of the sockets outlives the first host.
    let keeper = Host::start(TemporaryFolder::new(), &["schema", "config"]);
    let start = |name: &str| {
        let folder = TemporaryFolder::new();
        let path = folder.write(&format!("{name}.toml"), &pipeline.configuration()).display().to_string();
        Host::start_beside(folder, &keeper, &["run", &path, "--log-format", "json"])
    };
    let socket = keeper.socket(&pipeline.group);
    let first = start("first");
    wait_until_all_seen(&first, &loaded, SOON);
    let mode = |path: &Path| std::fs::symlink_metadata(path).unwrap().mode() & 0o777;
    assert_eq!((mode(&socket), mode(socket.parent().unwrap())), (0o600, 0o700));
    let second = start("second");
    second.wait_for_line("assigned; ", SOON);
    let beside = socket.with_file_name(format!("{}-{}.sock", pipeline.group, second.process_id()));
    for (socket, host) in [(&socket, &first), (&beside, &second)] {
        let status =
            wait_until(socket, "one partition each", |status| status["partitions"].as_array().unwrap().len() == 1);
        assert_eq!(status["pid"], host.process_id(), "{status:#}");
    }
    let shown = command(&keeper, &["status"]);
    for host in [&first, &second] {
        assert!(shown.contains(&format!("process     {} for ", host.process_id())), "{shown}");
    }
    drop(first.kill());
    assert!(socket.exists(), "a killed host cleared up");
    let third = start("third");
    third.wait_for_line("listens to gristmill status", SOON);
    assert_eq!(ask(&socket, "status")["status"]["pid"], third.process_id());
    for socket in [&socket, &beside] {
        command(&keeper, &["stop", "--socket", &socket.display().to_string()]);
    }
    for host in [second, third] {
        let (code, lines) = host.wait_for_end(SOON);
        assert_eq!(code, 0, "{}", last(&lines));
    }
    assert!(!socket.exists() && !beside.exists());
}
