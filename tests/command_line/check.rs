//! `check`: what is wrong with a configuration, where, and what to write instead.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::time::{Duration, Instant};

use crate::process::{Ended, Run, binary, configuration};

fn check(more: &str) -> Ended {
    let text = configuration("gristmill-echo", more);
    Run::new().file("g.toml", text).with(&["check", "g.toml"])
}

#[test]
fn a_good_configuration_with_a_good_plugin_ends_well() {
    let ended = check("");
    let printed = &ended.good().stdout;
    assert!(printed.starts_with("orders-to-nowhere: configuration and plugin fit (sha256:"), "{printed}");
}

#[test]
fn validate_is_another_name_for_check() {
    let text = configuration("gristmill-echo", "");
    Run::new().file("g.toml", text).with(&["validate", "--config", "g.toml"]).good();
}

#[test]
fn an_unknown_key_is_underlined_and_the_right_one_named() {
    let ended = check("[batch]\nmax_record = 5\n");
    assert_eq!(ended.code, 78);
    let what = "g.toml:10:1: unknown key \"max_record\" in [batch]; did you mean \"max_records\"?\n";
    let wanted = format!("{what}  10 | max_record = 5\n     | ^^^^^^^^^^\ngristmill: {what}");
    assert_eq!(ended.stderr, wanted);
    assert_eq!(ended.stdout, "");
}

#[test]
fn a_wrong_type_is_underlined_and_the_right_one_named() {
    let ended = check("[batch]\nmax_records = \"many\"\n");
    let what = "g.toml:10:15: batch.max_records = \"many\": wanted a whole number from 1 to 4294967295\n";
    let wanted = format!("{what}  10 | max_records = \"many\"\n     |               ^^^^^^\ngristmill: {what}");
    assert_eq!((ended.code, ended.stderr), (78, wanted));
}

#[test]
fn a_variable_of_ours_that_cannot_be_read_is_not_ignored() {
    let name = "GRISTMILL__BATCH__MAX_RECORDS";
    let run = Run::new().file("g.toml", configuration("gristmill-echo", "")).variable(name, OsStr::from_bytes(b"\xff"));
    run.with(&["check", "g.toml"]).refused(78, &[name, "is not UTF-8"]);
}

#[test]
fn control_characters_of_a_name_do_not_reach_the_terminal() {
    let text = format!("pipeline = \"a\\u001b[31m\"\n{}", configuration("gristmill-echo", ""));
    let ended = Run::new().file("g.toml", text).with(&["check", "g.toml"]);
    let said = &ended.good().stdout;
    assert!(said.contains("[31m: configuration and plugin fit") && !said.contains('\u{1b}'), "{said:?}");
}

#[test]
fn contradictory_numbers_are_refused_with_both_and_the_way_out() {
    check("[plugin.limits]\ntime = \"3m\"\n").refused(
        78,
        &[
            "g.toml:10:8: ",
            "plugin.limits.time (3m)",
            "max.poll.interval.ms (5m)",
            "lower the first or raise the second",
        ],
    );
    check("[retry]\nmax_attempts = \"unlimited\"\nthen = \"hold\"\n")
        .refused(78, &["g.toml:11:8: ", "has no last attempt"]);
}

#[test]
fn all_contradictions_are_shown_and_the_first_is_said_again_at_the_end() {
    let ended = check("[retry]\ninitial = \"2m\"\njitter = 3.0\n[batch]\nworkers = 2\n");
    ended.refused(78, &["g.toml:10:11: retry.initial (2m)", "(and 2 more, above)"]);
    assert!(ended.stderr.contains("g.toml:13:11: batch.workers = 2"), "{}", ended.stderr);
    assert!(ended.stderr.contains("g.toml:11:10: retry.jitter (3)"), "{}", ended.stderr);
}

#[test]
fn each_problem_is_said_before_its_line_is_shown() {
    let text = configuration("gristmill-echo", "[retry]\njitter = 3.0\n[batch]\nmax_record = 1\nworkers = 2\n");
    let ended = Run::new().file("g.toml", text).with(&["check", "g.toml", "--set", "fault.max_attempts=0"]);
    let begin = |line: &str| line.split([' ', ':']).find(|word| !word.is_empty()).unwrap_or_default().to_owned();
    let begins: Vec<String> = ended.stderr.lines().map(begin).collect();
    let wanted = ["g.toml", "10", "|", "g.toml", "12", "|", "g.toml", "13", "|", "flag", "gristmill"];
    assert_eq!(begins, wanted, "{}", ended.stderr);
    assert!(ended.stderr.lines().next().unwrap().starts_with("g.toml:10:10: retry.jitter"), "{}", ended.stderr);
    ended.refused(78, &["g.toml:10:10: retry.jitter", "(and 3 more, above)"]);
}

#[test]
fn a_problem_without_a_line_is_said_once() {
    let text = configuration("gristmill-echo", "");
    let ended = Run::new().file("g.toml", text).with(&["check", "g.toml", "--set", "batch.workers=2"]);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
}

#[test]
fn refused_properties_are_named_with_the_reason() {
    let property = |line: &str| check(&format!("[kafka.properties]\n{line}\n"));
    property("\"enable.auto.commit\" = true").refused(78, &["g.toml:10:24: ", "enable.auto.commit", "the host's own"]);
    property("\"plugin.library.paths\" = \"x\"").refused(78, &["g.toml:10:26: ", "never accepted", "native code"]);
    property("\"acks\" = \"all\"").refused(78, &["acks is for producers"]);
    property("\"sesion.timeout.ms\" = 1").refused(78, &["did you mean \"session.timeout.ms\"?"]);
}

#[test]
fn what_a_later_version_has_is_refused() {
    check("[admin]\nlisten = \"x\"\n").refused(78, &["g.toml:9:2: ", "this version does not have it yet"]);
}

#[test]
fn a_missing_choice_is_asked_for() {
    let text = configuration("gristmill-echo", "").replace("auto_offset_reset = \"earliest\"\n", "");
    let ended = Run::new().file("g.toml", text).with(&["check", "g.toml"]);
    ended.refused(78, &["g.toml:1:1: [kafka] lacks the key \"auto_offset_reset\"", "it must be chosen"]);
}

#[test]
fn text_in_another_notation_is_told_where_it_leaves_it() {
    let cases =
        [("g.toml", "[kafka\n", "g.toml:1:"), ("g.json", "{\"a\": }", "g.json:1:"), ("g.yaml", "a: [\n", "g.yaml:")];
    for (name, text, place) in cases {
        Run::new().file(name, text).with(&["check", name]).refused(78, &[place, "this is not "]);
    }
}

#[test]
fn a_file_that_is_no_configuration_is_named() {
    Run::new().with(&["check", "nowhere.toml"]).refused(78, &["cannot read the configuration nowhere.toml"]);
    Run::new().file("g.ini", "").with(&["check", "g.ini"]).refused(78, &["it ends in .toml, .json, .yaml or .yml"]);
    Run::new().file("g.toml", [0xff]).with(&["check", "g.toml"]).refused(78, &["cannot read the configuration g.toml"]);
}

#[test]
fn an_undefined_variable_is_an_error_at_its_place() {
    let text = configuration("gristmill-echo", "").replace("127.0.0.1:1", "${BROKERS_OF_NOBODY}");
    let ended = Run::new().file("g.toml", &text).with(&["check", "g.toml"]);
    ended.refused(78, &["g.toml:2:21: the variable BROKERS_OF_NOBODY is not set", "${BROKERS_OF_NOBODY:-default}"]);
    Run::new().file("g.toml", &text).variable("BROKERS_OF_NOBODY", "b:1").with(&["check", "g.toml"]).good();
}

#[test]
fn origin_says_where_each_value_comes_from() {
    let text = configuration("gristmill-echo", "[batch]\nmax_bytes = \"2 MiB\"\n");
    let run = Run::new().file("g.toml", text).variable("GRISTMILL__BATCH__MAX_RECORDS", "7");
    let ended = run.with(&["check", "g.toml", "--origin", "--set", "batch.max_wait=3s", "-X", "client.rack=r1"]);
    let printed = &ended.good().stdout;
    let line = |path: &str| {
        let found = printed.lines().find(|line| line.starts_with(path));
        found.unwrap_or_else(|| panic!("{path} is not in {printed}")).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("batch.max_records"), "batch.max_records = 7 # environment variable GRISTMILL__BATCH__MAX_RECORDS");
    assert_eq!(line("batch.max_bytes"), "batch.max_bytes = \"2 MiB\" # g.toml:10:13");
    assert_eq!(line("batch.max_wait"), "batch.max_wait = \"3s\" # flag --set batch.max_wait");
    assert_eq!(line("kafka.properties"), "kafka.properties.\"client.rack\" = \"r1\" # flag -X client.rack");
    assert_eq!(line("retry.initial"), "retry.initial = \"200ms\" # default");
    assert_eq!(line("pipeline"), "pipeline = \"orders-to-nowhere\" # default, from kafka.group_id");
    assert_eq!(line("plugin.limits.cpu"), "plugin.limits.cpu = \"2s\" # default, at most plugin.limits.time");
    let record = "plugin.limits.record = \"16 MiB\" # default, a quarter of plugin.limits.memory";
    assert_eq!(line("plugin.limits.record"), record);
    assert!(!printed.contains("retry.then"), "what is not in force has no value: {printed}");
}

#[test]
fn origin_shows_what_the_configuration_runs_with() {
    let more = "[plugin.limits]\ntime = \"1s\"\nmemory = \"20 MiB\"\n[retry]\nmax_attempts = 3\n";
    let text = format!("pipeline = \"named\"\n{}", configuration("gristmill-echo", more));
    let ended = Run::new().file("g.toml", text).with(&["check", "g.toml", "--origin", "--output", "json"]);
    let report = &ended.json()[0];
    let value = |path: &str| {
        let line = report["origins"].as_array().unwrap().iter().find(|line| line["path"] == path).unwrap();
        (line["value"].as_str().unwrap().to_owned(), line["origin"].as_str().unwrap().to_owned())
    };
    let is = |value: &str, origin: &str| (value.to_owned(), origin.to_owned());
    assert_eq!(value("pipeline"), is("\"named\"", "g.toml:1:12"));
    assert_eq!(value("plugin.limits.cpu"), is("\"1s\"", "default, at most plugin.limits.time"));
    assert_eq!(value("plugin.limits.record"), is("\"5 MiB\"", "default, a quarter of plugin.limits.memory"));
    assert_eq!(value("retry.then"), is("\"stop\"", "default"));
}

#[test]
fn machines_get_one_document_whatever_the_end() {
    let text = configuration("gristmill-echo", "");
    let good = Run::new().file("g.toml", &text).with(&["check", "g.toml", "--output", "json"]);
    let [report] = good.json().try_into().unwrap();
    assert_eq!(
        (&report["ok"], &report["pipeline"], &report["exit"]),
        (&true.into(), &"orders-to-nowhere".into(), &0.into())
    );
    let bad =
        Run::new().file("g.toml", &text).with(&["check", "g.toml", "--output", "json", "--set", "batch.max_record=1"]);
    let [report] = bad.json().try_into().unwrap();
    assert_eq!((bad.code, &report["ok"], &report["exit"]), (78, &false.into(), &78.into()));
    assert!(report["why"].as_str().unwrap().contains("did you mean \"max_records\"?"), "{report}");
    assert_eq!(report["problems"].as_array().unwrap().len(), 1, "{report}");
}

#[test]
fn machines_hear_of_every_problem() {
    let text = configuration("gristmill-echo", "[retry]\njitter = 3.0\n[batch]\nmax_record = 1\n");
    let arguments = ["check", "g.toml", "--output", "json", "--set", "batch.workers=2"];
    let [report] = Run::new().file("g.toml", text).with(&arguments).json().try_into().unwrap();
    let problem = |place: &str, message: &str| {
        let problems = report["problems"].as_array().unwrap().iter();
        let mut here = problems.filter(|problem| problem["place"] == place);
        here.any(|problem| problem["message"].as_str().unwrap().starts_with(message))
    };
    assert!(problem("g.toml:10:10", "retry.jitter (3)"), "{report}");
    assert!(problem("g.toml:12:1", "unknown key \"max_record\""), "{report}");
    assert!(problem("flag --set batch.workers", "batch.workers = 2"), "{report}");
}

#[test]
fn a_warning_is_given_and_is_no_error() {
    let ended = check("[plugin.limits]\ntime = \"30s\"\n");
    assert_eq!(ended.code, 0, "{ended:#?}");
    let wanted = "shutdown.grace (20s) is shorter than plugin.limits.time (30s)";
    assert!(ended.stderr.contains(wanted), "{}", ended.stderr);
}

/// Whatever a line holds, people and their terminals get a part of it, and get it at once.
#[test]
fn what_is_said_of_a_huge_line_is_small_and_said_at_once() {
    let huge = "k".repeat(5_000_000);
    // Not measured: the first run builds the binary.
    let _ = binary();
    let began = Instant::now();
    for (name, text, words) in [
        ("g.toml", format!("[kafka]\n{huge} = 1\n"), "g.toml:2:1: unknown key \"kkk"),
        ("g.toml", format!("[kafka]\ngroup_id = 1 # {huge}\n"), "g.toml:2:12: "),
        ("g.toml", format!("[batch]\nmax_records = \"{huge}\"\n"), "wanted a whole number"),
        ("g.toml", format!("[batch]\nscope = \"{huge}\"\n"), "wanted one of \"consumer\", \"partition\""),
        ("g.toml", format!("[batch]\nmax_bytes = \"{huge}\"\n"), "batch.max_bytes"),
        ("g.toml", configuration("gristmill-echo", &format!("[kafka.properties]\n{huge} = 1\n")), "is not known"),
        ("g.toml", format!("[kafka]\ntopics = [\"{huge}\" 5]\n"), "this is not TOML"),
        ("g.json", format!("{{\"{huge}\": 1, \"{huge}\": 2}}"), "is given twice"),
        ("g.yaml", format!("{huge}: 1\nkafka: [\n"), "this is not YAML"),
    ] {
        let ended = Run::new().file(name, &text).with(&["check", name]);
        let printed = ended.printed();
        assert!(printed.contains(words), "{words}: {}", printed.chars().take(500).collect::<String>());
        let longest = printed.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(longest < 1_000, "{words}: {longest} characters in one line");
        assert!(ended.last_line().starts_with("gristmill: g."), "{words}");
    }
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[test]
fn a_place_in_a_long_line_is_shown_with_what_stands_around_it() {
    let padding = "a".repeat(300);
    let ended = check(&format!("[batch] # long\nmax_wait = {{ \"é\" = '{padding}', wait = 1, b = '{padding}' }}\n"));
    let lines: Vec<&str> = ended.stderr.lines().collect();
    let (line, marks) = (lines[lines.len() - 3], lines[lines.len() - 2]);
    assert!(line.chars().count() < 400 && line.ends_with('…'), "{line}");
    assert_eq!(line.chars().position(|c| c == '{'), marks.chars().position(|c| c == '^'), "{line}\n{marks}");
}
