//! What the bytes of topics are: formats, schemas and the registry.

use gristmill_decode::{Format, MessageSource, Source};

use super::*;

#[test]
fn a_schema_lies_beside_the_configuration_and_without_one_it_is_the_registrys() {
    let config = good(
        r#"
        [topics.orders]
        key_format = "protobuf"
        key_schema = "shop.desc"
        key_message = "shop.Key"
        value_format = "avro"
        [schema_registry]
        url = "http://localhost:8081"
        "#,
    );
    let [formats] = &config.decoding.topics[..] else { panic!("{:?}", config.decoding) };
    let message = MessageSource::File { schema: "etc/shop.desc".into(), message: "shop.Key".to_owned() };
    assert_eq!((&formats.key, &formats.value), (&Format::Protobuf(message), &Format::Avro(Source::Registry)));
}

#[test]
fn a_format_that_lacks_something_is_refused_with_the_way_out() {
    let cases = [
        ("[topics.orders]\nvalue_format = \"avro\"", "name a file in value_schema, or write [schema_registry]"),
        ("[topics.orders]\nkey_format = \"json-schema\"", "name a file in key_schema"),
        ("[topics.orders]\nvalue_format = \"json\"\nvalue_schema = \"a.json\"", "write \"json-schema\""),
        (
            "[topics.orders]\nvalue_format = \"protobuf\"\nvalue_schema = \"a.desc\"",
            "write value_message = \"package.Message\"",
        ),
        ("[topics.orders]\nvalue_message = \"a.B\"", "topics.orders.value_message goes with"),
        ("[topics.bills]\nvalue_format = \"json\"", "write it as in kafka.topics (orders)"),
        ("[topics.orders]\nvalue_format = \"xml\"", "xml"),
        ("[schema_registry]\nurl = \"http://r\"\nuser = \"u\"", "needs a password"),
        ("[schema_registry]\nurl = \"http://r\"\npassword = \"p\"", "needs schema_registry.user"),
        ("[schema_registry]\nurl = \"http://r\"\nuser = \"u\"\npassword = \"p\"\ntoken = \"t\"", "remove the other"),
        ("[schema_registry]\nurl = \"http://r\"\ntimeout = \"99ms\"", "at least \"100ms\""),
    ];
    for (more, wanted) in cases {
        let text = problems(more);
        assert!(text.contains(wanted), "{more}: {text}");
    }
}

#[test]
fn who_we_are_to_a_registry_is_shown_nowhere() {
    let loaded = read(&format!(
        "{GOOD}[schema_registry]\nurl = \"http://r\"\nuser = \"u\"\npassword = \"hunter2\"\ntimeout = \"1s\"\n"
    ));
    let loaded = loaded.unwrap();
    let shown = format!("{:?} {:?}", loaded.config, loaded.origins);
    assert!(!shown.contains("hunter2") && shown.contains("schema_registry.password"), "{shown}");
    let refused = problems("[schema_registry]\nurl = \"http://r\"\ntoken = \"hunter2\"\nuser = \"u\"");
    assert!(!refused.contains("hunter2"), "{refused}");
    // A key that was mistyped is shown with its line, and its value may be what was meant to be secret.
    for more in [
        "[schema_registry]\nurl = \"http://r\"\npasswrd = \"hunter2\"",
        "[kafka.properties]\n\"sasl.passwrd\" = \"hunter2\"",
    ] {
        let error = read(&format!("{GOOD}{more}")).unwrap_err();
        let shown = format!("{error} {:?}", error.problems);
        assert!(shown.contains("passwrd") && !shown.contains("hunter2"), "{shown}");
    }
}

#[test]
fn a_topic_that_only_the_client_reads_by_a_pattern_has_no_formats_that_anybody_could_tell() {
    let text = GOOD.replace("topics = [\"orders\"]", "topics = [\"orders\", '^app[^\\d]*$']");
    let read = |more: &str| read(&format!("{text}{more}")).unwrap().config.decoding;
    // Within brackets POSIX takes the backslash and the d for themselves.
    let decoding = read("[topics.'^app[^\\d]*$']\nvalue_format = \"json\"");
    for (topic, unclear) in [("orders", false), ("apple", false), ("app1", true)] {
        assert_eq!(decoding.is_unclear(topic), unclear, "{topic}");
    }
    let decoding = read("[topics.orders]\nvalue_format = \"json\"");
    assert!(!decoding.is_unclear("app1"), "no pattern has formats");
}

#[test]
fn a_registry_that_nobody_needs_is_noticed() {
    let registry = "[schema_registry]\nurl = \"http://r\"\n";
    let warnings = |more: &str| good(&format!("{registry}{more}")).warnings;
    assert!(warnings("[topics.orders]\nvalue_format = \"json\"")[0].contains("no topic needs it"));
    assert!(warnings("[topics.orders]\nvalue_format = \"avro\"").is_empty());
}

#[test]
fn an_address_of_a_registry_that_names_a_user_is_refused_at_its_line_and_not_shown() {
    let text = problems("[schema_registry]\nurl = \"http://u:hunter2@r\"");
    let wanted = "etc/g.toml:11:7: schema_registry.url: the url of the registry holds a user or password, which are set beside it";
    assert!(text.starts_with(wanted) && !text.contains("hunter2"), "{text}");
    let more = "bootstrap_servers = \"SASL_SSL://u:hunter2@localhost:9092\"";
    let error = read(&GOOD.replace("bootstrap_servers = \"localhost:9092\"", more)).unwrap_err();
    let shown = format!("{error} {:?}", error.problems);
    assert!(shown.contains("kafka.bootstrap_servers has a name or password") && !shown.contains("hunter2"), "{shown}");
}
