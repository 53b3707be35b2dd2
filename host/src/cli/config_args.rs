//! The arguments by which commands name a configuration and lay values over it.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use crate::config::{self, Loaded, Problem, Request};
use crate::exit::{self, Exit};

use super::console::Console;

/// Which configuration.
#[derive(Debug, Default, Args)]
pub(crate) struct ConfigArgs {
    /// The configuration file: .toml, .json, .yaml or .yml
    #[arg(value_name = "CONFIG", required_unless_present = "config_flag")]
    config: Option<PathBuf>,
    /// The same, as a flag
    #[arg(short = 'c', long = "config", value_name = "CONFIG", conflicts_with = "config")]
    config_flag: Option<PathBuf>,
    #[command(flatten)]
    overlays: OverlayArgs,
}

/// What is laid over the configuration.
#[derive(Debug, Default, Args)]
pub(crate) struct OverlayArgs {
    /// Lay a value over the file, such as batch.max_records=100
    #[arg(long = "set", value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Lay a property of librdkafka over the file, such as client.rack=a
    #[arg(short = 'X', value_name = "NAME=VALUE")]
    property: Vec<String>,
}

/// Why there is no configuration.
#[derive(Debug)]
pub(crate) struct NotLoaded {
    /// How the process ends for it.
    pub(crate) exit: Exit,
    /// What is wrong with the file; nothing when the command line was.
    pub(crate) problems: Vec<Problem>,
}

impl From<NotLoaded> for Exit {
    fn from(not_loaded: NotLoaded) -> Self {
        not_loaded.exit
    }
}

impl ConfigArgs {
    /// Reads the configuration; problems are shown on the console.
    pub(crate) fn load(self, console: &mut Console) -> Result<Loaded, NotLoaded> {
        let path = self.config.or(self.config_flag).unwrap_or_default();
        self.overlays.load(path, console)
    }
}

impl OverlayArgs {
    /// Refuses values that have no configuration to be laid over.
    pub(crate) fn refuse_without_config(&self) -> Result<(), Exit> {
        match self.set.first().or(self.property.first()) {
            None => Ok(()),
            Some(written) => Err(Exit::because(
                exit::USAGE,
                format!("{written} is laid over a configuration; name one with --config"),
            )),
        }
    }

    /// Reads the configuration at `path`; problems are shown on the console.
    pub(crate) fn load(self, path: PathBuf, console: &mut Console) -> Result<Loaded, NotLoaded> {
        refuse_unreadable_variables()?;
        let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        let mut request = Request::new(&path, std::env::vars_os().filter_map(text).collect());
        let usage = |message| NotLoaded { exit: Exit::because(exit::USAGE, message), problems: Vec::new() };
        self.set.iter().try_for_each(|written| request.set(written)).map_err(usage)?;
        self.property.iter().try_for_each(|written| request.property(written)).map_err(usage)?;
        let loaded = config::load(request).map_err(|error| {
            console.show(&error);
            NotLoaded { exit: Exit::from(&error), problems: error.problems }
        })?;
        for warning in &loaded.config.warnings {
            tracing::warn!("{warning}");
        }
        Ok(loaded)
    }
}

/// Refuses values of our own variables that cannot be read: they would be ignored in silence.
fn refuse_unreadable_variables() -> Result<(), NotLoaded> {
    let is_unreadable = |(name, value): &(OsString, OsString)| {
        name.to_string_lossy().starts_with(config::VARIABLE_PREFIX) && value.to_str().is_none()
    };
    let Some((name, _)) = std::env::vars_os().find(is_unreadable) else { return Ok(()) };
    let name = name.to_string_lossy();
    let why = format!("the environment variable {name} is not UTF-8; set it again, or unset it");
    Err(NotLoaded { exit: Exit::because(exit::MISFIT, why), problems: Vec::new() })
}
