//! Finds the running hosts that a command is for: by their socket, by a configuration, or whatever runs on this machine.
//!
//! It changes nothing at any host.

use std::path::{Path, PathBuf};

use clap::Args;
use tokio::task::JoinSet;

use crate::config::ControlConfig;
use crate::control::client::{AskError, Connection};
use crate::control::{HostStatus, Request, place};
use crate::exit::{self, Exit};

use super::config_args::{NotLoaded, OverlayArgs};
use super::console::{Console, escape};

/// Which host.
#[derive(Debug, Args)]
pub(super) struct HostArgs {
    /// The configuration of the pipeline. Left out: what listens in the usual folders of this user
    #[arg(value_name = "CONFIG")]
    config: Option<PathBuf>,
    /// The same, as a flag
    #[arg(short = 'c', long = "config", value_name = "CONFIG", conflicts_with = "config")]
    config_flag: Option<PathBuf>,
    /// The socket of the host, as its log says at the start
    #[arg(long, value_name = "PATH", conflicts_with_all = ["config", "config_flag"])]
    socket: Option<PathBuf>,
    #[command(flatten)]
    overlays: OverlayArgs,
}

/// A host that answered.
#[derive(Debug)]
pub(super) struct FoundHost {
    pub(super) connection: Connection,
    pub(super) status: HostStatus,
}

impl FoundHost {
    /// The host for people: which pipeline, which process.
    pub(super) fn name(&self) -> String {
        escape(&format!("{} (pid {})", self.status.pipeline, self.status.pid))
    }
}

/// Files in the usual folders that are tried.
const TRIED_MAX: usize = 256;

/// Where to look.
#[derive(Debug, Default)]
struct Search {
    paths: Vec<PathBuf>,
    /// Where this looks, for people.
    looked_at: Vec<String>,
    /// Only hosts of this pipeline.
    pipeline: Option<String>,
}

/// Finds the hosts that are meant; at least one.
///
/// # Errors
/// How the command ends instead.
pub(super) async fn find(args: HostArgs, console: &mut Console) -> Result<Vec<FoundHost>, Exit> {
    let search = Search::new(args, console)?;
    let mut trying = JoinSet::new();
    for path in search.paths {
        trying.spawn(async move { (status(&path).await, path) });
    }
    let (mut hosts, mut silent) = (Vec::new(), Vec::new());
    for (found, path) in trying.join_all().await {
        match found {
            Ok(host) if search.pipeline.as_ref().is_some_and(|wanted| *wanted != host.status.pipeline) => {}
            Ok(host) => hosts.push(host),
            Err(AskError::Nobody) => {}
            Err(error) => silent.push(escape(&format!("{}: {error}", path.display()))),
        }
    }
    hosts.sort_by(|one, other| one.connection.path.cmp(&other.connection.path));
    if hosts.is_empty() {
        return Err(nobody(search.pipeline.as_deref(), &search.looked_at, &silent));
    }
    silent.sort();
    silent.iter().for_each(|silent| console.complain("warn", silent));
    Ok(hosts)
}

async fn status(path: &Path) -> Result<FoundHost, AskError> {
    let mut connection = Connection::open(path).await?;
    let status = connection.ask(&Request::Status {}).await?.status;
    Ok(FoundHost { connection, status })
}

impl Search {
    fn new(args: HostArgs, console: &mut Console) -> Result<Self, Exit> {
        if let Some(socket) = args.socket {
            args.overlays.refuse_without_config()?;
            return Ok(Self { looked_at: vec![socket.display().to_string()], paths: vec![socket], pipeline: None });
        }
        let folders = place::usual_folders(|name| std::env::var(name).ok());
        let Some(path) = args.config.or(args.config_flag) else {
            args.overlays.refuse_without_config()?;
            let looked_at = folders.iter().map(|folder| folder.join("*.sock").display().to_string()).collect();
            let paths = folders.iter().flat_map(|folder| sockets(folder, place::is_socket_name));
            return Ok(Self { paths: paths.take(TRIED_MAX).collect(), looked_at, pipeline: None });
        };
        let loaded = args.overlays.load(path, console).map_err(|NotLoaded { exit, .. }| {
            // A shell need not have what a service has in its environment.
            Exit::because(exit.code(), format!("{exit}; a host is also found by --socket, without a configuration"))
        })?;
        let config = loaded.config;
        let places = match config.control {
            None => {
                let why = "control.enabled is false, so the hosts of this configuration are talked to by signals only";
                return Err(Exit::because(exit::MISFIT, why));
            }
            Some(ControlConfig::At(path)) => vec![path],
            Some(ControlConfig::Usual(path)) => {
                let name = path.file_name().unwrap_or_default().to_owned();
                folders.iter().map(|folder| folder.join(&name)).collect()
            }
        };
        let mut paths = Vec::new();
        for place in &places {
            let folder = place.parent().unwrap_or(Path::new("."));
            paths.push(place.clone());
            paths.extend(sockets(folder, |name| place::is_beside(place, name)).into_iter().take(TRIED_MAX));
        }
        let looked_at = places.iter().map(|place| place.display().to_string()).collect();
        Ok(Self { paths, looked_at, pipeline: Some(config.pipeline) })
    }
}

/// The files of a folder whose names are wanted. A folder that cannot be read has none.
fn sockets(folder: &Path, wanted: impl Fn(&std::ffi::OsStr) -> bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.filter(|entry| wanted(&entry.file_name())).map(|it| it.path()).collect();
    paths.sort();
    paths
}

/// What to say where no host answers.
fn nobody(pipeline: Option<&str>, looked_at: &[String], silent: &[String]) -> Exit {
    let of = pipeline.map(|pipeline| format!(" of the pipeline {pipeline}")).unwrap_or_default();
    let why = match silent {
        [] => format!("no host{of} answers; looked at {}", looked_at.join(", ")),
        silent => format!("no host{of} answers: {}", silent.join("; ")),
    };
    let advice = "start one with gristmill run, or name the socket that its log tells with --socket";
    Exit::because(exit::UNREACHABLE, format!("{why}; {advice}"))
}
