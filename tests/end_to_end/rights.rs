//! On brokers that ask for rights: what the user of a host may not write holds its batch and is not tried in a loop, until it may.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use gristmill_tests::{create_topic, read_topic};
use xtask::kafka::security::USER;
use xtask::kafka::{Broker, Options};

use crate::control::command;
use crate::pipeline::{SOON, last, stop};
use crate::replay;
use crate::secure::secured;

/// A broker where a topic is everybody's as long as nobody has a right to it, and those of its plain listener may do everything.
fn broker() -> Broker {
    let properties = [
        ("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
        ("super.users", "User:ANONYMOUS"),
        ("allow.everyone.if.no.acl.found", "true"),
    ];
    let properties = properties.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    Broker::start(&Options { properties, secure: true }).unwrap()
}

/// How often the broker denied an operation on a topic.
fn denied(broker: &Broker, topic: &str, operation: &str) -> usize {
    let words = [format!(" is Denied operation = {operation} "), format!(" on resource = Topic:LITERAL:{topic} ")];
    broker.log_text().lines().filter(|line| words.iter().all(|word| line.contains(word))).count()
}

/// D2: the user may not see the dead-letter topic, and later not write to it. Both hold the batch, with the topic and the way out;
/// nothing is committed past the record, hardly a request is made meanwhile, and once the right is there a retry is enough.
#[test]
fn a_dead_letter_topic_without_the_right_to_it_holds_until_it_is_given() {
    let broker = broker();
    let pipeline = secured(&broker, "no-right", "SCRAM-SHA-512").batches_of(10).setting("trap_at", "0:3");
    let pipeline = pipeline.set("retry", "initial", "\"10ms\"").set("fault", "max_attempts", "1");
    let topic = format!("{}.dead", pipeline.topic);
    let pipeline = pipeline.set("dead_letter", "topic", format!("{topic:?}"));
    create_topic(&broker.bootstrap(), &topic, 1);
    broker.allow("somebody-else", "Write", &topic).unwrap();
    let loaded = pipeline.load(1, 10);
    let host = pipeline.run();
    let is_held = |time: usize| {
        let line = host.wait_until("held once more", SOON, |lines| {
            let mut said = lines.iter().filter(|line| line.contains("held: the brokers refuse what has to be written"));
            said.nth(time - 1).cloned()
        });
        let words = format!("this user may not write to {topic} (TOPIC_AUTHORIZATION_FAILED); give it the right to");
        assert!(line.contains(&words), "{line}");
        stands_still(&broker, &topic);
        assert_eq!(pipeline.committed(), BTreeMap::from([(0, 3)]));
    };
    is_held(1);
    command(&host, &["retry"]);
    is_held(2);
    assert_eq!(denied(&broker, &topic, "WRITE"), 0, "what cannot be seen is not written to");
    broker.allow(USER, "Describe", &topic).unwrap();
    command(&host, &["retry"]);
    is_held(3);
    assert_eq!(denied(&broker, &topic, "WRITE"), 1, "each attempt is one request");
    broker.allow(USER, "Write", &topic).unwrap();
    command(&host, &["retry"]);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let lines = stop(host);
    let told = lines
        .iter()
        .filter(|line| line.contains("this user may not see a topic that is written to; give it the right"));
    assert_eq!(told.filter(|line| line.contains(&topic)).count(), 1, "at the start: {}", lines.join("\n"));
    let letters = read_topic(&broker.bootstrap(), &topic);
    let offsets: Vec<_> = letters.iter().filter_map(|letter| letter.header("gristmill.origin.offset")).collect();
    assert_eq!(offsets, ["3"], "{}", last(&lines));
}

/// Who replays needs the right to read the dead letters and to write to their origin; which one is missing is said, and nothing is lost.
#[test]
fn a_replay_without_a_right_says_which_and_goes_on_once_it_is_given() {
    let broker = broker();
    let pipeline = secured(&broker, "no-replay", "SCRAM-SHA-512").batches_of(10).setting("reject_at", "0:3");
    let letters = format!("{}.dead", pipeline.topic);
    let pipeline = pipeline.set("dead_letter", "topic", format!("{letters:?}"));
    create_topic(&broker.bootstrap(), &letters, 1);
    let loaded = pipeline.load(1, 10);
    let host = pipeline.run();
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    stop(host);
    let ended = |arguments: &[&str]| {
        let (code, lines) = replay::start(&pipeline, arguments).wait_for_end(SOON);
        (code, lines.join("\n"))
    };
    broker.allow("somebody-else", "Write", &pipeline.topic).unwrap();
    for right in ["Describe", "Write"] {
        let (code, words) = ended(&["replay", "--all", "--to", "origin"]);
        assert_eq!(code, 77, "before {right}: {words}");
        assert!(words.contains(&pipeline.topic) && words.contains("this user may not"), "before {right}: {words}");
        assert!(words.contains("to go on: the same command with --from 0:0\n"), "before {right}: {words}");
        broker.allow(USER, right, &pipeline.topic).unwrap();
    }
    let (code, words) = ended(&["replay", "--all", "--to", "origin"]);
    assert_eq!(code, 0, "{words}");
    assert_eq!(read_topic(&broker.bootstrap(), &pipeline.topic).len(), 11);
    broker.allow("somebody-else", "Read", &letters).unwrap();
    let (code, words) = ended(&["list"]);
    assert_eq!(code, 77, "{words}");
    assert!(words.contains(&format!("do not let this user read the topic {letters}; give it the right to")), "{words}");
}

/// Nothing is written while nothing may be; librdkafka asks twice a second whether it sees the topic by now.
fn stands_still(broker: &Broker, topic: &str) {
    let counted = || ["WRITE", "DESCRIBE"].map(|operation| denied(broker, topic, operation));
    let (begun, before) = (Instant::now(), counted());
    // What is done while nothing is to be done is what is tested.
    std::thread::sleep(Duration::from_secs(3));
    let after = counted();
    println!("held for {:?}: denied {before:?} times to write and to see before, {after:?} after", begun.elapsed());
    assert_eq!(before[0], after[0], "it goes on writing");
    let asked = u64::try_from(after[1] - before[1]).unwrap();
    assert!(asked <= 4 * (1 + begun.elapsed().as_secs()), "it asks in a loop");
}
