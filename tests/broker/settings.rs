//! Properties and combinations that are refused before a client exists, and what is set for everybody.

use std::time::Duration;

use gristmill_kafka::{
    ClientProperties, Consumer, ConsumerSettings, ResetPolicy, SettingsError, StartError, TopicFault,
};
use tokio::sync::mpsc::unbounded_channel;

fn with(properties: &[(&str, &str)]) -> ConsumerSettings {
    let mut settings = ConsumerSettings::new("localhost:9092", "group", &["orders"], ResetPolicy::Earliest);
    settings.properties = properties.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    settings
}

fn refusal(properties: &[(&str, &str)]) -> SettingsError {
    ClientProperties::of(&with(properties)).expect_err("must be refused")
}

#[test]
fn rule_10_what_the_prototype_measured_is_set() {
    let properties = ClientProperties::of(&with(&[])).expect("legal");
    for (name, value) in [
        ("enable.auto.commit", "false"),
        ("enable.auto.offset.store", "false"),
        ("enable.partition.eof", "false"),
        ("auto.offset.reset", "error"),
        ("enable.metrics.push", "false"),
        ("check.crcs", "true"),
        ("fetch.queue.backoff.ms", "20"),
        ("queued.min.messages", "20000"),
        ("partition.assignment.strategy", "cooperative-sticky"),
        ("group.id", "group"),
        ("bootstrap.servers", "localhost:9092"),
    ] {
        assert_eq!(properties.value(name), Some(value), "{name}");
    }
}

#[test]
fn defaults_give_way_to_the_operator_and_the_last_word_counts() {
    let given = with(&[("fetch.wait.max.ms", "50"), ("check.crcs", "false"), ("fetch.wait.max.ms", "70")]);
    let properties = ClientProperties::of(&given).expect("legal");
    assert_eq!(properties.value("fetch.wait.max.ms"), Some("70"));
    assert_eq!(properties.value("check.crcs"), Some("false"));
}

#[test]
fn owned_properties_are_refused_with_the_reason() {
    for name in
        ["enable.auto.commit", "auto.commit.enable", "enable.auto.offset.store", "enable.partition.eof", "group.id"]
    {
        let error = refusal(&[(name, "true")]);
        assert!(matches!(&error, SettingsError::Owned { name: named, .. } if named == name), "{error:?}");
        assert!(error.to_string().contains(name) && error.to_string().contains("remove it"), "{error}");
    }
}

#[test]
fn dangerous_properties_are_refused_with_the_reason() {
    for name in [
        "plugin.library.paths",
        "sasl.kerberos.kinit.cmd",
        "ssl.engine.location",
        "ssl.providers",
        "test.mock.num.brokers",
        "test.mock.broker.rtt",
    ] {
        let error = refusal(&[(name, "x")]);
        assert!(matches!(&error, SettingsError::Refused { name: named, .. } if named == name), "{error:?}");
    }
}

#[test]
fn unknown_properties_are_refused_and_producers_ones_named_as_such() {
    assert_eq!(
        refusal(&[("fetch.wait.ms", "1")]),
        SettingsError::Unknown { name: "fetch.wait.ms".to_owned(), for_producers: false }
    );
    let error = refusal(&[("linger.ms", "1")]);
    assert!(error.to_string().contains("producers have it"), "{error}");
}

/// The refusal of a contradiction names both sides.
fn assert_contradicts(properties: &[(&str, &str)], first: &str, second: &str) {
    let error = refusal(properties);
    let SettingsError::Contradiction { first: one, second: other, .. } = &error else { panic!("{error:?}") };
    assert!(one.contains(first) && other.contains(second), "{error}");
}

#[test]
fn b80_a_receive_limit_below_the_fetch_limit_and_one_message_is_refused_with_both_numbers() {
    assert_contradicts(
        &[("receive.message.max.bytes", "52428288"), ("fetch.max.bytes", "52428800")],
        "52428288",
        "52428800",
    );
    let enough = with(&[("receive.message.max.bytes", "60000000"), ("fetch.max.bytes", "52428800")]);
    assert!(ClientProperties::of(&enough).is_ok());
}

#[test]
fn b97_eager_and_cooperative_strategies_together_are_refused() {
    assert_contradicts(&[("partition.assignment.strategy", "range,cooperative-sticky")], "range", "cooperative-sticky");
    assert_contradicts(&[("partition.assignment.strategy", "cooperative-sticky, roundrobin")], "roundrobin", "coop");
    assert!(ClientProperties::of(&with(&[("partition.assignment.strategy", "range,roundrobin")])).is_ok());
}

#[test]
fn b99_settings_of_the_classic_protocol_are_refused_with_the_new_one() {
    for (name, value) in
        [("session.timeout.ms", "6000"), ("heartbeat.interval.ms", "500"), ("partition.assignment.strategy", "range")]
    {
        assert_contradicts(&[("group.protocol", "consumer"), (name, value)], name, "group.protocol=consumer");
    }
    let properties = ClientProperties::of(&with(&[("group.protocol", "consumer")])).expect("legal");
    assert_eq!(properties.value("partition.assignment.strategy"), None);
}

#[test]
fn times_that_cannot_work_together_are_refused_with_both_numbers() {
    assert_contradicts(&[("session.timeout.ms", "6000"), ("heartbeat.interval.ms", "6000")], "6000", "6000");
    assert_contradicts(
        &[("session.timeout.ms", "60000"), ("max.poll.interval.ms", "50000")],
        "session.timeout.ms=60000",
        "max.poll.interval.ms=50000",
    );
    let mut slow = with(&[("session.timeout.ms", "10000")]);
    slow.drain_max = Duration::from_secs(10);
    let error = ClientProperties::of(&slow).expect_err("must be refused");
    assert!(
        error.to_string().contains("10000 ms") && error.to_string().contains("session.timeout.ms=10000"),
        "{error}"
    );
}

#[test]
fn everything_that_is_wrong_is_told_and_each_thing_once() {
    let mut settings = with(&[
        ("linger.ms", "1"),
        ("group.id", "x"),
        ("session.timeout.ms", "6s"),
        ("heartbeat.interval.ms", "60000"),
        ("max.poll.interval.ms", "9000"),
        ("receive.message.max.bytes", "1000"),
        ("partition.assignment.strategy", "range,cooperative-sticky"),
    ]);
    settings.drain_max = Duration::MAX;
    settings.topics.push("a b".to_owned());
    let refusals: Vec<String> = ClientProperties::refusals(&settings).iter().map(ToString::to_string).collect();
    let wanted = [
        "kafka.topics: \"a b\"",
        "property linger.ms",
        "property group.id",
        "range in partition.assignment.strategy",
        "receive.message.max.bytes=1000",
        "kafka.drain of 9223372036854775807 ms with 10000 ms for the commit",
        "property session.timeout.ms must be a whole number",
    ];
    assert_eq!(refusals.len(), wanted.len(), "{refusals:#?}");
    assert!(refusals.iter().zip(wanted).all(|(refusal, wanted)| refusal.starts_with(wanted)), "{refusals:#?}");
}

#[test]
fn a_number_that_is_none_is_named() {
    let error = refusal(&[("session.timeout.ms", "6s")]);
    assert_eq!(error, SettingsError::NotANumber { name: "session.timeout.ms", value: "6s".to_owned() });
}

#[test]
fn empty_names_and_zero_bytes_are_refused() {
    let mut settings = with(&[]);
    settings.topics = vec![String::new()];
    assert_eq!(ClientProperties::of(&settings), Err(SettingsError::Empty { name: "kafka.topics" }));
    let mut settings = with(&[]);
    settings.group_id = "a\0b".to_owned();
    assert!(matches!(ClientProperties::of(&settings), Err(SettingsError::ZeroByte { .. })));
}

#[test]
fn a_topic_that_cannot_exist_is_refused() {
    let mut settings = with(&[]);
    settings.topics = vec!["^(".to_owned(), "a/b".to_owned()];
    let fault = TopicFault::Character('/');
    assert_eq!(ClientProperties::of(&settings), Err(SettingsError::Topic { name: "a/b".to_owned(), fault }));
}

#[test]
fn what_librdkafka_does_not_accept_is_refused_in_its_words_without_secrets() {
    let (outbox, _inbox) = unbounded_channel();
    let error = Consumer::start(with(&[("isolation.level", "sometimes")]), outbox).expect_err("must be refused");
    assert!(matches!(&error, StartError::Client { text } if text.contains("isolation.level")), "{error:?}");
    let (outbox, _inbox) = unbounded_channel();
    let secret = [("sasl.password", "hunter2"), ("security.protocol", "hunter2")];
    let error = Consumer::start(with(&secret), outbox).expect_err("must be refused");
    assert!(!error.to_string().contains("hunter2"), "{error}");
    let shown = format!("{:?}", ClientProperties::of(&with(&secret)).expect("names are legal"));
    assert!(!shown.contains("hunter2"), "{shown}");
}
