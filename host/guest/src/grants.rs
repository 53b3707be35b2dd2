//! What a plugin may reach: its settings, and nothing else unless granted.
//!
//! This version grants nothing beyond settings; files, sockets, names, arguments and standard input stay closed. The WASI
//! interfaces for them exist, because toolchains import them unasked, and refuse inside.

use std::collections::BTreeMap;
use std::fmt;

use wasmtime_wasi::{WasiCtx, WasiCtxBuilder};

use crate::limits::Limits;
use crate::stdio::Output;

/// What a plugin is given. Settings may be secret; the `Debug` form shows their names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Grants {
    /// The plugin's settings. They are all that its environment holds.
    pub settings: BTreeMap<String, String>,
}

impl fmt::Debug for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grants").field("settings", &self.settings.keys()).finish()
    }
}

impl Grants {
    /// The WASI world of one instance.
    pub(crate) fn wasi(&self, limits: &Limits, stdout: Output, stderr: Output) -> WasiCtx {
        let mut builder = WasiCtxBuilder::new();
        builder
            .stdout(stdout)
            .stderr(stderr)
            .max_random_size(limits.random_bytes)
            .allow_ip_name_lookup(false)
            .allow_tcp(false)
            .allow_udp(false)
            .socket_addr_check(|_, _| Box::pin(async { false }));
        for (name, value) in &self.settings {
            builder.env(name, value);
        }
        builder.build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_grants_shows_names_only() {
        let settings = BTreeMap::from([("dsn".to_owned(), "hunter2".to_owned())]);
        let shown = format!("{:?}", Grants { settings });
        assert!(shown.contains("dsn") && !shown.contains("hunter2"), "{shown}");
    }
}
