//! How long a record takes from its producer to its commit where few records come.
//!
//! It must not know the plan.

use std::time::{Duration, Instant};

use gristmill_tests::unique;
use rdkafka::config::ClientConfig;
use rdkafka::producer::{BaseRecord, DefaultProducerContext, ThreadedProducer};

use crate::contestant::Contestant;
use crate::course::Course;
use crate::group::Group;
use crate::peer::Program;
use crate::report::{Outcome, note};
use crate::scenario::Stage;
use crate::table::{Columns, Table};

/// How long a batch waits for more.
const WAITS: [&str; 3] = ["0s", "10ms", "1s"];

const RECORDS: u64 = 300;
const EVERY: Duration = Duration::from_millis(50);
const WITHIN: Duration = Duration::from_secs(60);

/// How it is told.
pub(crate) fn told() -> String {
    format!("from a record's production to its commit, {} records a second", 1_000 / EVERY.as_millis())
}

/// The host with several waits, and the native loop that commits each record by itself.
pub(crate) fn measure(stage: &Stage<'_>) -> Outcome {
    let mut table = Table::new("milliseconds from production to commit", 1, Columns::Tail);
    let raw = Contestant::peer("librdkafka's batch loop, batches of 1", Program::own("loop"));
    let hosts = WAITS.map(|wait| {
        let name = format!("gristmill, max_wait = {wait}");
        Contestant::gristmill(&name, "gristmill-noop", "reuse", "").batching(&format!("max_wait = {wait:?}"))
    });
    let raw_and_hosts = std::iter::once((raw, 1)).chain(hosts.map(|host| (host, 10_000)));
    for (contestant, batch) in raw_and_hosts {
        note(&contestant.name);
        let latencies = latencies(stage, &contestant, batch);
        table.add(&contestant.name, latencies.iter().map(|latency| latency.as_secs_f64() * 1e3).collect());
    }
    Outcome { tables: vec![table], runs: Vec::new() }
}

/// How long each record took.
fn latencies(stage: &Stage<'_>, contestant: &Contestant, batch: usize) -> Vec<Duration> {
    let mut course = Course::empty(&stage.bootstrap(), 1, batch);
    course.loaded.partitions = [(0, 0..i64::try_from(RECORDS).unwrap_or_default())].into();
    // The values are not those of a loaded topic.
    course.values = None;
    let name = unique("bench-group");
    let group = Group::new(&course, &name);
    let running = stage.cores.measured(|| contestant.start(&course, &name));
    running.wait_until_assigned();
    let (bootstrap, topic) = (course.bootstrap.clone(), course.topic.clone());
    let sender = std::thread::spawn(move || send(&bootstrap, &topic));
    let committed = commits(&group);
    let Ok(sent) = sender.join() else { panic!("the records could not be sent") };
    running.end(&course, &contestant.name);
    sent.iter().zip(committed).map(|(sent, committed)| committed.saturating_duration_since(*sent)).collect()
}

/// Sends one record after the other, and says when each of them was handed to the producer.
fn send(bootstrap: &str, topic: &str) -> Vec<Instant> {
    let made = ClientConfig::new().set("bootstrap.servers", bootstrap).set("linger.ms", "0").create();
    let producer: ThreadedProducer<DefaultProducerContext> =
        made.unwrap_or_else(|error| panic!("cannot make a producer: {error}"));
    let begun = Instant::now();
    let mut sent = Vec::new();
    for number in 0..u32::try_from(RECORDS).unwrap_or_default() {
        std::thread::sleep((begun + EVERY * number).saturating_duration_since(Instant::now()));
        let taken = producer.send(BaseRecord::<(), [u8]>::to(topic).partition(0).payload(&[b'0'; 100]));
        assert!(taken.is_ok(), "cannot produce to {topic}");
        sent.push(Instant::now());
    }
    // Dropping the producer waits for none of them; they are all committed before the sender is asked for.
    sent
}

/// When each record was first seen to be committed.
fn commits(group: &Group) -> Vec<Instant> {
    let begun = Instant::now();
    let mut seen = Vec::new();
    while (seen.len() as u64) < RECORDS {
        let next = group.committed().get(&0).copied().unwrap_or_default();
        let now = Instant::now();
        seen.resize(seen.len().max(usize::try_from(next).unwrap_or_default()), now);
        assert!(begun.elapsed() < WITHIN, "only {} of {RECORDS} records were committed within {WITHIN:?}", seen.len());
        // A tenth of what is measured, and little enough for the broker.
        std::thread::sleep(Duration::from_micros(500));
    }
    seen
}
