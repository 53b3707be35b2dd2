//! `gristmill check`: reads a configuration and says everything that is wrong with it.
//!
//! Reaches files only: neither brokers nor anything else on a network.

use clap::Args;
use serde::Serialize;

use crate::config::{Loaded, OriginLine};
use crate::exit::Exit;

use super::config_args::ConfigArgs;
use super::console::Console;
use super::{Output, OutputArgs};

/// Which configuration, and what to say about it.
#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Print every value and where it comes from: file with line, environment, flag or default
    #[arg(long)]
    origin: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// What `check` found, for machines.
#[derive(Serialize)]
struct Report<'r> {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pipeline: Option<&'r str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'r [String],
    #[serde(skip_serializing_if = "<[OriginLine]>::is_empty")]
    origins: &'r [OriginLine],
    exit: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'r str>,
}

pub(super) fn run(args: CheckArgs, console: &mut Console) -> Exit {
    let output = args.output.output;
    match args.config.load(console) {
        Ok(loaded) => {
            report(&loaded, args.origin, output, console);
            Exit::clean()
        }
        Err(exit) => {
            if output == Output::Json {
                let (code, why) = (exit.code(), exit.why());
                console.say_json(&Report { ok: false, pipeline: None, warnings: &[], origins: &[], exit: code, why });
            }
            exit
        }
    }
}

fn report(loaded: &Loaded, origin: bool, output: Output, console: &mut Console) {
    let origins = if origin { loaded.origins.as_slice() } else { &[] };
    let config = &loaded.config;
    if output == Output::Json {
        let pipeline = Some(config.pipeline.as_str());
        console.say_json(&Report { ok: true, pipeline, warnings: &config.warnings, origins, exit: 0, why: None });
        return;
    }
    let width = origins.iter().map(|line| line.path.len()).max().unwrap_or_default();
    for line in origins {
        console.say(format_args!("{:width$} = {}  # {}", line.path, line.value, line.origin));
    }
    if !origin {
        console.say(format_args!("{}: the configuration is good", config.pipeline));
    }
}
