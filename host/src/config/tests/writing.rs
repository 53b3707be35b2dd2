//! What the host writes: dead letters and their topic.

use super::*;

#[test]
fn d5_a_dead_letter_topic_that_the_pipeline_reads_is_refused_also_by_pattern() {
    for (topics, refused) in [
        ("\"orders\", \"^ord.*\"", true),
        ("\"^ord\"", true),
        ("\"^[[:alpha:]]+\\\\.dead$\"", true),
        ("\"orders.dead\"", true),
        ("\"orders\"", false),
        ("\"^orders$\"", false),
    ] {
        let text = GOOD.replace("topics = [\"orders\"]", &format!("topics = [{topics}]"));
        let read = read(&format!("{text}[dead_letter]\ntopic = \"orders.dead\"\n"));
        let told = read.map_or_else(|error| error.to_string(), |_| String::new());
        assert_eq!(told.contains("is read by this pipeline itself"), refused, "{topics}: {told}");
    }
}

#[test]
fn with_a_dead_letter_topic_what_fails_is_searched_and_put_aside() {
    let loaded = read(&format!("{GOOD}[dead_letter]\ntopic = \"dead\"\n")).unwrap();
    let policy = &loaded.config.policy;
    assert!(policy.fault.isolate && policy.dead_letters.is_some());
    assert_eq!(policy.fault.then, Exhausted::DeadLetter);
    let plain = read(GOOD).unwrap().config.policy;
    assert!(!plain.fault.isolate && plain.dead_letters.is_none());
    let text = problems("[retry]\nmax_attempts = 3\nthen = \"dead_letter\"");
    assert!(text.contains("retry.then = \"dead_letter\" needs a topic"), "{text}");
}

#[test]
fn a_sink_without_a_name_and_one_among_the_dead_letters_are_noticed() {
    let text = problems("[sinks.\"\"]\ntopic = \"copies\"");
    assert!(text.contains("a sink has no name"), "{text}");
    let warnings = good("[dead_letter]\ntopic = \"dead\"\n[sinks.copies]\ntopic = \"dead\"").warnings;
    assert!(warnings.len() == 1 && warnings[0].contains("would lie among the dead letters"), "{warnings:?}");
}

/// The advice about patterns is for topics that are read.
#[test]
fn a_topic_that_is_written_to_is_not_advised_to_be_a_pattern() {
    let text = problems("[dead_letter]\ntopic = \"a/b\"");
    assert!(text.contains("a topic's name has no '/'") && !text.contains("begin it with ^"), "{text}");
}
