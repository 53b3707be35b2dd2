//! The wrapper's plain consumer: one record with each call, what was read is committed after each batch.

use std::time::Duration;

use rdkafka::ClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance};
use rdkafka::message::Message as _;

use super::{Seen, Task, say_assigned};

/// How long a call waits for a record.
const WAIT: Duration = Duration::from_secs(1);

/// Reads all of a task, and commits each batch and waits for that.
pub(super) fn run_through(task: &Task, seen: &mut Seen) {
    let made = settings(task).create_with_context(SaysAssigned);
    let consumer: BaseConsumer<SaysAssigned> = made.unwrap_or_else(|error| panic!("cannot make a consumer: {error}"));
    let subscribed = consumer.subscribe(&[&task.topic]);
    assert!(subscribed.is_ok(), "cannot subscribe: {subscribed:?}");
    while seen.records < task.records {
        match consumer.poll(WAIT) {
            None => continue,
            Some(Ok(message)) => seen.touch(message.payload()),
            Some(Err(error)) => panic!("cannot read: {error}"),
        }
        if seen.records.is_multiple_of(task.batch) || seen.records == task.records {
            let done = consumer.commit_consumer_state(CommitMode::Sync);
            assert!(done.is_ok(), "cannot commit: {done:?}");
        }
    }
}

/// What the wrapper's consumers are made of: the client's defaults, but for commits.
pub(super) fn settings(task: &Task) -> ClientConfig {
    let mut settings = ClientConfig::new();
    settings.set("bootstrap.servers", &task.bootstrap).set("group.id", &task.group);
    settings.set("enable.auto.commit", "false").set("auto.offset.reset", "earliest");
    settings
}

/// Tells that partitions are assigned, just before they are.
pub(super) struct SaysAssigned;

impl ClientContext for SaysAssigned {}

impl ConsumerContext for SaysAssigned {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if matches!(rebalance, Rebalance::Assign(_)) {
            say_assigned();
        }
    }
}
