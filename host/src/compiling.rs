//! How this host makes code of plugins: by a child of its own kind, with bounds; and where it keeps what came out.
//!
//! What the child does, and which folder is private enough, is the guest edge's knowledge.

use std::path::{Path, PathBuf};

use gristmill_guest::{Cache, Compile, CompileLimits, Compiled, Engine, EngineSettings, Plugin, escape, escape_path};
use tracing::{debug, info, warn};

use crate::config::CacheConfig;
use crate::exit::{self, Exit};

/// The program that runs, also where another one lies at its path by now: code of two versions does not mix.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// The folder that systemd makes for a service with `CacheDirectory=`; more than one are separated by colons.
const SERVICES: &str = "CACHE_DIRECTORY";
/// The system's name for a user's folder for such things.
const USERS: &str = "XDG_CACHE_HOME";

/// Says that a plugin was loaded, and what that took.
pub(crate) fn tell(plugin: &Plugin, path: &Path) {
    let Compiled { cached, took } = plugin.compiled();
    info!(plugin = %plugin.digest().short(), file = %escape_path(path), cached, took_ms = took.as_millis(), "loaded the plugin");
}

/// Makes the engine, which compiles as this host does.
///
/// # Errors
/// How the process ends for it.
pub(crate) fn engine(settings: EngineSettings, cache: Option<Cache>) -> Result<Engine, Exit> {
    let compile = Compile::Worker { program: program(), limits: CompileLimits::STRICT, cache };
    Engine::new(&EngineSettings { compile, ..settings })
        .map_err(|error| Exit::because(exit::UNEXPECTED, error.to_string()))
}

fn program() -> PathBuf {
    let this = Path::new(THIS_PROGRAM);
    if this.exists() { this.to_owned() } else { std::env::current_exe().unwrap_or_else(|_| this.to_owned()) }
}

/// The cache, if one is wanted and can be used: without one every start compiles. A host that confines itself has to open it before.
pub(crate) fn open(cache: &CacheConfig) -> Option<Cache> {
    let folder = match cache {
        CacheConfig::Off => return None,
        CacheConfig::Folder(folder) => folder.clone(),
        CacheConfig::Auto => usual_folder(|name| std::env::var(name).ok()).or_else(|| {
            debug!("no folder for compiled plugins");
            None
        })?,
    };
    let opened = Cache::open(&folder);
    let told = opened.inspect_err(|error| warn!(cause = %escape(error.to_string().as_bytes()), "compiled plugins are not kept: every start compiles"));
    told.ok()
}

/// Where compiled plugins are kept; `variable` reads the environment. That of a service is open to be listed by others, so the
/// cache is a folder in it.
fn usual_folder(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let services = || {
        let folders = variable(SERVICES)?;
        let first = PathBuf::from(folders.split(':').next()?);
        first.is_absolute().then(|| first.join("compiled"))
    };
    let users = || absolute(USERS).or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    services().or_else(|| users().map(|folder| folder.join("gristmill")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(variables: &[(&str, &str)]) -> Option<PathBuf> {
        usual_folder(|wanted| variables.iter().find(|(name, _)| *name == wanted).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn the_usual_folder_is_that_of_the_service_or_of_the_user() {
        let all = [(SERVICES, "/var/cache/gm:/var/cache/other"), (USERS, "/x"), ("HOME", "/users/me")];
        assert_eq!(folder(&all), Some("/var/cache/gm/compiled".into()));
        assert_eq!(folder(&all[1..]), Some("/x/gristmill".into()));
        assert_eq!(folder(&all[2..]), Some("/users/me/.cache/gristmill".into()));
        assert_eq!(folder(&[]), None);
    }

    #[test]
    fn a_relative_folder_counts_as_none() {
        assert_eq!(folder(&[(SERVICES, "cache"), (USERS, "x"), ("HOME", "/me")]), Some("/me/.cache/gristmill".into()));
        assert_eq!(folder(&[("HOME", "")]), None);
    }
}
