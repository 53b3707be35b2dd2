//! `gristmill inspect`: what a plugin's file is, what it exports and wants, who made it, and what the host would refuse.
//!
//! Compiles and runs nothing.

use std::path::{Path, PathBuf};

use clap::Args;
use gristmill_guest::{Inspection, PluginSettings};
use serde::Serialize;

use crate::config::PluginConfig;
use crate::confine;
use crate::exit::{self, Exit};
use crate::plugin_file::{self, NamedBy};
use crate::profile::{self, Line};

use super::config_args::OverlayArgs;
use super::console::{Console, escape};
use super::{Output, OutputArgs};

/// Which file.
#[derive(Debug, Args)]
pub(super) struct InspectArgs {
    /// The component file
    plugin: PathBuf,
    /// Show what this configuration allows it, and refuse what it does not: another file than the pinned one too
    #[arg(short, long, value_name = "CONFIG")]
    config: Option<PathBuf>,
    #[command(flatten)]
    overlays: OverlayArgs,
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
    refusals: &'r [String],
    profile: Vec<Allowed<'r>>,
}

#[derive(Serialize)]
struct Allowed<'r> {
    key: &'r str,
    value: &'r str,
    strict: &'r str,
}

#[derive(Serialize)]
struct Import<'r> {
    name: &'r str,
    capability: Option<&'r str>,
    needs: Option<&'r str>,
}

#[derive(Serialize)]
struct Producer<'r> {
    field: &'r str,
    name: &'r str,
    version: &'r str,
}

pub(super) fn run(args: InspectArgs, console: &mut Console) -> Exit {
    match shown(args, console) {
        Ok(exit) | Err(exit) => exit,
    }
}

fn shown(args: InspectArgs, console: &mut Console) -> Result<Exit, Exit> {
    let InspectArgs { plugin, config, overlays, output } = args;
    let config = match config {
        Some(path) => Some(overlays.load(path, console)?.config),
        None => overlays.refuse_without_config().map(|()| None)?,
    };
    // Nothing is compiled, so nothing is kept.
    confine::before_a_plugin(config.as_ref().is_none_or(|config| config.start.confine), None);
    let config = config.map(|config| config.plugin);
    let settings = config.as_ref().map_or_else(PluginSettings::default, PluginConfig::guest_settings);
    let bytes = plugin_file::read(&plugin, NamedBy::CommandLine, &settings).map_err(|error| Exit::from(&error))?;
    let mut inspection = gristmill_guest::inspect(&bytes, &settings.limits);
    if let Some(config) = &config {
        inspection.refusals.extend(inspection.refused_with(&settings.grants, config.deterministic));
    }
    let mut refusals: Vec<String> = inspection.refusals.iter().map(ToString::to_string).collect();
    if let Some(config) = &config {
        refusals.extend(refused_by(config, &plugin, &bytes, &inspection, &settings));
    }
    let profile = config.as_ref().map(profile::lines).unwrap_or_default();
    match output.output {
        Output::Json => console.say_json(&report(&inspection, &refusals, &profile)),
        Output::Text => describe(&inspection, &refusals, &profile, console),
    }
    let plugin = plugin.display();
    Ok(match refusals.first() {
        None => Exit::clean(),
        Some(first) if inspection.refusals.is_empty() => {
            Exit::because(exit::MISFIT, format!("{plugin} is not loaded with this configuration: {first}"))
        }
        Some(first) => Exit::because(exit::MISFIT, format!("{plugin} is no plugin for this host: {first}")),
    })
}

/// Why this configuration would not load the file, whatever the file is: by the functions that loading goes through.
fn refused_by(
    config: &PluginConfig,
    plugin: &Path,
    bytes: &[u8],
    inspection: &Inspection,
    settings: &PluginSettings,
) -> Vec<String> {
    let pinned = config.digest.as_deref();
    let other = plugin_file::compare(plugin, NamedBy::CommandLine, pinned, bytes, settings).err();
    let unreachable = inspection.unreachable_with(&settings.grants);
    other.map(|error| error.to_string()).into_iter().chain(unreachable.map(|error| error.to_string())).collect()
}

fn report<'r>(inspection: &'r Inspection, refusals: &'r [String], profile: &'r [Line]) -> Report<'r> {
    let imports = inspection.imports.iter();
    let producers = inspection.producers.iter();
    Report {
        ok: refusals.is_empty(),
        kind: inspection.kind.to_string(),
        bytes: inspection.bytes,
        digest: inspection.digest.to_string(),
        languages: languages(inspection),
        exports: &inspection.exports,
        imports: imports
            .map(|import| Import { name: &import.name, capability: import.capability, needs: import.needs })
            .collect(),
        producers: producers
            .map(|producer| Producer { field: &producer.field, name: &producer.name, version: &producer.version })
            .collect(),
        refusals,
        profile: profile
            .iter()
            .map(|line| Allowed { key: line.key, value: &line.value, strict: &line.strict })
            .collect(),
    }
}

/// Every language that had a part in it: a plugin in Rust often holds a C library.
fn languages(inspection: &Inspection) -> Vec<&str> {
    let languages = inspection.producers.iter().filter(|producer| producer.field == "language");
    languages.map(|producer| producer.name.as_str()).collect()
}

/// Names come out of the file: they are shown with control characters escaped.
fn describe(inspection: &Inspection, refusals: &[String], profile: &[Line], console: &mut Console) {
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
        let needs = import.needs.map(|line| format!("; needs {line}")).unwrap_or_default();
        console.say(format_args!("imports   {}  ({capability}{needs})", escape(&import.name)));
    }
    for line in profile {
        let strict = if line.differs() { format!("  (strict: {})", line.strict) } else { String::new() };
        console.say(escape(&format!("allowed   {} = {}{strict}", line.key, line.value)));
    }
    for refusal in refusals {
        console.say(format_args!("refused   {}", escape(refusal)));
    }
}
