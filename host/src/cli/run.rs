//! `gristmill run`: runs a pipeline until it is stopped or cannot go on.

use clap::Args;

use crate::exit::Exit;
use crate::pipeline::{self, Company};
use crate::telemetry::LogFormat;

use super::config_args::ConfigArgs;
use super::console::Console;
use super::live_line::LiveLine;

/// Which configuration.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    config: ConfigArgs,
}

pub(super) fn run(args: RunArgs, quiet: bool, format: LogFormat) -> Exit {
    let live = if quiet { None } else { LiveLine::on_terminal() };
    // On another thread, with a console of its own, since reading may wait for a pipe or a slow disk and a signal must not.
    let config = move || Ok(args.config.load(&mut Console::new(format))?.config);
    pipeline::run(config, Company::alone(live))
}
