//! Defaults that follow from other settings: one place for the configuration and for `check --origin`.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use super::file::{ConfigFile, Exhausted};
use super::quantity::{Size, Span};
use super::scalar::Attempts;
use crate::control::place;

/// What a default follows from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DefaultSource {
    /// How it follows.
    pub(crate) how: &'static str,
    /// The path of the key it follows from.
    pub(crate) key: &'static [&'static str],
}

/// What the default of the key at `path` follows from, if it follows from anything.
pub(crate) fn source(path: &str) -> Option<DefaultSource> {
    let source = |how, key| Some(DefaultSource { how, key });
    match path {
        "pipeline" => source("from", &["kafka", "group_id"]),
        "control.socket" => source("by the name of", &["pipeline"]),
        "fault.then" | "fault.isolate" => source("by", &["dead_letter", "topic"]),
        "plugin.limits.cpu" => source("at most", &["plugin", "limits", "time"]),
        "plugin.limits.record" => source("a quarter of", &["plugin", "limits", "memory"]),
        _ => None,
    }
}

impl ConfigFile {
    /// The pipeline's name.
    pub(crate) fn pipeline_name(&self) -> &str {
        self.pipeline.as_deref().unwrap_or(&self.kafka.group_id)
    }

    /// The control socket where none was written down; `runtime` is the usual folder.
    pub(crate) fn control_socket(&self, runtime: &Path) -> PathBuf {
        runtime.join(place::file_name(self.pipeline_name()))
    }

    /// Processor time for each batch.
    pub(crate) fn cpu(&self) -> Span {
        let limits = &self.plugin.limits;
        limits.cpu.unwrap_or(Span::millis(2_000).min(limits.time))
    }

    /// The largest record that is ever handed over.
    pub(crate) fn record(&self) -> Size {
        let limits = &self.plugin.limits;
        limits.record.unwrap_or(Size(limits.memory.0 / 4))
    }

    /// What follows the last fault.
    pub(crate) fn fault_then(&self) -> Exhausted {
        let usual = if self.dead_letter.is_some() { Exhausted::DeadLetter } else { Exhausted::Stop };
        self.fault.then.unwrap_or(usual)
    }

    /// Whether what fails to the last is cut in parts.
    pub(crate) fn isolate(&self) -> bool {
        self.fault.isolate.unwrap_or(self.dead_letter.is_some())
    }

    /// The number of the last attempt and what follows it, where there is a last one.
    pub(crate) fn last_attempt(&self) -> Option<(NonZeroU32, Exhausted)> {
        match self.retry.max_attempts {
            Attempts::Unlimited => None,
            Attempts::Limited(max) => Some((max, self.retry.then.unwrap_or_default())),
        }
    }

    /// The same with the defaults written down that follow from others; `runtime` is the usual folder of control sockets.
    pub(crate) fn filled(&self, runtime: &Path) -> Self {
        let mut filled = self.clone();
        let usual = || self.control_socket(runtime).display().to_string();
        filled.control.socket = self.control.socket.clone().or_else(|| self.control.enabled.then(usual));
        filled.pipeline = Some(self.pipeline_name().to_owned());
        filled.fault.then = Some(self.fault_then());
        filled.fault.isolate = Some(self.isolate());
        filled.plugin.limits.cpu = Some(self.cpu());
        filled.plugin.limits.record = Some(self.record());
        filled.retry.then = self.last_attempt().map(|(_, then)| then);
        filled
    }
}
