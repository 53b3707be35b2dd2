//! A plugin: a file's bytes, read once, known by their digest, checked, compiled, and started once for trial.
//!
//! Hash, checks and compiler all see the same buffer, so that a file swapped in between changes nothing.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use wasmtime::component::{ComponentExportIndex, InstancePre};

use crate::bindings::{HandlerIndices, LIFECYCLE};
use crate::cancel::Cancel;
use crate::clock::CallClock;
use crate::compile::{self, Compiled};
use crate::deterministic::Fixed;
use crate::engine::Engine;
use crate::error::LoadError;
use crate::fault::{Broken, Evidence, Phase};
use crate::grants::{Closed, Grants, Reach};
use crate::guest::{Guest, State};
use crate::inspect::examine;
use crate::limits::Limits;
use crate::needs::MANIFEST;
use crate::panics;
use crate::stdio::Outlet;

/// The sha256 of a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The first twelve hexadecimal digits, for people and labels.
    #[must_use]
    pub fn short(&self) -> String {
        self.to_string()[7..19].to_owned()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How a plugin runs.
#[derive(Clone, Debug, Default)]
pub struct PluginSettings {
    /// What it may use up.
    pub limits: Limits,
    /// What it may reach.
    pub grants: Grants,
    /// How long an instance lives.
    pub instances: Instances,
}

/// How long an instance lives. Any fault, timeout or cancel ends it in every case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Instances {
    /// A fresh one for every batch: no state survives, and a retry is not poisoned by what the failed attempt left behind.
    #[default]
    Fresh,
    /// One per worker, for as long as it behaves.
    Reuse {
        /// Batches after which it is replaced.
        batches_max: u32,
        /// Bytes of memory above which it is replaced after a batch. Linear memory never shrinks.
        memory_bytes_max: u64,
    },
}

/// A plugin that loaded. Clones are the same plugin.
#[derive(Clone)]
pub struct Plugin {
    inner: Arc<Inner>,
}

struct Inner {
    code: Arc<Code>,
    short_digest: Arc<str>,
    settings: PluginSettings,
    reach: Arc<Reach>,
    stdout: Arc<Outlet>,
    stderr: Arc<Outlet>,
}

/// What comes of a file alone, whatever the settings.
struct Code {
    name: String,
    digest: Digest,
    engine: Engine,
    compiled: Compiled,
    pre: InstancePre<State>,
    handler: HandlerIndices,
    init: Option<ComponentExportIndex>,
    manifest: Option<ComponentExportIndex>,
}

impl Plugin {
    /// Loads a plugin from the bytes of its file. Blocks while it compiles and while it is started for trial, `init` included.
    ///
    /// # Errors
    ///
    /// The file is not a plugin that this host runs, or it does not start. The text says what it is, what was wanted, and how to
    /// get there.
    pub fn load(engine: &Engine, name: &str, bytes: &[u8], settings: &PluginSettings) -> Result<Self, LoadError> {
        let plugin = || name.to_owned();
        let inspection = examine(bytes, &settings.limits);
        let ungranted = inspection.refused_with(&settings.grants, engine.is_deterministic());
        let form = inspection.form();
        if let Some(refusal) = inspection.refusals.into_iter().next().or(ungranted) {
            return Err(LoadError::Refused { plugin: plugin(), refusal });
        }
        let (component, compiled) = compile::code(engine, inspection.digest, bytes)
            .map_err(|error| LoadError::of_compiling(plugin(), error))?;
        let contract = |error: wasmtime::Error| LoadError::Contract { plugin: plugin(), detail: format!("{error:#}") };
        let pre = engine.linker().instantiate_pre(&component).map_err(contract)?;
        let handler = HandlerIndices::of(&pre, form).map_err(contract)?;
        let optional = |interface, function| {
            let interface = component.get_export_index(None, interface)?;
            component.get_export_index(Some(&interface), function)
        };
        let (init, manifest) = (optional(LIFECYCLE, "init"), optional(MANIFEST, "needs"));
        let (name, digest, engine) = (plugin(), inspection.digest, engine.clone());
        let code = Code { name, digest, engine, compiled, pre, handler, init, manifest };
        Self::start(Arc::new(code), settings)
    }

    /// The same file, loaded under other settings and started for trial again, without compiling it again.
    ///
    /// # Errors
    ///
    /// The plugin does not start under these settings.
    pub fn with_settings(&self, settings: &PluginSettings) -> Result<Self, LoadError> {
        Self::start(Arc::clone(&self.inner.code), settings)
    }

    fn start(code: Arc<Code>, settings: &PluginSettings) -> Result<Self, LoadError> {
        let short_digest: Arc<str> = code.digest.short().into();
        let outlet = |stream| Outlet::new(Arc::clone(&short_digest), stream, &settings.limits);
        let (stdout, stderr) = (outlet("stdout"), outlet("stderr"));
        let with = |settings: PluginSettings, closed: Closed| {
            let reach = Reach::open(settings.grants.clone(), &short_digest, closed)
                .map_err(|source| LoadError::Reach { plugin: code.name.clone(), source })?;
            let (code, short_digest) = (Arc::clone(&code), Arc::clone(&short_digest));
            let (stdout, stderr, reach) = (Arc::clone(&stdout), Arc::clone(&stderr), Arc::new(reach));
            Ok(Self { inner: Arc::new(Inner { code, short_digest, settings, reach, stdout, stderr }) })
        };
        let deterministic = code.engine.is_deterministic();
        let mut closed = if deterministic { Closed::Deterministic } else { Closed::NotGranted };
        let mut granted = settings.clone();
        if code.manifest.is_some() {
            let asked = PluginSettings { grants: settings.grants.settings_only(), ..settings.clone() };
            let needs =
                with(asked, Closed::Asked)?.try_out(async |plugin, clock| Guest::ask_needs(plugin, clock).await)?;
            if let Some(needs) = needs {
                let missing = needs.missing(&settings.grants, deterministic);
                if !missing.is_empty() {
                    return Err(LoadError::Needs { plugin: code.name.clone(), missing });
                }
                granted.grants = needs.only(granted.grants);
                closed = Closed::NotNeeded;
            }
        }
        let plugin = with(granted, closed)?;
        plugin.try_out(async |plugin, clock| {
            let fixed = plugin.engine().is_deterministic().then(|| Fixed::of_trial(plugin.digest()));
            Guest::start(plugin, clock, fixed).await.map(drop)
        })?;
        Ok(plugin)
    }

    /// The name that it was loaded under.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.code.name
    }

    /// The digest of its file.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.inner.code.digest
    }

    /// Where its code came from.
    #[must_use]
    pub fn compiled(&self) -> Compiled {
        self.inner.code.compiled
    }

    /// What it may use up.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.inner.settings.limits
    }

    /// How long its instances live.
    #[must_use]
    pub fn instances(&self) -> Instances {
        self.inner.settings.instances
    }

    /// What it may reach: what is granted, and needed where the plugin says what it needs.
    #[must_use]
    pub fn grants(&self) -> &Grants {
        &self.inner.settings.grants
    }

    pub(crate) fn reach(&self) -> &Arc<Reach> {
        &self.inner.reach
    }

    pub(crate) fn short_digest(&self) -> &Arc<str> {
        &self.inner.short_digest
    }

    pub(crate) fn stdout(&self) -> &Arc<Outlet> {
        &self.inner.stdout
    }

    pub(crate) fn stderr(&self) -> &Arc<Outlet> {
        &self.inner.stderr
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.inner.code.engine
    }

    pub(crate) fn pre(&self) -> &InstancePre<State> {
        &self.inner.code.pre
    }

    pub(crate) fn handler(&self) -> &HandlerIndices {
        &self.inner.code.handler
    }

    pub(crate) fn init(&self) -> Option<&ComponentExportIndex> {
        self.inner.code.init.as_ref()
    }

    pub(crate) fn manifest(&self) -> Option<&ComponentExportIndex> {
        self.inner.code.manifest.as_ref()
    }

    /// True when both are the same load, not only the same file.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Does something with instances that are thrown away afterwards: types that do not fit show nowhere else. On a thread of its
    /// own, since the caller may be inside a runtime.
    fn try_out<T: Send>(
        &self,
        what: impl AsyncFnOnce(&Self, &Arc<CallClock>) -> Result<T, Broken> + Send,
    ) -> Result<T, LoadError> {
        let started = std::thread::scope(|scope| {
            let trial = std::thread::Builder::new().name("guest-trial".to_owned());
            let trial = trial.spawn_scoped(scope, || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                let _ticking = self.engine().ticking();
                let clock = CallClock::start(self.limits(), Arc::new(Cancel::default()), self.engine());
                panics::catch(|| runtime.block_on(what(self, &clock)))
                    .map_err(|_| std::io::Error::other("the trial start panicked"))
            })?;
            trial.join().unwrap_or_else(|_| Err(std::io::Error::other("the trial start panicked")))
        });
        let broken = match started {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(broken)) => broken,
            Err(source) => return Err(LoadError::Thread { plugin: self.name().to_owned(), source }),
        };
        Err(match broken {
            Broken { phase: Phase::Bind, error, .. } => {
                LoadError::Contract { plugin: self.name().to_owned(), detail: error.to_string() }
            }
            broken => LoadError::Start {
                plugin: self.name().to_owned(),
                fault: broken.into_fault(&Evidence::of_start(self.limits())),
            },
        })
    }
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plugin")
            .field("name", &self.inner.code.name)
            .field("digest", &self.inner.code.digest)
            .finish_non_exhaustive()
    }
}
