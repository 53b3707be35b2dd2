//! `gristmill run`: runs a pipeline until it is stopped or cannot go on.

use clap::Args;

use crate::exit::Exit;
use crate::live::Live;
use crate::pipeline::{self, Company};

use super::config_args::ConfigArgs;
use super::console::Console;
use super::live_line::LiveLine;

/// Which configuration.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    config: ConfigArgs,
}

pub(super) fn run(args: RunArgs, quiet: bool, console: &mut Console) -> Exit {
    let config = match args.config.load(console) {
        Ok(loaded) => loaded.config,
        Err(exit) => return exit,
    };
    let line = if quiet { None } else { LiveLine::on_terminal() };
    let live = line.map(|line| Live::new(line, config.policy.batch.records_max.get()));
    pipeline::run(&config, Company::alone(live))
}
