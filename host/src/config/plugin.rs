//! Who gets the batches, what it may reach, and within which limits.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gristmill_guest::{EngineSettings, Grants, Instances, Limits, PluginSettings};

use super::cache::CacheConfig;
use super::grants::GrantsConfig;
use super::problem::Place;
use super::secret::Secret;

/// Who gets the batches, what it may reach, and within which limits.
#[derive(Clone, Debug)]
pub struct PluginConfig {
    /// The component file.
    pub path: PathBuf,
    /// The digest that the file must have, when it is pinned: `sha256:` and 64 small hexadecimal digits.
    pub digest: Option<String>,
    /// True: one instance for many batches. False: a fresh one for each.
    pub reuse: bool,
    /// True: the same batch always gets the same answer.
    pub deterministic: bool,
    /// Where compiled plugins are kept.
    pub cache: CacheConfig,
    /// What the plugin finds as its environment and in `wasi:config/store`, exposed secrets included.
    pub settings: BTreeMap<String, Secret>,
    /// Where each exposed secret was written.
    pub secrets: BTreeMap<String, Place>,
    /// What it may reach beside that.
    pub grants: GrantsConfig,
    /// What it may use up.
    pub limits: Limits,
}

/// Batches after which a kept instance is replaced.
const REUSED_BATCHES_MAX: u32 = 10_000;

impl PluginConfig {
    /// The same in the guest edge's words. Holds the settings in the open: neither print nor keep it.
    #[must_use]
    pub fn guest_settings(&self) -> PluginSettings {
        let memory_bytes = self.limits.memory_bytes;
        // Linear memory never shrinks: an instance that holds more than three quarters is near its end.
        let reuse = Instances::Reuse { batches_max: REUSED_BATCHES_MAX, memory_bytes_max: memory_bytes / 4 * 3 };
        let settings = self.settings.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned()));
        PluginSettings {
            limits: self.limits.clone(),
            grants: Grants {
                settings: settings.collect(),
                rules: self.grants.rules.clone(),
                files: self.grants.files.clone(),
            },
            instances: if self.reuse { reuse } else { Instances::Fresh },
        }
    }

    /// The engine that it wants.
    #[must_use]
    pub fn engine_settings(&self) -> EngineSettings {
        EngineSettings { deterministic: self.deterministic, ..EngineSettings::default() }
    }
}
