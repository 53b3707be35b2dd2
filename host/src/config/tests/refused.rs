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

/// Wrong in every way there is: broken variables, keys of later versions, unknown keys, wrong kinds, missing keys, numbers that
/// contradict each other, properties that are refused.
const ALL_WRONG: &str = r#"pipeline = "${NOBODY_SET_THIS}"
[kafka]
group_id = 5
topics = ["a/b", 7, "c", 8]
auto_offset_reset = "erliest"
on_out_of_range = "hold"
[kafka.properties]
"session.timeout.ms" = "many"
"enable.auto.commit" = true
"acks" = "all"
"receive.message.max.bytes" = 1000000
"partition.assignment.strategy" = "range,cooperative-sticky"
[batch]
max_bytes = "8 Mibs"
max_record = 5
workers = 2
scope = "consumer"
[plugin]
digest = "sha256:12"
[plugin.limits]
memory = "8 MiB"
cpu = "9s"
[retry]
jitter = 7
[dead_letter]
topic = "^x"
[admin]
"#;

#[test]
fn every_problem_of_every_kind_is_told_at_once_and_in_the_order_of_the_lines() {
    let error = read(ALL_WRONG).unwrap_err();
    let wanted = [
        "1:12: the variable NOBODY_SET_THIS is not set",
        "2:1: [kafka] lacks the key \"bootstrap_servers\"",
        "3:12: kafka.group_id = 5: wanted a string",
        "4:11: kafka.topics: \"a/b\": a topic's name has no '/'",
        "4:18: kafka.topics = 7: wanted a string",
        "4:26: kafka.topics = 8: wanted a string",
        "5:21: kafka.auto_offset_reset = \"erliest\": wanted one of",
        "8:24: property session.timeout.ms must be a whole number",
        "9:24: the property enable.auto.commit is the host's own",
        "10:10: the property acks is for producers",
        "11:31: receive.message.max.bytes=1000000 contradicts fetch.max.bytes",
        "12:35: range in partition.assignment.strategy contradicts cooperative-sticky",
        "14:13: batch.max_bytes = \"8 Mibs\": this is no size",
        "15:1: unknown key \"max_record\" in [batch]; did you mean \"max_records\"?",
        "16:11: batch.workers = 2: with batch.scope = \"consumer\" there is one batch at a time",
        "18:1: [plugin] lacks the key \"path\"",
        "19:10: plugin.digest = \"sha256:12\"",
        "22:7: plugin.limits.cpu (9s) is more than plugin.limits.time (5s)",
        "24:10: retry.jitter (7) is a share",
        "26:9: dead_letter.topic: \"^x\" is a pattern; name one topic",
        "27:2: admin: this version does not have it yet",
    ];
    let found: Vec<String> = error.problems.iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), wanted.len(), "{found:#?}");
    for (found, wanted) in found.iter().zip(wanted) {
        assert!(found.starts_with(&format!("etc/g.toml:{wanted}")), "{found} does not begin with {wanted}");
    }
}

#[test]
fn what_hangs_on_a_value_that_cannot_be_read_is_not_judged() {
    let one = |more: &str| {
        let error = read(&format!("{GOOD}{more}")).expect_err(more);
        assert_eq!(error.problems.len(), 1, "{more}: {error}");
    };
    // The default of each would contradict its neighbour.
    one("limits = { memory = \"1 MiB\" }\n[batch]\nmax_bytes = \"much\"");
    one("limits = { time = \"long\", cpu = \"9s\" }");
    one("[retry]\nmax_attempts = \"some\"\nthen = \"hold\"");
    one("[retry]\ninitial = \"10s\"\nmax = \"long\"");
    one("[kafka.properties]\n\"session.timeout.ms\" = \"many\"\n\"heartbeat.interval.ms\" = 60000");
    let missing = read("[kafka]\ntopics = []\n").unwrap_err().to_string();
    assert!(missing.contains("1:1: the section [plugin] is missing"), "{missing}");
    assert!(!missing.contains("path"), "a section that is missing lacks its keys too: {missing}");
    let misspelt = read(&GOOD.replace("group_id", "group_ids")).unwrap_err();
    assert_eq!(misspelt.problems.len(), 1, "a key that is misspelt is missing too: {misspelt}");
    let empty = read("").unwrap_err();
    assert_eq!(empty.problems.len(), 2, "{empty}");
}

#[test]
fn values_that_librdkafka_does_not_take_are_told_in_its_words() {
    let text = problems(
        "[kafka.properties]\n\"isolation.level\" = \"sometimes\"\n\"fetch.wait.max.ms\" = -5\n\"client.rack\" = \"a\"\n\
         \"session.timeout.ms\" = \"many\"\n\"ssl.key.password\" = \"hunter2\"\n\"check.crcs\" = 7\n",
    );
    let wanted = [
        "11:21: property isolation.level: Invalid value \"sometimes\" for configuration property \"isolation.level\"; correct",
        "12:23: property fetch.wait.max.ms: Configuration property \"fetch.wait.max.ms\" value -5 is outside allowed range",
        "14:24: property session.timeout.ms must be a whole number",
        "16:16: property check.crcs: ",
    ];
    assert_eq!(text.lines().count(), wanted.len(), "{text}");
    for (line, wanted) in text.lines().zip(wanted) {
        assert!(line.starts_with(&format!("etc/g.toml:{wanted}")), "{line}");
    }
}

#[test]
fn one_cause_is_told_once() {
    let text = problems("[kafka.properties]\n\"session.timeout.ms\" = 9000");
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn flags_and_variables_come_after_the_lines_of_the_file() {
    let mut request = Request::new(Path::new("g.toml"), variables(&[("GRISTMILL__BATCH__WORKERS", "3")]));
    request.set("retry.jitter=2").unwrap();
    let error = load_text(format!("{GOOD}[fault]\nthen = 5"), Notation::Toml, request).unwrap_err().to_string();
    let begins: Vec<&str> = error.lines().map(|line| line.split(": ").next().unwrap()).collect();
    let wanted = ["g.toml:11:8", "environment variable GRISTMILL__BATCH__WORKERS", "flag --set retry.jitter"];
    assert_eq!(begins, wanted, "{error}");
}

/// The cause alone: not that the table lacks what was taken out, nor what would follow from a table that is gone.
#[test]
fn a_variable_that_is_not_set_is_told_alone_also_where_its_value_is_required() {
    for more in [
        "[plugin.secrets.token]\nvalue = \"${NOWHERE}\"\nexpose = true",
        "grants.http = [\"https://a.test\", { url = \"${NOWHERE}\", headers = { a = \"b\" } }]",
        "grants.http = [{ url = \"${NOWHERE}\" }]\ngrants.addresses = [\"10.0.3.0/24\"]",
        "grants.files = [{ path = \"${NOWHERE}\", as = \"/x\" }]",
        "[dead_letter]\ntopic = \"${NOWHERE}\"\n[fault]\nthen = \"dead_letter\"",
        "[sinks.out]\ntopic = \"${NOWHERE}\"",
        "[schema_registry]\nurl = \"${NOWHERE}\"\n[topics.orders]\nvalue_format = \"avro\"",
    ] {
        let error = read(&format!("{GOOD}{more}")).expect_err(more);
        assert_eq!(error.problems.len(), 1, "{more}: {error}");
        assert!(
            error.to_string().ends_with("the variable NOWHERE is not set; set it or write ${NOWHERE:-default}"),
            "{error}"
        );
    }
    let text = problems("[plugin.secrets.token]\nvalue = [1]\nexpose = true\n[plugin.secrets.other]\nexpose = true");
    assert_eq!(text.lines().count(), 2, "what nobody wrote is still missing: {text}");
    assert!(text.contains("[plugin.secrets.other] lacks the key \"value\""), "{text}");
}

fn laid(flag: &str) -> String {
    let mut request = Request::new(Path::new("etc/g.toml"), BTreeMap::new());
    request.set(flag).unwrap();
    load_text(GOOD.to_owned(), Notation::Toml, request).expect_err(flag).to_string()
}

#[test]
fn a_table_in_a_flag_or_variable_is_refused_with_its_notation() {
    let keys =
        |path: &str| format!("wanted a table; give each of its keys a flag of its own, such as --set {path}.KEY=VALUE");
    let list = "wanted a list in TOML's notation, such as [\"a\", \"b\"] or [{ key = \"value\" }], or words as in a,b";
    let folders = "wanted a table for each folder, as in [{ path = \"lookup\", as = \"/lookup\" }]";
    for (flag, wanted) in [
        ("plugin.secrets.x=hunter2", keys("plugin.secrets.x")),
        ("plugin.secrets.x={ value = \"hunter2\", expose = true }", keys("plugin.secrets.x")),
        ("plugin.settings=a=hunter2", keys("plugin.settings")),
        ("plugin.secrets.\"a.b\"=hunter2", keys("plugin.secrets.\"a.b\"")),
        ("plugin.grants.http={ url = \"https://hunter2.test\" }", list.to_owned()),
        ("plugin.grants.http=[{ \"url\": \"https://hunter2.test\" }]", list.to_owned()),
        ("plugin.grants.files=lookup", folders.to_owned()),
        ("plugin.grants.files=[\"lookup\"]", folders.to_owned()),
        ("plugin.grants.files=[[\"lookup\"]]", folders.to_owned()),
        ("kafka.topics=[\"a\"", list.to_owned()),
    ] {
        let text = laid(flag);
        assert!(text.starts_with("flag --set ") && text.ends_with(&wanted), "{flag}: {text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
    let given = variables(&[("GRISTMILL__PLUGIN__SECRETS__X", "hunter2")]);
    let request = Request::new(Path::new("etc/g.toml"), given);
    let text = load_text(GOOD.to_owned(), Notation::Toml, request).unwrap_err().to_string();
    assert!(text.ends_with("a variable of its own, such as GRISTMILL__PLUGIN__SECRETS__X__KEY=VALUE"), "{text}");
}

/// A place in the text of a flag is no place in the file.
#[test]
fn what_is_wrong_inside_a_list_of_a_flag_is_told_at_the_flag() {
    let text = laid("plugin.grants.http=[\"https://a.test\", { uri = \"https://b.test\" }]");
    assert!(text.starts_with("flag --set plugin.grants.http: unknown key \"uri\""), "{text}");
}

#[test]
fn a_secret_whose_exposure_cannot_be_read_is_not_told_to_reach_nobody() {
    let text = problems("[plugin.secrets.token]\nvalue = \"x\"\nexpose = \"yes\"");
    assert_eq!(text, "etc/g.toml:12:10: plugin.secrets.token.expose = \"yes\": wanted true or false");
}

#[test]
fn a_table_that_lacks_a_key_hides_nothing_that_is_wrong_behind_it() {
    let text = problems(
        "grants.files = [{ path = \"d\" }, { as = \"/e\" }, { path = \"\", as = \"/f\" }]\nsecrets.a = {}\n[sinks.out]\n[retry]\njitter = 7",
    );
    let wanted = [
        "10:17: [plugin.grants.files] lacks the key \"as\"",
        "10:33: [plugin.grants.files] lacks the key \"path\"",
        "10:48: plugin.grants.files: path is empty",
        "11:13: [plugin.secrets.a] lacks the key \"value\"",
        "12:1: [sinks.out] lacks the key \"topic\"",
        "14:10: retry.jitter (7)",
    ];
    assert_eq!(text.lines().count(), wanted.len(), "{text}");
    for (line, wanted) in text.lines().zip(wanted) {
        assert!(line.starts_with(&format!("etc/g.toml:{wanted}")), "{line} does not begin with {wanted}");
    }
}

#[test]
fn what_a_later_version_has_is_refused_and_never_ignored() {
    let text = problems("[admin]\nlisten = \"127.0.0.1:1\"");
    assert!(text.contains("admin: this version does not have it yet"), "{text}");
}
