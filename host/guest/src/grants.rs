//! What a plugin may reach: its settings, and nothing else unless granted.
//!
//! Files, sockets, names, arguments and standard input stay closed otherwise. The WASI interfaces for them exist, because toolchains
//! import them unasked, and refuse inside. Where requests and connections may go is decided in `gristmill-egress`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use gristmill_egress::{Egress, Rules, SystemNetwork};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder};
use wasmtime_wasi_config::WasiConfigVariables;

use crate::denials::Denials;
use crate::deterministic::Fixed;
use crate::error::ReachError;
use crate::files::{FilesGrant, Folder};
use crate::limits::Limits;
use crate::provided::Prerequisite;
use crate::sockets::Sockets;
use crate::stdio::Output;

/// What a plugin is given. Settings may be secret; the `Debug` form shows their names only.
#[derive(Clone, Default)]
pub struct Grants {
    /// The plugin's settings. They are all that its environment holds, and `wasi:config/store` holds them as well.
    pub settings: BTreeMap<String, String>,
    /// Where its requests and connections may go.
    pub rules: Rules,
    /// Folders that it may read.
    pub files: Vec<FilesGrant>,
}

impl fmt::Debug for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grants")
            .field("settings", &self.settings.keys())
            .field("rules", &self.rules)
            .field("files", &self.files)
            .finish()
    }
}

impl Grants {
    /// True where there is something of what a plugin needs before it is loaded.
    pub(crate) fn meet(&self, prerequisite: Prerequisite) -> bool {
        match prerequisite {
            Prerequisite::Http => !self.rules.http.is_empty(),
        }
    }

    /// The same without network and files.
    pub(crate) fn settings_only(&self) -> Self {
        Self { settings: self.settings.clone(), ..Self::default() }
    }
}

/// Why a plugin has no way out, for requests or for connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    /// None is granted.
    NotGranted,
    /// It is just being asked what it needs.
    Asked,
    /// The plugin says what it needs, and that is not among it.
    NotNeeded,
    /// The same batch is to get the same answer.
    Deterministic,
}

impl Closed {
    /// What is told of something that was asked for in vain, such as "a TCP connection", of a kind such as "TCP".
    pub(crate) fn told(self, what: &str, kind: &str, not_granted: &str) -> String {
        match self {
            Self::NotGranted => format!("{what} is not granted: {not_granted}"),
            Self::Asked => {
                format!("{what}: while it is asked what it needs, a plugin has no network; nothing grants it")
            }
            Self::NotNeeded => {
                format!("{what}: what the plugin says it needs holds no {kind}, so none is given whatever is granted")
            }
            Self::Deterministic => {
                format!(
                    "{what}: with plugin.deterministic a plugin has no network; nothing grants it while that is set"
                )
            }
        }
    }
}

/// What the instances of one loaded plugin reach, set up once.
pub(crate) struct Reach {
    settings: BTreeMap<String, String>,
    folders: Vec<Folder>,
    store: WasiConfigVariables,
    requests: Result<Egress, Closed>,
    connections: Result<Egress, Closed>,
    denials: Arc<Denials>,
}

impl Reach {
    /// Sets up what is granted. Where that holds no request or no connection, `closed` is what is told of it.
    ///
    /// # Errors
    ///
    /// A folder cannot be given, grants contradict each other, or the system gives no thread.
    pub(crate) fn open(grants: Grants, plugin: &Arc<str>, closed: Closed) -> Result<Self, ReachError> {
        let folders = grants.files.iter().map(FilesGrant::open).collect::<Result<_, _>>()?;
        let (http, tcp) = (!grants.rules.http.is_empty(), !grants.rules.tcp.is_empty());
        let egress = (http || tcp).then(|| Egress::start(grants.rules, SystemNetwork)).transpose()?;
        let way_out = |granted: bool| egress.clone().filter(|_| granted).ok_or(closed);
        let (requests, connections) = (way_out(http), way_out(tcp));
        let settings = grants.settings;
        let store =
            WasiConfigVariables::from_iter(settings.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        Ok(Self {
            settings,
            folders,
            store,
            requests,
            connections,
            denials: Arc::new(Denials::new(Arc::clone(plugin))),
        })
    }

    /// The settings as key and value.
    pub(crate) fn store(&self) -> &WasiConfigVariables {
        &self.store
    }

    /// The folders that may be read.
    pub(crate) fn folders(&self) -> &[Folder] {
        &self.folders
    }

    /// The way out for requests, where there is one.
    pub(crate) fn requests(&self) -> Result<Egress, Closed> {
        self.requests.clone()
    }

    /// The way out for connections, where there is one.
    pub(crate) fn connections(&self) -> Result<Egress, Closed> {
        self.connections.clone()
    }

    /// Where denials are told.
    pub(crate) fn denials(&self) -> &Arc<Denials> {
        &self.denials
    }

    /// The WASI world of one instance, but for its folders.
    pub(crate) fn wasi(&self, instance: Surroundings<'_>) -> WasiCtx {
        let Surroundings { limits, fixed, sockets, stdout, stderr } = instance;
        let mut builder = WasiCtxBuilder::new();
        builder.stdout(stdout).stderr(stderr).max_random_size(limits.random_bytes);
        sockets.arrange(&mut builder);
        for (name, value) in &self.settings {
            builder.env(name, value);
        }
        if let Some(fixed) = fixed {
            fixed.arrange(&mut builder);
        }
        builder.build()
    }
}

/// What one instance has for itself.
pub(crate) struct Surroundings<'a> {
    pub(crate) limits: &'a Limits,
    /// Time and chance, where they do not come from the machine.
    pub(crate) fixed: Option<&'a Fixed>,
    pub(crate) sockets: &'a Sockets,
    pub(crate) stdout: Output,
    pub(crate) stderr: Output,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_grants_shows_names_only() {
        let settings = BTreeMap::from([("dsn".to_owned(), "hunter2".to_owned())]);
        let shown = format!("{:?}", Grants { settings, ..Grants::default() });
        assert!(shown.contains("dsn") && !shown.contains("hunter2"), "{shown}");
    }
}
