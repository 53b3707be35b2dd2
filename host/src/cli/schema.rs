//! `gristmill schema`: prints the JSON Schema that editors check configurations with.

use clap::{Args, ValueEnum};

use crate::config;
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
}

pub(super) fn run(args: SchemaArgs, console: &mut Console) -> Exit {
    match args.what {
        What::Config => console.say(config::json_schema()),
    }
    Exit::clean()
}
