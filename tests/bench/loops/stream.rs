//! The wrapper's consumer for asynchronous programs: one record with each wait, what was read is committed after each batch.

use rdkafka::consumer::{CommitMode, Consumer, StreamConsumer};
use rdkafka::message::Message as _;

use super::base::{SaysAssigned, settings};
use super::{Seen, Task};

/// Reads all of a task, and commits each batch and waits for that.
pub(super) fn run_through(task: &Task, seen: &mut Seen) {
    // What `#[tokio::main]` makes.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.unwrap_or_else(|error| panic!("cannot make a runtime: {error}"));
    runtime.block_on(async {
        let made = settings(task).create_with_context(SaysAssigned);
        let consumer: StreamConsumer<SaysAssigned> =
            made.unwrap_or_else(|error| panic!("cannot make a consumer: {error}"));
        let subscribed = consumer.subscribe(&[&task.topic]);
        assert!(subscribed.is_ok(), "cannot subscribe: {subscribed:?}");
        while seen.records < task.records {
            match consumer.recv().await {
                Ok(message) => seen.touch(message.payload()),
                Err(error) => panic!("cannot read: {error}"),
            }
            if seen.records.is_multiple_of(task.batch) || seen.records == task.records {
                let done = consumer.commit_consumer_state(CommitMode::Sync);
                assert!(done.is_ok(), "cannot commit: {done:?}");
            }
        }
    });
}
