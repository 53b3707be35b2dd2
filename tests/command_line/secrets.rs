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
