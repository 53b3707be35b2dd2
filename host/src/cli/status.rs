//! `gristmill status`: what running hosts do, what they hold and why, and what releases it.

use clap::Args;

use crate::exit::{self, Exit};

use super::console::Console;
use super::hosts::{self, HostArgs};
use super::status_text;
use super::{Output, OutputArgs};

/// Which hosts, and how to show them.
#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: StatusArgs, console: &mut Console) -> Exit {
    let output = args.output.output;
    let found = match runtime() {
        Ok(runtime) => runtime.block_on(hosts::find(args.host, console)),
        Err(exit) => return exit,
    };
    let hosts = match found {
        Ok(hosts) => hosts,
        Err(exit) => return exit,
    };
    for (number, host) in hosts.iter().enumerate() {
        match output {
            Output::Json => console.say_json(&host.status),
            Output::Text => {
                let gap = if number > 0 { "\n" } else { "" };
                console.say(format_args!("{gap}{}", status_text::render(&host.status)));
            }
        }
    }
    Exit::clean()
}

/// What a command waits on for its answers.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Exit> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Exit::because(exit::UNEXPECTED, format!("cannot wait for an answer: {error}")))
}
