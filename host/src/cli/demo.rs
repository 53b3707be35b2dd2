//! `gristmill demo`: the main job on a Kafka cluster inside this process.

use std::path::PathBuf;

use clap::Args;

use crate::demo::Demo;
use crate::exit::{self, Exit};

use super::console::Console;

/// What to show.
#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// The example plugin (plugins/count, built as a component); `cargo xtask demo` builds and names it
    #[arg(long, value_name = "FILE")]
    plugin: Option<PathBuf>,
    /// Go on until stopped
    #[arg(long)]
    keep: bool,
}

pub(super) fn run(args: DemoArgs, console: &mut Console) -> Exit {
    let Some(plugin) = args.plugin else {
        let why = "the demo needs the example plugin: run cargo xtask demo in the repository, or pass --plugin with \
                   plugins/count built as a component";
        return Exit::because(exit::USAGE, why);
    };
    Demo { plugin, keep: args.keep, say: &mut |line| console.say(line) }.run()
}
