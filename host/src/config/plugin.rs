//! Who gets the batches, and within which limits.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use gristmill_guest::{Grants, Instances, Limits, PluginSettings};

use super::secret::Secret;

/// Who gets the batches, and within which limits.
#[derive(Clone, Debug)]
pub struct PluginConfig {
    /// The component file.
    pub path: PathBuf,
    /// The digest that the file must have, when it is pinned: `sha256:` and 64 small hexadecimal digits.
    pub digest: Option<String>,
    /// True: one instance for many batches. False: a fresh one for each.
    pub reuse: bool,
    /// What the plugin finds as its environment.
    pub settings: BTreeMap<String, Secret>,
    /// What it may use up.
    pub limits: LimitsConfig,
}

/// What a plugin may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitsConfig {
    /// Bytes, summed over all memories and tables of an instance.
    pub memory_bytes: u64,
    /// Wall clock for each batch.
    pub time: Duration,
    /// Processor time for each batch.
    pub cpu: Duration,
    /// Records that one answer may emit.
    pub emitted_records: usize,
    /// Bytes that one answer may emit; never more than `memory_bytes`.
    pub emitted_bytes: u64,
}

/// Batches after which a kept instance is replaced.
const REUSED_BATCHES_MAX: u32 = 10_000;

impl PluginConfig {
    /// The same in the guest edge's words. Holds the settings in the open: neither print nor keep it.
    #[must_use]
    pub fn guest_settings(&self) -> PluginSettings {
        let LimitsConfig { memory_bytes, time, cpu, emitted_records, emitted_bytes } = self.limits;
        // Linear memory never shrinks: an instance that holds more than three quarters is near its end.
        let reuse = Instances::Reuse { batches_max: REUSED_BATCHES_MAX, memory_bytes_max: memory_bytes / 4 * 3 };
        let settings = self.settings.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned()));
        PluginSettings {
            limits: Limits { memory_bytes, time, cpu, emitted_records, emitted_bytes, ..Limits::STRICT },
            grants: Grants { settings: settings.collect() },
            instances: if self.reuse { reuse } else { Instances::Fresh },
        }
    }
}
