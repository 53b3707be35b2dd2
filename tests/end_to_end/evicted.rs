//! A member that the group did not hear of for too long.

use std::collections::BTreeMap;

use gristmill_tests::{Seen, shared_broker};

use crate::pipeline::{Pipeline, SOON, stop, wait_until_handed_over};

/// B8: it says so, what it had in hand counts for nothing, and it comes back by itself.
#[test]
fn an_evicted_member_commits_nothing_and_comes_back() {
    evict(Pipeline::new(shared_broker(), "evicted"));
}

/// B8: the same where the brokers assign (KIP-848), for which no session settings may be given.
#[test]
fn an_evicted_member_commits_nothing_and_comes_back_with_the_consumer_protocol() {
    let pipeline = Pipeline::new(shared_broker(), "evicted-consumer").property("group.protocol", "consumer");
    evict(pipeline.without_property("session.timeout.ms").without_property("heartbeat.interval.ms"));
}

fn evict(pipeline: Pipeline<'_>) {
    // One partition: whoever has it has all. The batch outlives the silence, and is answered with ok after it.
    let pipeline = pipeline.batches_of(50).setting("pause_ms", "3000").set("plugin.limits", "time", "\"60s\"");
    let loaded = pipeline.load(1, 200);
    let frozen = pipeline.run();
    wait_until_handed_over(&frozen, 50, SOON);
    frozen.signal("STOP");
    let heir = pipeline.run();
    wait_until_handed_over(&heir, 200, SOON);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let mut seen = Seen::from_lines(&stop(heir));

    frozen.signal("CONT");
    frozen.wait_for_line("fell out of the group", SOON);
    frozen.wait_for_line("lost a partition", SOON);
    // Where the heir ended: a commit of the batch in hand would have set the group back to 50.
    let resumes = |lines: &[String]| {
        lines.iter().any(|line| line.contains("resumes") && line.contains("\"next_offset\":200")).then_some(())
    };
    frozen.wait_until("it comes back where the heir ended", SOON, resumes);
    let mut more = loaded.clone();
    pipeline.load_more(&mut more, 50);
    pipeline.wait_until_committed(&BTreeMap::from([(0, 250)]), SOON);
    seen.extend(Seen::from_lines(&stop(frozen)));
    assert_eq!(seen.missing(&more), "");
    // The batch in hand; and the next one, where it was handed over before the word about the first one's commit came.
    assert!([50, 100].contains(&seen.repeats()), "{} repeats", seen.repeats());
}
