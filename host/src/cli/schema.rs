//! `gristmill schema`: prints the JSON Schema that editors check configurations with, or that of a host's status.

use clap::{Args, ValueEnum};

use crate::config;
use crate::control;
use crate::exit::Exit;

use super::console::Console;

/// Which schema.
#[derive(Debug, Args)]
pub(super) struct SchemaArgs {
    /// What it describes
    #[arg(value_enum, value_name = "WHAT")]
    what: What,
}

/// What has a schema.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// The configuration file.
    Config,
    /// What `gristmill status --output json` prints.
    Status,
}

pub(super) fn run(args: SchemaArgs, console: &mut Console) -> Exit {
    match args.what {
        What::Config => console.say(config::json_schema()),
        What::Status => console.say(control::json_schema()),
    }
    Exit::clean()
}
