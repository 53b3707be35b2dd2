//! Help, completions, schema, and what a wrong command line is told.

use crate::process::Run;

/// Every command.
const COMMANDS: [&str; 14] = [
    "run",
    "check",
    "status",
    "pause",
    "resume",
    "retry",
    "skip",
    "stop",
    "inspect",
    "call",
    "dead-letters",
    "demo",
    "schema",
    "completions",
];

#[test]
fn a_wrong_command_line_is_a_usage_error() {
    for arguments in
        [&[][..], &["grind"], &["check"], &["check", "a.toml", "-c", "b.toml"], &["schema", "moon"], &["call"]]
    {
        let ended = Run::new().with(arguments);
        assert_eq!(ended.code, 2, "{arguments:?}: {ended:#?}");
        assert_eq!(ended.stdout, "", "{arguments:?}");
        assert!(ended.stderr.contains("--help"), "{arguments:?}: {}", ended.stderr);
    }
    Run::new().with(&["check", "a.toml", "--set", "nonsense"]).refused(2, &["--set takes name=value"]);
    Run::new().with(&["check", "a.toml", "-X", "=1"]).refused(2, &["-X takes name=value"]);
    Run::new().with(&["check", "a.toml", "--log-level", "a=b=c"]).refused(2, &["\"a=b=c\"", "debug"]);
}

/// What these arguments print, on one line.
fn help(arguments: &[&str]) -> String {
    let ended = Run::new().with(arguments);
    ended.good().stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn help_names_every_command_and_every_exit_code() {
    let all = help(&["--help"]);
    for command in COMMANDS {
        assert!(all.contains(&format!(" {command} ")), "{command} is not in {all}");
    }
    let of = |command| help(&[command, "--help"]);
    for help in [all, of("run"), of("check"), of("call"), of("status"), of("retry"), of("skip"), of("stop")] {
        for code in [0, 1, 2, 65, 69, 70, 71, 75, 76, 77, 78, 101, 124] {
            assert!(help.contains(&format!(" {code} ")), "{code} is not in {help}");
        }
    }
}

#[test]
fn the_help_of_run_says_that_there_is_a_live_line_and_how_to_do_without() {
    let help = help(&["run", "--help"]);
    for words in ["live line", "-q", "TERM=dumb"] {
        assert!(help.contains(words), "{words} is not in {help}");
    }
}

#[test]
fn every_command_explains_itself() {
    for command in COMMANDS {
        let ended = Run::new().with(&[command, "--help"]);
        let help = &ended.good().stdout;
        assert!(help.contains(&format!("Usage: gristmill {command}")), "{help}");
        assert!(help.contains("--log-format"), "{help}");
    }
    for command in ["check", "inspect", "call", "status", "pause", "resume", "retry", "skip", "stop"] {
        assert!(Run::new().with(&[command, "--help"]).stdout.contains("--output"), "{command}");
    }
}

#[test]
fn the_version_is_the_packages() {
    let ended = Run::new().with(&["--version"]);
    assert_eq!(ended.good().stdout, format!("gristmill {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn shells_get_their_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ended = Run::new().with(&["completions", shell]);
        let script = &ended.good().stdout;
        assert!(script.contains("gristmill") && script.contains("inspect"), "{shell}: {script}");
    }
}

#[test]
fn the_schema_describes_the_configuration() {
    let ended = Run::new().with(&["schema", "config"]);
    let schema: serde_json::Value = serde_json::from_str(&ended.good().stdout).unwrap();
    assert_eq!(schema["title"], "gristmill configuration");
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["required"], serde_json::json!(["kafka", "plugin"]));
    for section in ["kafka", "batch", "plugin", "retry", "fault", "fatal", "start", "shutdown", "control", "pipeline"] {
        assert!(schema["properties"][section]["description"].is_string(), "{section}");
    }
}

#[test]
fn no_colours_without_a_terminal() {
    let ended = Run::new().file("g.toml", "[kafak]\n").with(&["check", "g.toml"]);
    assert!(!ended.printed().contains('\u{1b}'), "{}", ended.printed());
}
