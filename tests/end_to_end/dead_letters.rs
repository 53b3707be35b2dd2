//! Records that cannot be handled: found, put aside with their story, and committed over once the brokers have them.

use std::collections::BTreeMap;
use std::time::Instant;

use gristmill_tests::{Found, Seen, create_topic, read_topic, shared_broker};

use crate::control::{command, refused};
use crate::pipeline::{Pipeline, SOON, last, stop};

/// A pipeline with a dead-letter topic, and that topic's name.
fn pipeline(name: &str) -> (Pipeline<'static>, String) {
    let broker = shared_broker();
    let pipeline = Pipeline::new(broker, name).set("retry", "initial", "\"10ms\"").set("retry", "max", "\"50ms\"");
    let letters = format!("{}.dead", pipeline.topic);
    create_topic(&broker.bootstrap(), &letters, 1);
    let pipeline = pipeline.set("dead_letter", "topic", format!("{letters:?}"));
    (pipeline, letters)
}

fn letters(topic: &str) -> Vec<Found> {
    read_topic(&shared_broker().bootstrap(), topic)
}

/// Of ten thousand records one breaks the plugin every time. Exactly that one is put aside, all others are handled and committed, and
/// the search costs no more calls than it may. `poison` is the setting that says what that record does to the witness.
#[track_caller]
fn one_of_ten_thousand(poison: &str, fault: &str, limits: &[(&str, &str)]) {
    const RECORDS: u64 = 10_000;
    const ATTEMPTS: u32 = 3;
    let (pipeline, topic) = pipeline(&poison.replace('_', "-"));
    let pipeline = pipeline.batches_of(RECORDS).setting(poison, "0:7777");
    let pipeline = pipeline.set("fault", "max_attempts", ATTEMPTS.to_string());
    let pipeline = limits.iter().fold(pipeline, |pipeline, (key, value)| pipeline.set("plugin.limits", key, *value));
    let loaded = pipeline.load(1, RECORDS);
    let begun = Instant::now();
    let host = pipeline.run();
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON * 2);
    let took = begun.elapsed();
    let lines = stop(host);
    let seen = Seen::from_lines(&lines);
    assert_eq!(seen.missing(&loaded), "", "each record was handed over: {}", last(&lines));
    let found = letters(&topic);
    assert_eq!(found.len(), 1, "{found:?}");
    let letter = &found[0];
    assert_eq!(letter.key.as_deref(), Some(&b"0-7777"[..]));
    assert_eq!(letter.value.as_ref().map(Vec::len), Some(100), "the original bytes");
    let story = [
        ("gristmill.origin.topic", pipeline.topic.as_str()),
        ("gristmill.origin.partition", "0"),
        ("gristmill.origin.offset", "7777"),
        ("gristmill.failure.class", "fault"),
        ("gristmill.failure.fault", fault),
    ];
    for (name, value) in story {
        assert_eq!(letter.header(name).as_deref(), Some(value), "{name}");
    }
    let halving = letter.header("gristmill.failure.halving").unwrap_or_default();
    assert!(halving.starts_with("10000 > 5000 > ") && halving.ends_with(" > 1"), "{halving}");
    let calls = lines.iter().filter(|line| line.contains("saw 0 ")).count();
    let allowed = 2 * RECORDS.next_power_of_two().ilog2() + ATTEMPTS;
    assert!(calls <= allowed as usize, "{calls} calls, {allowed} are allowed");
    println!("{poison}: {calls} calls of {allowed}, {took:?}; {halving}");
}

/// F5, D1, D3: it traps.
#[test]
fn one_poisoned_record_of_ten_thousand_is_found_and_put_aside() {
    one_of_ten_thousand("trap_at", "trap", &[]);
}

/// F5, D1, D3: the plugin computes for ever. Its own processor time is what is short here: a machine that is busy with others must not
/// make good batches late.
#[test]
fn one_record_of_ten_thousand_that_takes_for_ever_is_found_and_put_aside() {
    one_of_ten_thousand("spin_at", "timeout", &[("cpu", "\"500ms\""), ("time", "\"20s\"")]);
}

/// F5, D1, D3: the plugin takes memory without end.
#[test]
fn one_record_of_ten_thousand_that_takes_all_memory_is_found_and_put_aside() {
    one_of_ten_thousand("grow_at", "memory", &[]);
}

/// D2, B11: the brokers do not know the dead-letter topic, so nothing can be acknowledged and nothing is committed: the batch is
/// held with the way out, and goes on once the topic is there.
#[test]
fn without_its_topic_a_dead_letter_holds_and_nothing_is_committed() {
    let broker = shared_broker();
    let pipeline = Pipeline::new(broker, "no-letters").batches_of(10).setting("trap_at", "0:3");
    let pipeline = pipeline.set("retry", "initial", "\"10ms\"").set("fault", "max_attempts", "1");
    let topic = format!("{}.dead", pipeline.topic);
    let pipeline = pipeline.set("dead_letter", "topic", format!("{topic:?}"));
    let _ = pipeline.load(1, 10);
    let host = pipeline.run();
    let line = host.wait_for_line("held: the brokers refuse what has to be written", SOON);
    assert!(line.contains(&format!("the brokers know no topic {topic}")) && line.contains("create it"), "{line}");
    // The records before it are done: they were handed over without it.
    assert_eq!(pipeline.committed(), BTreeMap::from([(0, 3)]));
    let lines = stop(host);
    assert_eq!(pipeline.committed(), BTreeMap::from([(0, 3)]), "{}", last(&lines));
    create_topic(&broker.bootstrap(), &topic, 1);
    let pipeline = pipeline.set("batch", "max_wait", "\"100ms\"");
    let host = pipeline.run();
    pipeline.wait_until_committed(&BTreeMap::from([(0, 10)]), SOON);
    stop(host);
    assert_eq!(letters(&topic).len(), 1);
}

/// D8: a plugin that breaks on everything does not drain the topic into the dead-letter topic.
#[test]
fn a_plugin_that_breaks_on_everything_stops_the_host_before_the_topic_is_drained() {
    let (pipeline, topic) = pipeline("drained");
    let pipeline = pipeline.batches_of(100).set("fault", "max_attempts", "1").setting("trap_always", "yes");
    let pipeline = pipeline.set("dead_letter.stop_when", "consecutive", "5");
    let _ = pipeline.load(1, 100);
    let (code, lines) = pipeline.run().wait_for_end(SOON);
    assert_eq!(code, 75, "{}", last(&lines));
    let words = lines.last().cloned().unwrap_or_default();
    assert!(words.contains(&format!("{}/0: 5 records in a row became dead letters", pipeline.topic)), "{words}");
    assert_eq!(letters(&topic).len(), 4);
    assert_eq!(pipeline.committed(), BTreeMap::from([(0, 4)]));
}

/// D1, S5: what a fatal answer holds can be skipped: all of its records are put aside with the operator's reason, before anything is
/// committed, and what is behind them goes on.
#[test]
fn a_skip_puts_aside_what_is_held_and_goes_on_behind_it() {
    let (pipeline, topic) = pipeline("skipped");
    let pipeline = pipeline.batches_of(10).set("fatal", "then", "\"hold\"").setting("fatal_at", "0:13");
    let loaded = pipeline.load(1, 30);
    let host = pipeline.run();
    host.wait_for_line("held: the plugin said fatal", SOON);
    pipeline.wait_until_committed(&BTreeMap::from([(0, 10)]), SOON);
    let shown = command(&host, &["status"]);
    let at = format!("{}/0 10..19", pipeline.topic);
    assert!(shown.contains(&format!("gristmill skip --reason WHY --at \"{at}\" --socket ")), "{shown}");
    let (code, refused) =
        refused(&host, &["skip", "--reason", "typed twice", "--at", &format!("{}/0 0..9", pipeline.topic)]);
    assert!(code == 1 && refused.contains("nothing is held at "), "{code}: {refused}");
    let said = command(&host, &["skip", "--reason", "tenant 13 is gone", "--at", &at]);
    assert!(said.contains(": skips 1 thing; state "), "{said}");
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let said = command(&host, &["skip", "--reason", "again"]);
    assert!(said.contains("nothing was held that can be skipped"), "{said}");
    let shown = command(&host, &["status"]);
    assert!(shown.contains(&format!("put aside   10 to {topic}")), "{shown}");
    let lines = stop(host);
    let asked = |line: &&String| line.contains("asked through the control socket to skip");
    assert!(lines.iter().filter(asked).any(|line| line.contains("tenant 13 is gone")), "{}", last(&lines));
    let found = letters(&topic);
    let offsets: Vec<_> = found.iter().filter_map(|letter| letter.header("gristmill.origin.offset")).collect();
    assert_eq!(offsets, (10..20).map(|offset| offset.to_string()).collect::<Vec<_>>());
    for letter in &found {
        assert_eq!(letter.header("gristmill.failure.class").as_deref(), Some("skipped"));
        assert_eq!(letter.header("gristmill.failure.reason").as_deref(), Some("tenant 13 is gone"));
        assert_eq!(letter.header("gristmill.failure.detail").as_deref(), Some("the witness was told to say fatal"));
    }
}

/// D5: the system's regular expressions know back references, those of the configuration's check do not. What slips through ends the
/// host at the first assignment.
#[test]
fn a_pattern_that_reads_the_dead_letters_after_all_ends_the_host() {
    let broker = shared_broker();
    let pipeline = Pipeline::new(broker, "circle").set("fault", "max_attempts", "1").setting("trap_always", "yes");
    let topic = format!("aa-{}", pipeline.topic);
    create_topic(&broker.bootstrap(), &topic, 1);
    let pattern = format!(r"^(a)\1-{}$", pipeline.topic);
    let topics = format!("[{:?}, {pattern:?}]", pipeline.topic);
    let pipeline = pipeline.set("kafka", "topics", topics);
    let pipeline = pipeline.set("dead_letter", "topic", format!("{topic:?}"));
    let _ = pipeline.load(1, 10);
    let (code, lines) = pipeline.run().wait_for_end(SOON);
    assert_eq!(code, 78, "{}", last(&lines));
    let words = lines.last().cloned().unwrap_or_default();
    assert!(words.contains(&topic) && words.contains("is read by this pipeline itself"), "{words}");
}
