//! `gristmill inspect`: what a plugin's file is, what it exports and wants, who made it, and what the host would refuse.
//!
//! Compiles and runs nothing.

use std::path::PathBuf;

use clap::Args;
use gristmill_guest::{Inspection, PluginSettings};
use serde::Serialize;

use crate::exit::{self, Exit};
use crate::plugin_file::{self, NamedBy};

use super::console::{Console, escape};
use super::{Output, OutputArgs};

/// Which file.
#[derive(Debug, Args)]
pub(super) struct InspectArgs {
    /// The component file
    plugin: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

/// An inspection for machines.
#[derive(Serialize)]
struct Report<'r> {
    ok: bool,
    kind: String,
    bytes: u64,
    digest: String,
    languages: Vec<&'r str>,
    exports: &'r [String],
    imports: Vec<Import<'r>>,
    producers: Vec<Producer<'r>>,
    refusals: Vec<String>,
}

#[derive(Serialize)]
struct Import<'r> {
    name: &'r str,
    capability: Option<&'r str>,
}

#[derive(Serialize)]
struct Producer<'r> {
    field: &'r str,
    name: &'r str,
    version: &'r str,
}

pub(super) fn run(args: &InspectArgs, console: &mut Console) -> Exit {
    let settings = PluginSettings::default();
    let bytes = match plugin_file::read(&args.plugin, NamedBy::CommandLine, &settings) {
        Ok(bytes) => bytes,
        Err(error) => return Exit::from(&error),
    };
    let inspection = gristmill_guest::inspect(&bytes, &settings.limits);
    match args.output.output {
        Output::Json => console.say_json(&report(&inspection)),
        Output::Text => describe(&inspection, console),
    }
    match inspection.refusals.first() {
        None => Exit::clean(),
        Some(first) => {
            Exit::because(exit::MISFIT, format!("{} is no plugin for this host: {first}", args.plugin.display()))
        }
    }
}

fn report(inspection: &Inspection) -> Report<'_> {
    let imports = inspection.imports.iter();
    let producers = inspection.producers.iter();
    Report {
        ok: inspection.refusals.is_empty(),
        kind: inspection.kind.to_string(),
        bytes: inspection.bytes,
        digest: inspection.digest.to_string(),
        languages: languages(inspection),
        exports: &inspection.exports,
        imports: imports.map(|import| Import { name: &import.name, capability: import.capability }).collect(),
        producers: producers
            .map(|producer| Producer { field: &producer.field, name: &producer.name, version: &producer.version })
            .collect(),
        refusals: inspection.refusals.iter().map(ToString::to_string).collect(),
    }
}

/// Every language that had a part in it: a plugin in Rust often holds a C library.
fn languages(inspection: &Inspection) -> Vec<&str> {
    let languages = inspection.producers.iter().filter(|producer| producer.field == "language");
    languages.map(|producer| producer.name.as_str()).collect()
}

/// Names come out of the file: they are shown with control characters escaped.
fn describe(inspection: &Inspection, console: &mut Console) {
    console.say(format_args!("kind      {}", inspection.kind));
    console.say(format_args!("size      {} bytes", inspection.bytes));
    console.say(format_args!("digest    {}", inspection.digest));
    for language in languages(inspection) {
        console.say(format_args!("language  {}", escape(language)));
    }
    for producer in inspection.producers.iter().filter(|producer| producer.field != "language") {
        console.say(escape(&format!("made by   {} {}", producer.name, producer.version)));
    }
    for export in &inspection.exports {
        console.say(format_args!("exports   {}", escape(export)));
    }
    for import in &inspection.imports {
        let capability = import.capability.unwrap_or("NOT AVAILABLE");
        console.say(format_args!("imports   {}  ({capability})", escape(&import.name)));
    }
    for refusal in &inspection.refusals {
        console.say(format_args!("refused   {}", escape(&refusal.to_string())));
    }
}
