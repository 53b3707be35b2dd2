//! Every configuration in the papers passes `check`, or is refused as it says.

use super::markdown::{Block, papers, spans};
use crate::process::{Ended, Run, plugin};

const KAFKA: &str =
    "[kafka]\nbootstrap_servers = \"b:1\"\ngroup_id = \"g\"\ntopics = [\"t\"]\nauto_offset_reset = \"latest\"\n";

/// Runs `check` on a block, with the files and variables around that it names.
fn check(block: &Block, text: &str, notation: &str) -> Ended {
    let mut run = Run::new();
    for line in text.lines() {
        if let Some(path) = line.trim().strip_prefix("path").map(|rest| rest.trim_matches([' ', ':', '=', '"'])) {
            run = run.file(path, std::fs::read(plugin("gristmill-echo")).unwrap());
        }
        for variable in line.split("${").skip(1).filter_map(|rest| rest.split('}').next()) {
            match variable.strip_prefix("file:") {
                Some(path) => run = run.file(path, "what the file says\n"),
                None if variable.contains(':') || variable.starts_with("NOBODY") => {}
                None => run = run.variable(variable, "what the variable says"),
            }
        }
    }
    let name = format!("page.{notation}");
    let ended = run.file(&name, text).with(&["check", &name]);
    assert!(!ended.stderr.contains("panicked"), "{}", block.place);
    ended
}

/// A part of a configuration, made whole.
fn whole(text: &str) -> String {
    let mut whole = text.to_owned();
    if let Some(rest) = text.strip_prefix("[kafka]\n") {
        let written = |key: &str| rest.lines().any(|line| line.starts_with(key));
        let missing = KAFKA.lines().skip(1).filter(|line| !written(line.split(' ').next().unwrap_or_default()));
        whole = format!("[kafka]\n{}\n{rest}", missing.collect::<Vec<_>>().join("\n"));
    } else if !text.contains("\n[kafka]\n") {
        whole.push_str(KAFKA);
    }
    if !text.contains("[plugin]\n") {
        whole.push_str("[plugin]\npath = \"some.wasm\"\n");
    }
    whole
}

#[test]
fn every_configuration_in_the_papers_is_good_or_refused_as_it_says() {
    let (mut good, mut refused) = (0, 0);
    for block in papers().iter().flat_map(super::markdown::Paper::blocks) {
        let words: Vec<&str> = block.info.split(' ').collect();
        match words.as_slice() {
            ["toml", "Cargo.toml"] => {}
            ["toml", "refused"] => {
                let (code, words) =
                    block.text.lines().next().and_then(|line| line.strip_prefix("# ")?.split_once(": ")).unwrap();
                let text = block.text.split_once('\n').unwrap().1;
                check(&block, &whole(text), "toml").refused(code.parse().unwrap(), &[words]);
                refused += 1;
            }
            [notation @ ("toml" | "yaml"), ..] => {
                let ended = check(&block, &block.text, notation);
                assert_eq!(ended.code, 0, "{}: {}", block.place, ended.stderr);
                good += 1;
            }
            _ => {}
        }
    }
    assert!(good >= 4 && refused >= 3, "only {good} good blocks and {refused} refused ones were found");
}

#[test]
fn every_command_in_the_papers_is_one() {
    let commands = std::fs::read_to_string(super::markdown::root().join("xtask/src/commands.rs")).unwrap();
    let mut seen = 0;
    for paper in papers() {
        let blocks = paper.blocks();
        let shown = blocks.iter().filter(|block| block.info == "console").flat_map(|block| block.text.lines());
        let prose = paper.prose();
        for line in shown.chain(spans(&prose)) {
            let line = line.split("  #").next().unwrap_or_default().trim_start_matches("$ ");
            for line in line.split("&&").map(str::trim) {
                let words: Vec<&str> = line.split_whitespace().filter(|word| !word.contains("BROKERS=")).collect();
                match words.as_slice() {
                    ["cargo", "xtask", command, ..] => {
                        assert!(commands.contains(&format!("\n  {command} ")), "{}: {line}", paper.path);
                    }
                    ["gristmill", command, arguments @ ..] if is_word(command) => {
                        // A second word may be a command of the first.
                        let (commands, arguments) = match arguments {
                            [second, rest @ ..] if *command == "dead-letters" && is_word(second) => {
                                (vec![*command, *second], rest)
                            }
                            _ => (vec![*command], arguments),
                        };
                        explains(&commands, arguments, &format!("{}: {line}", paper.path));
                    }
                    _ => continue,
                }
                seen += 1;
            }
        }
    }
    assert!(seen > 15, "only {seen} commands were found");
}

fn is_word(word: &str) -> bool {
    word.chars().all(|c| c.is_lowercase() || c == '-') && !word.starts_with('-')
}

/// Fails unless the command's help knows all flags.
fn explains(commands: &[&str], arguments: &[&str], place: &str) {
    let ended = Run::new().with(&[commands, &["--help"]].concat());
    let help = &ended.good().stdout;
    for flag in arguments.iter().filter(|word| word.starts_with('-')) {
        assert!(help.contains(flag), "{place}: there is no {flag}");
    }
}
