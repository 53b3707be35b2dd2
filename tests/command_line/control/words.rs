//! What the commands say, and what they do.

use serde_json::Value;

use super::{PIPELINE, SOON, Station, command, text};
use crate::process::Run;
use gristmill_tests::{Host, TemporaryFolder};

/// S5: what is held is shown with its cause and the commands that release it, and they do.
#[test]
fn what_is_held_is_shown_with_the_command_that_releases_it() {
    let station = Station::start("");
    station.put("fatal-once:no table orders");
    let held = station.wait_until("the hold", |status| status["state"] == "held");
    let [hold] = held["held"].as_array().unwrap().as_slice() else { panic!("{held:#}") };
    assert_eq!((&hold["kind"], &hold["positions"]), (&"fatal".into(), &"orders/0 0".into()), "{hold:#}");
    assert_eq!(hold["reason"], "the plugin said fatal: no table orders");
    assert_eq!(hold["partition"], Value::Null, "everything is held");

    let shown = station.command(&["status"]).good().stdout.clone();
    let retry = format!("gristmill retry --socket {}", station.socket().display());
    assert!(shown.starts_with(&format!("{PIPELINE}: held for ")), "{shown}");
    assert!(shown.contains("everything: the plugin said fatal: no table orders (orders/0 0), for "), "{shown}");
    assert!(shown.lines().any(|line| line.trim() == retry), "{shown}");
    assert_eq!(hold["release"][0]["command"], retry.as_str());

    let arguments: Vec<&str> = retry.split(' ').skip(1).collect();
    let said = station.command(&arguments).good().stdout.clone();
    let wanted = format!(
        "{PIPELINE} (pid {}): released 1 thing; state running\n  the plugin said fatal: no table orders (orders/0 0)\n",
        station.host.process_id()
    );
    assert_eq!(said, wanted);
    station.wait_until("the commit", |status| {
        status["counts"]["committed"] == 1 && status["held"] == Value::Array(vec![])
    });
    let counts = station.status()["counts"].clone();
    assert_eq!((&counts["handed_over"], &counts["redelivered"]), (&2.into(), &1.into()), "{counts:#}");
    let said = station.command(&["retry"]).good().stdout.clone();
    assert!(said.ends_with(": nothing was held, and no batch waited; state running\n"), "{said}");
    let lines = station.stop();
    let asked = lines.iter().find(|line| line.contains("asked through the control socket")).unwrap();
    assert!(asked.contains("wish=\"retry\" uid=") && asked.contains(" pid="), "{asked}");
}

/// Nothing was released, and something is held all the same.
#[test]
fn what_a_retry_finds_as_it_was_is_said_to_be_held_again() {
    let station = Station::start("[topics.orders]\nkey_format = \"json\"\n");
    station.put("no json");
    station.wait_until("the hold", |status| status["state"] == "held");
    let said = station.command(&["retry"]).good().stdout.clone();
    let words = "): what was held is held again: the record at offset 0 cannot be decoded";
    assert!(said.contains(words) && said.ends_with(" (orders/0 0); state held\n"), "{said}");
    station.stop();
}

/// D1: what is skipped must not be lost, so without a place for it nothing is.
#[test]
fn without_a_dead_letter_topic_nothing_is_skipped() {
    let station = Station::start("");
    station.put("fatal-once:no table orders");
    station.wait_until("the hold", |status| status["state"] == "held");
    let wanted = "there is no dead-letter topic, and what is skipped must not be lost; configure [dead_letter]";
    station.command(&["skip", "--reason", "why not"]).refused(1, &[wanted]);
    station.command(&["skip", "--reason", " "]).refused(1, &["a skip has to say why; write --reason"]);
    assert_eq!(station.command(&["skip"]).code, 2, "why is not optional");
    assert_eq!(station.status()["counts"]["committed"], 0);
    station.stop();
}

/// R2: a retry ends a wait, and the wait is shown with its reason and what is next.
#[test]
fn a_batch_that_waits_is_shown_and_a_retry_ends_the_wait() {
    let station = Station::start("[retry]\ninitial = \"1h\"\nmax = \"2h\"\n");
    station.put("retry:the database is down");
    let waiting = station.wait_until("the wait", |status| status["state"] == "waiting");
    let batch = &waiting["batches"][0];
    assert_eq!((&batch["stands"], &batch["attempt"], &batch["records"]), (&"waits".into(), &1.into(), &1.into()));
    assert_eq!((&batch["positions"], &batch["reason"]), (&"orders/0 0".into(), &"the database is down".into()));
    assert!(batch["next_attempt_in_ms"].as_u64().is_some_and(|ms| ms > 1_000_000), "{batch:#}");
    let shown = station.command(&["status"]).good().stdout.clone();
    assert!(
        shown.contains(": waiting for ") && shown.contains(": attempt 1 failed: the database is down\n"),
        "{shown}"
    );
    assert!(shown.contains("1, attempt 1, 1 record (orders/0 0): waits for "), "{shown}");
    let said = station.command(&["retry"]).good().stdout.clone();
    assert!(said.contains("  the wait after attempt 1 of batch 1 (orders/0 0): the database is down\n"), "{said}");
    // The budget is fresh.
    let again = station.wait_until("the second wait", |status| status["counts"]["retries"] == 2);
    assert_eq!(again["batches"][0]["attempt"], 1, "{again:#}");
    station.stop();
}

/// A pause lets the batch end that is out, and nothing else begin.
#[test]
fn a_pause_stops_hand_overs_until_it_is_over() {
    let station = Station::start("");
    let named = format!("{PIPELINE} (pid {}): ", station.host.process_id());
    let said = |name: &str| station.command(&[name]).good().stdout.clone();
    let paused = "paused; nothing is handed over until gristmill resume; state paused\n";
    assert_eq!(said("pause"), format!("{named}{paused}"));
    assert_eq!(said("pause"), format!("{named}was paused already; state paused\n"));
    station.put("ok");
    let filled = station.wait_until("the record", |status| status["filling"] == 1);
    assert_eq!((&filled["state"], &filled["paused"]), (&"paused".into(), &true.into()));
    // Longer than a batch waits for its last record.
    let later = station.wait_until("a moment", |status| status["state_for_ms"].as_u64() > Some(100));
    assert_eq!((&later["counts"]["handed_over"], &later["batches"][0]), (&0.into(), &Value::Null), "{later:#}");
    assert_eq!(said("resume"), format!("{named}resumed; hand-overs go on; state running\n"));
    assert_eq!(said("resume"), format!("{named}was not paused; state running\n"));
    station.wait_until("the commit", |status| status["counts"]["committed"] == 1);
    station.stop();
}

/// S1: the running batch is waited for, and the command says so.
#[test]
fn a_stop_says_what_it_waits_for_and_the_host_ends_well() {
    let station = Station::start("limits = { time = \"20s\" }\n");
    station.put("sleep:2000");
    station.wait_until("the batch", |status| status["batches"][0]["stands"] == "out");
    let shown = station.command(&["status"]).good().stdout.clone();
    assert!(shown.contains("1, attempt 1, 1 record (orders/0 0): with the plugin for "), "{shown}");
    let said = station.command(&["stop"]).good().stdout.clone();
    assert!(said.contains("asked to stop; state draining: waits for the running batch, "), "{said}");
    let said = station.command(&["stop"]).good().stdout.clone();
    assert!(said.contains("was asked to stop already; state draining: "), "{said}");
    let ended = station.command(&["pause"]);
    ended.refused(1, &["the host is on its way out", "start it again with gristmill run"]);
    let socket = station.socket();
    let (code, lines) = station.host.wait_for_end(SOON);
    assert_eq!(code, 0, "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("stopped committed=1 ")), "{lines:#?}");
    assert!(!socket.exists(), "the socket stayed behind");
}

/// S2: and it need not be waited for.
#[test]
fn a_stop_now_cuts_the_running_batch_off() {
    let station = Station::start("limits = { time = \"60s\", cpu = \"2s\" }\n");
    station.put("sleep:50000");
    station.wait_until("the batch", |status| status["batches"][0]["stands"] == "out");
    let said = station.command(&["stop", "--now"]).good().stdout.clone();
    assert!(said.contains("asked to leave at once; state draining: waits for leaving the group, "), "{said}");
    let (code, lines) = station.host.wait_for_end(SOON);
    assert_eq!(code, 124, "{lines:#?}");
}

/// A plugin that does not come to the end of its start stands for a long compilation.
#[test]
fn a_host_that_loads_its_plugin_is_starting() {
    let folder = TemporaryFolder::new();
    let spinning = "settings = { init = \"spin\" }\nlimits = { time = \"90s\", cpu = \"90s\" }\n";
    folder.write("g.toml", &text(spinning, "127.0.0.1:1"));
    let host = Host::start(folder, &["run", "g.toml"]);
    host.wait_for_line("listens to gristmill status", SOON);
    let ended = command(&host, &["status", "--output", "json"]);
    let status = &ended.good().json()[0];
    assert_eq!((&status["state"], &status["plugin"]["digest"]), (&"starting".into(), &Value::Null), "{status:#}");
    let shown = command(&host, &["status"]).good().stdout.clone();
    assert!(
        shown.starts_with(&format!("{PIPELINE}: starting for ")) && shown.contains(": loads its plugin\n"),
        "{shown}"
    );
    for wish in ["pause", "resume", "retry"] {
        command(&host, &[wish]).refused(1, &["the host still loads its plugin; try again"]);
    }
    command(&host, &["stop"]).good();
    let (code, lines) = host.wait_for_end(SOON);
    assert_eq!(code, 0, "{lines:#?}");
}

#[test]
fn answers_for_machines_are_one_object_each() {
    let station = Station::start("");
    let json = |arguments: &[&str]| {
        let [object] = &station.command(&[arguments, &["--output", "json"]].concat()).good().json()[..] else {
            panic!("{arguments:?}")
        };
        object.clone()
    };
    assert_eq!(json(&["status"])["pipeline"], PIPELINE);
    let paused = json(&["pause"]);
    assert_eq!((&paused["changed"], &paused["status"]["paused"]), (&true.into(), &true.into()), "{paused:#}");
    assert_eq!(paused["released"], Value::Array(vec![]));
    assert_eq!(json(&["retry"])["changed"], false);
    station.stop();
}

/// The log says what a process listens to; without one, the command says where it has looked.
#[test]
fn where_no_host_answers_the_command_says_where_it_looked() {
    for name in ["status", "pause", "resume", "retry", "stop"] {
        let run = Run::new().file("g.toml", text("", "127.0.0.1:1"));
        let folder = run.folder().display().to_string();
        run.with(&[name])
            .refused(69, &["no host answers; looked at ", &format!("{folder}/gristmill/*.sock"), "--socket"]);
        let run = Run::new().file("g.toml", text("", "127.0.0.1:1"));
        let socket = format!("{}/gristmill/{PIPELINE}.sock", run.folder().display());
        run.with(&[name, "g.toml"]).refused(69, &[&format!("no host of the pipeline {PIPELINE} answers"), &socket]);
        Run::new().with(&[name, "--socket", "nowhere.sock"]).refused(69, &["no host answers; looked at nowhere.sock"]);
        let off = Run::new().file("g.toml", text("[control]\nenabled = false\n", "127.0.0.1:1"));
        off.with(&[name, "g.toml"]).refused(78, &["control.enabled is false"]);
        Run::new().with(&[name, "nowhere.toml"]).refused(78, &["nowhere.toml", "also found by --socket"]);
        Run::new().with(&[name, "--set", "pipeline=a"]).refused(2, &["pipeline=a is laid over a configuration"]);
        assert_eq!(Run::new().with(&[name, "g.toml", "--socket", "a.sock"]).code, 2);
    }
}

/// Whoever has several pipelines names the one that is meant; a configuration does.
#[test]
fn of_two_hosts_the_one_that_is_meant_has_to_be_named() {
    let first = Station::start("");
    let second =
        first.host.folder().write("other.toml", &format!("pipeline = \"other one\"\n{}", text("", "127.0.0.1:1")));
    let folder = TemporaryFolder::new();
    let path = second.display().to_string();
    let other = Host::start_beside(folder, &first.host, &["run", &path]);
    other.wait_for_line(" starting ", SOON);
    let shown = first.command(&["status"]).good().stdout.clone();
    assert!(shown.starts_with(&format!("{PIPELINE}: ")) && shown.contains("\n\nother one: "), "{shown}");
    let ended = first.command(&["pause"]);
    ended.refused(2, &["2 hosts answer; name one with --socket: ", "other one (pid ", "gristmill/other%20one.sock"]);
    let said = first.command(&["pause", &path]).good().stdout.clone();
    assert!(said.starts_with("other one (pid "), "{said}");
    first.command(&["stop", &path, "--set", "pipeline=other one"]).good();
    assert_eq!(other.wait_for_end(SOON).0, 0);
    first.is_well();
    first.stop();
}
