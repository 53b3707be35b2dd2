//! `gristmill completions`: prints what a shell needs to complete our arguments.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::exit::Exit;

use super::console::Console;

/// For which shell.
#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run(args: CompletionsArgs, console: &mut Console) -> Exit {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut super::Cli::command(), "gristmill", &mut text);
    console.say(String::from_utf8_lossy(&text).trim_end());
    Exit::clean()
}
