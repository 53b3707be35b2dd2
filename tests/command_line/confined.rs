//! What a running host gave up of the system, as the kernel says.

use std::fs;

use crate::control::Station;

/// The line of a thread's status that begins with this word.
fn line(status: &str, word: &str) -> String {
    let line = status.lines().find(|line| line.starts_with(word));
    line.and_then(|line| line.split_whitespace().nth(1)).unwrap_or_default().to_owned()
}

/// By the name of each thread: whether it can gain rights by starting programs, and whether its system calls are filtered.
fn threads(process: u32) -> Vec<(String, String, String)> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let status = |task: fs::DirEntry| fs::read_to_string(task.path().join("status")).unwrap_or_default();
    let statuses = tasks.map(|task| status(task.unwrap())).filter(|status| !status.is_empty());
    statuses.map(|status| (line(&status, "Name:"), line(&status, "NoNewPrivs:"), line(&status, "Seccomp:"))).collect()
}

#[test]
fn every_thread_that_runs_a_guest_or_speaks_to_brokers_gave_up_what_it_does_not_need() {
    let station = Station::start("");
    let line = station.line("gave up what it does not need of the system");
    assert!(line.contains("landlock=yes") || line.contains("the kernel has none"), "{line}");
    let threads = threads(station.process_id());
    let guests: Vec<_> = threads.iter().filter(|(name, ..)| name.starts_with("guest")).collect();
    assert!(!guests.is_empty(), "{threads:?}");
    for (name, no_new_rights, filtered) in &threads {
        assert_eq!((no_new_rights.as_str(), filtered.as_str()), ("1", "2"), "{name} of {threads:?}");
    }
}

#[test]
fn who_turns_it_off_keeps_it_all() {
    let station = Station::start("[start]\nconfine = false\n");
    let threads = threads(station.process_id());
    assert!(threads.iter().all(|(_, _, filtered)| filtered == "0"), "{threads:?}");
}
