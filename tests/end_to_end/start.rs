//! Starts that cannot go well: each with an exit code of its own and a last line that names the thing and the way out.

use std::time::{Duration, Instant};

use gristmill_tests::{Host, Seen, create_topic, load, read_topic, shared_broker, unique};

use crate::pipeline::{Pipeline, SOON, last, stop, wait_until_all_seen, wait_until_handed_over};

/// O2: a topic that is not there is named, does not silence the others, and is read once it appears.
#[test]
fn a_missing_topic_is_waited_for_while_the_others_flow() {
    let broker = shared_broker();
    let pipeline = Pipeline::new(broker, "present").set("batch", "max_wait", "\"100ms\"");
    let missing = unique("missing");
    let pipeline = pipeline.property("topic.metadata.refresh.interval.ms", "500");
    let topics = format!("[{:?}, {missing:?}]", pipeline.topic);
    let pipeline = pipeline.set("kafka", "topics", topics);
    let loaded = pipeline.load(1, 50);
    let host = pipeline.run();
    wait_until_all_seen(&host, &loaded, SOON);
    host.wait_for_line(&missing, SOON);
    create_topic(&broker.bootstrap(), &missing, 1);
    let _ = load(&broker.bootstrap(), &missing, 1, 20);
    wait_until_handed_over(&host, 70, SOON);
    stop(host);
}

/// O2: or it ends the host, where the operator wants that.
#[test]
fn a_missing_topic_can_end_the_host() {
    let pipeline = Pipeline::new(shared_broker(), "absent").set("start", "missing_topics", "\"exit\"");
    let pipeline = pipeline.set("start", "wait", "\"2s\"");
    let (code, lines) = pipeline.run().wait_for_end(SOON);
    assert_eq!(code, 78, "{}", last(&lines));
    assert!(lines.last().is_some_and(|line| line.contains(&pipeline.topic)), "{}", last(&lines));
}

/// What is written to is looked for once, beside the start: each topic that is missing is told once, and nothing waits for it. The
/// answer sticks to nobody: a topic that is created afterwards is written to at once.
#[test]
fn a_start_tells_once_of_the_topics_that_it_would_write_to_and_that_are_missing() {
    let broker = shared_broker();
    let pipeline =
        Pipeline::new(broker, "unwritten").set("batch", "max_wait", "\"100ms\"").setting("reject_at", "0:15");
    let names = ["dead", "copies", "there"].map(|name| format!("{}.{name}", pipeline.topic));
    let [dead, copies, there] = &names;
    create_topic(&broker.bootstrap(), there, 1);
    let pipeline = pipeline.set("dead_letter", "topic", format!("{dead:?}"));
    let pipeline = pipeline.set("sinks.copies", "topic", format!("{copies:?}"));
    let pipeline = pipeline.set("sinks.others", "topic", format!("{there:?}"));
    let mut loaded = pipeline.load(1, 10);
    let host = pipeline.run();
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let told = |line: &String| line.contains("a topic that is written to does not exist; create it");
    host.wait_until("both are told", SOON, |lines| (lines.iter().filter(|line| told(line)).count() == 2).then_some(()));
    create_topic(&broker.bootstrap(), dead, 1);
    pipeline.load_more(&mut loaded, 10);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let lines = stop(host);
    assert_eq!(read_topic(&broker.bootstrap(), dead).len(), 1);
    let mut said: Vec<&String> = lines.iter().filter(|line| told(line)).collect();
    said.sort_by_key(|line| line.contains(dead));
    let [of_sink, of_letters] = said[..] else { panic!("{said:?}") };
    assert!(of_sink.contains(copies) && of_sink.contains("sinks.copies.topic"), "{of_sink}");
    assert!(of_letters.contains(dead) && of_letters.contains("dead_letter.topic"), "{of_letters}");
    assert!(said.iter().all(|line| line.contains("\"level\":\"warn\"")), "{said:?}");
    assert!(!lines.iter().any(|line| line.contains("held: ")), "{}", last(&lines));
}

#[test]
fn unreachable_brokers_end_the_host() {
    // Bound and never accepting in Kafka's words: somebody else cannot start to listen there meanwhile.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let pipeline = Pipeline::new(shared_broker(), "unreachable").set("start", "wait", "\"2s\"");
    let pipeline = pipeline.set("kafka", "bootstrap_servers", format!("{address:?}"));
    let (code, lines) = pipeline.run().wait_for_end(SOON);
    assert_eq!(code, 69, "{}", last(&lines));
    assert!(lines.last().is_some_and(|line| line.contains(&address)), "{}", last(&lines));
}

#[test]
fn a_configuration_that_does_not_fit_ends_the_host_before_it_joins() {
    let pipeline = Pipeline::new(shared_broker(), "misfit").set("batch", "max_recrods", "10");
    let (code, lines) = pipeline.run().wait_for_end(SOON);
    assert_eq!(code, 78, "{}", last(&lines));
    let text = lines.join("\n");
    assert!(text.contains("gristmill.toml:") && text.contains("max_records"), "{text}");
    assert!(pipeline.committed().is_empty());
}

#[test]
fn a_file_that_is_no_plugin_ends_the_host_before_it_joins() {
    let pipeline = Pipeline::new(shared_broker(), "no-plugin").set("plugin", "path", "\"gristmill.toml\"");
    let (code, lines) = pipeline.run().wait_for_end(SOON);
    assert_eq!(code, 78, "{}", last(&lines));
    assert!(lines.last().is_some_and(|line| line.contains("gristmill.toml")), "{}", last(&lines));
    assert!(pipeline.committed().is_empty());
}

/// B10: the older of two processes with one static id ends with its own code, names the id, and commits nothing.
#[test]
fn a_fenced_static_member_ends_with_its_own_code() {
    let pipeline = Pipeline::new(shared_broker(), "fenced").property("group.instance.id", "the-only-one");
    let pipeline = pipeline.batches_of(10).setting("pause_ms", "20000").set("plugin.limits", "time", "\"40s\"");
    let _ = pipeline.load(1, 30);
    let older = pipeline.run();
    wait_until_handed_over(&older, 10, SOON);
    let newer = pipeline.run();
    let begun = Instant::now();
    let (code, lines) = older.wait_for_end(SOON);
    println!("fenced after {:?}", begun.elapsed());
    assert_eq!(code, 71, "{}", last(&lines));
    assert!(lines.last().is_some_and(|line| line.contains("group.instance.id")), "{}", last(&lines));
    // Who is no member any more has no group to leave.
    assert!(!lines.iter().any(|line| line.contains("did not close in time")), "{}", last(&lines));
    assert!(pipeline.committed().values().all(|next| *next == 0));
    wait_until_handed_over(&newer, 10, SOON);
    drop(newer.kill());
}

/// With the consumer protocol the brokers keep a static member's id for it until its session ends, also when it was killed. That
/// passes, so a supervisor has to start the host again.
#[test]
fn a_static_member_that_was_killed_is_waited_for_by_starting_again() {
    let pipeline = Pipeline::new(shared_broker(), "unreleased").property("group.protocol", "consumer");
    let pipeline = pipeline.without_property("session.timeout.ms").without_property("heartbeat.interval.ms");
    let pipeline = pipeline.property("group.instance.id", "one");
    let _ = pipeline.load(1, 10);
    let host = pipeline.run();
    wait_until_handed_over(&host, 10, SOON);
    drop(host.kill());
    let (code, lines) = pipeline.run().wait_for_end(SOON);
    assert_eq!(code, 1, "{}", last(&lines));
    assert!(lines.last().is_some_and(|line| line.contains("group.instance.id one is still taken")), "{}", last(&lines));
}

/// O3: the log says for each partition whether it resumes or resets, and where.
#[test]
fn the_start_of_each_partition_is_logged() {
    let pipeline = Pipeline::new(shared_broker(), "logged").set("batch", "max_wait", "\"100ms\"");
    let loaded = pipeline.load(2, 10);
    let host = pipeline.run();
    wait_until_all_seen(&host, &loaded, SOON);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let first = stop(host);
    let resets = first.iter().filter(|line| line.contains("the configured policy chose the start")).count();
    assert_eq!(resets, 2, "{}", last(&first));
    let host = pipeline.run();
    let resumes = |lines: &[String]| {
        let lines = lines.iter().filter(|line| line.contains("resumes") && line.contains("\"next_offset\":10"));
        (lines.count() == 2).then_some(())
    };
    host.wait_until("both partitions resume", SOON, resumes);
    assert_eq!(Seen::from_lines(&stop(host)).handed_over(), 0);
}

/// The host can be run from another place than a terminal: nothing is asked for.
#[test]
fn a_host_without_a_configuration_says_how_it_is_used() {
    let folder = gristmill_tests::TemporaryFolder::new();
    let (code, lines) = Host::start(folder, &["run"]).wait_for_end(Duration::from_secs(20));
    assert_eq!(code, 2, "{}", last(&lines));
}
