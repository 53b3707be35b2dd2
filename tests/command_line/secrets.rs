//! Secrets are never printed: not by `check --origin`, not in an error about them or beside them, not in any log level.

use crate::process::{Run, configuration, plugin};

const SECRET: &str = "hunter2-the-secret";

fn never_printed(run: Run, arguments: &[&str]) {
    let ended = run.with(arguments);
    assert!(!ended.printed().contains(SECRET), "{arguments:?}: {ended:#?}");
    assert!(ended.printed().contains("***") || ended.code != 0, "{arguments:?}: {ended:#?}");
}

fn with_secrets(more: &str) -> String {
    let secrets = format!(
        "[plugin.settings]\ndsn = \"{SECRET}\"\nfrom_file = \"${{file:secret.txt}}\"\n[kafka.properties]\n\
         \"sasl.password\" = \"{SECRET}\"\n\"client.rack\" = \"${{file:secret.txt}}\"\n\"ssl.key.password\" = \"${{KEY_PASSWORD}}\"\n"
    );
    configuration("gristmill-echo", &format!("{secrets}{more}"))
}

fn run(text: &str) -> Run {
    let run = Run::new().file("g.toml", text).file("secret.txt", format!("{SECRET}\n"));
    run.variable("KEY_PASSWORD", SECRET).variable("GRISTMILL__KAFKA__PROPERTIES__SSL_KEYSTORE_PASSWORD", SECRET)
}

#[test]
fn origin_shows_stars() {
    let set = format!("plugin.settings.token={SECRET}");
    let property = format!("sasl.oauthbearer.client.secret={SECRET}");
    let arguments = ["check", "g.toml", "--origin", "--set", &set, "-X", &property, "-vv"];
    never_printed(run(&with_secrets("")), &arguments);
    never_printed(run(&with_secrets("")), &[&arguments[..], &["--output", "json"]].concat());
}

#[test]
fn a_trace_of_everything_shows_none() {
    let ended = run(&with_secrets("")).with(&["check", "g.toml", "-vv", "--log-format", "json"]);
    assert_eq!(ended.code, 0, "{ended:#?}");
    assert!(!ended.printed().contains(SECRET), "{ended:#?}");
    let ended = run(&with_secrets("")).with(&["check", "g.toml", "-vv", "--online", "--wait", "1s"]);
    assert_eq!(ended.code, 69, "{ended:#?}");
    assert!(!ended.printed().contains(SECRET), "{ended:#?}");
}

#[test]
fn an_error_about_a_secret_does_not_show_it() {
    for line in ["[batch]\nmax_records", "[batch]\nmax_wait", "[fatal]\nthen"] {
        let line = format!("{line} = \"${{file:secret.txt}}\"\n");
        let ended = run(&with_secrets(&line)).with(&["check", "g.toml"]);
        ended.refused(78, &["***"]);
        assert!(!ended.printed().contains(SECRET), "{ended:#?}");
    }
    let list = with_secrets("").replace(&format!("dsn = \"{SECRET}\""), &format!("dsn = [\"{SECRET}\"]"));
    never_printed(run(&list), &["check", "g.toml"]);
}

#[test]
fn a_refusal_of_what_a_secret_says_does_not_show_it() {
    let file = "\"${file:secret.txt}\"";
    let twice = format!("[{file}, {file}]");
    let cases = [
        ("\"127.0.0.1:1\"", file, "has no port"),
        ("[\"orders\"]", &twice, "is named twice"),
        ("path = ", &format!("digest = {file}\npath = "), "plugin.digest"),
        (
            "[kafka.properties]",
            &format!("[kafka.properties]\n\"session.timeout.ms\" = {file}"),
            "must be a whole number",
        ),
    ];
    for (written, secret, words) in cases {
        let ended = run(&with_secrets("").replace(written, secret)).with(&["check", "g.toml"]);
        ended.refused(78, &[words, "***"]);
        assert!(!ended.printed().contains(SECRET), "{ended:#?}");
    }
}

/// Files that a configuration takes values from, and a part of each that nothing may show.
const FILES: [(&str, &str, &str); 5] = [
    ("word", "SEKRETFILE two\n", "sekret"),
    ("host", "SekretHost.Example\n", "sekret"),
    ("broker", "broker.example:SEKRET\n", "sekret"),
    ("ip", "10.77.77.77\n", "77.77"),
    ("ip6", "[FD00:0:0::7777]:5432\n", "fd00"),
];

/// Values that come out of these files, in lists, in tables and in defaults that follow from them, and what is told beside them.
const OUT_OF_FILES: [(&str, &str); 30] = [
    ("pipeline=${file:word}", "pipeline"),
    ("kafka.group_id=${file:word}", "control.socket"),
    ("kafka.bootstrap_servers=${file:word}", "kafka.bootstrap_servers"),
    ("kafka.bootstrap_servers=${file:broker}", "kafka.bootstrap_servers"),
    ("kafka.topics=[\"orders\", \"${file:word}\"]", "kafka.topics"),
    ("kafka.topics=[\"orders\", \"${file:host}\"]", "kafka.topics"),
    ("kafka.topics=[\"${file:host}\", \"${file:host}\"]", "kafka.topics"),
    ("kafka.topics=[\"^(${file:host}\"]", "kafka.topics"),
    ("dead_letter.topic=${file:word}", "dead_letter.topic"),
    ("sinks.out.topic=${file:word}", "sinks.out.topic"),
    ("topics.orders.value_schema=${file:word}", "value_schema"),
    ("plugin.path=${file:word}", "plugin.path"),
    ("plugin.cache=${file:word}", "plugin.cache"),
    ("plugin.digest=${file:word}", "plugin.digest"),
    ("plugin.limits.time=${file:word}", "plugin.limits.time"),
    ("plugin.grants.ca_file=${file:word}", "plugin.grants.ca_file"),
    ("plugin.grants.http=[\"${file:word}\"]", "plugin.grants.http"),
    ("plugin.grants.http=[{ url = \"${file:word}\" }]", "write its scheme"),
    ("plugin.grants.http=[{ url = \"https://${file:word}\" }]", "plugin.grants.http"),
    ("plugin.grants.http=[{ url = \"https://${file:host}\" }]", "***"),
    ("plugin.grants.http=[\"https://${file:host}\", \"https://${file:host}\"]", "plugin.grants.http"),
    ("plugin.grants.http=[\"https://${file:ip}\"]", "plugin.grants.http"),
    ("plugin.grants.tcp=[\"${file:host}:x\"]", "plugin.grants.tcp"),
    ("plugin.grants.tcp=[\"a.example:5\", \"${file:host}:5\"]", "a.example:5"),
    ("plugin.grants.tcp=[\"${file:ip6}\"]", "plugin.grants.tcp"),
    ("plugin.grants.addresses=[\"${file:word}\"]", "plugin.grants.addresses"),
    ("plugin.grants.files=[{ path = \"${file:word}\", as = \"/d\" }]", "/d"),
    ("plugin.grants.files=[{ path = \"x\", as = \"${file:word}\" }]", "is no absolute path"),
    ("plugin.grants.files=[{ path = \"x\", as = \"/${file:word}\" }]", "64 MiB"),
    (
        "plugin.grants.files=[{ path = \"x\", as = \"/${file:host}\" }, { path = \"y\", as = \"/${file:host}\" }]",
        "is the name of two folders",
    ),
];

#[test]
fn what_a_file_says_is_shown_neither_by_a_refusal_nor_by_an_origin_wherever_it_stands() {
    for (written, beside) in OUT_OF_FILES {
        let (path, value) = written.split_once('=').unwrap();
        let value = if value.starts_with('[') { value.to_owned() } else { format!("\"{value}\"") };
        let text = configuration("gristmill-echo", "");
        let key = path.rsplit('.').next().unwrap();
        let mut lines: Vec<&str> = text.lines().filter(|line| !line.starts_with(&format!("{key} = "))).collect();
        let line = format!("{path} = {value}");
        lines.insert(0, &line);
        let text = table_free(&lines);
        for output in ["text", "json"] {
            let mut run = Run::new().file("g.toml", &text);
            for (name, said, _) in FILES {
                run = run.file(name, said);
            }
            let ended = run.with(&["check", "g.toml", "--origin", "--output", output]);
            // The name of the pipeline stands in every report.
            let named = ended.stdout.split_once("\"pipeline\":").and_then(|(_, behind)| behind.split_once(','));
            let printed = ended.printed().replace(named.map_or("no name", |(name, _)| name), "").to_lowercase();
            for (_, _, part) in FILES {
                assert!(!printed.contains(part), "{written} shows {part}: {ended:#?}");
            }
            assert!(printed.contains(&beside.to_lowercase()), "{written} does not show {beside}: {ended:#?}");
        }
    }
}

/// The same configuration with each key by its whole path, so that a key can stand anywhere.
fn table_free(lines: &[&str]) -> String {
    let (mut section, mut text) = (String::new(), String::new());
    for line in lines {
        match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')).filter(|_| !line.contains('=')) {
            Some(name) => section = format!("{name}."),
            None if line.contains('=') => text.push_str(&format!("{section}{line}\n")),
            None => {}
        }
    }
    text
}

#[test]
fn an_error_beside_a_secret_blots_it_out() {
    let text = r#"{"kafka": {"bootstrap_servers": "b:1", "group_id": "g", "topics": ["t"], "auto_offset_reset": "latest", "properties": {"sasl.password": "SECRET"}}, "plugin": {"settings": {"a": "SECRET"}, "pth": 1}}"#;
    let text = text.replace("SECRET", SECRET);
    let ended = Run::new().file("g.json", text).with(&["check", "g.json"]);
    ended.refused(78, &["unknown key \"pth\"", "did you mean \"path\"?"]);
    assert!(ended.stderr.contains("\"pth\": 1") && !ended.printed().contains(SECRET), "{ended:#?}");
}

#[test]
fn a_line_that_cannot_be_read_is_not_shown_when_it_may_hold_a_secret() {
    for broken in [
        format!("[kafka.properties]\n\"sasl.password\" = {SECRET}\n"),
        format!("[plugin.settings]\ndsn = {SECRET}\n"),
        format!("password = {SECRET}\n"),
    ] {
        let ended = Run::new().file("g.toml", &broken).with(&["check", "g.toml"]);
        ended.refused(78, &["g.toml:", "this is not TOML"]);
        assert!(!ended.printed().contains(SECRET), "{ended:#?}");
    }
    let ended =
        Run::new().file("g.yaml", format!("plugin:\n  settings:\n    dsn: \"{SECRET}\n")).with(&["check", "g.yaml"]);
    assert!(!ended.printed().contains(SECRET), "{ended:#?}");
}

/// Whoever reads "correct plugin.settings" would look for it in vain.
#[test]
fn a_start_that_breaks_over_a_secret_is_told_with_the_secrets_line() {
    let text = |name: &str, more: &str| {
        let secret = format!("{more}[plugin.secrets.{name}]\nvalue = \"${{START}}\"\nexpose = true\n");
        configuration("gristmill-mischief", &secret)
    };
    let run = |text: String, start: &str| Run::new().file("g.toml", text).variable("START", start).input("{}\n");
    let mischief = plugin("gristmill-mischief");
    for arguments in [&["check", "g.toml"][..], &["call", &mischief, "-c", "g.toml"]] {
        let ended = run(text("init", ""), "error:the setting init makes no sense").with(arguments);
        ended.refused(78, &["the setting init makes no sense; correct it, or plugin.secrets.init (g.toml:10:9)"]);
        assert!(!ended.stderr.contains("plugin.settings"), "{ended:#?}");
        let ended = run(text("other", "settings = { init = \"error:damp\" }\n"), "x").with(arguments);
        ended.refused(78, &["damp; correct it, or its settings in plugin.settings and plugin.secrets"]);
    }
}
