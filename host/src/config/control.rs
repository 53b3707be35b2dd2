//! Where a running host can be talked to, if anywhere.

use std::path::{Path, PathBuf, absolute};

use super::file::ConfigFile;
use super::findings::Findings;
use super::paths;
use crate::control::place;

/// Where a host makes its control socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlConfig {
    /// In the usual folder of its user, which is made where it is not there.
    Usual(PathBuf),
    /// Where the operator said; the folder is there.
    At(PathBuf),
}

/// Where the section leads; nothing where it is turned off. `runtime` is the usual folder.
pub(crate) fn parse(
    file: &ConfigFile,
    folder: &Path,
    runtime: &Path,
    findings: &mut Findings,
) -> Option<ControlConfig> {
    let control = &file.control;
    if let Some(written) = &control.socket {
        let path = folder.join(written);
        // Commands are run in another folder than the host, and a command that releases something names the socket.
        let path = absolute(&path).unwrap_or(path);
        let fault = || place::fault(&path).map(|fault| format!("= {path:?}: this path {fault}; name another file"));
        if let Some(fault) = paths::fault(written).or_else(fault) {
            findings.refuse(&[&["control", "socket"]], format!("control.socket {fault}"));
        }
        return control.enabled.then_some(ControlConfig::At(path));
    }
    let path = file.control_socket(runtime);
    if let Some(fault) = place::fault(&path).filter(|_| control.enabled) {
        let message = format!(
            "no control socket can be made: the path {path:?} {fault}; set control.socket, or control.enabled = false"
        );
        findings.warn(&[&["pipeline"], &["kafka", "group_id"]], message);
    }
    control.enabled.then_some(ControlConfig::Usual(path))
}
