//! Files that are none: pipes that nobody writes to, devices without an end, folders. None of them keeps a command waiting.

use std::process::Command;

use crate::process::{Run, configuration, plugin};

/// A run with a pipe of this name in its folder, which nobody writes to.
fn with_pipe(name: &str) -> Run {
    let run = Run::new();
    let made = Command::new("mkfifo").arg(run.folder().join(name)).status().unwrap();
    assert!(made.success(), "mkfifo failed");
    run
}

#[test]
fn a_pipe_as_plugin_is_refused_and_not_waited_for() {
    let text = configuration("gristmill-echo", "").replace(&plugin("gristmill-echo"), "pipe.wasm");
    for command in ["check", "run"] {
        let ended = with_pipe("pipe.wasm").file("g.toml", &text).with(&[command, "g.toml"]);
        ended.refused(78, &["cannot read the plugin pipe.wasm: it is a pipe, not a regular file; check plugin.path"]);
    }
    for command in ["inspect", "call"] {
        let ended = with_pipe("pipe.wasm").with(&[command, "pipe.wasm"]);
        ended.refused(78, &["cannot read the plugin pipe.wasm: it is a pipe", "check the path on the command line"]);
    }
}

#[test]
fn a_pipe_as_configuration_is_refused_and_not_waited_for() {
    for command in ["check", "run"] {
        let ended = with_pipe("pipe.toml").with(&[command, "-c", "pipe.toml"]);
        ended.refused(78, &["cannot read the configuration pipe.toml: it is a pipe, not a regular file"]);
    }
}

#[test]
fn folders_and_devices_are_refused() {
    let text = configuration("gristmill-echo", "");
    let ended = Run::new().file("g.toml/x", "").with(&["check", "g.toml"]);
    ended.refused(78, &["cannot read the configuration g.toml: it is a folder, not a regular file"]);
    let device = text.replace(&plugin("gristmill-echo"), "/dev/zero");
    let ended = Run::new().file("g.toml", device).with(&["check", "g.toml"]);
    ended.refused(78, &["cannot read the plugin /dev/zero: it is a device, not a regular file"]);
    let run = Run::new();
    std::os::unix::fs::symlink("/dev/zero", run.folder().join("g.toml")).unwrap();
    run.with(&["check", "g.toml"]).refused(78, &["cannot read the configuration g.toml: it is a device"]);
}

/// A secret may come out of a pipe, as a shell's `<(…)` makes one, but not without an end.
#[test]
fn a_value_out_of_a_file_has_an_end() {
    let text = configuration("gristmill-echo", "").replace("orders-to-nowhere", "${file:/dev/zero}");
    let ended = Run::new().file("g.toml", text).with(&["check", "g.toml"]);
    ended.refused(78, &["g.toml:3:12: cannot read /dev/zero: it has more than 1 MiB"]);
    let text = configuration("gristmill-echo", "").replace("orders-to-nowhere", "${file:/dev/stdin}");
    let ended = Run::new().file("g.toml", text).input("out-of-a-pipe\n").with(&["check", "g.toml"]);
    assert!(ended.good().stdout.starts_with("out-of-a-pipe: "), "{}", ended.stdout);
}
