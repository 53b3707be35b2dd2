//! What is refused, and where it says so.

use super::*;

#[test]
fn a_topic_that_cannot_exist_is_refused_at_its_place() {
    let of = |topics: &str| read(&GOOD.replace("[\"orders\"]", topics)).expect_err(topics).to_string();
    let cases = [
        ("[\"a\", \"b/c\"]", "5:16: kafka.topics: \"b/c\": a topic's name has no '/'"),
        ("[\"^(\"]", "5:11: kafka.topics: \"^(\": librdkafka cannot read this pattern"),
        ("[\"..\"]", "5:11: kafka.topics: \"..\": no topic can be called that"),
        ("[\"a\", \"b\", \"a\"]", "5:21: kafka.topics: \"a\" is named twice"),
        ("[\"\"]", "5:11: kafka.topics: \"\": a topic's name must not be empty"),
        ("[]", "5:10: kafka.topics needs the name of at least one topic"),
    ];
    for (topics, wanted) in cases {
        let text = of(topics);
        assert!(text.contains(wanted), "{topics}: {text}");
    }
    let long = of(&format!("[\"{}\"]", "x".repeat(250)));
    assert!(long.contains("it has 250 characters, and a topic's name has at most 249"), "{long}");
}
